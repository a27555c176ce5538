import { sql } from 'kysely'
import { type Context, now, type Tx } from '../../context.ts'
import { claimsOf, leaseEnd, newClaim } from '../../dispatch/claims.ts'
import type { DueWork, TasksInFlight } from '../../dispatch/work.ts'
import { int, ints, nullable, statement, text, time } from '../../storage/statement.ts'
import { transact } from '../../storage/transaction.ts'
import { dueMsOf, type Timestamp } from '../../time.ts'
import { erasedError } from '../deletion.ts'
import { bodyUnlessErased } from '../queries.ts'
import type { DeliveryStatus, EndpointKind } from '../schema.ts'
import type { Allowance, DueEndpoint } from './fairness.ts'
import { holdDeliveries } from './pause.ts'

/** A delivery claimed for one attempt, with all the data that the attempt needs. */
export interface ClaimedDelivery {
  readonly id: number
  readonly uuid: string
  readonly clientId: number
  /** The client whose quota of requests in flight the delivery counts against; 0 for all event handlers. */
  readonly quotaClientId: number
  readonly raisedAt: Timestamp
  readonly endpointId: number
  readonly kind: EndpointKind
  readonly eventType: string
  /** This attempt's number, from 1. It keeps counting when a redelivery restarts the retry schedule. */
  readonly attempt: number
  /** This attempt's position in the retry schedule, from 1. A redelivery restarts the schedule. */
  readonly scheduleAttempt: number
  /** Token of the claim. This process may record the outcome only while the row has this token. */
  readonly claim: string
  readonly url: string
  readonly sealedSecret: string
  /** The secret before the last rotation, while it signs too. */
  readonly sealedPreviousSecret: string | null
  readonly endpointUuid: string
  readonly body: string
}

interface DueEndpoints extends Omit<DueWork<unknown>, 'plan'> {
  readonly endpoints: readonly DueEndpoint[]
}

interface DueEndpointRow {
  id: number
  client_id: number
  active: boolean
  /** Whether the endpoint's last attempt succeeded. */
  proven: boolean
  first_due_at: Timestamp
  due: number
}

/** The last row of the result. */
interface SummaryRow {
  id: null
  /** The earliest future due time. */
  first_due_at: Timestamp | null
  /** The number of endpoints with waiting deliveries. */
  due: number
}

/**
 * Lists the endpoints that have deliveries due, by a loose index scan over the unclaimed deliveries. An endpoint costs a
 * few microseconds, however long its backlog. A scan ordered by `due_at` would first read the whole backlog of an
 * endpoint that hangs. Of the handler endpoints, only the ones with a handler in this process are listed. The count has an
 * order so that PostgreSQL uses the index: beside a long backlog, it expects to find enough rows anywhere in the table.
 */
export const listDueEndpoints = statement.all(
  { now: time, max_due: int, handled: ints },
  (_, p, dialect) => sql<DueEndpointRow | SummaryRow>`
    with recursive free (endpoint_id) as (
      select min(endpoint_id) from mailkeep_delivery where status = 'pending' and lease_until is null
      union all
      select (select min(endpoint_id) from mailkeep_delivery
        where status = 'pending' and lease_until is null and endpoint_id > free.endpoint_id)
      from free where free.endpoint_id is not null),
    waiting as materialized (
      select endpoint_id, (select min(due_at) from mailkeep_delivery
        where status = 'pending' and lease_until is null and endpoint_id = free.endpoint_id) as due_at
      from free where endpoint_id is not null and (${dialect.inList(sql.ref('endpoint_id'), p.handled)}
        or endpoint_id not in (select id from mailkeep_endpoint where subscriber is not null)))
    select endpoint.id, coalesce(endpoint.client_id, 0) as client_id, endpoint.active,
      (endpoint.last_triggered_at is not null and endpoint.consecutive_failures = 0) as proven,
      waiting.due_at as first_due_at,
      (select count(*) from (select 1 from mailkeep_delivery
        where status = 'pending' and lease_until is null and endpoint_id = endpoint.id and due_at <= ${p.now}
        order by due_at limit ${p.max_due}) as counted) as due
    from waiting join mailkeep_endpoint as endpoint on endpoint.id = waiting.endpoint_id
    where waiting.due_at <= ${p.now}
    union all
    select null, null, null, null, min(case when due_at > ${p.now} then due_at end), count(*) from waiting`,
)

/** A delivery whose lease has ended. */
export interface ExpiredLease {
  id: number
  uuid: string
  client_id: number
  endpoint_id: number
  status: DeliveryStatus
  attempts: number
  attempts_before: number
  claimed_at: Timestamp | null
}

export const claims = claimsOf<ExpiredLease>(
  'mailkeep_delivery',
  sql`id, uuid, client_id, endpoint_id, status, attempts, attempts_before, claimed_at`,
)

/**
 * Locks deliveries that are due, if the endpoint still exists and is active, and reads what their attempts need. The
 * inner select locks the deliveries only. The body is a subquery, so that PostgreSQL reads no other events.
 */
