import { randomUUID } from 'node:crypto'
import { audit } from '../audit/operations.ts'
import { type Context, now, type Tx } from '../context.ts'
import { invalid, notFound } from '../errors.ts'
import { runOrEnqueue } from '../jobs/operations.ts'
import { getList } from '../lists/operations.ts'
import { fold, parse, requireId } from '../parse.ts'
import { transact } from '../storage/transaction.ts'
import { ensureTags } from '../tags/operations.ts'
import { getTopic } from '../topics/operations.ts'
import { raise } from '../webhooks/outbox.ts'
import { changeAttributes, noAttributes, readAttributes, writeAttributes } from './attributes.ts'
import { clearContact } from './deletion.ts'
import { requireAtMost } from './limits.ts'
import * as queries from './queries.ts'
import {
  type AttributeChanges,
  type Contact,
  ContactChange,
  type ContactChangeInput,
  type ContactInput,
  type ContactTexts,
  contactFrom,
  NewContact,
  noTexts,
  textNames,
  textsOf,
  type UnsubscribeInput,
  UnsubscribeOptions,
} from './schema.ts'
import { searchText } from './search.ts'

/** @throws MailkeepError `not_found` */
export async function getContact(ctx: Context, id: number): Promise<Contact> {
  return contactFrom(await findDocument(ctx, id))
}

/**
 * Same as `get`, but returns JSON text.
 *
 * @throws MailkeepError `not_found`
 */
export async function getContactJson(ctx: Context, id: number): Promise<string> {
  return (await findDocument(ctx, id)).document
}

async function findDocument(ctx: Context, id: number): Promise<{ document: string }> {
  requireId('contactId', id)
  const row = await queries.findDocument(ctx, { client_id: ctx.clientId, id })
  if (!row) throw notFound('contact')
  ctx.local.onContactRead?.(id)
  return row
}

/**
 * Adds a contact to a list. Creates the contact if the client has none with this e-mail address. Adds tags, and merges
 * attributes by key. An unsubscribed contact stays unsubscribed. Raises `contact.subscribed` if the contact was not on
 * the list. A repeated call changes nothing and raises no event.
 *
 * @param input Fields besides `email`, `name` and `tags` are attributes.
 * @returns The contact as stored after the change, and whether it is new.
 * @throws MailkeepError `not_found`: no such list; `validation_failed`: `input` breaks a rule.
 */
export async function addContactToList(
  ctx: Context,
  listId: number,
  input: ContactInput,
): Promise<{ contact: Contact; created: boolean }> {
  const fields = parse(NewContact, input)
  return transact(ctx, async (tx) => {
    const list = await getList(tx, listId)
    const { id, created } = await saveContact(tx, fields)
    const tagged = await addTags(tx, id, fields.tags)
    const joined = await queries.insertMembership(tx, { client_id: tx.clientId, contact_id: id, list_id: list.id })
    // A new contact is within the limits, because the input was validated.
    if (tagged && !created) await requireAtMost(tx, 'tags', id)
    if (joined && !created) await requireAtMost(tx, 'lists', id)
    const contact = await getContact(tx, id) // after the last write, so that it includes the new list
    if (joined && !contact.unsubscribed_at) await raise(tx, 'contact.subscribed', { contact, list }, id)
    return { contact, created }
  })
}

/**
 * Changes a contact's name, tags and attributes. The e-mail address cannot be changed.
 *
 * @param input `tags` replaces the set, attributes merge by key.
 * @throws MailkeepError `not_found`, `validation_failed`
 */
export async function updateContact(ctx: Context, id: number, input: ContactChangeInput): Promise<Contact> {
  const { texts, tags, attributes } = parse(ContactChange, input)
  return transact(ctx, async (tx) => {
    requireId('contactId', id)
    const stored = await queries.lockContact(tx, { client_id: tx.clientId, id })
    if (!stored) throw notFound('contact')
    await saveChanges(tx, stored, texts, attributes.size > 0 ? mergeAttributes(stored, attributes) : undefined)
    if (tags) await replaceTags(tx, id, tags)
    await audit(tx, 'contact.updated', id)
    return await getContact(tx, id)
  })
}

