import { type RawBuilder, sql } from 'kysely'
import { int, ints, nullable, statement, text, time, word } from '../storage/statement.ts'
import type { Timestamp } from '../time.ts'
import { contactPlace } from './event-body.ts'

/** An event's body, with the contact that it shares with other events. */
export const wholeBody = sql<string>`case when e.shared_contact_id is null then e.body else replace(e.body,
  ${sql.lit(contactPlace)}, '"contact":' || (select document from mailkeep_shared_contact where id = e.shared_contact_id)) end`

/**
 * A text of an event. It is empty once the contact is erased, even before the background deletion clears the column. A contact
 * that was merged is not erased: a stored job moves its events.
 */
const unlessErased = (text: RawBuilder<string>) => sql<string>`case when e.contact_id is null
  or exists (select 1 from mailkeep_contact where id = e.contact_id)
  or exists (select 1 from mailkeep_merged_contact where contact_id = e.contact_id) then ${text} else '' end`

export const bodyUnlessErased = unlessErased(wholeBody)

const endpointKey = { client_id: int, id: int }

export const listEndpoints = statement.range({ client_id: int }, (db, p) =>
  db.selectFrom('mailkeep_endpoint').selectAll().where('client_id', '=', p.client_id),
)

export const listAllEndpoints = statement.all({ client_id: int }, (db, p) =>
  db
    .selectFrom('mailkeep_endpoint')
    .select(['id', 'events', 'disabled_reason'])
    .where('client_id', '=', p.client_id)
    .orderBy('id'),
)

export const countEndpoints = statement({ client_id: int }, (db, p) =>
  db
    .selectFrom('mailkeep_endpoint')
    .select((eb) => sql<number>`cast(${eb.fn.countAll()} as integer)`.as('count'))
    .where('client_id', '=', p.client_id),
)

export const findEndpoint = statement(endpointKey, (db, p) =>
  db.selectFrom('mailkeep_endpoint').selectAll().where('client_id', '=', p.client_id).where('id', '=', p.id),
)

export const lockEndpoint = statement(endpointKey, (db, p, dialect) =>
  db
    .selectFrom('mailkeep_endpoint')
    .select('active')
    .where('client_id', '=', p.client_id)
    .where('id', '=', p.id)
    .modifyEnd(dialect.forUpdate),
)

export const insertEndpoint = statement(
  {
    client_id: int,
    uuid: text,
    url: text,
    description: text,
    events: text,
    secret: text,
    created_at: time,
  },
  (db, row) =>
    db
      .insertInto('mailkeep_endpoint')
      .values({ ...row, kind: sql.lit('http'), active: sql.lit(true), consecutive_failures: sql.lit(0) })
      .returningAll(),
)

export const describeEndpoint = statement({ ...endpointKey, description: text }, (db, p) =>
  db
    .updateTable('mailkeep_endpoint')
    .set({ description: p.description })
    .where('client_id', '=', p.client_id)
    .where('id', '=', p.id),
)

/** Activates the endpoint and resets its failure count and `disabled_reason`. */
export const activateEndpoint = statement(endpointKey, (db, p) =>
  db
    .updateTable('mailkeep_endpoint')
    .set({
      active: sql.lit(true),
      disabled_reason: null,
      consecutive_failures: sql.lit(0),
      first_failure_at: null,
    })
    .where('client_id', '=', p.client_id)
    .where('id', '=', p.id),
)

/** Switches the endpoint off. `auto_failures` does not overwrite the reason of an endpoint that is already off. */
export const switchOffEndpoint = statement({ ...endpointKey, reason: word<'manual' | 'auto_failures'>() }, (db, p) =>
  db
    .updateTable('mailkeep_endpoint')
    .set({ active: sql.lit(false), disabled_reason: p.reason })
    .where('client_id', '=', p.client_id)
    .where('id', '=', p.id)
    .where((eb) => eb.or([eb('disabled_reason', 'is', null), eb(p.reason, '=', 'manual')]))
    .returning('id'),
)

