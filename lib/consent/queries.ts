import { sql } from 'kysely'
import type { Source } from '../context.ts'
import { deleteRows, moveRows } from '../jobs/batches.ts'
import { recordStatements } from '../storage/records.ts'
import { int, ints, nullable, rows, statement, text, texts, time, word } from '../storage/statement.ts'
import type { HistoryType, SuppressionReason } from './schema.ts'

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

export const listChanges = statement.range({ contact_id: int }, (db, p) =>
  db.selectFrom('mailkeep_contact_history').selectAll().where('contact_id', '=', p.contact_id),
)

/** Returns the id of the last change of any contact; null when there is none. */
export const findLastChange = statement({}, (db) =>
  db.selectFrom('mailkeep_contact_history').select((eb) => eb.fn.max('id').as('id')),
)

/** Lists what changed of some contacts after a change, in order. */
export const listChangesSince = statement.all({ contact_ids: ints, after: int }, (db, p, dialect) =>
  db
    .selectFrom('mailkeep_contact_history')
    .select(['contact_id', 'type', 'list_id', 'topic_id'])
    .where(dialect.inList(sql.ref('contact_id'), p.contact_ids))
    .where('id', '>', p.after)
    .orderBy('id'),
)

/** Returns the lists that the contact left last on the page of its preferences, the latest first. */
export const listListsLeftByContact = statement.all(
  { contact_id: int, limit: int },
  (_, p) => sql<{ list_id: number }>`select list_id from mailkeep_contact_history
    where id in (select max(id) from mailkeep_contact_history
        where contact_id = ${p.contact_id} and type = 'list_left' group by list_id)
      and source = 'preferences_page' order by id desc limit ${p.limit}`,
)

export const deleteHistoryOfContact = deleteRows('mailkeep_contact_history', 'contact_id')

/** Deletes a batch of the history of several contacts. */
export const deleteHistoryOfContacts = statement.affected(
  { contact_ids: ints, limit: int },
  (_, p, dialect) => sql`delete from mailkeep_contact_history where id in
    (select id from mailkeep_contact_history where ${dialect.inList(sql.ref('contact_id'), p.contact_ids)}
      limit ${p.limit})`,
)

/** Moves the history of a merged contact. */
export const moveHistoryOfContact = moveRows(
  (p) => sql`update mailkeep_contact_history set contact_id = ${p.into} where id in
    (select id from mailkeep_contact_history where contact_id = ${p.target} order by id limit ${p.limit})`,
)

export const suppressions = recordStatements('mailkeep_suppression')

const suppressionColumns = ['id', 'email', 'reason', 'created_at'] as const

const addressKey = { client_id: int, email_hash: text }

/** Returns undefined if the address is suppressed already. */
export const insertSuppression = statement(
  { ...addressKey, email: text, email_key: text, reason: word<SuppressionReason>(), created_at: time },
  (db, row) =>
    db
      .insertInto('mailkeep_suppression')
      .values(row)
      .onConflict((c) => c.columns(['client_id', 'email_hash']).doNothing())
      .returning(suppressionColumns),
)

export const findSuppression = statement(addressKey, (db, p) =>
  db
    .selectFrom('mailkeep_suppression')
    .select(suppressionColumns)
    .where('client_id', '=', p.client_id)
    .where('email_hash', '=', p.email_hash),
)

/** Finds the contact that has a suppressed address. */
export const findContactOfAddress = statement({ client_id: int, email_key: text }, (db, p) =>
  db
    .selectFrom('mailkeep_contact')
    .select(['id', 'email'])
    .where('client_id', '=', p.client_id)
    .where('email_key', '=', p.email_key),
)

/** Stores the hash of an erased address. A suppression that showed the address loses it. */
export const saveErased = statement({ ...addressKey, created_at: time }, (db, row) =>
  db
    .insertInto('mailkeep_suppression')
    .values({ ...row, reason: 'erased' })
    .onConflict((c) =>
      c.columns(['client_id', 'email_hash']).doUpdateSet({ email: null, email_key: null, reason: 'erased' }),
    )
    .returning('id'),
)

export const findAnyErased = statement({ client_id: int }, (db, p) =>
  db
    .selectFrom('mailkeep_suppression')
    .select('id')
    .where('client_id', '=', p.client_id)
    .where('reason', '=', sql.lit('erased'))
    .limit(1),
)

export const listErased = statement.all({ client_id: int, email_hashes: texts }, (db, p, dialect) =>
  db
    .selectFrom('mailkeep_suppression')
    .select('email_hash')
    .where('client_id', '=', p.client_id)
    .where(dialect.inList(sql.ref('email_hash'), p.email_hashes))
    .where('reason', '=', 'erased'),
)

export const deleteByAddress = statement.all({ client_id: int, email_key: text }, (db, p) =>
  db
    .deleteFrom('mailkeep_suppression')
    .where('client_id', '=', p.client_id)
    .where('email_key', '=', p.email_key)
    .returning('id'),
)

export const deleteSuppressionsOfClient = deleteRows('mailkeep_suppression', 'client_id')
