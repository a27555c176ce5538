import { execFileSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { appendFileSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { brotliCompressSync } from 'node:zlib'

const nameLength = 64

/** Where the launcher finds the program's text and its code cache: beside it, or inside the binary. */
export const programName = 'mailkeep.program.js'
export const cacheName = 'mailkeep.cache'

/**
 * Makes a program start in less time: what node is given to run is a few lines that read the program and compile it
 * with the code cache that was made when it was built. Another version of node refuses the cache, and compiles as
 * usual. Whose cache it is stands at its end: V8 holds nothing but the length of a program against it, and would run
 * another build's functions. Without a file of the program's beside it the launcher unpacks its own copy.
 *
 * @param program The bundle, a CommonJS module of ASCII characters.
 * @param alone Whether it has a copy of the program.
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

/** The bytes of this build's file, and of no other's. */
function ours(name) {
  try {
    const bytes = bytesOf(name)
    const end = bytes.length - ${nameLength}
    if (bytes.latin1Slice(end) === '${nameOf(program)}') return bytes.subarray(0, end)
  } catch {}
}

function unpack() {
  return require('node:zlib').brotliDecompressSync(Buffer.from('${alone ? packed(text) : ''}', 'base64'))
}

const program = (ours('${programName}') ?? unpack()).latin1Slice()
new Script(program, ${options('__filename', `ours('${cacheName}')`)}).runInThisContext()(exports, require, module, __filename, __dirname)
`
}

/** The file of the program's that the launcher looks for. */
export function programFile(program: string): string {
  // In a comment, so that it is a script all the same.
  return `${programText(program)}${nameOf(program)}`
}

function packed(text: string): string {
  return brotliCompressSync(text).toString('base64')
}

/** As the launcher compiles it. */
function programText(program: string): string {
  if (!/^[\0-\x7f]*$/.test(program)) throw new Error('the program has characters beyond ASCII')
  return `${inFunction(program)}\n//`
}

/**
 * Makes the code cache of a program, with the functions that a start needs.
 *
 * @param file Where the program will stand.
 */
export function makeCodeCache(program: string, file: string, cache: string): void {
  const work = mkdtempSync(join(tmpdir(), 'mailkeep-cache-'))
  try {
    const text = join(work, 'program.js')
    writeFileSync(text, programText(program))
    // Whoever builds may have settings of a service of theirs.
    const inherited = Object.entries(process.env).filter(([name]) => !name.startsWith('MAILKEEP_'))
    const env = { ...Object.fromEntries(inherited), MAILKEEP_DATABASE: join(work, 'mailkeep.db'), MAILKEEP_PORT: '0' }
    execFileSync(process.execPath, ['--eval', starting, text, file, cache], {
      env,
      cwd: work,
      stdio: ['ignore', 'ignore', 'pipe'],
      timeout: 60_000,
    })
  } finally {
    rmSync(work, { recursive: true, force: true })
  }
  if (readFileSync(cache).length === 0) throw new Error('the code cache is empty')
  appendFileSync(cache, nameOf(program))
}

function nameOf(program: string): string {
  return createHash('sha256').update(program).digest('hex')
}

/** Serves, answers twice, and then knows what was compiled for that. */
const starting = `
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

/** As node's own loader does it. */
function inFunction(program: string): string {
  return `(function (exports, require, module, __filename, __dirname) { ${program.replace(/^#!.*/, '')}\n})`
}