/** Keeps the previous secret until a time, or deletes it if there is none. */
export const replaceSecret = statement.affected(
  { ...endpointKey, secret: text, overlaps_until: nullable(time) },
  (db, p) =>
    db
      .updateTable('mailkeep_endpoint')
      .set({
        secret: p.secret,
        previous_secret: sql<string | null>`case when ${p.overlaps_until} is null then null else secret end`,
        previous_secret_until: p.overlaps_until,
      })
      .where('client_id', '=', p.client_id)
      .where('id', '=', p.id),
)

export const deleteEndpoint = statement(endpointKey, (db, p) =>
  db.deleteFrom('mailkeep_endpoint').where('client_id', '=', p.client_id).where('id', '=', p.id).returning('id'),
)

/** Locks pending deliveries of an endpoint that are not claimed. `waiting`: waits for rows that are locked already. */
export const lockPending = statement.all(
  { endpoint_id: int, limit: int },
  (_, p, dialect, { waiting }) => sql<{ id: number }>`select id from mailkeep_delivery
    where status = 'pending' and lease_until is null and endpoint_id = ${p.endpoint_id}
    limit ${p.limit} ${waiting ? dialect.forUpdate : dialect.forUpdateSkipLocked}`,
  ['waiting'],
)

/** Holds deliveries while their endpoint is switched off. */
export const holdDeliveries = statement.affected(
  { ids: ints, endpoint_id: int, now: time },
  (_, p, dialect) => sql`update mailkeep_delivery set status = 'held', ended_at = ${p.now}, scheduled_at = null
    where ${dialect.inList(sql.ref('id'), p.ids)}
      and exists (select 1 from mailkeep_endpoint where id = ${p.endpoint_id} and disabled_reason is not null)`,
)

/**
 * Holds the claimed deliveries of an endpoint. They keep their claim, so that the attempt in flight is recorded.
 * `unindexed`: SQLite would read all pending deliveries of the endpoint.
 */
export const holdClaimed = statement(
  { endpoint_id: int, now: time },
  (_, p, dialect) => sql`update mailkeep_delivery set status = 'held', ended_at = ${p.now} where id in
    (select id from mailkeep_delivery where lease_until is not null
      and ${dialect.unindexed(sql.ref('endpoint_id'))} = ${p.endpoint_id} and status = 'pending' ${dialect.forUpdateSkipLocked})`,
)

export const listDeliveries = statement.range({ endpoint_id: int }, (db, p) =>
  db
    .selectFrom('mailkeep_delivery')
    .select(['id', 'uuid', 'event_type', 'status', 'attempts', 'response_status', 'delivered_at'])
    .where('endpoint_id', '=', p.endpoint_id),
)

export const findDelivery = statement({ endpoint_id: int, id: int }, (db, p) =>
  db
    .selectFrom('mailkeep_delivery as d')
    .innerJoin('mailkeep_event as e', 'e.id', 'd.event_id')
    .selectAll('d')
    .select(bodyUnlessErased.as('body'))
    .where('d.endpoint_id', '=', p.endpoint_id)
    .where('d.id', '=', p.id),
)

/** Reads a delivery and its attempt log in one statement, because two reads could contradict each other. */
export const findDeliveryDetail = statement({ endpoint_id: int, id: int }, (db, p, dialect) => {
  const columns = ['number', 'duration_ms', 'response_status', 'error', 'response_body']
  const attempt = dialect.object({
    ...Object.fromEntries(columns.map((name) => [name, dialect.value(sql.ref(`a.${name}`))])),
    started_at: dialect.time(sql.ref('a.started_at')),
  })
  const log = dialect.list(attempt, sql.ref('a.number'), sql`from mailkeep_attempt as a where a.delivery_id = d.id`)
  return db
    .selectFrom('mailkeep_delivery as d')
    .innerJoin('mailkeep_event as e', 'e.id', 'd.event_id')
    .selectAll('d')
    .select(['e.contact_id', bodyUnlessErased.as('body'), dialect.jsonText(log).as('attempt_log')])
    .where('d.endpoint_id', '=', p.endpoint_id)
    .where('d.id', '=', p.id)
})

