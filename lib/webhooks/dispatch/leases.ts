/**
 * Releases deliveries that a dead process had claimed, and deliveries whose due time is wrong because the clock was set
 * back.
 */
import { sql } from 'kysely'
import { now, type Tx } from '../../context.ts'
import { maxRowsPerBatch } from '../../jobs/operations.ts'
import { int, ints, statement, time } from '../../storage/statement.ts'
import { timestamp, toleratedDriftMs } from '../../time.ts'
import { insertAttempts } from '../queries.ts'
import { type ExpiredLease, failDelivery } from './claim.ts'
import { failureMessage, interruptedError } from './record.ts'

const releaseLeases = statement({ ids: ints, now: time }, (db, p, dialect) =>
  db
    .updateTable('mailkeep_delivery')
    .set({
      claim: null,
      claimed_at: null,
      lease_until: null,
      due_at: p.now,
      scheduled_at: sql<string>`case when status = 'pending' then ${p.now} end`,
    })
    .where(dialect.inList(sql.ref('id'), p.ids)),
)

const releaseSchedules = statement.affected(
  { now: time, future: time, limit: int },
  (_, p, dialect) => sql`update mailkeep_delivery set due_at = ${p.now}, scheduled_at = ${p.now} where id in
    (select id from mailkeep_delivery where status = 'pending' and lease_until is null
      and due_at > ${p.now} and scheduled_at > ${p.future} limit ${p.limit} ${dialect.forUpdateSkipLocked})`,
)

/**
 * Releases deliveries whose process has died, or whose lease has expired because the outcome could not be recorded. Logs
 * the attempts as interrupted. If it was the last attempt of the schedule, the delivery fails.
 */
export async function releaseExpiredLeases(tx: Tx, expired: readonly ExpiredLease[]): Promise<void> {
  const attempts = expired.map((row) => ({
    delivery_id: row.id,
    number: row.attempts,
    client_id: row.client_id,
    started_at: row.claimed_at ?? now(tx),
    duration_ms: null,
    response_status: null,
    error: interruptedError,
    response_body: null,
  }))
  await insertAttempts(tx, attempts)
  const isLastAttempt = (row: ExpiredLease) =>
    row.status === 'pending' &&
    row.attempts - row.attempts_before > tx.local.webhooks.settings.retryScheduleSeconds.length
  for (const row of expired.filter(isLastAttempt)) await failInterrupted(tx, row)
  const ids = expired.filter((row) => !isLastAttempt(row)).map(({ id }) => id)
  if (ids.length > 0) await releaseLeases(tx, { ids, now: now(tx) })
}

async function failInterrupted(tx: Tx, { id, uuid, client_id, endpoint_id, attempts }: ExpiredLease): Promise<void> {
  const reason = 'The last attempt was interrupted.'
  await failDelivery(tx, { id, error: reason, now: now(tx) })
  const fields = { client_id, endpoint_id, delivery: uuid, attempt: attempts, reason }
  tx.transaction.afterCommit(() => tx.logger.warn(fields, failureMessage))
}

/**
 * Makes deliveries due that were scheduled at a time in the future: the clock was set back after that.
 *
 * @returns The number of deliveries, up to a limit. Call it until it returns 0.
 */
export function releaseStaleSchedules(tx: Tx): Promise<number> {
  return releaseSchedules(tx, {
    now: now(tx),
    future: timestamp(tx.clock() + toleratedDriftMs),
    limit: maxRowsPerBatch,
  })
}
