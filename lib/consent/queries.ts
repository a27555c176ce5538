import { sql } from 'kysely'
import type { Source } from '../context.ts'
import { batch, deleteRows } from '../jobs/batches.ts'
import { int, ints, nullable, rows, statement, text, time, word } from '../storage/statement.ts'
import type { HistoryType } from './schema.ts'

const madeBy = {
  source: word<Source>(),
  token_id: nullable(int),
  ip: nullable(text),
  user_agent: nullable(text),
  created_at: time,
}
const change = {
  contact_id: int,
  type: word<HistoryType>(),
  list_id: nullable(int),
  topic_id: nullable(int),
}

export const insertChange = statement.affected({ ...change, ...madeBy }, (db, row) =>
  db.insertInto('mailkeep_contact_history').values(row),
)

export const insertChanges = statement.affected(
  { changes: rows(change), ...madeBy },
  (_, p, dialect) => sql`insert into mailkeep_contact_history
      (contact_id, type, list_id, topic_id, source, token_id, ip, user_agent, created_at)
    select item.contact_id, item.type, item.list_id, item.topic_id,
      ${p.source}, ${p.token_id}, ${p.ip}, ${p.user_agent}, ${p.created_at}
    from ${dialect.unnestRows(p.changes, change)}`,
)

export const listChanges = statement.all(
  { contact_id: int, after: int, limit: int },
  (db, p, _, { desc }) =>
    db
      .selectFrom('mailkeep_contact_history')
      .selectAll()
      .where('contact_id', '=', p.contact_id)
      .where('id', desc ? '<' : '>', p.after)
      .orderBy('id', desc ? 'desc' : 'asc')
      .limit(p.limit),
  ['desc'],
)

export const deleteHistoryOfContact = deleteRows('mailkeep_contact_history', 'contact_id')

/** Deletes a batch of the history of several contacts. */
export const deleteHistoryOfContacts = statement.affected(
  { contact_ids: ints, limit: int },
  (_, p, dialect) => sql`delete from mailkeep_contact_history where id in
    (select id from mailkeep_contact_history where ${dialect.inList(sql.ref('contact_id'), p.contact_ids)}
      limit ${p.limit})`,
)

/** Moves a batch of the history of a merged contact. */
export const moveHistory = statement.affected(
  { ...batch, into: int },
  (_, p) => sql`update mailkeep_contact_history set contact_id = ${p.into} where id in
    (select id from mailkeep_contact_history where contact_id = ${p.target} order by id limit ${p.limit})`,
)
