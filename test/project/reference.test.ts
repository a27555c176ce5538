import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { apiTypes } from '../../.ci/api-types.ts'
import { clientTypes } from '../../.ci/client-types.ts'
import { reference } from '../../.ci/reference.ts'

const root = join(import.meta.dirname, '../..')

test('lib/REFERENCE.md matches the docstrings: npm run reference', () => {
  assert.ok(
    readFileSync(join(root, 'lib/REFERENCE.md'), 'utf8') === reference(),
    'It is out of date: npm run reference',
  )
})

test('the types of the API match the operations, with their docstrings: npm run reference', () => {
  for (const [path, text] of apiTypes()) {
    assert.ok(readFileSync(join(root, path), 'utf8') === text, `${path} is out of date: npm run reference`)
  }
})

test('the types of the client match the API’s description: npm run reference', () => {
  const text = readFileSync(join(root, 'daemon/client/api.ts'), 'utf8')
  assert.ok(text === clientTypes(), 'daemon/client/api.ts is out of date: npm run reference')
})
