import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { reference } from '../../.ci/reference.ts'

test('lib/REFERENCE.md matches the docstrings: npm run reference', () => {
  const file = join(import.meta.dirname, '../../lib/REFERENCE.md')
  assert.ok(readFileSync(file, 'utf8') === reference(), 'It is out of date: npm run reference')
})
