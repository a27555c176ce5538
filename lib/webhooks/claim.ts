import { randomUUID } from 'node:crypto'
import { type Expression, sql } from 'kysely'
import { erasedError } from '../clearing/operations.ts'
import { type Context, now, type Tx } from '../context.ts'
import { chunkRows } from '../jobs/operations.ts'
import type { Dialect } from '../storage/dialect.ts'
import { bool, int, ints, nullable, statement, text, time } from '../storage/statement.ts'
import { transact } from '../storage/transaction.ts'
import { msOf, type Timestamp, timestamp } from '../time.ts'
import { holdDeliveries } from './holding.ts'
import type { DueEndpoint, Grant } from './plan.ts'
import { bodyUnlessErased, insertAttempt } from './queries.ts'

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
  /** Endpoints with pending deliveries, due or not: what a look costs grows with them. */
  readonly waitingEndpoints: number
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

/** The endpoints that have pending deliveries; of the host's subscribers only those that this process handles. */
const waiting = (p: { retry: unknown; handled: Expression<unknown> }, dialect: Dialect) => sql`
  pending (endpoint_id) as (
    select min(endpoint_id) from mailkeep_delivery where status = 'pending' and retry = ${p.retry}
    union all
    select (select min(endpoint_id) from mailkeep_delivery
      where status = 'pending' and retry = ${p.retry} and endpoint_id > pending.endpoint_id)
    from pending where pending.endpoint_id is not null),
  waiting as materialized (
    select endpoint_id, (select min(due_at) from mailkeep_delivery
      where status = 'pending' and retry = ${p.retry} and endpoint_id = pending.endpoint_id) as due_at
    from pending where endpoint_id > 0 or ${dialect.anyOf(sql.ref('endpoint_id'), p.handled)})`

export const listWaiting = statement.all(
  { retry: bool, handled: ints },
  (_, p, dialect) => sql<{ id: number }>`with recursive ${waiting(p, dialect)} select endpoint_id as id from waiting`,
)

interface DueEndpointRow {
  id: number
  client_id: number
  active: boolean
  /** Whether its last attempt succeeded. */
  proven: boolean
  next_due_at: Timestamp
  due: number
}

/**
 * The endpoints where something is due, and one row without an id: how many endpoints have pending deliveries, and when
 * the next of those that are not due yet will be.
 *
 * Endpoint first: jumping from endpoint to endpoint over the index costs a microsecond or two each, whatever their
 * backlogs, and no endpoint's backlog hides another's. Endpoints with nothing due cost no more than that, as thousands
 * may wait for a retry.
 */
export const listDueEndpoints = statement.all(
  { retry: bool, now: time, most: int, handled: ints },
  (_, p, dialect) => sql<DueEndpointRow | { id: null; next_due_at: Timestamp | null; due: number }>`
    with recursive ${waiting(p, dialect)}
    select endpoint.id, coalesce(endpoint.client_id, 0) as client_id, endpoint.active,
      (endpoint.last_triggered_at is not null and endpoint.consecutive_failures = 0) as proven,
      waiting.due_at as next_due_at,
      (select count(*) from (select 1 from mailkeep_delivery
        where status = 'pending' and retry = ${p.retry} and endpoint_id = endpoint.id and due_at <= ${p.now}
        limit ${p.most}) as counted) as due
    from waiting join mailkeep_endpoint as endpoint on endpoint.id = waiting.endpoint_id
    where waiting.due_at <= ${p.now}
    union all
    select null, null, null, null, min(case when due_at > ${p.now} then due_at end), count(*) from waiting`,
)

interface DueRow {
  id: number
  uuid: string
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
    select id, uuid, client_id, claim, attempts, attempts_before, due_at from mailkeep_delivery
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
  let waitingEndpoints = 0
  const found = await Promise.all(
    [false, true].map(async (retry) => {
      const rows = await listDueEndpoints(ctx, { retry, now: at, most, handled })
      return rows.map((row) => ({ ...row, retry }))
    }),
  )
  for (const row of found.flat()) {
    if (row.id === null) {
      waitingEndpoints += row.due
      if (row.next_due_at !== null && (next === undefined || row.next_due_at < next)) next = row.next_due_at
      continue
    }
    const { id, client_id: clientId, active, retry, due, proven } = row
    if (active) endpoints.push({ id, clientId, retry, due, proven: Boolean(proven) })
    else await transact(ctx, (tx) => holdDeliveries(tx, id, chunkRows))
  }
  return { endpoints, waitingEndpoints, nextMs: next === undefined ? undefined : msOf(next) }
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
      if (spent) await giveUpInterrupted(tx, grant.endpointId, row)
      else ids.push(row.id)
    }
  }
  return ids
}

/** No attempt is left, and the outcome of the last is not known. */
async function giveUpInterrupted(tx: Tx, endpointId: number, { id, uuid, client_id, attempts }: DueRow): Promise<void> {
  const error = 'The last attempt was interrupted.'
  await giveUp(tx, { id, error, now: now(tx) })
  tx.transaction.afterCommit(() => {
    tx.logger.warn(
      { client_id, endpoint_id: endpointId, delivery: uuid, attempt: attempts, reason: error },
      'a delivery failed and will not be retried',
    )
  })
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
