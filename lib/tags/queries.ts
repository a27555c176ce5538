import { sql } from 'kysely'
import { deleteRows } from '../jobs/batches.ts'
import { recordStatements } from '../storage/records.ts'
import { int, statement, text, texts, time } from '../storage/statement.ts'

export const tags = recordStatements('mailkeep_tag')

export const findTagByKey = statement({ client_id: int, name_key: text }, (db, p) =>
  db.selectFrom('mailkeep_tag').selectAll().where('client_id', '=', p.client_id).where('name_key', '=', p.name_key),
)

export const listTagsByKeys = statement.all({ client_id: int, name_keys: texts }, (db, p, dialect) =>
  db
    .selectFrom('mailkeep_tag')
    .selectAll()
    .where('client_id', '=', p.client_id)
    .where(dialect.inList(sql.ref('name_key'), p.name_keys)),
)

/** Inserts the tag. Returns undefined if the client already has the name. */
export const insertTag = statement(
  { client_id: int, uuid: text, name: text, name_key: text, created_at: time },
  (db, row) =>
    db
      .insertInto('mailkeep_tag')
      .values(row)
      .onConflict((c) => c.columns(['client_id', 'name_key']).doNothing())
      .returningAll(),
)

export const renameTag = statement({ client_id: int, id: int, name: text, name_key: text }, (db, p) =>
  db
    .updateTable('mailkeep_tag')
    .set({ name: p.name, name_key: p.name_key })
    .where('client_id', '=', p.client_id)
    .where('id', '=', p.id)
    .returningAll(),
)

/** Removes a deleted tag from contacts. */
export const deleteContactTags = deleteRows('mailkeep_contact_tag', 'tag_id', 'contact_id')

export const deleteTagsOfClient = deleteRows('mailkeep_tag', 'client_id')
