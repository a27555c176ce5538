/**
 * Programs that are too large for the development packages: npm installs them into a temporary folder.
 *
 * Run: npm run test:generators
 */
import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { cpSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { expected, node, project, session } from './session.ts'

const packages = ['orval@8', '@stoplight/spectral-core@1', '@stoplight/spectral-rulesets@1']

const tools = mkdtempSync(join(tmpdir(), 'mailkeep-generators-'))
after(() => rmSync(tools, { recursive: true }))
writeFileSync(join(tools, 'package.json'), '{ "private": true, "type": "module" }')
execFileSync('npm', ['install', '--ignore-scripts', '--no-audit', '--no-fund', ...packages], { cwd: tools })

test('the first session works through orval', async (t) => {
  const orval = join(tools, 'node_modules/orval/dist/bin/orval.mjs')
  const generate = (folder: string) =>
    node(folder, orval, '--input', 'api.json', '--output', 'client.ts', '--client', 'fetch')
  assert.deepEqual(await session(t, 'orval.ts', generate), expected)
})

test('the description breaks none of Spectral’s recommended rules', async (t) => {
  const { folder } = await project(t)
  cpSync(join(import.meta.dirname, 'spectral.mjs'), join(tools, 'spectral.mjs'))
  assert.deepEqual(JSON.parse(await node(tools, 'spectral.mjs', join(folder, 'api.json'))), [])
})
