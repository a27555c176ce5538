/** The commands for addresses that must not be mailed. */
import assert from 'node:assert/strict'
import { describe, type TestContext } from 'node:test'
import { onPostgres, test } from '../support/databases.ts'
import { openPlace } from '../support/postgres-program.ts'
import { directory, run, runJson, type Surroundings } from '../support/program.ts'

interface Shown {
  readonly id: number
  readonly email: string | null
  readonly reason: string
}

function suite(open: (t: TestContext) => Promise<Surroundings>): void {
  test('add addresses, list them and remove them', async (t) => {
    const place = await open(t)
    const of = ['--client', String((await runJson<{ id: number }>(['client', 'create', 'Acme'], place)).id)]
    assert.equal((await run(['suppression', 'list', ...of], place)).out, 'no suppressions\n')
    const added = await runJson<Shown>(['suppression', 'add', 'Ada@example.org', ...of], place)
    assert.deepEqual([added.email, added.reason], ['Ada@example.org', 'manual'])
    const again = await runJson<Shown>(['suppression', 'add', 'ada@EXAMPLE.org', ...of], place)
    assert.equal(again.id, added.id)
    assert.match((await run(['suppression', 'list', ...of], place)).out, /^\d+ {2}Ada@example\.org {2}manual {2}\d{4}-/)
    const wrong = await run(['suppression', 'add', 'not-an-address', ...of], place)
    assert.deepEqual([wrong.err, wrong.code], ['mailkeep: EMAIL must be an e-mail address.\n', 2])
    const remove = ['suppression', 'remove', String(added.id)]
    assert.deepEqual(await runJson(remove, place), { id: added.id, removed: true })
    const missing = await run(remove, place)
    assert.deepEqual([missing.err, missing.code], [`mailkeep: There is no suppression ${added.id}.\n`, 1])
    assert.deepEqual(await runJson(['suppression', 'list', ...of], place), [])
    const log = await runJson<{ type: string; source: string }[]>(['audit', 'list', ...of], place)
    assert.deepEqual(
      log.slice(0, 2).map(({ type, source }) => [type, source]),
      [
        ['suppression.deleted', 'cli'],
        ['suppression.created', 'cli'],
      ],
    )
  })
}

describe('the commands for suppressions, on SQLite', () => suite(async (t) => ({ cwd: await directory(t) })))
onPostgres('the commands for suppressions, on PostgreSQL', () => suite(openPlace))
