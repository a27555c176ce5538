/** Compares the tables of the READMEs next to the code with the code, and checks their links. */
import assert from 'node:assert/strict'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { test } from 'node:test'
import { statusOf } from '../../daemon/api/errors.ts'
import { chapters } from '../../daemon/api/routes/index.ts'
import { nameOf } from '../../daemon/commands/command.ts'
import { commands } from '../../daemon/commands/index.ts'
import { settingHelp } from '../../daemon/setting-help.ts'
import { settingNames, variableOf } from '../../daemon/settings.ts'
import { defaultMailSettings, defaultWebhookSettings, errorCodes, eventTypes, inputLimits } from '../../lib/index.ts'
import {
  enrolmentStatuses,
  messageStatuses,
  newsletterStatuses,
  skipReasons,
  stopReasons,
} from '../../lib/sending/statuses.ts'
import { deadLinks, rowsOf, sectionOf } from '../support/markdown.ts'

const root = join(import.meta.dirname, '../..')

/** The READMEs next to the code. */
const readmes = [
  'lib/contacts/README.md',
  'lib/sending/README.md',
  'lib/webhooks/README.md',
  'lib/storage/README.md',
  'daemon/README.md',
  'daemon/api/README.md',
  '.github/CONTRIBUTING.md',
]

const code = (text: string) => `\`${text}\``
const namesIn = (cell: string) => [...cell.matchAll(/`([^`]+)`/g)].map(([, name]) => name!)

test('the table of routes has every route with its role, and marks the extensions', () => {
  const rows = rowsOf('daemon/api/README.md', '## Routes and roles').slice(2)
  const shown = rows.map(([method, path, role, mark]) => [method, path, role, mark].join(' ').trim())
  const wanted = chapters.flatMap(({ routes, isExtension }) => {
    const mark = isExtension ? '+' : ''
    return routes.map(({ method, path, role }) => {
      return [method, code(path.replace(/:(\w+)/g, '{$1}')), role, mark].join(' ').trim()
    })
  })
  assert.deepEqual(shown.sort(), wanted.sort())
})

test('the table of errors has every code with its status', () => {
  const rows = rowsOf('daemon/api/README.md', '## Errors').slice(2)
  const shown = rows.map(([name, status]) => `${name} ${status}`)
  assert.deepEqual(shown.sort(), errorCodes.map((name) => `${code(name)} ${statusOf[name]}`).sort())
})

test('the table of limits has every limit of the library with its value', () => {
  const limits = new Map(Object.entries(inputLimits))
  const rows = rowsOf('daemon/api/README.md', '## Limits').filter(([, , name]) =>
    limits.has(namesIn(name ?? '')[0] ?? ''),
  )
  const shown = rows.map(([, value, name]) => [namesIn(name!)[0]!, Number(value!.split(' ')[0]!.replaceAll(',', ''))])
  assert.deepEqual(Object.fromEntries(shown), Object.fromEntries(limits))
})

test('the table of settings has every setting with its default', () => {
  const rows = rowsOf('daemon/README.md', '## Settings').slice(2)
  const shown = new Map(
    rows.flatMap(([names, defaults]) => {
      const variables = namesIn(names!)
      const values = variables.length === 1 ? [defaults!] : defaults!.split(', ')
      return variables.map((variable, at) => [variable, values[at]!] as const)
    }),
  )
  assert.deepEqual([...shown.keys()].sort(), settingNames.map(variableOf).sort())
  for (const name of settingNames) {
    const { default: value } = settingHelp[name]
    if (/^[\w.,]+$/.test(value)) assert.equal(shown.get(variableOf(name)), value, name)
  }
})

test('the docstrings of the library’s settings have the defaults, which editors show', () => {
  const files = { 'lib/webhooks/settings.ts': defaultWebhookSettings, 'lib/sending/settings.ts': defaultMailSettings }
  for (const [file, defaults] of Object.entries(files)) {
    const source = readFileSync(join(root, file), 'utf8')
    for (const [name, value] of Object.entries(defaults).filter(([, value]) => /number|boolean/.test(typeof value))) {
      assert.match(source, new RegExp(`Default ${value}\\.\\s+\\*/\\n  readonly ${name}:`), name)
    }
  }
})

test('the table of commands names every command and its flags', () => {
  const table = rowsOf('daemon/README.md', '## Commands')
  for (const command of commands) {
    const name = nameOf(command).join(' ')
    const cell = table.flatMap(([first]) => namesIn(first!)).find((usage) => `${usage} `.startsWith(`${name} `))
    assert.ok(cell, name)
    for (const flag of command.flags ?? []) {
      if (flag.required) assert.ok(cell.includes(`--${flag.name}`), `${name} --${flag.name}`)
    }
  }
})

test('the table of metrics has every metric', () => {
  const files = ['daemon/metrics.ts', 'daemon/processes/process-group.ts']
  const source = files.map((file) => readFileSync(join(root, file), 'utf8')).join('\n')
  const names = [...source.matchAll(/(?:metricFamily|histogram)\(\s*'(\w+)'/g)].map(([, name]) => `mailkeep_${name}`)
  const requests = [...source.matchAll(/name: '(mailkeep_\w+)'/g)].map(([, name]) => name!)
  const rows = rowsOf('daemon/README.md', '## Health and metrics')
  const shown = rows.flatMap(([cell]) => namesIn(cell!)).flatMap((name) => /^mailkeep_\w+/.exec(name) ?? [])
  assert.ok(names.length > 5 && requests.length > 0)
  assert.deepEqual([...new Set(shown)].sort(), [...names, ...requests].sort())
})

test('the table of events has every event type', () => {
  const rows = rowsOf('lib/webhooks/README.md', '## Payload and headers')
  const shown = rows.flatMap(([cell]) => namesIn(cell!)).filter((name) => /^[a-z_]+\.[a-z_]+$/.test(name))
  assert.deepEqual(shown.sort(), eventTypes.toSorted())
})

test('the table of a delivery’s states has every status', () => {
  const rows = rowsOf('lib/webhooks/README.md', '## States of a delivery')
  const source = readFileSync(join(root, 'lib/webhooks/schema.ts'), 'utf8')
  const statuses = /type DeliveryStatus = (.*)/.exec(source)![1]!.match(/\w+/g)!
  for (const status of statuses)
    assert.ok(
      rows.some(([cell]) => cell === code(status)),
      status,
    )
})

test('the tables of states of sending have every status, and every reason', () => {
  const section = sectionOf('lib/sending/README.md', '## States')
  const names = [newsletterStatuses, messageStatuses, enrolmentStatuses, skipReasons, stopReasons].flat()
  for (const name of names) assert.ok(section.includes(code(name)), name)
})

test('the columns of a delivery in the table are columns of the database', () => {
  const columns = rowsOf('lib/webhooks/README.md', '## States of a delivery').flatMap(([cell]) => namesIn(cell!))
  const tables = readFileSync(join(root, 'lib/storage/tables.ts'), 'utf8')
  for (const column of columns.slice(4)) assert.match(tables, new RegExp(`\\b${column}: `))
})

test('no document has a dead link', () => {
  const folders = ['lib', 'daemon', 'examples', 'test', '.github']
  const below = folders.flatMap((folder) =>
    readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
      .filter((name) => name.endsWith('.md') && !name.includes('node_modules'))
      .map((name) => join(folder, name)),
  )
  assert.ok(below.includes('daemon/api/README.md'))
  assert.deepEqual(deadLinks(root, ['README.md', ...below]), [])
})

test('every file that a README next to the code names exists', () => {
  for (const document of readmes) {
    const prose = readFileSync(join(root, document), 'utf8').replace(/^```[\s\S]*?^```/gm, '')
    const named = [...prose.matchAll(/`((?:lib|daemon|test)\/[\w./-]+\.(?:ts|md)|(?:lib|daemon|test)\/[\w./-]+\/)`/g)]
    assert.deepEqual(
      named.map(([, path]) => path!).filter((path) => !existsSync(join(root, path))),
      [],
      document,
    )
    const table = document.startsWith('.') ? [] : rowsOf(document, '## Files').slice(2)
    const files = table.flatMap(([cell]) => namesIn(cell!)).map((file) => join(dirname(document), file))
    assert.deepEqual(
      files.filter((file) => !existsSync(join(root, file))),
      [],
      document,
    )
  }
})

test('every command of a document names tests that exist', () => {
  for (const document of ['test/README.md', '.github/CONTRIBUTING.md']) {
    const text = readFileSync(join(root, document), 'utf8')
    for (const [, , pattern, path] of text.matchAll(/(--test-name-pattern='([^']*)' )?\b(test\/[\w/-]+\.test\.ts)/g)) {
      const file = readFileSync(join(root, path!), 'utf8')
      assert.ok(pattern === undefined || file.includes(`'${pattern}`), `${document}: ${pattern} in ${path}`)
    }
  }
})

