import { sql } from 'kysely'
import { deleteRows } from '../jobs/batches.ts'
import { recordStatements } from '../storage/records.ts'
import { bool, int, ints, nullable, statement, text, texts, time } from '../storage/statement.ts'
import type { ListRow } from './schema.ts'

export const lists = recordStatements('mailkeep_list')

/** Returns the client's lists of these names, by ascending id. */
export const listListsByNames = statement.all(
  { client_id: int, names: texts },
  (_, p, dialect) => sql<ListRow>`select l.* from ${dialect.unnest(p.names)}
    ${dialect.joinEach('mailkeep_list', 'l', sql`l.client_id = ${p.client_id} and l.name = item.value`)} order by l.id`,
)

export const insertList = statement(
  { client_id: int, uuid: text, name: text, double_opt_in: bool, created_at: time },
  (db, row) => db.insertInto('mailkeep_list').values(row).returningAll(),
)

/** Changes the given fields. */
export const updateList = statement(
  { client_id: int, id: int, name: nullable(text), double_opt_in: nullable(bool) },
  (db, p) =>
    db
      .updateTable('mailkeep_list')
      .set({
        name: sql<string>`coalesce(${p.name}, name)`,
        double_opt_in: sql<boolean>`coalesce(${p.double_opt_in}, double_opt_in)`,
      })
      .where('client_id', '=', p.client_id)
      .where('id', '=', p.id)
      .returningAll(),
)

export const listTopicIds = statement.all({ list_id: int }, (db, p) =>
  db.selectFrom('mailkeep_topic').select('id').where('list_id', '=', p.list_id),
)

/** Deletes the memberships of a deleted list. */
export const deleteMemberships = deleteRows('mailkeep_contact_list', 'list_id', 'contact_id')

/** Deletes the requests to join a deleted list. */
export const deleteRequests = deleteRows('mailkeep_pending_membership', 'list_id', 'contact_id')

/** Deletes subscriptions to the topics of a deleted list. */
export const deleteSubscriptions = statement.affected(
  { topic_ids: ints, limit: int },
  (_, p, dialect) => sql`delete from mailkeep_contact_topic where (contact_id, topic_id) in
    (select contact_id, topic_id from mailkeep_contact_topic
      where ${dialect.inList(sql.ref('topic_id'), p.topic_ids)} limit ${p.limit})`,
)

export const deleteListsOfClient = deleteRows('mailkeep_list', 'client_id')
