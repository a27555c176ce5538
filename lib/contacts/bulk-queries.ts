/** Many contacts in a statement each: what `queries.ts` does for one. */
import { sql } from 'kysely'
import { bool, int, ints, json, rows, statement, text, texts, time } from '../storage/statement.ts'

/** Until the transaction ends nobody else gets it; where one writes at a time there is none. */
export const lockBatches = statement({ name: text }, (_, p, dialect) => dialect.lock!(p.name))

/** In one order: two transactions must not wait for each other's contacts. */
export const lockContactsByEmail = statement.all({ client_id: int, email_keys: texts }, (db, p, dialect) =>
  db
    .selectFrom('mailkeep_contact')
    .select(['id', 'email', 'email_key', 'name', 'attributes', 'search'])
    .where('client_id', '=', p.client_id)
    .where(dialect.inList(sql.ref('email_key'), p.email_keys))
    .orderBy('email_key')
    .modifyEnd(dialect.forUpdate),
)

const newContact = { uuid: text, email: text, email_key: text, name: text, attributes: json, search: text }

/** Inserts those whose e-mail the client does not have, and gives them. */
export const insertContacts = statement.all(
  { client_id: int, created_at: time, unsubscribed_by_contact: bool, contacts: rows(newContact) },
  (_, p, dialect) => sql<{ id: number; email_key: string }>`
    insert into mailkeep_contact
      (client_id, uuid, created_at, email, email_key, name, attributes, search, unsubscribed_by_contact)
    select ${p.client_id}, item.uuid, ${p.created_at}, item.email, item.email_key, item.name, item.attributes,
      item.search, ${p.unsubscribed_by_contact}
    from ${dialect.unnestRows(p.contacts, newContact)} where true ${dialect.concurrentWriters ? sql`order by item.email_key` : sql``}
    on conflict (client_id, email_key) do nothing returning id, email_key`,
)

const contactTag = { contact_id: int, tag_id: int }

/** Adds the tags that a contact does not have yet. */
export const insertTagsOfContacts = statement(
  { client_id: int, pairs: rows(contactTag) },
  (_, p, dialect) => sql`
    insert into mailkeep_contact_tag (client_id, contact_id, tag_id)
    select ${p.client_id}, item.contact_id, item.tag_id from ${dialect.unnestRows(p.pairs, contactTag)} where true
    on conflict do nothing`,
)

/** Adds the memberships that are not there, and gives whose they are. */
export const insertMemberships = statement.all(
  { client_id: int, list_id: int, contact_ids: ints },
  (_, p, dialect) => sql<{ contact_id: number }>`
    insert into mailkeep_contact_list (client_id, contact_id, list_id)
    select ${p.client_id}, item.value, ${p.list_id} from ${dialect.unnest(p.contact_ids)} where true
    on conflict do nothing returning contact_id`,
)

/** Those of these contacts that are on at least so many lists, and not on this one. */
export const listFullOfLists = statement.all(
  { contact_ids: ints, list_id: int, most: int },
  (_, p, dialect) => sql<{ contact_id: number }>`
    select contact_id from mailkeep_contact_list where ${dialect.inList(sql.ref('contact_id'), p.contact_ids)}
    group by contact_id
    having count(*) >= ${p.most} and max(case when list_id = ${p.list_id} then 1 else 0 end) = 0`,
)

/** Those of these contacts that have more than so many tags. */
export const listWithManyTags = statement.all(
  { contact_ids: ints, more_than: int },
  (_, p, dialect) => sql<{ contact_id: number }>`
    select contact_id from mailkeep_contact_tag where ${dialect.inList(sql.ref('contact_id'), p.contact_ids)}
    group by contact_id having count(*) > ${p.more_than}`,
)

/** The folded names of these contacts' tags. */
export const listTagKeys = statement.all(
  { contact_ids: ints },
  (_, p, dialect) => sql<{ contact_id: number; name_key: string }>`
    select m.contact_id, t.name_key from mailkeep_contact_tag as m cross join mailkeep_tag as t
    where ${dialect.inList(sql.ref('m.contact_id'), p.contact_ids)} and t.id = m.tag_id`,
)
