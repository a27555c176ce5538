import { randomUUID } from 'node:crypto'
import { sql } from 'kysely'
import { erasedError } from '../../clearing/operations.ts'
import { type Context, now, type Tx } from '../../context.ts'
import { chunkRows } from '../../jobs/operations.ts'
import { bool, int, ints, nullable, statement, text, time } from '../../storage/statement.ts'
import { transact } from '../../storage/transaction.ts'
import { msOf, type Timestamp, timestamp } from '../../time.ts'
import { bodyUnlessErased, insertAttempt } from '../queries.ts'
import type { DueEndpoint, Grant } from './fairness.ts'
import { holdDeliveries } from './pause.ts'

/** A delivery claimed for one attempt, with all that sending needs. */
export interface Claimed {
  readonly id: number
  readonly uuid: string
  readonly clientId: number
  readonly endpointId: number
  /** Whose share of the requests in flight it takes: its client's, or that of all subscribers, which is 0's. */
  readonly account: number
  readonly eventType: string
  readonly retry: boolean
  /** This attempt's number, over all rounds and in this one. */
  readonly attempt: number
  readonly attemptOfRound: number
  /** Proves that the outcome is still ours to record. */
  readonly claim: string
  readonly url: string
  readonly sealedSecret: string
  readonly endpointUuid: string
  readonly body: string
}

/** Where deliveries are due, and when the next will be. */
export interface Due {
  readonly endpoints: readonly DueEndpoint[]
  /** Milliseconds since 1970; undefined when nothing waits. */
  readonly nextMs: number | undefined
}

/** How much longer than the time-out a claim lasts: a dead process's claims return by then. */
const leaseBeyondTimeoutMs = 15_000

export function leaseMs({ webhooks }: Context): number {
  return webhooks.timeoutSeconds * 1000 + leaseBeyondTimeoutMs
}

/** When a claim made now ends. */
export function leaseUntil(ctx: Context): Timestamp {
  return timestamp(ctx.clock() + leaseMs(ctx))
}

interface WaitingRow {
  id: number
  client_id: number
  active: boolean
  /** Whether its last attempt succeeded. */
  proven: boolean
  next_due_at: Timestamp
  due: number
}

/**
 * Endpoint first: jumping from endpoint to endpoint over the index costs a few microseconds each, whatever their
 * backlogs, and no endpoint's backlog hides another's. Of the host's subscribers only those that this process handles.
 */
export const listWaiting = statement.all(
  { retry: bool, now: time, most: int, handled: ints },
  (_, p, dialect) => sql<WaitingRow>`
    with recursive waiting (endpoint_id) as (
      select min(endpoint_id) from mailkeep_delivery where status = 'pending' and retry = ${p.retry}
      union all
      select (select min(endpoint_id) from mailkeep_delivery
        where status = 'pending' and retry = ${p.retry} and endpoint_id > waiting.endpoint_id)
      from waiting where waiting.endpoint_id is not null)
    select endpoint.id, coalesce(endpoint.client_id, 0) as client_id, endpoint.active,
      (endpoint.last_triggered_at is not null and endpoint.consecutive_failures = 0) as proven,
      (select min(due_at) from mailkeep_delivery
        where status = 'pending' and retry = ${p.retry} and endpoint_id = endpoint.id) as next_due_at,
      (select count(*) from (select 1 from mailkeep_delivery
        where status = 'pending' and retry = ${p.retry} and endpoint_id = endpoint.id and due_at <= ${p.now}
        limit ${p.most}) as counted) as due
    from waiting join mailkeep_endpoint as endpoint on endpoint.id = waiting.endpoint_id
    where endpoint.id > 0 or ${dialect.anyOf(sql.ref('endpoint.id'), p.handled)}`,
)

interface DueRow {
  id: number
  client_id: number
  claim: string | null
  attempts: number
  attempts_before: number
  due_at: Timestamp
}

/** Of an endpoint that is still there and active. */
const listDue = statement.all(
  { retry: bool, endpoint_id: int, now: time, limit: int },
  (_, p, dialect) => sql<DueRow>`
    select id, client_id, claim, attempts, attempts_before, due_at from mailkeep_delivery
    where status = 'pending' and retry = ${p.retry} and endpoint_id = ${p.endpoint_id} and due_at <= ${p.now}
      and exists (select 1 from mailkeep_endpoint where id = ${p.endpoint_id} and disabled_reason is null)
    order by due_at limit ${p.limit} ${dialect.lockForClaim}`,
)

/** The claim itself; attempts rise with it, so that none is ever uncounted. */
const claimDeliveries = statement({ ids: ints, claim: text, lease_until: time }, (db, p, dialect) =>
  db
    .updateTable('mailkeep_delivery')
    .set((eb) => ({ claim: p.claim, due_at: p.lease_until, attempts: eb('attempts', '+', 1) }))
    .where(dialect.anyOf(sql.ref('id'), p.ids)),
)

const renewLease = statement.affected({ id: int, claim: text, lease_until: time }, (db, p) =>
  db
    .updateTable('mailkeep_delivery')
    .set({ due_at: p.lease_until })
    .where('id', '=', p.id)
    .where('claim', '=', p.claim)
    .where('status', '=', 'pending'),
)

