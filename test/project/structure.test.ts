import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import { basename, dirname, join, relative } from 'node:path'
import { describe, test } from 'node:test'
import { version } from '../../lib/index.ts'

const root = join(import.meta.dirname, '../..')

interface Source {
  readonly path: string
  readonly text: string
  /** Imported modules: paths from the root, or packages. */
  readonly imports: readonly string[]
}

function sourcesIn(folder: string): Source[] {
  return readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
    .filter((name) => /\.tsx?$/.test(name) && !name.includes('node_modules'))
    .map((name) => {
      const path = join(folder, name)
      const text = readFileSync(join(root, path), 'utf8')
      const specifiers = [
        ...text.matchAll(/^\s*(?:import|export)\b[^'"]*?from '([^']+)'|^import '([^']+)'|import\('([^']+)'\)/gm),
      ]
      const imports = specifiers
        .map((match) => (match[1] ?? match[2] ?? match[3])!)
        .map((name) => (name.startsWith('.') ? relative(root, join(root, dirname(path), name)) : name))
      return { path, text, imports }
    })
}

const lib = sourcesIn('lib')
const daemon = sourcesIn('daemon')

/** Folders of the library, from the bottom up. Each may import from itself and from the folders before it. */
const folders = [
  'top',
  'storage',
  'dispatch',
  'jobs',
  'sealing',
  'idempotency',
  'audit',
  'clients',
  'statistics',
  'webhooks',
  'tags',
  'lists',
  'identities',
  'topics',
  'attributes',
  'pages',
  'segments',
  'imports',
  'consent',
  'contacts',
  'sending',
  'testing',
  'wiring',
]

/** Files beside the folders that wire everything together. All other such files are below every folder. */
const wiring = new Set([
  'index.ts',
  'internal.ts',
  'schemas.ts',
  'sqlite.ts',
  'postgres.ts',
  'ses.ts',
  'testing.ts',
  'mailkeep.ts',
  'bind.ts',
  'bind-sending.ts',
  'bind-context.ts',
  'client-api.ts',
  'housekeeping.ts',
  'background.ts',
])

function folderOf(path: string): string {
  const [, first, second] = path.split('/')
  if (second !== undefined) return first!
  return wiring.has(first!) ? 'wiring' : 'top'
}

/** Returns the top folder of a file: `lib/webhooks` for `lib/webhooks/dispatch/claim.ts`. */
function topFolderOf(path: string): string {
  return path.split('/').slice(0, 2).join('/')
}

/** Type imports may point upwards, because they do not exist at run time. */
function typesOnly(source: Source, imported: string): boolean {
  const name = basename(imported).replace('.', '\\.')
  const statements = source.text.match(new RegExp(`^(?:import|export)[^']*from '[^']*/${name}'`, 'gm')) ?? []
  return statements.length > 0 && statements.every((statement) => /^(import|export) type/.test(statement))
}

describe('the structure of the sources', () => {
  test('the library imports downwards only', () => {
    const wrong = lib.flatMap((source) =>
      source.imports
        .filter((imported) => imported.startsWith('lib/') && !typesOnly(source, imported))
        .filter((imported) => folders.indexOf(folderOf(imported)) > folders.indexOf(folderOf(source.path)))
        .map((imported) => `${source.path} imports ${imported}`),
    )
    assert.deepEqual(wrong, [])
  })

  test('a folder of the library calls another folder’s operations, never its queries', () => {
    const wrong = lib.flatMap((source) =>
      source.imports
        .filter((imported) => /\/(?:\w+-)?queries\.ts$/.test(imported))
        .filter((imported) => topFolderOf(imported) !== topFolderOf(source.path))
        .map((imported) => `${source.path} imports ${imported}`),
    )
    assert.deepEqual(wrong, [])
  })

  test('the library uses no HTTP framework, no console and no environment', () => {
    for (const { path, text, imports } of lib) {
      for (const name of imports)
        assert.doesNotMatch(name, /^(polka|express|fastify|koa|hono|sade|pino|node:http)/, path)
      assert.doesNotMatch(text, /\bconsole\.|process\.(env|argv|exit|std)/, path)
    }
  })

  test('each driver is imported by its own file only', () => {
    for (const [driver, home] of [
      ['better-sqlite3', 'lib/storage/sqlite.ts'],
      ['pg', 'lib/storage/postgres.ts'],
      ['@aws-sdk/client-sesv2', 'lib/identities/ses.ts'],
    ]) {
      const users = [...lib, ...daemon].filter(({ imports }) => imports.includes(driver!)).map(({ path }) => path)
      assert.ok(
        users.every((path) => path === home),
        `${driver}: ${users.join(', ')}`,
      )
    }
  })

  test('the daemon imports only the library’s entries, its internal entry and the drivers’ modules', () => {
    const entries =
      /^lib\/(index|internal|schemas|identities\/ses|storage\/sqlite|storage\/postgres|webhooks\/receiver|sending\/transports\/(?:folder|smtp|ses))\.ts$/
    for (const { path, imports } of daemon) {
      for (const name of imports) if (name.startsWith('lib/')) assert.match(name, entries, path)
    }
  })

  test('the description of the API is loaded when it is requested', () => {
    const folder = 'daemon/api/openapi/'
    const outside = daemon.filter((source) => {
      const described = source.imports.filter((name) => name.startsWith(folder) && !typesOnly(source, name))
      return !source.path.startsWith(folder) && described.length > 0
    })
    assert.deepEqual(
      outside.map(({ path }) => path),
      ['daemon/api/service-pages.ts'],
    )
    assert.doesNotMatch(outside[0]!.text, /from '[^']*openapi/)
  })

  test('the API knows no server', () => {
    for (const { path, imports } of daemon.filter(({ path }) => path.startsWith('daemon/api/'))) {
      for (const name of imports) assert.doesNotMatch(name, /^(node:(http|net|tls)$|daemon\/(?!api\/))/, path)
    }
  })

  test('only the server imports polka', () => {
    const users = daemon.filter(({ imports }) => imports.includes('polka')).map(({ path }) => path)
    assert.deepEqual(users, ['daemon/http/server.ts'])
  })

  test('file names say what a file contains, and no file is long', () => {
    const generated = 'daemon/client/api.ts'
    for (const { path, text } of [...lib, ...daemon].filter(({ path }) => path !== generated)) {
      assert.doesNotMatch(basename(path), /^(utils?|helpers?|common|types|constants)\.ts$/)
      assert.ok(text.split('\n').length <= 300, `${path} has ${text.split('\n').length} lines`)
    }
  })

  test('the version is the package’s', () => {
    assert.equal(version, JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')).version)
  })

  test('declares tests on PostgreSQL so that they are skipped where there is none', () => {
    const suites = /\b(?:overHttp|onKinds|onSharedDatabases|onEveryDatabase|onPostgres)\(/
    const wrong = sourcesIn('test').filter(
      ({ path, text }) =>
        path.endsWith('.test.ts') &&
        suites.test(text) &&
        /import \{[^}]*\btest\b[^}]*\} from 'node:test'/.test(text) &&
        !/\btest\b[^}]*\} from '\.\.\/support\/databases\.ts'/.test(text),
    )
    assert.deepEqual(
      wrong.map(({ path }) => `${path}: import \`test\` from support/databases.ts`),
      [],
    )
  })
})
