/** Statements that only imports need. */
import { sql } from 'kysely'
import { bool, int, ints, rows, statement, time } from '../../storage/statement.ts'
import { isOwn } from '../bulk-queries.ts'

const unsubscribed = { id: int, unsubscribed_at: time, unsubscribed_by_contact: bool }

/** Unsubscribes the subscribed ones of these contacts, each at its own time. */
export const unsubscribeEach = statement.all(
  { client_id: int, contacts: rows(unsubscribed) },
  (_, p, dialect) => sql<{ id: number }>`update mailkeep_contact
    set unsubscribed_at = item.unsubscribed_at, unsubscribed_by_contact = item.unsubscribed_by_contact
    from ${dialect.unnestRows(p.contacts, unsubscribed)}
    where mailkeep_contact.id = item.id and ${isOwn(p, dialect)}
      and mailkeep_contact.unsubscribed_at is null returning mailkeep_contact.id`,
)

const created = { id: int, created_at: time }

export const updateCreationTimes = statement.affected(
  { client_id: int, contacts: rows(created) },
  (_, p, dialect) => sql`update mailkeep_contact set created_at = item.created_at
    from ${dialect.unnestRows(p.contacts, created)}
    where mailkeep_contact.id = item.id and ${isOwn(p, dialect)}`,
)

const contactTag = { contact_id: int, tag_id: int }

/** Deletes all tags of these contacts except the given ones, and returns them. */
export const deleteOtherTags = statement.all(
  { contact_ids: ints, pairs: rows(contactTag) },
  (_, p, dialect) => sql<{ contact_id: number; tag_id: number }>`
    delete from mailkeep_contact_tag where ${dialect.inList(sql.ref('contact_id'), p.contact_ids)}
      and (contact_id, tag_id) not in
        (select item.contact_id, item.tag_id from ${dialect.unnestRows(p.pairs, contactTag)})
    returning contact_id, tag_id`,
)

const contactTopic = { contact_id: int, topic_id: int }

/**
 * Subscribes contacts to topics. Returns the subscriptions that are new. A contact that is not on the list of a topic, because
 * it must confirm it first, is not subscribed.
 */
export const insertSubscriptions = statement.all(
  { client_id: int, pairs: rows(contactTopic) },
  (_, p, dialect) => sql<{ contact_id: number; topic_id: number }>`
    insert into mailkeep_contact_topic (client_id, contact_id, topic_id)
    select ${p.client_id}, item.contact_id, item.topic_id from ${dialect.unnestRows(p.pairs, contactTopic)}
    where exists (select 1 from mailkeep_topic as t cross join mailkeep_contact_list as m
      where t.id = item.topic_id and m.contact_id = item.contact_id and m.list_id = t.list_id)
    on conflict do nothing returning contact_id, topic_id`,
)

/** Returns the topics of these contacts. */
export const listSubscriptions = statement.all(
  { contact_ids: ints },
  (_, p, dialect) => sql<{ contact_id: number; topic_id: number }>`select contact_id, topic_id
    from mailkeep_contact_topic where ${dialect.inList(sql.ref('contact_id'), p.contact_ids)}`,
)
