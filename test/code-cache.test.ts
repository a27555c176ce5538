import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { cacheName, makeCodeCache, withCodeCache } from '../.ci/code-cache.ts'

/** Serves, and says its name with its port; asked for `name`, it says that and ends. */
const named = (name: string) => `
  const names = () => '${name}'
  if (process.argv[2] === 'name') process.stdout.write(names())
  else {
    const server = require('node:http').createServer((_, res) => res.end(names()))
    server.listen(0, () => console.log(JSON.stringify({ port: server.address().port, name: names() })))
  }`

describe('the code cache of the bundle', () => {
  test('of another build of the same length is not taken for its program', (t) => {
    const folder = mkdtempSync(join(tmpdir(), 'mailkeep-'))
    t.after(() => rmSync(folder, { recursive: true }))
    const file = join(folder, 'mailkeep.cjs')
    const [before, after] = [named('1.0.0'), named('1.0.1')]
    makeCodeCache(before, file, join(folder, cacheName))
    const says = (program: string) => {
      writeFileSync(file, withCodeCache(program))
      return execFileSync(process.execPath, [file, 'name'], { encoding: 'utf8' })
    }
    assert.equal(says(before), '1.0.0')
    assert.equal(says(after), '1.0.1')
  })
})
