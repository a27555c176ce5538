import { sql } from 'kysely'
import { bool, int, nullable, statement, text, time, word } from '../storage/statement.ts'

const endpointKey = { client_id: int, id: int }

export const listEndpoints = statement.all(
  { client_id: int, after: int, limit: int },
  (db, p, _, { desc }) =>
    db
      .selectFrom('mailkeep_endpoint')
      .selectAll()
      .where('client_id', '=', p.client_id)
      .where('id', desc ? '<' : '>', p.after)
      .orderBy('id', desc ? 'desc' : 'asc')
      .limit(p.limit),
  ['desc'],
)

export const findEndpoint = statement(endpointKey, (db, p) =>
  db.selectFrom('mailkeep_endpoint').selectAll().where('client_id', '=', p.client_id).where('id', '=', p.id),
)

export const insertEndpoint = statement(
  {
    client_id: int,
    uuid: text,
    url: text,
    description: text,
    events: text,
    active: bool,
    consecutive_failures: int,
    secret: text,
    created_at: time,
  },
  (db, row) => db.insertInto('mailkeep_endpoint').values(row).returningAll(),
)

export const describeEndpoint = statement({ ...endpointKey, description: text }, (db, p) =>
  db
    .updateTable('mailkeep_endpoint')
    .set({ description: p.description })
    .where('client_id', '=', p.client_id)
    .where('id', '=', p.id),
)

/** Starts afresh: without reason and count. */
export const activateEndpoint = statement({ ...endpointKey, active: bool, consecutive_failures: int }, (db, p) =>
  db
    .updateTable('mailkeep_endpoint')
    .set({
      active: p.active,
      disabled_reason: null,
      consecutive_failures: p.consecutive_failures,
      first_failure_at: null,
    })
    .where('client_id', '=', p.client_id)
    .where('id', '=', p.id),
)

/** Only an active one: the first reason stays. */
export const deactivateEndpoint = statement(
  { ...endpointKey, active: bool, reason: word<'manual' | 'auto_failures'>() },
  (db, p) =>
    db
      .updateTable('mailkeep_endpoint')
      .set({ active: p.active, disabled_reason: p.reason })
      .where('client_id', '=', p.client_id)
      .where('id', '=', p.id)
      .where('disabled_reason', 'is', null)
      .returning('id'),
)

export const replaceSecret = statement({ ...endpointKey, secret: text }, (db, p) =>
  db
    .updateTable('mailkeep_endpoint')
    .set({ secret: p.secret })
    .where('client_id', '=', p.client_id)
    .where('id', '=', p.id),
)

export const deleteEndpoint = statement(endpointKey, (db, p) =>
  db.deleteFrom('mailkeep_endpoint').where('client_id', '=', p.client_id).where('id', '=', p.id).returning('id'),
)

/** Some of an inactive endpoint's pending deliveries are held; those in flight keep their claim, for their outcome. */
export const holdPending = statement.affected(
  { endpoint_id: int, limit: int },
  (_, p) => sql`update mailkeep_delivery set status = 'held' where id in (
      select id from mailkeep_delivery
      where status = 'pending' and retry in (0, 1) and endpoint_id = ${p.endpoint_id} limit ${p.limit})
    and exists (select 1 from mailkeep_endpoint where id = ${p.endpoint_id} and disabled_reason is not null)`,
)

export const listDeliveries = statement.all(
  { endpoint_id: int, after: int, limit: int },
  (db, p, _, { desc }) =>
    db
      .selectFrom('mailkeep_delivery')
      .select(['id', 'uuid', 'event_type', 'status', 'attempts', 'response_status', 'delivered_at'])
      .where('endpoint_id', '=', p.endpoint_id)
      .where('id', desc ? '<' : '>', p.after)
      .orderBy('id', desc ? 'desc' : 'asc')
      .limit(p.limit),
  ['desc'],
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

/** Those out of the window, and those a clock set back has left in the future. */
export const deleteOtherTests = statement({ client_id: int, from: time, to: time }, (db, p) =>
  db
    .deleteFrom('mailkeep_test_delivery')
    .where('client_id', '=', p.client_id)
    .where((eb) => eb.or([eb('created_at', '<=', p.from), eb('created_at', '>', p.to)])),
)

/** An attempt is noted once: an outcome that comes after its lease was taken over changes nothing. */
export const insertAttempt = statement(
  {
    delivery_id: int,
    number: int,
    client_id: int,
    started_at: time,
    duration_ms: nullable(int),
    response_status: nullable(int),
    error: nullable(text),
    response_body: nullable(text),
  },
  (db, row) =>
    db
      .insertInto('mailkeep_attempt')
      .values(row)
      .onConflict((c) => c.doNothing()),
)