const loadDeliveries = statement.all({ ids: ints }, (db, p, dialect) =>
  db
    .selectFrom('mailkeep_delivery as d')
    .innerJoin('mailkeep_event as e', 'e.id', 'd.event_id')
    .innerJoin('mailkeep_endpoint as p', 'p.id', 'd.endpoint_id')
    .select([
      'd.id',
      'd.uuid',
      'd.client_id',
      'd.endpoint_id',
      'd.event_type',
      'd.retry',
      'd.attempts',
      'd.attempts_before',
      bodyUnlessErased.as('body'),
      'p.url',
      'p.uuid as endpoint_uuid',
      'p.secret',
    ])
    .where(dialect.anyOf(sql.ref('d.id'), p.ids)),
)

const giveUp = statement({ id: int, error: nullable(text), now: time }, (db, p) =>
  db
    .updateTable('mailkeep_delivery')
    .set({ status: 'failed', claim: null, error: p.error, due_at: p.now })
    .where('id', '=', p.id),
)

/**
 * Looks where deliveries are due; what is due at endpoints switched off meanwhile is held on the way.
 *
 * @param most So many are counted of an endpoint.
 * @param handled The subscribers that have a handler in this process.
 */
export async function lookForDue(ctx: Context, most: number, handled: readonly number[]): Promise<Due> {
  const at = now(ctx)
  const endpoints: DueEndpoint[] = []
  let next: Timestamp | undefined
  const waiting = await Promise.all(
    [false, true].map(async (retry) => {
      const rows = await listWaiting(ctx, { retry, now: at, most, handled })
      return rows.map((row) => ({ ...row, retry }))
    }),
  )
  for (const { id, client_id: clientId, active, retry, due, proven, next_due_at } of waiting.flat()) {
    if (active && due > 0) endpoints.push({ id, clientId, retry, due, proven: Boolean(proven) })
    else if (!active) await transact(ctx, (tx) => holdDeliveries(tx, id, chunkRows))
    else if (next === undefined || next_due_at < next) next = next_due_at
  }
  return { endpoints, nextMs: next === undefined ? undefined : msOf(next) }
}

/**
 * Claims what is granted, with a lease.
 *
 * @param grant Says what may start now, when the transaction's turn has come.
 * @param inFlight The deliveries that this process has in flight: it never claims them again, whatever the clock says.
 */
export function claimDue(
  ctx: Context,
  grant: () => readonly Grant[],
  inFlight: ReadonlyMap<number, unknown>,
): Promise<Claimed[]> {
  return transact(ctx, async (tx) => {
    const rows = await loadDeliveries(tx, { ids: await findClaimable(tx, grant(), inFlight) })
    const ready = rows.filter(({ body }) => body !== '')
    for (const { id, body } of rows) if (body === '') await giveUp(tx, { id, error: erasedError, now: now(tx) })
    if (ready.length === 0) return []
    const claim = randomUUID()
    const ids = ready.map(({ id }) => id)
    await claimDeliveries(tx, { ids, claim, lease_until: leaseUntil(tx) })
    return ready.map((row) => claimedFrom(row, claim))
  })
}

/** @returns whether the claim still holds: then it lasts a whole lease from now. */
export async function renewClaim(ctx: Context, { id, claim }: Claimed): Promise<boolean> {
  return transact(ctx, async (tx) => (await renewLease(tx, { id, claim, lease_until: leaseUntil(tx) })) > 0)
}

/** What is due and has attempts left; what has none is given up. */
async function findClaimable(
  tx: Tx,
  grants: readonly Grant[],
  inFlight: ReadonlyMap<number, unknown>,
): Promise<number[]> {
  const ids: number[] = []
  for (const grant of grants) {
    for (const row of await findGranted(tx, grant)) {
      if (inFlight.has(row.id)) continue
      if (row.claim !== null) await noteInterruption(tx, row)
      const spent = row.attempts - row.attempts_before > tx.webhooks.retryScheduleSeconds.length
      if (spent) await giveUp(tx, { id: row.id, error: 'The last attempt was interrupted.', now: now(tx) })
      else ids.push(row.id)
    }
  }
  return ids
}

function findGranted(tx: Tx, { endpointId, retry, limit }: Grant) {
  return listDue(tx, { retry, endpoint_id: endpointId, now: now(tx), limit })
}

/** The lease has run out: whoever had the claim died, or could not record the outcome. */
async function noteInterruption(tx: Tx, { id, client_id, attempts, due_at }: DueRow): Promise<void> {
  await insertAttempt(tx, {
    delivery_id: id,
    number: attempts,
    client_id,
    started_at: timestamp(msOf(due_at) - leaseMs(tx)),
    duration_ms: null,
    response_status: null,
    error: 'The attempt was interrupted: its outcome is not known.',
    response_body: null,
  })
}

/** @param row As it was before the claim. */
function claimedFrom(row: Awaited<ReturnType<typeof loadDeliveries>>[number], claim: string): Claimed {
  return {
    id: row.id,
    uuid: row.uuid,
    clientId: row.client_id,
    endpointId: row.endpoint_id,
    account: row.endpoint_id < 0 ? 0 : row.client_id,
    eventType: row.event_type,
    retry: Boolean(row.retry),
    attempt: row.attempts + 1,
    attemptOfRound: row.attempts + 1 - row.attempts_before,
    claim,
    url: row.url,
    sealedSecret: row.secret,
    endpointUuid: row.endpoint_uuid,
    body: row.body,
  }
}
