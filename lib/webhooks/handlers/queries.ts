/** Statements on the subscribers of event handlers. */
import { sql } from 'kysely'
import { bool, int, statement, text, time, word } from '../../storage/statement.ts'
import type { EndpointKind } from '../schema.ts'

export const findSubscriber = statement({ subscriber: text }, (db, p) =>
  db.selectFrom('mailkeep_endpoint').select(['id', 'events']).where('subscriber', '=', p.subscriber),
)

/** Inserts nothing if another process has already inserted the subscriber. */
export const insertSubscriber = statement(
  {
    uuid: text,
    created_at: time,
    subscriber: text,
    events: text,
    active: bool,
    kind: word<EndpointKind>(),
    none: text,
    zero: int,
  },
  (_, p) => sql`insert into mailkeep_endpoint
    (uuid, created_at, subscriber, events, active, kind, url, description, secret, consecutive_failures)
    values (${p.uuid}, ${p.created_at}, ${p.subscriber}, ${p.events}, ${p.active}, ${p.kind},
      ${p.none}, ${p.none}, ${p.none}, ${p.zero})
    on conflict do nothing`,
)

export const changeEvents = statement({ id: int, events: text }, (db, p) =>
  db.updateTable('mailkeep_endpoint').set({ events: p.events }).where('id', '=', p.id),
)

export const deleteSubscriber = statement.affected({ id: int }, (db, p) =>
  db.deleteFrom('mailkeep_endpoint').where('id', '=', p.id),
)
