import { type RawBuilder, sql } from 'kysely'
import { bool, int, ints, json, rows, statement, text, time } from '../storage/statement.ts'
import { contactDocument } from './document.ts'
import { type ContactTexts, textNames } from './schema.ts'

export const textColumns = Object.fromEntries(textNames.map((name) => [name, text])) as Record<
  keyof ContactTexts,
  typeof text
>

/** The columns of a contact that is locked for a change. */
export const storedColumns = ['id', 'email', ...textNames, 'attributes', 'search'] as const

const contactKey = { client_id: int, id: int }

/** Returns the contact as JSON text, in the form of the HTTP API. */
export const findDocument = statement(contactKey, (db, p, dialect) =>
  db
    .selectFrom('mailkeep_contact as c')
    .select(contactDocument(dialect).as('document'))
    .where('c.client_id', '=', p.client_id)
    .where('c.id', '=', p.id),
)

/** Locks the contact, so that its name, attributes and memberships are read and written consistently. */
export const lockContact = statement(contactKey, (db, p, dialect) =>
  db
    .selectFrom('mailkeep_contact')
    .select(storedColumns)
    .where('client_id', '=', p.client_id)
    .where('id', '=', p.id)
    .modifyEnd(dialect.forUpdate),
)

export const lockContactByEmail = statement({ client_id: int, email_key: text }, (db, p, dialect) =>
  db
    .selectFrom('mailkeep_contact')
    .select(storedColumns)
    .where('client_id', '=', p.client_id)
    .where('email_key', '=', p.email_key)
    .modifyEnd(dialect.forUpdate),
)

export const findContact = statement(contactKey, (db, p) =>
  db.selectFrom('mailkeep_contact').select('id').where('client_id', '=', p.client_id).where('id', '=', p.id),
)

export const findIdByEmail = statement({ client_id: int, email_key: text }, (db, p) =>
  db
    .selectFrom('mailkeep_contact')
    .select('id')
    .where('client_id', '=', p.client_id)
    .where('email_key', '=', p.email_key),
)

const newContact = {
  client_id: int,
  uuid: text,
  email: text,
  email_key: text,
  ...textColumns,
  attributes: json,
  search: text,
  unsubscribed_by_contact: bool,
  created_at: time,
}
const newColumns = Object.keys(newContact) as (keyof typeof newContact)[]

/**
 * Inserts the contact. Returns undefined if the client already has the e-mail address. Unless the address `is_checked`,
 * also if the client has erased addresses: hashing the address of every contact would make saves slower.
 */
export const insertContact = statement.inserted({ ...newContact, is_checked: bool }, (db, row) =>
  db
    .insertInto('mailkeep_contact')
    .columns(newColumns)
    .expression(
      db.selectNoFrom(newColumns.map((name) => sql`${row[name]}`.as(name))).where(
        sql<boolean>`(${row.is_checked} or not exists (select 1 from mailkeep_suppression
            where client_id = ${row.client_id} and reason = 'erased'))`,
      ),
    )
    .onConflict((c) => c.columns(['client_id', 'email_key']).doNothing()),
)

export const updateContact = statement(
  { ...contactKey, ...textColumns, attributes: json, search: text },
  (db, { client_id, id, ...changed }) =>
    db.updateTable('mailkeep_contact').set(changed).where('client_id', '=', client_id).where('id', '=', id),
)

export const updateEmail = statement(
  { ...contactKey, email: text, email_key: text, search: text },
  (db, { client_id, id, ...changed }) =>
    db.updateTable('mailkeep_contact').set(changed).where('client_id', '=', client_id).where('id', '=', id),
)

/** Deletes the contact and returns what it was. Its memberships are deleted by cascade. */
export const deleteContact = statement(contactKey, (db, p) =>
  db
    .deleteFrom('mailkeep_contact')
    .where('client_id', '=', p.client_id)
    .where('id', '=', p.id)
    .returning(['search', 'uuid', 'email']),
)

/** Adds tags to a contact. Returns the ids of those that it did not have. */
export const insertContactTags = statement.each(
  { client_id: int, contact_id: int, tag_id: int },
  (item, from) =>
    // Without "where true" SQLite would parse "on conflict" as the "on" of a join.
    sql`insert into mailkeep_contact_tag (client_id, contact_id, tag_id)
    select ${item.client_id}, ${item.contact_id}, ${item.tag_id} ${from} where true
    on conflict do nothing`,
  'mailkeep_contact_tag.tag_id',
)

