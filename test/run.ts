/**
 * Runs test files two at a time against one PostgreSQL; see find-postgres. Arguments are files or folders; default: all
 * rooms. Without PostgreSQL, the end of the output says how many tests were skipped.
 */
import { readdirSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { run } from 'node:test'
import { spec } from 'node:test/reporters'
import { findPostgres } from './support/find-postgres.ts'

/** Same text as in support/databases.ts, which cannot be imported here because it registers test hooks. */
const withoutPostgres = 'there is no PostgreSQL'

const filesAtOnce = 2

/** The folders of `npm test`. The others have commands of their own. */
const rooms = [
  'contacts',
  'daemon',
  'faults',
  'http',
  'library',
  'package',
  'project',
  'properties',
  'storage',
  'webhooks',
]

const postgres = await findPostgres()
process.env.MAILKEEP_TEST_POSTGRES = postgres.url ?? 'none'
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.once(signal, () => process.exit(1))

let skipped = 0
const results = run({ files: files(), concurrency: filesAtOnce })
results.on('test:pass', ({ skip }) => {
  if (skip === withoutPostgres) skipped += 1
})
results.on('test:fail', ({ todo }) => {
  if (todo === undefined) process.exitCode = 1
})
results.once('end', async () => {
  await postgres.close()
  if (postgres.url === undefined || skipped > 0) process.once('exit', () => process.stderr.write(loudly()))
})
results.compose(new spec()).pipe(process.stdout)

function files(): string[] {
  const given = process.argv.slice(2)
  const paths = given.length > 0 ? given : rooms.map((room) => join(import.meta.dirname, room))
  return paths.flatMap((path) => {
    if (!statSync(path).isDirectory()) return [path]
    const names = readdirSync(path).filter((name) => name.endsWith('.test.ts'))
    return names.sort().map((name) => join(path, name))
  })
}

function loudly(): string {
  const reason = postgres.reason ?? 'the one that was found is not enough, and none could be started'
  return `\n*** NO POSTGRESQL (${reason}): ${skipped} tests were SKIPPED. ***\n\n`
}
