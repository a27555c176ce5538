import { audit } from '../audit/operations.ts'
import { type Change, listHistory, recordHistory } from '../consent/history.ts'
import type { HistoryEntry } from '../consent/schema.ts'
import { forgetAddress } from '../consent/suppressions.ts'
import { type Context, now, type Tx } from '../context.ts'
import { invalid, notFound } from '../errors.ts'
import { runInTwoPasses } from '../jobs/operations.ts'
import { getList } from '../lists/operations.ts'
import type { List } from '../lists/schema.ts'
import type { Page, PageInput } from '../page.ts'
import { parse } from '../parse.ts'
import { transact } from '../storage/transaction.ts'
import { getTopic } from '../topics/operations.ts'
import { markAllUnsubscribed } from './bulk-queries.ts'
import { type ContactKey, contactIdOf, lockContact, requireContact } from './contact-key.ts'
import { clearContact } from './deletion.ts'
import { requireMayConfirm } from './double-opt-in.ts'
import { type ContactEvent, finishChange, raiseDeleted } from './events.ts'
import { requireAtMost } from './limits.ts'
import { keepCreations, keepUnsubscriptions, subscribeAgain } from './past-changes.ts'
import * as pending from './pending-queries.ts'
import * as queries from './queries.ts'
import { mergeAttributes, replaceTags, saveChanges, saveContact } from './save.ts'
import {
  type AddedContact,
  type Contact,
  ContactChange,
  type ContactChangeInput,
  type ContactInput,
  type EraseInput,
  EraseOptions,
  NewContact,
  type UnsubscribeInput,
  UnsubscribeOptions,
} from './schema.ts'

/**
 * Returns one page of a contact's history, newest first: what changed its lists, topics and subscription, and where the
 * change came from. Entries are never changed, and are erased with the contact.
 *
 * @throws MailkeepError `not_found`, `validation_failed`
 */
export async function listContactHistory(ctx: Context, id: ContactKey, query?: PageInput): Promise<Page<HistoryEntry>> {
  return await listHistory(ctx, await requireContact(ctx, id), query)
}

/**
 * Adds a contact to a list. Creates the contact if the client has none with this e-mail address. Adds tags, and merges
 * attributes by key. An unsubscribed contact stays unsubscribed. Raises `contact.subscribed` if the contact was not on
 * the list. A repeated call changes nothing and raises no event.
 *
 * A list with double opt-in asks the contact to confirm, at most once in 10 minutes, and raises
 * `contact.confirmation_requested` with the link. The contact joins the list when it follows the link, within 30 days.
 *
 * @param input Fields besides `email`, `name`, `tags` and `confirmed` are attributes.
 * @returns The contact as stored after the change, and whether it is new.
 * @throws MailkeepError `not_found`: no such list; `validation_failed`: `input` breaks a rule, or a link is needed and no
 *   public URL is configured; `forbidden`: only an admin may confirm.
 */
export async function addContactToList(ctx: Context, listId: number, input: ContactInput): Promise<AddedContact> {
  const fields = parse(NewContact, input)
  requireMayConfirm(ctx, fields.confirmed)
  return transact(ctx, (tx) => saveContact(tx, fields, getList(tx, listId)))
}

/**
 * Changes a contact's name, tags and attributes. `changeEmail` changes the e-mail address.
 *
 * @param input `tags` replaces the set, attributes merge by key.
 * @throws MailkeepError `not_found`, `validation_failed`
 */
export async function updateContact(ctx: Context, id: ContactKey, input: ContactChangeInput): Promise<Contact> {
  const { texts, tags, attributes } = parse(ContactChange, input)
  return transact(ctx, async (tx) => {
    const stored = await lockContact(tx, id)
    const updated = await saveChanges(tx, stored, texts, mergeAttributes(stored, attributes))
    const events: ContactEvent[] = updated ? [{ type: 'contact.updated', contactId: stored.id }] : []
    if (tags) events.push(...(await replaceTags(tx, stored.id, tags)))
    return await finishChange(tx, stored.id, events)
  })
}

/**
 * Unsubscribes a contact from everything, and raises `contact.unsubscribed`. A repeated call keeps the first time and
 * raises no event.
 *
 * @throws MailkeepError `not_found`, `validation_failed`
 */
export async function unsubscribeContact(
  ctx: Context,
  key: ContactKey,
  options: UnsubscribeInput = {},
): Promise<Contact> {
  const { byContact } = parse(UnsubscribeOptions, options)
  return transact(ctx, async (tx) => {
    const id = await contactIdOf(tx, key)
    const change = { client_id: tx.clientId, ids: [id], unsubscribed_at: now(tx), by_contact: byContact }
    const [changed] = await markAllUnsubscribed(tx, change)
    if (!changed) return await finishChange(tx, id, [])
    await recordHistory(tx, [{ contactId: id, type: 'unsubscribed' }])
    return await finishChange(tx, id, [{ type: 'contact.unsubscribed', contactId: id }])
  })
}

/**
 * Subscribes a contact again, and raises `contact.resubscribed`. Does nothing if the contact is subscribed.
 *
 * @throws MailkeepError `not_found`
 */