test('every name of the code that a README next to the code has is in the sources', () => {
  const texts = ['lib', 'daemon', 'test', 'examples'].flatMap((folder) =>
    readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
      .filter((name) => /\.tsx?$/.test(name) && !name.includes('node_modules'))
      .map((name) => readFileSync(join(root, folder, name), 'utf8')),
  )
  const known = new Set(texts.flatMap((text) => text.match(/\w+/g) ?? []))
  const placeholders = ['getX', 'findX']
  for (const document of readmes) {
    const prose = readFileSync(join(root, document), 'utf8').replace(/^```[\s\S]*?^```/gm, '')
    const named = namesIn(prose).filter((name) => /^[a-z]+[A-Z]\w*$/.test(name))
    assert.deepEqual(
      named.filter((name) => !known.has(name) && !placeholders.includes(name)),
      [],
      document,
    )
  }
})

test('the table of files in a README names every file and folder beside it', () => {
  for (const document of readmes.filter((name) => !name.startsWith('.'))) {
    const named = rowsOf(document, '## Files').flatMap(([cell]) => namesIn(cell!))
    const folder = dirname(document)
    const entries = readdirSync(join(root, folder), { withFileTypes: true })
      .map((entry) => (entry.isDirectory() ? `${entry.name}/` : entry.name))
      .filter((name) => /\.ts$|\/$/.test(name) && name !== 'api-types.ts') // generated
    const missing = entries.filter((name) => !named.some((path) => path.split('/')[0] === name.replace(/\/$/, '')))
    assert.deepEqual(missing, [], document)
  }
})

test('the table of contents at the top of a README names its sections', () => {
  for (const document of readmes.filter((name) => name.endsWith('/README.md'))) {
    const text = readFileSync(join(root, document), 'utf8')
    const headings = [...text.matchAll(/^## (.*)$/gm)].map(([, heading]) => heading!)
    const contents = [...text.matchAll(/^- \[(.*?)\]\(#/gm)].map(([, heading]) => heading!)
    assert.deepEqual(
      contents.filter((heading) => headings.includes(heading)),
      headings,
      document,
    )
    assert.ok(sectionOf(document, `## ${headings[0]}`).length > 0)
  }
})
