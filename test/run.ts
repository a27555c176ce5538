/**
 * Runs test files two at a time, all of them against one PostgreSQL: see find-postgres. Arguments are files; default
 * all. Where there is no PostgreSQL, the end of the run says how many tests that cost.
 */
import { readdirSync } from 'node:fs'
import { run } from 'node:test'
import { spec } from 'node:test/reporters'
import { findPostgres } from './find-postgres.ts'

/** As databases.ts has it; that one belongs to the test files. */
const withoutPostgres = 'there is no PostgreSQL'

const filesAtOnce = 2

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
  if (given.length > 0) return given
  return [import.meta.dirname, `${import.meta.dirname}/faults`].flatMap((folder) => {
    const names = readdirSync(folder).filter((name) => name.endsWith('.test.ts'))
    return names.sort().map((name) => `${folder}/${name}`)
  })
}

function loudly(): string {
  const reason = postgres.reason ?? 'none could be started beside the one that was found'
  return `\n*** NO POSTGRESQL (${reason}): ${skipped} tests were SKIPPED. ***\n\n`
}
