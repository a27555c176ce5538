/** Repairs the delays of sequences after the clock was set back. */
import { sql } from 'kysely'
import { now, type Tx } from '../context.ts'
import { maxRowsPerBatch } from '../jobs/operations.ts'
import { int, nullable, statement, time } from '../storage/statement.ts'
import { dueAfter } from './enrolments.ts'
import { nextPlace, type Progress } from './places.ts'
import { listPlaces } from './step-queries.ts'

const listLongestDelays = statement.all(
  {},
  () => sql<{ sequence_id: number; delay_seconds: number }>`select * from (
    select s.id as sequence_id, (select max(delay_seconds) from mailkeep_step
      where sequence_id = s.id and not is_removed) as delay_seconds
    from mailkeep_sequence as s where s.status = 'active') as item where delay_seconds is not null`,
)

/** Lists enrolments whose delay begins in the future and ends later than any delay of their sequence can. */
const listStale = statement.all(
  { sequence_id: int, latest: time, now: time, limit: int },
  (_, p, dialect) => sql<Progress & { id: number }>`
    select id, last_step_id, passed_ids from mailkeep_enrolment
    where sequence_id = ${p.sequence_id} and status = 'active' and due_at > ${p.latest} and since > ${p.now}
    order by due_at limit ${p.limit} ${dialect.forUpdateSkipLocked}`,
)

const restartDelays = statement.each(
  { id: int, due_at: nullable(time), since: time },
  (item, from) => sql`
    update mailkeep_enrolment set since = ${item.since}, due_at = ${item.due_at} ${from}
    where mailkeep_enrolment.id = ${item.id}`,
)

/**
 * Begins the delays of enrolments again that wait longer than any step of their sequence does: the clock was set back since.
 *
 * @returns Their number, up to a limit.
 */
export async function restartStaleDelays(tx: Tx): Promise<number> {
  const since = now(tx)
  const enrolments: { id: number; due_at: string | null; since: string }[] = []
  for (const longest of await listLongestDelays(tx, {})) {
    const { sequence_id } = longest
    const limit = maxRowsPerBatch - enrolments.length
    const rows = await listStale(tx, { sequence_id, latest: dueAfter(longest, since)!, now: since, limit })
    if (rows.length === 0) continue
    const places = await listPlaces(tx, { sequence_id })
    for (const row of rows) {
      enrolments.push({ id: row.id, due_at: dueAfter(nextPlace(places, row), since), since })
    }
    if (enrolments.length >= maxRowsPerBatch) break
  }
  if (enrolments.length > 0) await restartDelays(tx, enrolments)
  return enrolments.length
}
