/** The events of a change to a contact. */
import { distinct } from '../collections.ts'
import { contactLink } from '../consent/links.ts'
import type { Tx } from '../context.ts'
import { type List, plainList } from '../lists/schema.ts'
import { findTags } from '../tags/operations.ts'
import { findTopics } from '../topics/operations.ts'
import type { Topic } from '../topics/schema.ts'
import { eraseEventLater } from '../webhooks/deletion.ts'
import {
  type EventEndpoints,
  findEventEndpoints,
  isWanted,
  raiseAllTo,
  raiseTo,
  raiseWithId,
  type TypedOccurrence,
} from '../webhooks/outbox.ts'
import type { EventType } from '../webhooks/schema.ts'
import { listDocuments } from './listing-queries.ts'
import { getContact } from './reading.ts'
import { type Contact, contactFrom } from './schema.ts'

/** The parts of one contact that a change has changed. */
interface ContactChanges {
  readonly created?: boolean
  /** Whether the name, the e-mail address or an attribute of a stored contact changed. */
  readonly updated?: boolean
  /** Ids of tags. */
  readonly tagged?: readonly number[]
  readonly untagged?: readonly number[]
  /** The list that the contact was added to. */
  readonly joined?: List
  /** The list that the contact was asked to confirm. */
  readonly asked?: List
  readonly left?: List
  readonly topicsJoined?: readonly Topic[]
  /** Ids of topics. */
  readonly topicsLeft?: readonly number[]
}

/**
 * Ends a change: reads the contact after the last write, and raises the events of the change.
 *
 * @param known The contact, if it need not be read.
 */
export async function finishChange(tx: Tx, id: number, changes: ContactChanges, known?: Contact): Promise<Contact> {
  if (known) tx.local.onContactRead?.(id)
  const isChange = Object.values(changes).some((change) => (Array.isArray(change) ? change.length > 0 : change))
  const [contact, endpoints] = await Promise.all([
    known ?? getContact(tx, id),
    isChange ? findEventEndpoints(tx) : undefined,
  ])
  if (endpoints) await raiseChanges(tx, contact, changes, endpoints)
  return contact
}

/**
 * Raises the events of a change, in this order: created, updated, tags, lists, topics.
 *
 * @param contact The contact as read after the last write.
 */
export async function raiseChanges(
  tx: Tx,
  contact: Contact,
  changes: ContactChanges,
  endpoints: EventEndpoints,
): Promise<void> {
  const {
    created,
    updated,
    tagged = [],
    untagged = [],
    joined,
    asked,
    left,
    topicsJoined = [],
    topicsLeft = [],
  } = changes
  const wants = (type: EventType) => isWanted(tx, endpoints, type)
  const send = (type: EventType, more: object = {}) =>
    raiseTo(tx, endpoints, type, { data: { contact, ...more }, contactId: contact.id })
  if (created) await send('contact.created')
  if (updated) await send('contact.updated')
  if (tagged.length > 0) {
    const ids = new Set(tagged)
    for (const tag of contact.tags) if (ids.has(tag.id)) await send('contact.tagged', { tag })
  }
  if (untagged.length > 0 && wants('contact.untagged')) {
    for (const tag of await findTags(tx, untagged)) await send('contact.untagged', { tag })
  }
  if (joined && !contact.unsubscribed_at) await send('contact.subscribed', { list: plainList(joined) })
  if (asked && wants('contact.confirmation_requested')) {
    await send('contact.confirmation_requested', confirmationOf(tx, contact, asked))
  }
  if (left) await send('contact.list_removed', { list: plainList(left) })
  for (const topic of topicsJoined) await send('contact.topic_subscribed', { topic })
  if (topicsLeft.length > 0 && wants('contact.topic_unsubscribed')) {
    for (const topic of await findTopics(tx, topicsLeft)) await send('contact.topic_unsubscribed', { topic })
  }
}

/**
 * Raises `contact.deleted` with what a receiver needs to delete its own copy. The event belongs to no contact, because
 * the erasure would erase it before it is delivered. A job erases it when its last retry is over.
 */
export async function raiseDeleted(tx: Tx, contact: Pick<Contact, 'id' | 'uuid' | 'email'>): Promise<void> {
  const eventId = await raiseWithId(tx, 'contact.deleted', { data: { contact }, contactId: null })
  if (eventId !== undefined) await eraseEventLater(tx, eventId)
}

/** An event of one of many contacts. The contact is read after the last write, and only if the event is wanted. */
export interface ContactEvent {
  readonly type: EventType
  readonly contactId: number
  readonly list?: List
  readonly tagId?: number
  readonly topicId?: number
}

/** Raises the events of many contacts, by type. An unsubscribed contact that was added to a list raises none for it. */
export async function raiseContactEvents(
  tx: Tx,
  known: EventEndpoints,
  events: readonly ContactEvent[],
): Promise<void> {
  // The first request for a confirmation creates the subscriber that mails it.
  const hasRequests = events.some(({ type }) => type === 'contact.confirmation_requested')
  const endpoints = hasRequests ? await findEventEndpoints(tx) : known
  const wanted = events.filter(({ type }) => isWanted(tx, endpoints, type))
  if (wanted.length === 0) return
  const contacts = new Map(
    (await listDocuments(tx, { ids: distinct(wanted.map(({ contactId }) => contactId)) })).map((row) => [
      row.id,
      contactFrom(row),
    ]),
  )
  const tagIds = distinct(wanted.flatMap(({ tagId }) => tagId ?? []))
  const topicIds = distinct(wanted.flatMap(({ topicId }) => topicId ?? []))
  const tags = byId(tagIds.length > 0 ? await findTags(tx, tagIds) : [])
  const topics = byId(topicIds.length > 0 ? await findTopics(tx, topicIds) : [])
  const occurrences: TypedOccurrence[] = []
  for (const { type, contactId, list, tagId, topicId } of wanted) {
    const contact = contacts.get(contactId)
    if (!contact || (type === 'contact.subscribed' && contact.unsubscribed_at)) continue
    const tag = tags.get(tagId!)
    const topic = topics.get(topicId!)
    if ((tagId && !tag) || (topicId && !topic)) continue // deleted since
    const about =
      type === 'contact.confirmation_requested' ? confirmationOf(tx, contact, list!) : list && { list: plainList(list) }
    const data = { contact, ...about, ...(tag && { tag }), ...(topic && { topic }) }
    occurrences.push({ type, data, contactId })
  }
  await raiseAllTo(tx, endpoints, occurrences)
}

function confirmationOf(tx: Tx, contact: Contact, list: List) {
  return { list: plainList(list), confirm_url: contactLink(tx, contact, 'confirm', list.id) }
}

function byId<T extends { id: number }>(records: readonly T[]): Map<number, T> {
  return new Map(records.map((record) => [record.id, record]))
}
