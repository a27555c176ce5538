import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { apiTypes } from '../../.ci/api-types.ts'
import { clientTypes } from '../../.ci/client-types.ts'
import { reference } from '../../.ci/reference.ts'
import { testMailkeep } from '../../lib/testing.ts'
import { publicNames } from '../package/public-names.ts'

const root = join(import.meta.dirname, '../..')

test('lib/REFERENCE.md matches the docstrings: npm run reference', () => {
  assert.ok(
    readFileSync(join(root, 'lib/REFERENCE.md'), 'utf8') === reference(),
    'It is out of date: npm run reference',
  )
})

/** Names in headings: `sqlite`, `contacts.list`. */
function shownNames(): Set<string> {
  const text = readFileSync(join(root, 'lib/REFERENCE.md'), 'utf8')
  return new Set([...text.matchAll(/^##+ `([\w.]+)`$/gm)].map(([, name]) => name!))
}

test('lib/REFERENCE.md has every name that the package exports', () => {
  const shown = shownNames()
  const names = Object.values(publicNames).flatMap((list) => list.map((name) => name.replace(/^type /, '')))
  // An interface such as ContactsApi is shown as its methods.
  const missing = names.filter((name) => !/Api$/.test(name) && !shown.has(name))
  assert.deepEqual([...new Set(missing)], [])
})

test('lib/REFERENCE.md has every operation of a client', async () => {
  await using kit = await testMailkeep()
  const namesIn = (group: string, operations: object): string[] =>
    Object.entries(operations).flatMap(([name, value]) =>
      typeof value === 'function' ? [`${group}.${name}`] : namesIn(name, value),
    )
  const shown = shownNames()
  assert.deepEqual(
    namesIn('client', kit.client).filter((name) => !shown.has(name)),
    [],
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
