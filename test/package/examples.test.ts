import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { describe, test } from 'node:test'
import { scenes } from './example-scenes.ts'

const root = join(import.meta.dirname, '../..')

describe('the examples', { concurrency: 2 }, () => {
  for (const [name, play] of Object.entries(scenes)) {
    test(`${name} does what it says`, (t) => play(t, { folder: root }))
  }

  test('are all run, and are short', () => {
    const files = readdirSync(join(root, 'examples')).filter((name) => name.endsWith('.ts'))
    const names = files.map((file) => basename(file, '.ts'))
    assert.deepEqual(
      names.filter((name) => !(name in scenes)),
      [],
    )
    for (const file of files) {
      const lines = readFileSync(join(root, 'examples', file), 'utf8')
        .trimEnd()
        .split('\n').length
      assert.ok(lines <= (file === 'month.ts' ? 60 : 40), `${file} has ${lines} lines`)
    }
  })
})