function countOf(kind: 'tag' | 'list' | 'topic') {
  return statement(
    { contact_id: int },
    (_, p) => sql<{ count: number }>`select count(*) as count from ${sql.table(`mailkeep_contact_${kind}`)}
      where contact_id = ${p.contact_id}`,
  )
}

export const countOfContact = { tags: countOf('tag'), lists: countOf('list'), topics: countOf('topic') }

/** Removes the contact's tags except these, and returns the removed ones. */
export const deleteOtherContactTags = statement.all(
  { contact_id: int, tag_ids: ints },
  (_, p, dialect) => sql<{ tag_id: number }>`delete from mailkeep_contact_tag
    where contact_id = ${p.contact_id} and not (${dialect.inList(sql.ref('tag_id'), p.tag_ids)}) returning tag_id`,
)

/** Removes tags from a contact, and returns those that it had. */
export const deleteContactTags = statement.all(
  { contact_id: int, tag_ids: ints },
  (_, p, dialect) => sql<{ tag_id: number }>`delete from mailkeep_contact_tag
    where contact_id = ${p.contact_id} and ${dialect.inList(sql.ref('tag_id'), p.tag_ids)} returning tag_id`,
)

/** Adds the contact to the list. Affects no row if it is already on the list. */
export const insertMembership = statement.affected({ client_id: int, contact_id: int, list_id: int }, (db, row) =>
  db
    .insertInto('mailkeep_contact_list')
    .values(row)
    .onConflict((c) => c.doNothing()),
)

export const findMembership = statement({ contact_id: int, list_id: int }, (db, p) =>
  db
    .selectFrom('mailkeep_contact_list')
    .select('list_id')
    .where('contact_id', '=', p.contact_id)
    .where('list_id', '=', p.list_id),
)

export const deleteMembership = statement.affected({ contact_id: int, list_id: int }, (db, p) =>
  db.deleteFrom('mailkeep_contact_list').where('contact_id', '=', p.contact_id).where('list_id', '=', p.list_id),
)

export const insertSubscription = statement.affected({ client_id: int, contact_id: int, topic_id: int }, (db, row) =>
  db
    .insertInto('mailkeep_contact_topic')
    .values(row)
    .onConflict((c) => c.doNothing()),
)

export const deleteSubscription = statement.affected({ contact_id: int, topic_id: int }, (db, p) =>
  db.deleteFrom('mailkeep_contact_topic').where('contact_id', '=', p.contact_id).where('topic_id', '=', p.topic_id),
)

/** Deletes the contact's subscriptions to one list's topics, and returns the topics. */
export const deleteListSubscriptions = statement.all({ contact_id: int, list_id: int }, (db, p) =>
  db
    .deleteFrom('mailkeep_contact_topic')
    .where('contact_id', '=', p.contact_id)
    .where('topic_id', 'in', (eb) => eb.selectFrom('mailkeep_topic').select('id').where('list_id', '=', p.list_id))
    .returning('topic_id'),
)

const stepRange = { at: time, until: time }

const past = (client: RawBuilder<unknown>, type: 'created' | 'unsubscribed') => sql`(select count(*)
  from mailkeep_past_change as past where past.client_id = ${client} and past.type = ${sql.lit(type)}
    and past.at >= item.at and past.at < item.until)`

/** Counts contacts by the times of their changes, and changes that contacts no longer show. Each scans a range of an index. */
export const countContactChanges = statement.all(
  { client_id: int, steps: rows(stepRange) },
  (_, p, dialect) => sql<{ created: number; unsubscribed: number; deleted: number }>`
    select
      (select count(*) from mailkeep_contact where client_id = ${p.client_id}
        and created_at >= item.at and created_at < item.until) + ${past(p.client_id, 'created')} as created,
      (select count(*) from mailkeep_contact where client_id = ${p.client_id}
        and unsubscribed_at >= item.at and unsubscribed_at < item.until) + ${past(p.client_id, 'unsubscribed')}
        as unsubscribed,
      (select count(*) from mailkeep_audit where client_id = ${p.client_id} and type = 'contact.deleted'
        and created_at >= item.at and created_at < item.until) as deleted
    from ${dialect.unnestRows(p.steps, stepRange)} order by item.at`,
)