const listClaimable = statement.all({ endpoint_id: int, now: time, limit: int }, (db, p, dialect) =>
  db
    .selectFrom((eb) =>
      eb
        .selectFrom('mailkeep_delivery')
        .selectAll()
        .where('status', '=', sql.lit('pending')) // a parameter would not match the condition of the index
        .where('lease_until', 'is', null)
        .where('endpoint_id', '=', p.endpoint_id)
        .where('due_at', '<=', p.now)
        .orderBy('due_at')
        .limit(p.limit)
        .modifyEnd(dialect.forUpdateSkipLocked)
        .as('d'),
    )
    .innerJoin('mailkeep_endpoint as p', 'p.id', 'd.endpoint_id')
    .select([
      'd.id',
      'd.uuid',
      'd.client_id',
      'd.created_at',
      'd.endpoint_id',
      'd.event_type',
      'd.attempts',
      'd.attempts_before',
      'p.kind',
      'p.url',
      'p.uuid as endpoint_uuid',
      'p.secret',
      sql<string | null>`case when p.previous_secret_until > ${p.now} then p.previous_secret end`.as('previous_secret'),
      sql<string>`(select ${bodyUnlessErased} from mailkeep_event as e where e.id = d.event_id)`.as('body'),
    ])
    .where('p.id', '=', p.endpoint_id)
    .where('p.disabled_reason', 'is', null),
)

const extendLease = statement.affected({ id: int, claim: text, lease_until: time }, (db, p) =>
  db
    .updateTable('mailkeep_delivery')
    .set({ lease_until: p.lease_until })
    .where('id', '=', p.id)
    .where('claim', '=', p.claim)
    .where('status', '=', 'pending'),
)

export const failDelivery = statement({ id: int, error: nullable(text), now: time }, (db, p) =>
  db
    .updateTable('mailkeep_delivery')
    .set({
      status: 'failed',
      error: p.error,
      ended_at: p.now,
      scheduled_at: null,
      claim: null,
      claimed_at: null,
      lease_until: null,
    })
    .where('id', '=', p.id),
)

/**
 * Finds the endpoints that have deliveries due. Also holds pending deliveries of switched-off endpoints: their events were
 * raised while the endpoint was being switched off.
 *
 * @param maxDue Stops counting an endpoint's due deliveries at this number.
 * @param handled Ids of the endpoints that have a handler in this process.
 */
export async function findDue(ctx: Context, maxDue: number, handled: readonly number[]): Promise<DueEndpoints> {
  const rows = await listDueEndpoints(ctx, { now: now(ctx), max_due: maxDue, handled })
  const endpoints: DueEndpoint[] = []
  let next: Timestamp | null = null
  let backlogs = 0
  for (const row of rows) {
    if (row.id === null) {
      next = row.first_due_at
      backlogs = row.due
    } else if (row.active) {
      endpoints.push({ id: row.id, clientId: row.client_id, due: row.due, proven: Boolean(row.proven) })
    } else await transact(ctx, (tx) => holdDeliveries(tx, row.id))
  }
  return { endpoints, nextDueMs: next === null ? undefined : dueMsOf(next), backlogs }
}

/**
 * Claims due deliveries within the allowances, with a lease.
 *
 * @param inFlight Deliveries in flight in this process. They are skipped, even if a clock change ended their lease.
 */
export async function claimDeliveries(
  tx: Tx,
  allowances: readonly Allowance[],
  inFlight: TasksInFlight,
): Promise<ClaimedDelivery[]> {
  const claimable = await Promise.all(
    allowances.map(({ endpointId, limit }) => listClaimable(tx, { endpoint_id: endpointId, now: now(tx), limit })),
  )
  const rows = claimable.flat().filter(({ id }) => !inFlight.has(id))
  const ready = rows.filter(({ body }) => body !== '')
  for (const { id, body } of rows) if (body === '') await failDelivery(tx, { id, error: erasedError, now: now(tx) })
  if (ready.length === 0) return []
  const claim = newClaim(tx)
  const lease_until = leaseEnd(tx, tx.local.webhooks.settings.timeoutSeconds)
  tx.transaction.defer(claims.set(tx, { ids: ready.map(({ id }) => id), claim, now: now(tx), lease_until }))
  return ready.map((row) => ({
    id: row.id,
    uuid: row.uuid,
    clientId: row.client_id,
    quotaClientId: row.kind === 'handler' ? 0 : row.client_id,
    raisedAt: row.created_at,
    endpointId: row.endpoint_id,
    kind: row.kind,
    eventType: row.event_type,
    attempt: row.attempts + 1,
    scheduleAttempt: row.attempts + 1 - row.attempts_before,
    claim,
    url: row.url,
    sealedSecret: row.secret,
    sealedPreviousSecret: row.previous_secret,
    endpointUuid: row.endpoint_uuid,
    body: row.body,
  }))
}

/** Restarts the full lease from now. @returns false when the claim is no longer current. */
export async function renewLease(ctx: Context, { id, claim }: ClaimedDelivery): Promise<boolean> {
  return transact(ctx, async (tx) => {
    const lease_until = leaseEnd(tx, tx.local.webhooks.settings.timeoutSeconds)
    return (await extendLease(tx, { id, claim, lease_until })) > 0
  })
}
