import { sql } from 'kysely'
import { deleteRows } from '../jobs/batches.ts'
import { int, ints, nullable, statement, text, texts, time } from '../storage/statement.ts'

export const listTopics = statement.range({ client_id: int, list_id: int }, (db, p) =>
  db.selectFrom('mailkeep_topic').selectAll().where('client_id', '=', p.client_id).where('list_id', '=', p.list_id),
)

export const findTopic = statement({ client_id: int, id: int }, (db, p) =>
  db.selectFrom('mailkeep_topic').selectAll().where('client_id', '=', p.client_id).where('id', '=', p.id),
)

export const listTopicsByIds = statement.all({ client_id: int, ids: ints }, (db, p, dialect) =>
  db
    .selectFrom('mailkeep_topic')
    .selectAll()
    .where('client_id', '=', p.client_id)
    .where(dialect.inList(sql.ref('id'), p.ids))
    .orderBy('id'),
)

/** Returns the topics of these lists that have one of these names, by ascending id. */
export const listTopicsByNames = statement.all({ list_ids: ints, names: texts }, (db, p, dialect) =>
  db
    .selectFrom('mailkeep_topic')
    .selectAll()
    .where(dialect.inList(sql.ref('list_id'), p.list_ids))
    .where(dialect.inList(sql.ref('name'), p.names))
    .orderBy('id'),
)

/** Returns topics of these lists, by ascending id. */
export const listTopicsOfLists = statement.all({ client_id: int, list_ids: ints, limit: int }, (db, p, dialect) =>
  db
    .selectFrom('mailkeep_topic')
    .selectAll()
    .where('client_id', '=', p.client_id)
    .where(dialect.inList(sql.ref('list_id'), p.list_ids))
    .orderBy('id')
    .limit(p.limit),
)

/** Locks the topic's row until the transaction ends. */
export const lockTopic = statement({ client_id: int, id: int }, (db, p, dialect) =>
  db
    .selectFrom('mailkeep_topic')
    .select('id')
    .where('client_id', '=', p.client_id)
    .where('id', '=', p.id)
    .modifyEnd(dialect.forUpdate),
)

export const insertTopic = statement(
  { client_id: int, uuid: text, list_id: int, name: text, description: nullable(text), created_at: time },
  (db, row) => db.insertInto('mailkeep_topic').values(row).returningAll(),
)

export const updateTopic = statement({ client_id: int, id: int, name: text, description: nullable(text) }, (db, p) =>
  db
    .updateTable('mailkeep_topic')
    .set({ name: p.name, description: p.description })
    .where('client_id', '=', p.client_id)
    .where('id', '=', p.id)
    .returningAll(),
)

export const deleteTopic = statement({ client_id: int, id: int }, (db, p) =>
  db.deleteFrom('mailkeep_topic').where('client_id', '=', p.client_id).where('id', '=', p.id).returning('id'),
)

/** Deletes the subscriptions to a deleted topic. */
export const deleteSubscriptions = deleteRows('mailkeep_contact_topic', 'topic_id', 'contact_id')

export const deleteTopicsOfClient = deleteRows('mailkeep_topic', 'client_id')
