import { execFileSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/** Where the program finds its code cache: beside it, or inside the binary. */
export const cacheName = 'mailkeep.cache'

/**
 * Makes a program start in less time: node compiles it from a string with the code cache that was made when it was
 * built. Another version of node refuses the cache, and compiles as usual.
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
    if (process.execPath === __filename) return Buffer.from(require('node:sea').getRawAsset('${cacheName}'))
    return readFileSync(join(dirname(__filename), '${cacheName}'))
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
    const env = { ...process.env, MAILKEEP_DATABASE: join(work, 'mailkeep.db'), MAILKEEP_PORT: '0' }
    execFileSync(process.execPath, ['--eval', starting, text, file, cache], {
      env,
      cwd: work,
      stdio: ['ignore', 'ignore', 'pipe'],
    })
  } finally {
    rmSync(work, { recursive: true, force: true })
  }
  if (readFileSync(cache).length === 0) throw new Error('the code cache is empty')
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