export async function resubscribeContact(ctx: Context, key: ContactKey): Promise<Contact> {
  return transact(ctx, async (tx) => {
    const id = await contactIdOf(tx, key)
    const [changed] = await subscribeAgain(tx, [id])
    if (!changed) return await finishChange(tx, id, [])
    await recordHistory(tx, [{ contactId: id, type: 'resubscribed' }])
    return await finishChange(tx, id, [{ type: 'contact.resubscribed', contactId: id }])
  })
}

/**
 * Removes a contact from a list and from the list's topics. The contact itself stays.
 *
 * @throws MailkeepError `not_found`: no such list or contact. It is no error if the contact is not on the list.
 */
export async function removeContactFromList(ctx: Context, listId: number, contactId: ContactKey): Promise<Contact> {
  return transact(ctx, async (tx) => {
    const list = await getList(tx, listId)
    const { id } = await lockContact(tx, contactId)
    const { changes, events } = await leaveList(tx, id, list)
    await recordHistory(tx, changes)
    return await finishChange(tx, id, events)
  })
}

/** Removes a contact from a list and its topics. Returns what changed, for the caller to record and raise. */
export async function leaveList(tx: Tx, contactId: number, list: List) {
  const membership = { contact_id: contactId, list_id: list.id }
  const changes: Change[] = []
  const events: ContactEvent[] = []
  await pending.deleteRequest(tx, membership)
  if ((await queries.deleteMembership(tx, membership)) > 0) {
    changes.push({ type: 'list_left', contactId, listId: list.id })
    events.push({ type: 'contact.list_removed', contactId, list })
  }
  const left = await queries.deleteListSubscriptions(tx, membership)
  for (const { topic_id: topicId } of left.toSorted((a, b) => a.topic_id - b.topic_id)) {
    changes.push({ type: 'topic_unsubscribed', contactId, topicId })
    events.push({ type: 'contact.topic_unsubscribed', contactId, topicId })
  }
  return { changes, events }
}

/**
 * Subscribes a contact to a topic. The contact must be on the topic's list.
 *
 * @throws MailkeepError `not_found`: no such contact or topic; `validation_failed`: the contact is not on the
 *   topic's list.
 */
export async function subscribeToTopic(ctx: Context, contactId: ContactKey, topicId: number): Promise<Contact> {
  return transact(ctx, async (tx) => {
    const { id } = await lockContact(tx, contactId)
    const topic = await getTopic(tx, topicId)
    if (!(await queries.findMembership(tx, { contact_id: id, list_id: topic.list_id }))) {
      throw invalid('topic_id', "The contact is not on this topic's list.")
    }
    const subscription = { client_id: tx.clientId, contact_id: id, topic_id: topic.id }
    const isNew = (await queries.insertSubscription(tx, subscription)) > 0
    if (!isNew) return await finishChange(tx, id, [])
    await requireAtMost(tx, 'topics', id)
    audit(tx, 'contact.topic_subscribed', id)
    await recordHistory(tx, [{ contactId: id, type: 'topic_subscribed', topicId }])
    return await finishChange(tx, id, [{ type: 'contact.topic_subscribed', contactId: id, topicId }])
  })
}

/**
 * Unsubscribes a contact from a topic. It is no error if the contact is not subscribed.
 *
 * @throws MailkeepError `not_found`: no such contact or topic.
 */
export async function unsubscribeFromTopic(ctx: Context, contactId: ContactKey, topicId: number): Promise<Contact> {
  return transact(ctx, async (tx) => {
    const { id } = await lockContact(tx, contactId)
    const topic = await getTopic(tx, topicId)
    const wasSubscribed = (await queries.deleteSubscription(tx, { contact_id: id, topic_id: topic.id })) > 0
    if (!wasSubscribed) return await finishChange(tx, id, [])
    audit(tx, 'contact.topic_unsubscribed', id)
    await recordHistory(tx, [{ contactId: id, type: 'topic_unsubscribed', topicId }])
    return await finishChange(tx, id, [{ type: 'contact.topic_unsubscribed', contactId: id, topicId }])
  })
}

/**
 * Erases a contact, and every copy of its data in stored events and deliveries. On SQLite, a stored job then removes
 * the contact's text from the search index in the file. It starts after the commit, and pauses after each run.
 *
 * @param options `suppress` leaves a keyed hash of the address, so that it cannot be stored again.
 * @throws MailkeepError `not_found`, `validation_failed`
 */
export async function deleteContact(ctx: Context, key: ContactKey, options: EraseInput = {}): Promise<void> {
  const { suppress } = parse(EraseOptions, options)
  return transact(ctx, async (tx) => {
    const id = await contactIdOf(tx, key)
    if (!(await eraseContact(tx, id, suppress))) throw notFound('contact')
  })
}

/** Erases a contact and the copies of its data. @returns Whether it existed. */
export async function eraseContact(tx: Tx, id: number, suppress = false): Promise<boolean> {
  keepCreations(tx, [id])
  keepUnsubscriptions(tx, [id])
  const deleted = await queries.deleteContact(tx, { client_id: tx.clientId, id })
  if (!deleted) return false
  tx.transaction.searchChanges.push({ clientId: tx.clientId, contactId: id, before: deleted.search, after: null })
  audit(tx, 'contact.deleted', id)
  await forgetAddress(tx, deleted.email, suppress)
  await runInTwoPasses(tx, clearContact, { targetId: id })
  await raiseDeleted(tx, { id, uuid: deleted.uuid, email: deleted.email })
  return true
}
