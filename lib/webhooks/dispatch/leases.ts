/** Frees deliveries that a dead process had claimed, and those that wait for a time of a clock that was set back. */
import { sql } from 'kysely'
import { now, type Tx } from '../../context.ts'
import { int, ints, statement, time } from '../../storage/statement.ts'
import { type Clock, type Timestamp, timestamp } from '../../time.ts'
import { insertAttempt } from '../queries.ts'
import type { DeliveryStatus } from '../schema.ts'
import { failDelivery } from './claim.ts'

const maxRowsPerTurn = 500
/** The wall clock may drift this far from the monotonic one without having been set. */
const toleratedDriftMs = 2000

interface ExpiredLease {
  id: number
  uuid: string
  client_id: number
  endpoint_id: number
  status: DeliveryStatus
  attempts: number
  attempts_before: number
  claimed_at: Timestamp | null
}

/** A lease that began in the future was written before the clock was set back. */
const listExpiredLeases = statement.all(
  { now: time, future: time, limit: int },
  (_, p, dialect) => sql<ExpiredLease>`
    select id, uuid, client_id, endpoint_id, status, attempts, attempts_before, claimed_at
    from mailkeep_delivery
    where lease_until is not null and (lease_until <= ${p.now} or claimed_at > ${p.future})
    order by lease_until limit ${p.limit} ${dialect.forUpdateSkipLocked}`,
)

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
 * Frees the deliveries whose lease has run out: their process died, or could not record the outcome. The attempt is
 * logged as interrupted; after the last attempt of the schedule the delivery fails.
 *
 * @param inFlight Deliveries in flight in this process: they keep their claim, whatever the clock says.
 * @returns how many leases it ended.
 */
export async function releaseExpiredLeases(tx: Tx, inFlight: ReadonlyMap<number, unknown>): Promise<number> {
  const limit = maxRowsPerTurn + inFlight.size
  const rows = await listExpiredLeases(tx, { now: now(tx), future: futureOf(tx.clock), limit })
  const expired = rows.filter(({ id }) => !inFlight.has(id))
  for (const row of expired) {
    await insertAttempt(tx, {
      delivery_id: row.id,
      number: row.attempts,
      client_id: row.client_id,
      started_at: row.claimed_at ?? now(tx),
      duration_ms: null,
      response_status: null,
      error: 'The attempt was interrupted: its outcome is not known.',
      response_body: null,
    })
  }
  const isSpent = (row: ExpiredLease) =>
    row.status === 'pending' && row.attempts - row.attempts_before > tx.webhooks.retryScheduleSeconds.length
  for (const row of expired.filter(isSpent)) await failInterrupted(tx, row)
  const ids = expired.filter((row) => !isSpent(row)).map(({ id }) => id)
  if (ids.length > 0) await releaseLeases(tx, { ids, now: now(tx) })
  return expired.length
}

async function failInterrupted(tx: Tx, { id, uuid, client_id, endpoint_id, attempts }: ExpiredLease): Promise<void> {
  const reason = 'The last attempt was interrupted.'
  await failDelivery(tx, { id, error: reason, now: now(tx) })
  const fields = { client_id, endpoint_id, delivery: uuid, attempt: attempts, reason }
  tx.transaction.afterCommit(() => tx.logger.warn(fields, 'a delivery failed and will not be retried'))
}

/**
 * Makes deliveries due that were scheduled in the future: the clock was set back since. @returns how many; up to a limit, so that
 * there may be more until it returns 0.
 */
export function releaseStaleSchedules(tx: Tx): Promise<number> {
  return releaseSchedules(tx, { now: now(tx), future: futureOf(tx.clock), limit: maxRowsPerTurn })
}

function futureOf(clock: Clock): Timestamp {
  return timestamp(clock() + toleratedDriftMs)
}

/** Tells whether the clock was set since the last call. */
export function watchClock(clock: Clock): () => boolean {
  let expectedDriftMs = clock() - performance.now()
  return () => {
    const driftMs = clock() - performance.now()
    const wasSet = Math.abs(driftMs - expectedDriftMs) > toleratedDriftMs
    expectedDriftMs = driftMs
    return wasSet
  }
}
