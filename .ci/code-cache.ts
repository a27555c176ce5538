import { execFileSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { appendFileSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

const nameLength = 64

/** Where the program finds its code cache: beside it, or inside the binary. */
export const cacheName = 'mailkeep.cache'

/**
 * Makes a program start in less time: node compiles it from a string with the code cache that was made when it was
 * built. Another version of node refuses the cache, and compiles as usual. Whose cache it is stands at its end: V8 holds
 * nothing but the length of a program against it, and would run another build's functions.
 *
 * @param program The bundle, a CommonJS module.
 */
export function withCodeCache(program: string): string {
  return `#!/usr/bin/env node
'use strict'
const { readFileSync } = require('node:fs')
const { dirname, join } = require('node:path')
const { Script, constants } = require('node:vm')

function codeCache() {
  try {
    const cache = process.execPath === __filename
      ? Buffer.from(require('node:sea').getRawAsset('${cacheName}'))
      : readFileSync(join(dirname(__filename), '${cacheName}'))
    const end = cache.length - ${nameLength}
    if (cache.toString('latin1', end) === '${nameOf(program)}') return cache.subarray(0, end)
  } catch {}
}

const program = ${JSON.stringify(inFunction(program))}
new Script(program, ${options('__filename', 'codeCache()')}).runInThisContext()(exports, require, module, __filename, __dirname)
`
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
    writeFileSync(text, inFunction(program))
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
const script = new Script(readFileSync(text, 'utf8'), ${options('file', 'undefined')})
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