/**
 * Unsubscribes a contact from everything, and raises `contact.unsubscribed`. A repeated call keeps the first time and
 * raises no event.
 *
 * @throws MailkeepError `not_found`, `validation_failed`
 */
export async function unsubscribeContact(ctx: Context, id: number, options: UnsubscribeInput = {}): Promise<Contact> {
  const { byContact } = parse(UnsubscribeOptions, options)
  return transact(ctx, async (tx) => {
    const change = { client_id: tx.clientId, id, unsubscribed_at: now(tx), by_contact: byContact }
    requireId('contactId', id)
    const changed = await queries.markUnsubscribed(tx, change)
    const contact = await getContact(tx, id)
    if (changed) await audit(tx, 'contact.unsubscribed', id)
    if (changed) await raise(tx, 'contact.unsubscribed', { contact }, id)
    return contact
  })
}

/**
 * Subscribes a contact again, and raises `contact.resubscribed`. Does nothing if the contact is subscribed.
 *
 * @throws MailkeepError `not_found`
 */
export async function resubscribeContact(ctx: Context, id: number): Promise<Contact> {
  return transact(ctx, async (tx) => {
    const change = { client_id: tx.clientId, id, by_contact: false }
    requireId('contactId', id)
    const changed = await queries.markSubscribed(tx, change)
    const contact = await getContact(tx, id)
    if (changed) await audit(tx, 'contact.resubscribed', id)
    if (changed) await raise(tx, 'contact.resubscribed', { contact }, id)
    return contact
  })
}

/**
 * Removes a contact from a list and from the list's topics. The contact itself stays.
 *
 * @throws MailkeepError `not_found`: no such list or contact. It is no error if the contact is not on the list.
 */
export async function removeContactFromList(ctx: Context, listId: number, contactId: number): Promise<Contact> {
  return transact(ctx, async (tx) => {
    const list = await getList(tx, listId)
    await requireContact(tx, contactId)
    const membership = { contact_id: contactId, list_id: list.id }
    await queries.deleteMembership(tx, membership)
    await queries.deleteListSubscriptions(tx, membership)
    await audit(tx, 'contact.list_removed', contactId)
    return await getContact(tx, contactId)
  })
}

/**
 * Subscribes a contact to a topic. The contact must be on the topic's list.
 *
 * @throws MailkeepError `not_found`: no such contact or topic; `validation_failed`: the contact is not on the
 *   topic's list.
 */
export async function subscribeToTopic(ctx: Context, contactId: number, topicId: number): Promise<Contact> {
  return transact(ctx, async (tx) => {
    await requireContact(tx, contactId)
    const topic = await getTopic(tx, topicId)
    if (!(await queries.findMembership(tx, { contact_id: contactId, list_id: topic.list_id }))) {
      throw invalid('topic_id', "The contact is not on this topic's list.")
    }
    const subscription = { client_id: tx.clientId, contact_id: contactId, topic_id: topic.id }
    if (await queries.insertSubscription(tx, subscription)) {
      await requireAtMost(tx, 'topics', contactId)
      await audit(tx, 'contact.topic_subscribed', contactId)
    }
    return await getContact(tx, contactId)
  })
}

/**
 * Unsubscribes a contact from a topic. It is no error if the contact is not subscribed.
 *
 * @throws MailkeepError `not_found`: no such contact or topic.
 */
export async function unsubscribeFromTopic(ctx: Context, contactId: number, topicId: number): Promise<Contact> {
  return transact(ctx, async (tx) => {
    await requireContact(tx, contactId)
    const topic = await getTopic(tx, topicId)
    await queries.deleteSubscription(tx, { contact_id: contactId, topic_id: topic.id })
    await audit(tx, 'contact.topic_unsubscribed', contactId)
    return await getContact(tx, contactId)
  })
}

/**
 * Erases a contact, and every copy of its data in stored events and deliveries. On SQLite, a stored job then removes
 * the contact's text from the search index in the file. It starts after the commit, and pauses after each run.
 *
 * @throws MailkeepError `not_found`
 */
