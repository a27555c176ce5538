import { type RawBuilder, sql } from 'kysely'
import { deleteRows } from '../jobs/batches.ts'
import type { Dialect } from '../storage/dialect.ts'
import { recordStatements } from '../storage/records.ts'
import { int, ints, nullable, statement, text, texts, time } from '../storage/statement.ts'
import type { Topic } from './schema.ts'

export const topics = recordStatements('mailkeep_topic')

export const listTopics = statement.range({ client_id: int, list_id: int }, (db, p) =>
  db.selectFrom('mailkeep_topic').selectAll().where('client_id', '=', p.client_id).where('list_id', '=', p.list_id),
)

/** Selects the topics of these lists that meet a condition. */
function topicsOf(lists: RawBuilder<unknown>, dialect: Dialect, condition = sql`true`): RawBuilder<unknown> {
  const join = dialect.joinEach('mailkeep_topic', 't', sql`t.list_id = item.value and ${condition}`)
  return sql`select t.* from ${dialect.unnest(lists)} ${join}`
}

/** Returns the topics of these lists that have one of these names, by ascending id. */
export const listTopicsByNames = statement.all(
  { list_ids: ints, names: texts },
  (_, p, dialect) =>
    sql<Topic>`${topicsOf(p.list_ids, dialect, dialect.inList(sql.ref('t.name'), p.names))} order by t.id`,
)

/** Returns topics of these lists, by ascending id. */
export const listTopicsOfLists = statement.all(
  { list_ids: ints, limit: int },
  (_, p, dialect) => sql<Topic>`${topicsOf(p.list_ids, dialect)} order by t.id limit ${p.limit}`,
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

/** Deletes the subscriptions to a deleted topic. */
export const deleteSubscriptions = deleteRows('mailkeep_contact_topic', 'topic_id', 'contact_id')

export const deleteTopicsOfClient = deleteRows('mailkeep_topic', 'client_id')
