/** The events of a change to a contact. */
import { type AuditedChange, auditAll } from '../audit/operations.ts'
import type { ChangeType } from '../audit/schema.ts'
import { distinct } from '../collections.ts'
import { contactLink } from '../consent/links.ts'
import type { Tx } from '../context.ts'
import { type List, plainList } from '../lists/schema.ts'
import { findTags } from '../tags/operations.ts'
import { findTopics } from '../topics/operations.ts'
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

/** An event of a contact. */
export interface ContactEvent {
  readonly type: EventType
  readonly contactId: number
  readonly list?: List
  readonly tagId?: number
  readonly topicId?: number
}

/** Returns the events of tags that a contact got or lost, by ascending id of the tag. */
export function tagEvents(
  type: 'contact.tagged' | 'contact.untagged',
  contactId: number,
  tagIds: readonly number[],
): ContactEvent[] {
  return tagIds.toSorted((a, b) => a - b).map((tagId) => ({ type, contactId, tagId }))
}

/**
 * Ends a change of one contact: writes it to the audit log, reads the contact after the last write, and raises the events in
 * their order.
 *
 * @param known The contact, if it need not be read.
 */
export async function finishChange(
  tx: Tx,
  id: number,
  events: readonly ContactEvent[],
  known?: Contact,
): Promise<Contact> {
  if (known) tx.local.onContactRead?.(id)
  auditEvents(tx, events)
  const [contact, endpoints] = await Promise.all([
    known ?? getContact(tx, id),
    events.length > 0 ? findEventEndpoints(tx) : [],
  ])
  await raiseEventsOfContact(tx, endpoints, contact, events)
  return contact
}

/** The entries of the audit log for events. Erasures, and changes of a single topic, write their own. */
const changeOf: Partial<Record<EventType, ChangeType>> = {
  'contact.created': 'contact.created',
  'contact.updated': 'contact.updated',
  'contact.tagged': 'contact.updated',
  'contact.untagged': 'contact.updated',
  'contact.subscribed': 'contact.list_added',
  'contact.list_removed': 'contact.list_removed',
  'contact.unsubscribed': 'contact.unsubscribed',
  'contact.resubscribed': 'contact.resubscribed',
}

/** Records each type of change of a contact once, however many events it has. A new contact has one entry. */
export function auditEvents(tx: Tx, events: readonly ContactEvent[]): void {
  const recorded = new Map<number, Set<ChangeType>>()
  const entries: AuditedChange[] = []
  for (const { type: event, contactId: targetId } of events) {
    const type = changeOf[event]
    if (type === undefined) continue
    const types = recorded.get(targetId) ?? new Set()
    if (types.has('contact.created') || types.has(type)) continue
    recorded.set(targetId, types.add(type))
    entries.push({ type, targetId })
  }
  auditAll(tx, entries)
}

/**
 * Raises `contact.deleted` with what a receiver needs to delete its own copy. The event belongs to no contact, because
 * the erasure would erase it before it is delivered. A job erases it when its last retry is over.
 */
export async function raiseDeleted(tx: Tx, contact: Pick<Contact, 'id' | 'uuid' | 'email'>): Promise<void> {
  const eventId = await raiseWithId(tx, 'contact.deleted', { data: { contact }, contactId: null })
  if (eventId !== undefined) await eraseEventLater(tx, eventId)
}

/** Up to this many events of a change are sent to the database with the commit. More are stored in batches. */
const maxSingleEvents = 10

/** Raises events of one contact, in their order. @param contact The contact as read after the last write. */
export async function raiseEventsOfContact(
  tx: Tx,
  endpoints: EventEndpoints,
  contact: Contact,
  events: readonly ContactEvent[],
): Promise<void> {
  const wanted = events.filter(({ type }) => isWanted(tx, endpoints, type))
  if (wanted.length === 0) return
  const occurrences = await occurrencesOf(tx, wanted, [contact])
  if (occurrences.length > maxSingleEvents) return await raiseAllTo(tx, endpoints, occurrences)
  for (const occurrence of occurrences) await raiseTo(tx, endpoints, occurrence.type, occurrence)
}

/** Raises events of many contacts, by type. @param known The endpoints, found before the change. */
export async function raiseEventsOfContacts(
  tx: Tx,
  known: EventEndpoints,
  events: readonly ContactEvent[],
): Promise<void> {
  // The first request for a confirmation creates the subscriber that mails it.
  const hasRequests = events.some(({ type }) => type === 'contact.confirmation_requested')
  const endpoints = hasRequests ? await findEventEndpoints(tx) : known
  const wanted = events.filter(({ type }) => isWanted(tx, endpoints, type))
  if (wanted.length === 0) return
  const contacts = await listDocuments(tx, { ids: distinct(wanted.map(({ contactId }) => contactId)) })
  await raiseAllTo(tx, endpoints, await occurrencesOf(tx, wanted, contacts.map(contactFrom)))
}

/** Returns the events with their data. Leaves out those that `dataOf` does, and those of contacts that were erased since. */
async function occurrencesOf(
  tx: Tx,
  events: readonly ContactEvent[],
  contacts: readonly Contact[],
): Promise<TypedOccurrence[]> {
  const byId = new Map(contacts.map((contact) => [contact.id, contact]))
  const tagIds: number[] = []
  const topicIds: number[] = []
  for (const { type, tagId, topicId } of events) {
    if (type === 'contact.untagged') tagIds.push(tagId!)
    if (type === 'contact.topic_unsubscribed') topicIds.push(topicId!)
  }
  const tags = tagIds.length > 0 ? await findTags(tx, tagIds) : []
  const topics = topicIds.length > 0 ? await findTopics(tx, topicIds) : []
  const occurrences: TypedOccurrence[] = []
  for (const event of events) {
    const { type, contactId } = event
    const contact = byId.get(contactId)
    const data = contact && dataOf(tx, event, contact, { tags, topics })
    if (data) occurrences.push({ type, data, contactId })
  }
  return occurrences
}

/**
 * Returns the data of an event. Undefined if its tag or topic was deleted since, and if an unsubscribed contact was added to
 * a list.
 *
 * @param lost The tags and topics that contacts have lost, so that they are not among their own.
 */
function dataOf(
  tx: Tx,
  { type, list, tagId, topicId }: ContactEvent,
  contact: Contact,
  lost: Pick<Contact, 'tags' | 'topics'>,
): object | undefined {
  if (type === 'contact.subscribed' && contact.unsubscribed_at) return undefined
  if (tagId !== undefined) {
    const { tags } = type === 'contact.untagged' ? lost : contact
    const tag = tags.find(({ id }) => id === tagId)
    return tag && { contact, tag }
  }
  if (topicId !== undefined) {
    const { topics } = type === 'contact.topic_unsubscribed' ? lost : contact
    const topic = topics.find(({ id }) => id === topicId)
    return topic && { contact, topic }
  }
  if (!list) return { contact }
  const data = { contact, list: plainList(list) }
  if (type !== 'contact.confirmation_requested') return data
  return { ...data, confirm_url: contactLink(tx, contact, 'confirm', list.id) }
}
