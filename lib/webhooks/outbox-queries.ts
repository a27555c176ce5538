import { type Expression, sql } from 'kysely'
import type { Dialect } from '../storage/dialect.ts'
import { int, ints, nullable, rows, statement, text, time, type Values, word } from '../storage/statement.ts'
import type { DeliveryStatus, EndpointKind } from './schema.ts'

/** Lists the endpoints of a client, and the handlers. They are few, so their types are not compared in the database. */
export const listEventEndpoints = statement.all({ client_id: int }, (db, p) =>
  db
    .selectFrom('mailkeep_endpoint')
    .select(['id', 'kind', 'active', 'events'])
    .where('client_id', '=', p.client_id)
    .unionAll((eb) =>
      // The handlers: they have no client.
      eb.selectFrom('mailkeep_endpoint').select(['id', 'kind', 'active', 'events']).where('client_id', 'is', null),
    ),
)

/** Finds which of these contacts the client has. `unindexed`: SQLite would scan all contacts of the client. */
export const findContacts = statement.all(
  { client_id: int, ids: ints },
  (_, p, dialect) => sql<{ id: number }>`select id from mailkeep_contact
    where ${dialect.inList(sql.ref('id'), p.ids)} and ${dialect.unindexed(sql.ref('client_id'))} = ${p.client_id}`,
)

export const insertEvent = statement.inserted(
  { client_id: int, uuid: text, type: text, contact_id: nullable(int), body: text, created_at: time },
  (db, row) => db.insertInto('mailkeep_event').values(row),
)

export const insertDelivery = statement.inserted(
  {
    client_id: int,
    uuid: text,
    endpoint_id: int,
    kind: word<EndpointKind>(),
    event_id: int,
    event_type: text,
    status: word<DeliveryStatus>(),
    due_at: time,
    scheduled_at: nullable(time),
    ended_at: nullable(time),
    created_at: time,
  },
  (db, row) => db.insertInto('mailkeep_delivery').values({ ...row, attempts: sql.lit(0) }),
)

/** Inserts an event and a delivery for each endpoint that subscribes to its type, or no row without one. */
export const insertForSubscribed = statement.affected(
  {
    client_id: int,
    uuid: text,
    type: text,
    contact_id: nullable(int),
    body: text,
    created_at: time,
    quoted: text,
    quoted_all: text,
  },
  (_, p, dialect) => sql`
    with event as (
      insert into mailkeep_event (client_id, uuid, type, contact_id, body, created_at)
      select ${p.client_id}, ${p.uuid}, ${p.type}, ${p.contact_id}, ${p.body}, ${p.created_at}
      where exists (${subscribedEndpoints(p, dialect)}) returning id
    )
    insert into mailkeep_delivery
      (client_id, uuid, endpoint_id, kind, event_id, event_type, status, attempts, due_at, scheduled_at, ended_at,
        created_at)
    select ${p.client_id}, cast(gen_random_uuid() as text), endpoint.id, endpoint.kind, event.id, ${p.type},
      case when endpoint.active then 'pending' else 'held' end, 0, ${p.created_at},
      case when endpoint.active then ${p.created_at} end, case when not endpoint.active then ${p.created_at} end,
      ${p.created_at}
    from event cross join (${subscribedEndpoints(p, dialect)}) as endpoint`,
)

function subscribedEndpoints(
  p: Readonly<Record<'client_id' | 'quoted' | 'quoted_all', Expression<unknown>>>,
  dialect: Dialect,
) {
  return sql`select id, kind, active from mailkeep_endpoint
    where (client_id = ${p.client_id} or client_id is null)
      and (${dialect.contains(sql.ref('events'), p.quoted)} or ${dialect.contains(sql.ref('events'), p.quoted_all)})`
}

const newEvent = { uuid: text, contact_id: nullable(int), shared_contact_id: nullable(int), body: text }
export type NewEvent = Values<typeof newEvent>

export const insertEvents = statement.all(
  { client_id: int, type: text, created_at: time, events: rows(newEvent) },
  (_, p, dialect) => sql<{ id: number }>`
    insert into mailkeep_event (client_id, uuid, type, contact_id, shared_contact_id, body, created_at)
    select ${p.client_id}, item.uuid, ${p.type}, item.contact_id, item.shared_contact_id, item.body, ${p.created_at}
    from ${dialect.unnestRows(p.events, newEvent)} returning id`,
)

const newDelivery = {
  uuid: text,
  event_id: int,
  endpoint_id: int,
  kind: word<EndpointKind>(),
  status: word<DeliveryStatus>(),
}
export type NewDelivery = Values<typeof newDelivery>

export const insertDeliveries = statement(
  { client_id: int, event_type: text, created_at: time, deliveries: rows(newDelivery) },
  (_, p, dialect) => sql`
    insert into mailkeep_delivery
      (client_id, uuid, endpoint_id, kind, event_id, event_type, status, attempts, due_at, scheduled_at, ended_at,
        created_at)
    select ${p.client_id}, item.uuid, item.endpoint_id, item.kind, item.event_id, ${p.event_type}, item.status,
      0, ${p.created_at}, case when item.status = 'pending' then ${p.created_at} end,
      case when item.status = 'held' then ${p.created_at} end, ${p.created_at}
    from ${dialect.unnestRows(p.deliveries, newDelivery)}`,
)
