import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { reference } from '../.ci/reference.ts'

test('lib/REFERENCE.md is what the docstrings say: npm run reference', () => {
  const file = join(import.meta.dirname, '..', 'lib', 'REFERENCE.md')
  assert.ok(readFileSync(file, 'utf8') === reference(), 'It is not current: npm run reference')
})
