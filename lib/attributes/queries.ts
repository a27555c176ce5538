import { type RawBuilder, sql } from 'kysely'
import { deleteRows } from '../jobs/batches.ts'
import { int, ints, rows, statement, text } from '../storage/statement.ts'

/** Returns the client's indexed attributes, in any order: every save reads them, and sorting would cost the most. */
export const listIndexed = statement.all({ client_id: int }, (db, p) =>
  db.selectFrom('mailkeep_indexed_attribute').select(['id', 'name', 'ready']).where('client_id', '=', p.client_id),
)

/** Locks the client's indexed attributes, so that they stay indexed until the transaction ends. */
export const lockIndexed = statement.all({ client_id: int }, (db, p, dialect) =>
  db
    .selectFrom('mailkeep_indexed_attribute')
    .select('name')
    .where('client_id', '=', p.client_id)
    .orderBy('id')
    .modifyEnd(dialect.forUpdate),
)

export const findIndexed = statement({ client_id: int, id: int }, (db, p) =>
  db
    .selectFrom('mailkeep_indexed_attribute')
    .select(['name', 'ready'])
    .where('client_id', '=', p.client_id)
    .where('id', '=', p.id),
)

export const insertIndexed = statement({ client_id: int, name: text }, (db, row) =>
  db
    .insertInto('mailkeep_indexed_attribute')
    .values({ ...row, ready: sql.lit(false) })
    .returning('id'),
)

export const deleteIndexed = statement.affected({ client_id: int, id: int }, (db, p) =>
  db.deleteFrom('mailkeep_indexed_attribute').where('client_id', '=', p.client_id).where('id', '=', p.id),
)

export const markReady = statement({ id: int }, (db, p) =>
  db
    .updateTable('mailkeep_indexed_attribute')
    .set({ ready: sql.lit(true) })
    .where('id', '=', p.id),
)

/** Returns the ids of the client's next contacts, by ascending id. */
export const listContactIds = statement.all({ client_id: int, after: int, limit: int }, (_, p, dialect) => {
  const contacts = (state: RawBuilder<unknown>) => sql`select c.id from mailkeep_contact as c
    where c.client_id = ${p.client_id} and c.id > ${p.after} and c.unsubscribed_at ${state}`
  return dialect.merge([contacts(sql`is null`), contacts(sql`is not null`)], {
    distinct: false,
    desc: false,
    limit: p.limit,
  })
})

/** Locks the contacts, so that their values cannot change before they are indexed. */
export const lockValues = statement.all({ ids: ints, name: text }, (db, p, dialect) =>
  db
    .selectFrom('mailkeep_contact')
    .select(['id', dialect.field(sql.ref('attributes'), p.name).as('value')])
    .where(dialect.inList(sql.ref('id'), p.ids))
    .orderBy('id')
    .modifyEnd(dialect.forUpdate),
)

const indexedValue = { contact_id: int, attribute_id: int, value_key: text }

/** Adds values to the index. Replaces the contact's former value of the same attribute. */
export const saveValues = statement(
  { values: rows(indexedValue) },
  (_, p, dialect) => sql`insert into mailkeep_contact_attribute (contact_id, attribute_id, value_key)
    select item.contact_id, item.attribute_id, item.value_key from ${dialect.unnestRows(p.values, indexedValue)}
    where true on conflict (contact_id, attribute_id) do update set value_key = excluded.value_key`,
)

/** Removes the values of attributes that the contact does not have. */
export const deleteOtherValues = statement(
  { contact_id: int, attribute_ids: ints },
  (_, p, dialect) => sql`delete from mailkeep_contact_attribute
    where contact_id = ${p.contact_id} and not (${dialect.inList(sql.ref('attribute_id'), p.attribute_ids)})`,
)

/** Deletes the values of an attribute that is no longer indexed. */
export const deleteValues = deleteRows('mailkeep_contact_attribute', 'attribute_id', 'contact_id')

export const deleteAttributesOfClient = deleteRows('mailkeep_indexed_attribute', 'client_id')
