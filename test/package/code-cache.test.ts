import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, type TestContext, test } from 'node:test'
import { cacheName, launcherOf, makeCodeCache, programFile, programName } from '../../.ci/code-cache.ts'

/** Returns a program that prints its name and port and serves; called with `name`, it prints the name and exits. */
const named = (name: string) => `
  const names = () => '${name}'
  if (process.argv[2] === 'name') process.stdout.write(names())
  else {
    const server = require('node:http').createServer((_, res) => res.end(names()))
    server.listen(0, () => console.log(JSON.stringify({ port: server.address().port, name: names() })))
  }`

describe('the launcher of the bundle', () => {
  const [before, after] = [named('1.0.0'), named('1.0.1')]

  /** Creates a folder with the launcher of one build; `says` returns the name of the program that it runs. */
  function launched(t: TestContext, program: string) {
    const folder = mkdtempSync(join(tmpdir(), 'mailkeep-'))
    t.after(() => rmSync(folder, { recursive: true }))
    const file = join(folder, 'mailkeep.cjs')
    writeFileSync(file, launcherOf(program))
    const says = () => execFileSync(process.execPath, [file, 'name'], { encoding: 'utf8' })
    return { folder, file, says }
  }

  test('runs its program without the files beside it', (t) => {
    assert.equal(launched(t, before).says(), '1.0.0')
  })

  test('runs its program with the files beside it', (t) => {
    const { folder, file, says } = launched(t, before)
    makeCodeCache(before, file, join(folder, cacheName))
    writeFileSync(join(folder, programName), programFile(before))
    assert.equal(says(), '1.0.0')
  })

  test('ignores the code cache and the program of another build with the same length', (t) => {
    const { folder, file, says } = launched(t, after)
    makeCodeCache(before, file, join(folder, cacheName))
    assert.equal(says(), '1.0.1')
    writeFileSync(join(folder, programName), programFile(before))
    assert.equal(says(), '1.0.1')
    writeFileSync(join(folder, programName), programFile(after))
    assert.equal(says(), '1.0.1')
  })
})
