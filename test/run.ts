/**
 * Runs the test files against one PostgreSQL; see find-postgres. Arguments are files or folders; default: all folders of
 * `npm test`.
 * Without PostgreSQL or a browser, the end of the output says how many tests were skipped.
 *
 *   --database sqlite|postgres   only this database
 *   --timing                     the tests that assert durations, one file at a time
 */
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, dirname, join, resolve } from 'node:path'
import { run } from 'node:test'
import { spec } from 'node:test/reporters'
import { pathToFileURL } from 'node:url'
import { parseArgs } from 'node:util'
import sparticuz from '@sparticuz/chromium'
import { buildBundle } from '../.ci/build-binary.ts'
import { findPostgres } from './support/find-postgres.ts'

/** The same texts as in support/databases.ts and support/browser.ts, which are not imported here: they register test hooks. */
const withoutPostgres = 'there is no PostgreSQL'
const withoutBrowser = 'there is no Chromium'

/** One more than processors on a small machine, because many tests wait. */
const processesAtOnce = 3

/** The folders of `npm test`. The others have commands of their own. The slowest come first. */
const folders = [
  'daemon',
  'package',
  'console',
  'storage',
  'http',
  'faults',
  'properties',
  'webhooks',
  'sending',
  'contacts',
  'pages',
  'library',
  'project',
]

/** Each file of these folders has a process. Other files share one, because its start takes longer than many suites. */
const apart = new Set(['daemon', 'package', 'properties'])
const filesPerProcess = 10

/** A test that waits for what never happens fails after this time, with its name. */
const hungAfterMs = 20 * 60_000

/** A file that cannot be imported fails as a test, so that the others of its group still run. */
const loader = `import { test } from 'node:test'
async function load(file) {
  await import(file).catch((error) => test(file, () => Promise.reject(error)))
}
`

const { values: options, positionals } = parseArgs({
  allowPositionals: true,
  options: { database: { type: 'string' }, timing: { type: 'boolean', default: false } },
})
const { database, timing } = options
if (database !== undefined && database !== 'sqlite' && database !== 'postgres') {
  throw new Error(`--database must be sqlite or postgres, not ${database}`)
}
const folder = mkdtempSync(join(tmpdir(), 'mailkeep-test-run-'))
process.once('exit', () => rmSync(folder, { recursive: true, force: true }))
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.once(signal, () => process.exit(1))

const postgres = await findPostgres(database === 'sqlite' ? 'none' : undefined)
process.env.MAILKEEP_TEST_POSTGRES = postgres.url ?? 'none'
if (database !== undefined) process.env.MAILKEEP_TEST_DATABASE = database
if (timing) process.env.MAILKEEP_TEST_TIMING = 'yes'
process.env.FAULT_ROUNDS ??= '5' // `npm run test:faults` runs more
// Node keeps the compiled modules, for the processes after the first.
process.env.NODE_COMPILE_CACHE ??= join(folder, 'compiled')
if (process.env.MAILKEEP_TEST_BINARY === undefined) {
  await buildBundle(join(folder, 'bundle'))
  process.env.MAILKEEP_TEST_BUNDLE = join(folder, 'bundle/mailkeep.cjs')
}

// Unpacks the browser. Processes that do so at the same time find a program that is still being written.
await sparticuz.executablePath().catch(() => undefined) // not on Linux: support/browser.ts says so

const skipped = { postgres: 0, browser: 0 }
const results = run({
  files: timing ? timed(files()) : grouped(files()),
  concurrency: timing ? 1 : processesAtOnce,
  timeout: hungAfterMs,
})
results.on('test:pass', ({ skip }) => {
  if (skip === withoutPostgres) skipped.postgres += 1
  if (typeof skip === 'string' && skip.startsWith(withoutBrowser)) skipped.browser += 1
})
results.on('test:fail', ({ todo }) => {
  if (todo === undefined) process.exitCode = 1
})
results.once('end', async () => {
  await postgres.close()
  process.once('exit', () => process.stderr.write(whatWasSkipped()))
})
results.compose(new spec()).pipe(process.stdout)

function files(): string[] {
  const paths = positionals.length > 0 ? positionals : folders.map((folder) => join(import.meta.dirname, folder))
  return paths.flatMap((path) => {
    if (!existsSync(path)) throw new Error(`There is no ${path}: name test files or folders.`)
    if (!statSync(path).isDirectory()) return [resolve(path)]
    const names = readdirSync(path).filter((name) => name.endsWith('.test.ts'))
    return names.sort().map((name) => resolve(path, name))
  })
}

function timed(all: readonly string[]): string[] {
  return all.filter((file) => readFileSync(file, 'utf8').includes('/support/timing.ts'))
}

/** Replaces several files of a folder by one that imports them. */
function grouped(all: readonly string[]): string[] {
  return [...new Set(all.map((file) => dirname(file)))].flatMap((folder) => {
    const own = all.filter((file) => dirname(file) === folder)
    const shared = apart.has(basename(folder)) ? [] : own.filter((file) => !needsOwnDatabase(file))
    const groups: string[][] = Array.from({ length: Math.ceil(shared.length / filesPerProcess) }, () => [])
    // Neighbours in the alphabet are often of one kind, and equally slow.
    for (const [n, file] of shared.entries()) groups[n % groups.length]!.push(file)
    return [...own.filter((file) => !shared.includes(file)), ...groups.map(groupOf)]
  })
}

/** Whether a file uses more of its process's PostgreSQL database than schemas of its own. */
function needsOwnDatabase(file: string): boolean {
  return readFileSync(file, 'utf8').includes('databaseUrl')
}

function groupOf(members: readonly string[]): string {
  if (members.length === 1) return members[0]!
  const first = members[0]!
  const path = join(folder, `${basename(dirname(first))}-${basename(first, '.test.ts')}.mjs`)
  const imports = members.map((file) => `await load(${JSON.stringify(pathToFileURL(file).href)})`)
  writeFileSync(path, `${loader}${imports.join('\n')}\n`)
  return path
}

function whatWasSkipped(): string {
  const lines: string[] = []
  if (database !== 'sqlite' && (postgres.url === undefined || skipped.postgres > 0)) {
    const reason = postgres.reason ?? 'the one that was found is not enough, and none could be started'
    lines.push(`\n*** NO POSTGRESQL (${reason}): ${skipped.postgres} tests were SKIPPED. ***\n\n`)
  }
  if (skipped.browser > 0) lines.push(`\n*** NO BROWSER: ${skipped.browser} tests were SKIPPED. ***\n\n`)
  return lines.join('')
}
