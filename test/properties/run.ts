/**
 * The long version: `npm run test:properties -- --runs 100000`.
 * `--runs N`: sessions, each with a new client and a few steps; `--only NAME`: one of the subjects; `--seed S --path
 * P`: repeats a failure that was printed.
 */
import { parseArgs } from 'node:util'
import { check } from './checking.ts'
import { type Named, subjects } from './subjects.ts'

const { values } = parseArgs({
  options: {
    runs: { type: 'string', default: '1000' },
    only: { type: 'string' },
    seed: { type: 'string' },
    path: { type: 'string' },
  },
})

const say = (line: string) => void process.stdout.write(`${line}\n`)

async function tryOne({ name, open, share, needsPostgres }: Named): Promise<void> {
  if (needsPostgres && !(await import('../support/databases.ts')).hasPostgres) {
    say(`${name}: SKIPPED, there is no PostgreSQL`)
    return
  }
  const runs = Math.max(1, Math.round(Number(values.runs) * share))
  const seed = values.seed === undefined ? undefined : Number(values.seed)
  try {
    await check(name, await open(), { runs, seed, path: values.path }, say)
  } catch (error) {
    say(`\n${name} FAILED: ${error instanceof Error ? error.message : error}\n`)
    process.exitCode = 1
  }
}

const chosen = subjects.filter(({ name }) => values.only === undefined || values.only === name)
if (chosen.length === 0) throw new Error(`--only takes one of: ${subjects.map(({ name }) => name).join(', ')}`)
// Runs those on PostgreSQL last, because the test runner that they load slows everything down.
for (const subject of chosen.sort((a, b) => Number(a.needsPostgres) - Number(b.needsPostgres))) await tryOne(subject)
