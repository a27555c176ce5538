import { audit } from '../audit/operations.ts'
import { recordHistory } from '../consent/history.ts'
import type { Context, Tx } from '../context.ts'
import { notFound } from '../errors.ts'
import { getList } from '../lists/operations.ts'
import type { List } from '../lists/schema.ts'
import { transact } from '../storage/transaction.ts'
import { findEventEndpoints } from '../webhooks/outbox.ts'
import { type ContactKey, lockContact } from './contact-key.ts'
import { validSince } from './double-opt-in.ts'
import { type ContactEvent, raiseEventsOfContact } from './events.ts'
import { requireAtMost } from './limits.ts'
import { subscribeAgain } from './past-changes.ts'
import * as pending from './pending-queries.ts'
import * as queries from './queries.ts'
import { getContact } from './reading.ts'
import type { Contact } from './schema.ts'

/**
 * Confirms that a contact joins a list with double opt-in, as its link does. A contact that had unsubscribed is subscribed
 * again, because it asked for mail itself. A repeated call changes nothing. Raises `contact.subscribed`.
 *
 * @throws MailkeepError `not_found`: no such contact or list, or the contact was not asked in the last 30 days.
 */
export async function confirmContact(ctx: Context, listId: number, contactId: ContactKey): Promise<Contact> {
  return transact(ctx, async (tx) => {
    const list = await getList(tx, listId)
    const { id } = await lockContact(tx, contactId)
    const membership = { contact_id: id, list_id: list.id }
    const wasAsked = await pending.findRequest(tx, { ...membership, requested_since: validSince(tx) })
    await pending.deleteRequest(tx, membership)
    const before = await getContact(tx, id)
    const isMember = before.lists.some((one) => one.id === list.id)
    const isBack = before.unsubscribed_at !== null
    // An old link proves no new wish: without a request, a member that has unsubscribed since stays so.
    if (isMember && !(isBack && wasAsked)) return before
    if (!wasAsked) throw notFound('request to join this list')
    // Before it joins: the sequences of the list enrol subscribed contacts only.
    if (isBack) await subscribeAgain(tx, [id])
    if (!isMember) {
      await joinList(tx, id, list, 'confirmed')
      audit(tx, 'contact.list_added', id)
    }
    const events: ContactEvent[] = []
    if (isBack) {
      audit(tx, 'contact.resubscribed', id)
      await recordHistory(tx, [{ contactId: id, type: 'resubscribed' }])
      events.push({ type: 'contact.resubscribed', contactId: id })
    }
    if (!isMember) events.push({ type: 'contact.subscribed', contactId: id, list })
    const contact = await getContact(tx, id)
    await raiseEventsOfContact(tx, await findEventEndpoints(tx), contact, events)
    return contact
  })
}

/** Adds a contact to a list that it is not on, because it asked for that itself. The caller audits and raises the event. */
export async function joinList(
  tx: Tx,
  contactId: number,
  list: List,
  type: 'confirmed' | 'list_joined',
): Promise<void> {
  await queries.insertMembership(tx, { client_id: tx.clientId, contact_id: contactId, list_id: list.id })
  await requireAtMost(tx, 'lists', contactId)
  await recordHistory(tx, [{ contactId, type, listId: list.id }])
}
