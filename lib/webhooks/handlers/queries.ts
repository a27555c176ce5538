/** Statements on the subscribers of event handlers. */
import { sql } from 'kysely'
import { int, statement, text, time } from '../../storage/statement.ts'

export const findSubscriber = statement({ subscriber: text }, (db, p) =>
  db.selectFrom('mailkeep_endpoint').select(['id', 'events']).where('subscriber', '=', p.subscriber),
)

/** Inserts nothing if another process has already inserted the subscriber. */
export const insertSubscriber = statement(
  { uuid: text, created_at: time, subscriber: text, events: text },
  (_, p) => sql`insert into mailkeep_endpoint
    (uuid, created_at, subscriber, events, active, kind, url, description, secret, consecutive_failures)
    values (${p.uuid}, ${p.created_at}, ${p.subscriber}, ${p.events}, true, 'handler', '', '', '', 0)
    on conflict do nothing`,
)

export const changeEvents = statement({ id: int, events: text }, (db, p) =>
  db.updateTable('mailkeep_endpoint').set({ events: p.events }).where('id', '=', p.id),
)

export const deleteSubscriber = statement.affected({ id: int }, (db, p) =>
  db.deleteFrom('mailkeep_endpoint').where('id', '=', p.id),
)
