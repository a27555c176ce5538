import { execFileSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { appendFileSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { brotliCompressSync } from 'node:zlib'

const hashLength = 64

/** Names of the program's text and its code cache. The launcher reads them beside it or inside the binary. */
export const programName = 'mailkeep.program.js'
export const cacheName = 'mailkeep.cache'

/**
 * Returns a launcher that shortens the program's start. It reads the program and compiles it with the code cache created
 * at build time. Another version of Node rejects the cache and compiles as usual.
 *
 * Each file ends with the hash of its build. V8 checks only the program's length against a cache, so without the hash it
 * could run functions of another build. If the program's file is missing, the launcher unpacks an embedded copy.
 *
 * @param program The bundle, a CommonJS module of ASCII characters.
 * @param alone Whether to embed a copy of the program.
 */
export function launcherOf(program: string, alone = true): string {
  const text = programText(program)
  return `#!/usr/bin/env node
'use strict'
const { readFileSync } = require('node:fs')
const { dirname, join } = require('node:path')
const { Script, constants } = require('node:vm')

function bytesOf(name) {
  if (process.execPath === __filename) return Buffer.from(require('node:sea').getRawAsset(name))
  return readFileSync(join(dirname(__filename), name))
}

/** Reads a file of this build. Returns undefined for a file of another build. */
function readOwn(name) {
  try {
    const bytes = bytesOf(name)
    const end = bytes.length - ${hashLength}
    if (bytes.latin1Slice(end) === '${hashOf(program)}') return bytes.subarray(0, end)
  } catch {}
}

function unpack() {
  return require('node:zlib').brotliDecompressSync(Buffer.from('${alone ? packed(text) : ''}', 'base64'))
}

const program = (readOwn('${programName}') ?? unpack()).latin1Slice()
new Script(program, ${options('__filename', `readOwn('${cacheName}')`)}).runInThisContext()(exports, require, module, __filename, __dirname)
`
}

/** Returns the content of the program file that the launcher reads. */
export function programFile(program: string): string {
  // The hash is in a comment, so that the file stays a valid script.
  return `${programText(program)}${hashOf(program)}`
}

function packed(text: string): string {
  return brotliCompressSync(text).toString('base64')
}

/** Returns the text that the launcher compiles. */
function programText(program: string): string {
  if (!/^[\0-\x7f]*$/.test(program)) throw new Error('the program has characters beyond ASCII')
  return `${inFunction(program)}\n//`
}

/**
 * Creates the code cache of a program, with the functions that a start needs.
 *
 * @param file Path of the finished program.
 */
export function makeCodeCache(program: string, file: string, cache: string): void {
  const workDir = mkdtempSync(join(tmpdir(), 'mailkeep-cache-'))
  try {
    const text = join(workDir, 'program.js')
    writeFileSync(text, programText(program))
    // Drop MAILKEEP_ variables of the person who builds, because they may configure another service.
    const inherited = Object.entries(process.env).filter(([name]) => !name.startsWith('MAILKEEP_'))
    const env = {
      ...Object.fromEntries(inherited),
      MAILKEEP_DATABASE: join(workDir, 'mailkeep.db'),
      MAILKEEP_PORT: '0',
    }
    execFileSync(process.execPath, ['--eval', warmUpScript, text, file, cache], {
      env,
      cwd: workDir,
      stdio: ['ignore', 'ignore', 'pipe'],
      timeout: 60_000,
    })
  } finally {
    rmSync(workDir, { recursive: true, force: true })
  }
  if (readFileSync(cache).length === 0) throw new Error('the code cache is empty')
  appendFileSync(cache, hashOf(program))
}

function hashOf(program: string): string {
  return createHash('sha256').update(program).digest('hex')
}

/** Starts the program, sends two requests, and saves the code that was compiled for them. */
const warmUpScript = `
const { readFileSync, writeFileSync } = require('node:fs')
const http = require('node:http')
const { dirname } = require('node:path')
const { Script, constants } = require('node:vm')
const [text, file, cache] = process.argv.slice(1)
process.argv = [process.execPath, file, 'serve', '--json']
const script = new Script(readFileSync(text, 'latin1'), ${options('file', 'undefined')})
const write = process.stdout.write
process.stdout.write = (line, ...rest) => {
  const [, port] = /"port":(\\d+)/.exec(String(line)) ?? []
  if (port) void answer(port)
  return write.call(process.stdout, line, ...rest)
}
const get = (port, path) => new Promise((resolve) => http.get({ port, path, agent: false }, (res) => res.resume().on('end', resolve)))
async function answer(port) {
  for (const path of ['/readyz', '/api/v1/tags']) await get(port, path)
  writeFileSync(cache, script.createCachedData())
  process.exit(0)
}
script.runInThisContext()(exports, require, module, file, dirname(file))
`

function options(filename: string, cachedData: string): string {
  return `{ filename: ${filename}, cachedData: ${cachedData}, importModuleDynamically: constants.USE_MAIN_CONTEXT_DEFAULT_LOADER }`
}

/** Wraps the program like Node's CommonJS loader. */
function inFunction(program: string): string {
  return `(function (exports, require, module, __filename, __dirname) { ${program.replace(/^#!.*/, '')}\n})`
}
