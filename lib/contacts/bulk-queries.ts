/** Statements for many contacts. `queries.ts` has the statements for one contact. */
import { type RawBuilder, sql } from 'kysely'
import type { Dialect } from '../storage/dialect.ts'
import { bool, int, ints, json, rows, statement, text, texts, time } from '../storage/statement.ts'
import { storedColumns, textColumns } from './queries.ts'

/**
 * Whether a contact that is found by its id belongs to the client. SQLite uses no index for it: without statistics, it
 * would read all contacts of the client.
 */
export const isOwn = (p: { client_id: RawBuilder<unknown> }, dialect: Dialect): RawBuilder<boolean> =>
  sql`${dialect.unindexed(sql.ref('mailkeep_contact.client_id'))} = ${p.client_id}`

function contactsByEmail(locks: boolean) {
  return statement.all({ client_id: int, email_keys: texts }, (db, p, dialect) =>
    db
      .selectFrom('mailkeep_contact')
      .select([...storedColumns, 'email_key'])
      .where('client_id', '=', p.client_id)
      .where(dialect.inList(sql.ref('email_key'), p.email_keys))
      // SQLite locks no rows, and the order of the index needs no sorting.
      .orderBy(dialect.concurrentWriters ? 'id' : 'email_key')
      .modifyEnd(locks ? dialect.forUpdate : sql``),
  )
}

export const listContactsByEmail = contactsByEmail(false)

/** Locks contacts in the order of their ids, so that two transactions cannot deadlock. */
export const lockContactsByEmail = contactsByEmail(true)

/**
 * Returns the contacts whose stored attributes have at least `min_bytes`, or that have at least `min_memberships` tags,
 * lists and topics in all. SQLite does not read the attributes for it.
 */
export const listLarge = statement.all(
  { client_id: int, ids: ints, email_keys: texts, min_bytes: int, min_memberships: int },
  (_, p, dialect) => {
    const count = (kind: 'tag' | 'list' | 'topic') =>
      sql`(select count(*) from ${sql.table(`mailkeep_contact_${kind}`)} where contact_id = mailkeep_contact.id)`
    const among = (isAmong: RawBuilder<boolean>, own: RawBuilder<boolean>) => sql`select id, email_key,
        octet_length(${dialect.jsonText(sql.ref('attributes'))}) as bytes,
        ${count('tag')} + ${count('list')} + ${count('topic')} as memberships
      from mailkeep_contact where ${own} and ${isAmong}`
    return sql<{ id: number; email_key: string; bytes: number; memberships: number }>`
      select id, email_key, bytes, memberships from (
        ${among(dialect.inList(sql.ref('id'), p.ids), isOwn(p, dialect))}
        union all
        ${among(dialect.inList(sql.ref('email_key'), p.email_keys), sql`client_id = ${p.client_id}`)}) as stored
      where bytes >= ${p.min_bytes} or memberships >= ${p.min_memberships}`
  },
)

const newContact = { uuid: text, email: text, email_key: text, ...textColumns, attributes: json, search: text }
const newColumns = Object.keys(newContact)

/** Inserts the contacts whose e-mail address the client does not have, and returns them. */
export const insertContacts = statement.all(
  { client_id: int, created_at: time, contacts: rows(newContact) },
  (_, p, dialect) => sql<{ id: number; email_key: string }>`
    insert into mailkeep_contact
      (client_id, created_at, unsubscribed_by_contact, ${sql.join(newColumns.map(sql.ref))})
    select ${p.client_id}, ${p.created_at}, false,
      ${sql.join(newColumns.map((name) => sql.ref(`item.${name}`)))}
    from ${dialect.unnestRows(p.contacts, newContact)} where true ${dialect.concurrentWriters ? sql`order by item.email_key` : sql``}
    on conflict (client_id, email_key) do nothing returning id, email_key`,
)

const contactTag = { contact_id: int, tag_id: int }

/** Adds tags to contacts. With `returning` it returns those that were new to their contact. */
export const insertTagsOfContacts = statement.all(
  { client_id: int, pairs: rows(contactTag) },
  (_, p, dialect, on) => sql<{ contact_id: number; tag_id: number }>`
    insert into mailkeep_contact_tag (client_id, contact_id, tag_id)
    select ${p.client_id}, item.contact_id, item.tag_id from ${dialect.unnestRows(p.pairs, contactTag)} where true
    on conflict do nothing ${on.returning ? sql`returning contact_id, tag_id` : sql``}`,
  ['returning'],
)

