/**
 * Clients generated from the running daemon's description compile under strict settings, and the README's first session
 * works with them. `npm run test:generators` tries more programs, which are too large to be installed with the others.
 */
import assert from 'node:assert/strict'
import { join } from 'node:path'
import { test } from 'node:test'
import { expected, node, project, session, strict } from '../generated-client/session.ts'

const root = join(import.meta.dirname, '../..')
const workspace = join(root, 'test/generated-client')
const generators = join(workspace, 'node_modules')

test('the first session works through openapi-typescript and openapi-fetch', async (t) => {
  const generate = (folder: string) =>
    node(folder, join(generators, 'openapi-typescript/bin/cli.js'), 'api.json', '-o', 'api.d.ts')
  assert.deepEqual(await session(t, 'openapi-fetch.ts', generate), expected)
})

test('the first session works through @hey-api/openapi-ts', async (t) => {
  const generate = (folder: string) =>
    node(folder, join(generators, '@hey-api/openapi-ts/bin/run.js'), '-i', 'api.json', '-o', 'client')
  // The generator's own runtime code does not pass exactOptionalPropertyTypes, whatever the description.
  const options = { ...strict, exactOptionalPropertyTypes: false }
  assert.deepEqual(await session(t, 'hey-api.ts', generate, options), expected)
})

test('the description breaks none of Redocly’s recommended rules', async (t) => {
  const { folder } = await project(t)
  const problems = await node(root, '--import', 'tsx', join(workspace, 'lint.ts'), join(folder, 'api.json'))
  assert.deepEqual(JSON.parse(problems), [])
})