/**
 * Makes a delivery pending and due now.
 *
 * - Claimed (its attempt is running): it keeps its claim. `attempts_before` equals `attempts`, which no other claimed
 *   delivery has. So `recordAttempts` knows that it is due after the attempt, unless that was final.
 * - Pending and not claimed: it keeps its position in the retry schedule.
 * - Otherwise: it starts the retry schedule from the beginning.
 */
const dueNow = (p: { now: unknown }) => ({
  status: 'pending' as const,
  due_at: sql<string>`case when claim is null then ${p.now} else due_at end`,
  scheduled_at: sql<string>`case when claim is null then ${p.now} else scheduled_at end`,
  ended_at: null,
  attempts_before: sql<number>`case when status = 'pending' and claim is null then attempts_before else attempts end`,
})

export const reschedule = statement({ id: int, now: time }, (db, p) =>
  db
    .updateTable('mailkeep_delivery')
    .set({ ...dueNow(p), delivered_at: null })
    .where('id', '=', p.id),
)

/** @param erased The error of deliveries whose payload was erased. An erasure may have failed some since they were listed. */
export const rescheduleMany = statement({ ids: ints, now: time, erased: text }, (db, p, dialect) =>
  db
    .updateTable('mailkeep_delivery')
    .set(dueNow(p))
    .where(dialect.inList(sql.ref('id'), p.ids))
    .where('status', 'in', ['failed', 'held'])
    .where((eb) => eb(eb.fn.coalesce('error', sql.lit('')), '<>', p.erased)),
)

const recoverable = { endpoint_id: int, since: time, after_id: int, until: time }

/** Selects deliveries that failed or were held in a time range, after a cursor. Erased deliveries stay failed. */
const areRecoverable = (p: { [K in keyof typeof recoverable]: unknown }) => sql`
  mailkeep_delivery as d join mailkeep_event as e on e.id = d.event_id
  where d.endpoint_id = ${p.endpoint_id} and d.status in ('failed', 'held')
    and (d.ended_at, d.id) > (${p.since}, ${p.after_id}) and d.ended_at <= ${p.until} and ${unlessErased(sql`e.body`)} <> ''`

export const countRecoverable = statement(
  recoverable,
  (_, p) => sql<{ total: number }>`select count(*) as total from ${areRecoverable(p)}`,
)

export const listRecoverable = statement.all(
  { ...recoverable, limit: int },
  (_, p) => sql<{ id: number; ended_at: Timestamp }>`
    select d.id, d.ended_at from ${areRecoverable(p)} order by d.ended_at, d.id limit ${p.limit}`,
)

export const listRecentTests = statement.all({ client_id: int, from: time, to: time }, (db, p) =>
  db
    .selectFrom('mailkeep_test_delivery')
    .select('created_at')
    .where('client_id', '=', p.client_id)
    .where('created_at', '>', p.from)
    .where('created_at', '<=', p.to)
    .orderBy('created_at'),
)

export const insertTest = statement({ client_id: int, created_at: time }, (db, row) =>
  db.insertInto('mailkeep_test_delivery').values(row),
)

/** Deletes tests before the window, and tests in the future (the clock was set back after them). */
export const deleteOtherTests = statement({ client_id: int, from: time, to: time }, (db, p) =>
  db
    .deleteFrom('mailkeep_test_delivery')
    .where('client_id', '=', p.client_id)
    .where((eb) => eb.or([eb('created_at', '<=', p.from), eb('created_at', '>', p.to)])),
)

const attempt = {
  delivery_id: int,
  number: int,
  client_id: int,
  started_at: time,
  duration_ms: nullable(int),
  response_status: nullable(int),
  error: nullable(text),
  response_body: nullable(text),
}

/** Inserts each attempt once. An outcome that arrives after the lease expired changes nothing. */
export const insertAttempts = statement.each(
  attempt,
  (item, from) => sql`
    insert into mailkeep_attempt
      (delivery_id, number, client_id, started_at, duration_ms, response_status, error, response_body)
    select ${item.delivery_id}, ${item.number}, ${item.client_id}, ${item.started_at}, ${item.duration_ms},
      ${item.response_status}, ${item.error}, ${item.response_body} ${from} where true
    on conflict do nothing`,
)