export async function deleteContact(ctx: Context, id: number): Promise<void> {
  return transact(ctx, async (tx) => {
    requireId('contactId', id)
    const deleted = await queries.deleteContact(tx, { client_id: tx.clientId, id })
    if (!deleted) throw notFound('contact')
    tx.transaction.indexSearch({ clientId: tx.clientId, contactId: id, before: deleted.search, after: null })
    await audit(tx, 'contact.deleted', id)
    await runOrEnqueue(tx, clearContact, { targetId: id })
  })
}

/** Locks the contact, so that no other transaction changes its memberships until this one ends. */
async function requireContact(tx: Tx, id: number): Promise<void> {
  requireId('contactId', id)
  if (!(await queries.lockContact(tx, { client_id: tx.clientId, id }))) throw notFound('contact')
}

/** Finds the contact by its e-mail address or inserts it, and saves its name and attributes. */
async function saveContact(tx: Tx, fields: NewContact): Promise<{ id: number; created: boolean }> {
  const key = { client_id: tx.clientId, email_key: fold(fields.email) }
  const stored = await queries.lockContactByEmail(tx, key)
  if (!stored) {
    const id = await insertContact(tx, key, fields)
    // Another process inserted the contact first. It may even have erased it again, so start over.
    return id ? { id, created: true } : await saveContact(tx, fields)
  }
  const { texts, attributes } = fields
  await saveChanges(tx, stored, texts, attributes.size > 0 ? mergeAttributes(stored, attributes) : undefined)
  return { id: stored.id, created: false }
}

async function insertContact(
  tx: Tx,
  key: { client_id: number; email_key: string },
  { email, texts, attributes }: NewContact,
) {
  const all = { ...noTexts, ...texts }
  const search = searchText(all.name, email)
  const id = await queries.insertContact(tx, {
    ...key,
    uuid: randomUUID(),
    email,
    ...all,
    attributes: writeAttributes(changeAttributes(noAttributes, attributes)),
    search,
    unsubscribed_by_contact: false,
    created_at: now(tx),
  })
  if (!id) return undefined
  tx.transaction.indexSearch({ clientId: tx.clientId, contactId: id, before: null, after: search })
  return id
}

/** A stored contact, locked for a change. */
export interface StoredContact extends ContactTexts {
  readonly id: number
  readonly email: string
  /** JSON text. */
  readonly attributes: string
  readonly search: string
}

/**
 * Updates the texts and the attributes of a stored contact. Absent texts, and undefined attributes, stay unchanged.
 *
 * @param newAttributes All attributes, as JSON text.
 */
export async function saveChanges(
  tx: Tx,
  stored: StoredContact,
  newTexts: Partial<ContactTexts>,
  newAttributes: string | undefined,
): Promise<void> {
  const texts = { ...(textsOf(stored) as ContactTexts), ...newTexts }
  const attributes = newAttributes ?? stored.attributes
  if (attributes === stored.attributes && textNames.every((name) => texts[name] === stored[name])) return
  const search = texts.name === stored.name ? stored.search : searchText(texts.name, stored.email)
  await queries.updateContact(tx, { client_id: tx.clientId, id: stored.id, ...texts, attributes, search })
  if (search === stored.search) return
  tx.transaction.indexSearch({ clientId: tx.clientId, contactId: stored.id, before: stored.search, after: search })
}

function mergeAttributes(stored: StoredContact, changes: AttributeChanges): string {
  return writeAttributes(changeAttributes(readAttributes(stored.attributes), changes))
}

/** @returns Whether the contact got a new tag. */
async function addTags(tx: Tx, contactId: number, names: readonly string[] = []): Promise<boolean> {
  if (names.length === 0) return false
  const tag_ids = [...(await ensureTags(tx, names)).values()]
  return (await queries.insertContactTags(tx, { client_id: tx.clientId, contact_id: contactId, tag_ids })) > 0
}

/** Replaces the contact's tags. The tag limit needs no check, because the input was validated. */
async function replaceTags(tx: Tx, contactId: number, names: readonly string[]): Promise<void> {
  const tag_ids = [...(await ensureTags(tx, names)).values()]
  await queries.deleteOtherContactTags(tx, { contact_id: contactId, tag_ids })
  if (tag_ids.length > 0)
    await queries.insertContactTags(tx, { client_id: tx.clientId, contact_id: contactId, tag_ids })
}