/** Returns the contacts that are on the maximum number of lists, and not on this one. */
export const listFullOfLists = statement.all(
  { contact_ids: ints, list_id: int, max_lists: int },
  (_, p, dialect) => sql<{ contact_id: number }>`
    select contact_id from mailkeep_contact_list where ${dialect.inList(sql.ref('contact_id'), p.contact_ids)}
    group by contact_id
    having count(*) >= ${p.max_lists} and max(case when list_id = ${p.list_id} then 1 else 0 end) = 0`,
)

/** Returns the contacts that have more than `more_than` memberships of a kind. */
function listWithMany(kind: 'tag' | 'list') {
  return statement.all(
    { contact_ids: ints, more_than: int },
    (_, p, dialect) => sql<{ contact_id: number }>`
      select contact_id from ${sql.table(`mailkeep_contact_${kind}`)}
      where ${dialect.inList(sql.ref('contact_id'), p.contact_ids)}
      group by contact_id having count(*) > ${p.more_than}`,
  )
}

export const listWithManyTags = listWithMany('tag')
export const listWithManyLists = listWithMany('list')

/** Returns the folded names of these contacts' tags. */
export const listTagKeys = statement.all(
  { contact_ids: ints },
  (_, p, dialect) => sql<{ contact_id: number; name_key: string }>`
    select m.contact_id, t.name_key from mailkeep_contact_tag as m cross join mailkeep_tag as t
    where ${dialect.inList(sql.ref('m.contact_id'), p.contact_ids)} and t.id = m.tag_id`,
)

/** Locks contacts in the order of their ids, so that their addresses stay as they are until the transaction ends. */
export const lockEmailKeys = statement.all({ client_id: int, ids: ints, email_keys: texts }, (db, p, dialect) =>
  db
    .selectFrom('mailkeep_contact')
    .select(['id', 'email_key'])
    .where(({ and, eb, or }) =>
      or([
        and([isOwn(p, dialect), dialect.inList(sql.ref('id'), p.ids)]),
        and([eb('client_id', '=', p.client_id), dialect.inList(sql.ref('email_key'), p.email_keys)]),
      ]),
    )
    .orderBy('id')
    .modifyEnd(dialect.forUpdate),
)

/** Returns the lists of these contacts. */
export const listMemberships = statement.all(
  { contact_ids: ints },
  (_, p, dialect) => sql<{ contact_id: number; list_id: number }>`select contact_id, list_id
    from mailkeep_contact_list where ${dialect.inList(sql.ref('contact_id'), p.contact_ids)}`,
)

const contactList = { contact_id: int, list_id: int }

/** Adds contacts to lists. Returns the memberships that are new. */
export const insertMemberships = statement.all(
  { client_id: int, pairs: rows(contactList) },
  (_, p, dialect) => sql<{ contact_id: number; list_id: number }>`
    insert into mailkeep_contact_list (client_id, contact_id, list_id)
    select ${p.client_id}, item.contact_id, item.list_id from ${dialect.unnestRows(p.pairs, contactList)} where true
    on conflict do nothing returning contact_id, list_id`,
)

/** Unsubscribes the subscribed ones of these contacts, and returns them. */
export const markAllUnsubscribed = statement.all(
  { client_id: int, ids: ints, unsubscribed_at: time, by_contact: bool },
  (db, p, dialect) =>
    db
      .updateTable('mailkeep_contact')
      .set({ unsubscribed_at: p.unsubscribed_at, unsubscribed_by_contact: p.by_contact })
      .where(isOwn(p, dialect))
      .where(dialect.inList(sql.ref('id'), p.ids))
      .where('unsubscribed_at', 'is', null)
      .returning('id'),
)

/** Subscribes the unsubscribed ones of these contacts, and returns them. */
export const markAllSubscribed = statement.all({ client_id: int, ids: ints }, (db, p, dialect) =>
  db
    .updateTable('mailkeep_contact')
    .set({ unsubscribed_at: null, unsubscribed_by_contact: sql.lit(false) })
    .where(isOwn(p, dialect))
    .where(dialect.inList(sql.ref('id'), p.ids))
    .where('unsubscribed_at', 'is not', null)
    .returning('id'),
)
