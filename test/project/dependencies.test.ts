import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'

const read = (name: string) => readFileSync(join(import.meta.dirname, '../..', name), 'utf8')

interface Locked {
  /** Set for a workspace, which only tests use. */
  readonly link?: true
  readonly dev?: true
  readonly devOptional?: true
  readonly optional?: true
  readonly license?: string
}

/** Packages that the build bundles into the published files. */
const bundled = [
  '@preact/signals',
  'nodemailer',
  'openapi-fetch',
  'pino',
  'polka',
  'preact',
  'preact-iso',
  'prom-client',
  'trouter',
  'undici',
  'uplot',
]

test('lib/README.md names every dependency with its reason, and counts all that npm installs', () => {
  const { dependencies, devDependencies, peerDependencies } = JSON.parse(read('package.json'))
  const section = read('lib/README.md').split('\n## Dependencies\n')[1]!.split('\n## ')[0]!
  const rows = [...section.matchAll(/^\| `(.+?)`( \(inside\))? \| .{10,} \|$/gm)]
  const namesOf = (inside: boolean) => rows.filter((row) => (row[2] !== undefined) === inside).map((row) => row[1]!)
  assert.deepEqual(namesOf(false).sort(), Object.keys(dependencies).sort())
  assert.deepEqual(namesOf(true).sort(), bundled)
  for (const name of bundled) assert.ok(name in devDependencies, name)
  for (const peer of Object.keys(peerDependencies)) assert.ok(section.includes(`\`${peer}\``), peer)
  const locked: Record<string, Locked> = JSON.parse(read('package-lock.json')).packages
  const used = Object.entries(locked).filter(([path, { link, dev, devOptional, optional }]) => {
    return path.startsWith('node_modules/') && !link && !dev && !devOptional && !optional
  })
  assert.match(section, new RegExp(`and ${used.length} in all with their own dependencies`))
  for (const [path, { license }] of used) assert.match(license ?? '', /^(MIT|ISC|BSD-\d-Clause|Apache-2\.0)$/, path)
})
