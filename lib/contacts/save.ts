/** Writes of one contact: its row, its attributes, its tags and a list. */
import { randomUUID } from 'node:crypto'
import { type IndexedAttributes, indexAttributes, listIndexed } from '../attributes/operations.ts'
import { recordHistory } from '../consent/history.ts'
import { refuseErased } from '../consent/suppressions.ts'
import { now, type Tx } from '../context.ts'
import { type List, plainList } from '../lists/schema.ts'
import { foldAddress } from '../parse.ts'
import { recordFrom } from '../record.ts'
import { ensureTags, findTagsByName } from '../tags/operations.ts'
import type { Tag } from '../tags/schema.ts'
import { changeAttributes, noAttributes, readAttributes, writeAttributes } from './attributes.ts'
import { needsConfirmation, requestConfirmation } from './double-opt-in.ts'
import { type ContactEvent, finishChange, tagEvents } from './events.ts'
import { requireAtMost } from './limits.ts'
import * as pending from './pending-queries.ts'
import * as queries from './queries.ts'
import {
  type AddedContact,
  type AttributeChanges,
  type Contact,
  type ContactTexts,
  contactFields,
  type NewContact,
  noTexts,
  textNames,
  textsOf,
} from './schema.ts'
import { searchText } from './search.ts'

/**
 * Inserts a contact, or locks and updates the stored one with its address. Adds tags, adds it to a list if there is one,
 * and raises the events. Statements that do not need each other's results are sent together.
 *
 * @param reading The list, whose statement was sent.
 * @throws MailkeepError See `addContactToList`.
 */
export async function saveContact(tx: Tx, fields: NewContact, reading?: Promise<List>): Promise<AddedContact> {
  const { email, tags = [], attributes, confirmed } = fields
  const emailKey = foldAddress(email)
  const [list, stored, known, indexed] = await Promise.all([
    reading,
    queries.lockContactByEmail(tx, { client_id: tx.clientId, email_key: emailKey }),
    tags.length > 0 ? findTagsByName(tx, tags) : new Map<string, Tag>(),
    attributes.size > 0 ? listIndexed(tx) : [],
  ])
  const { id, inserted, updated } = await insertOrUpdate(tx, fields, { emailKey, stored, indexed })
  const created = inserted !== undefined
  const mustConfirm = list !== undefined && needsConfirmation(list, confirmed)
  const [tagged, joined] = await Promise.all([
    addTags(tx, id, tags, { known, created }),
    list && !mustConfirm && join(tx, id, list, created),
  ])
  const asked = mustConfirm && (await requestConfirmation(tx, id, list))
  const events: ContactEvent[] = []
  if (created) events.push({ type: 'contact.created', contactId: id })
  if (updated) events.push({ type: 'contact.updated', contactId: id })
  events.push(...tagged)
  if (list && joined) events.push({ type: 'contact.subscribed', contactId: id, list })
  if (asked) events.push({ type: 'contact.confirmation_requested', contactId: id, list })
  // A new contact is read only if it has a tag that is new too.
  let composed: Contact | undefined
  if (inserted && tagged.length === known.size) {
    const sorted = [...known.values()].sort((a, b) => a.id - b.id)
    composed = { ...inserted, tags: sorted, lists: list && joined ? [plainList(list)] : [] }
  }
  const [contact] = await Promise.all([
    finishChange(tx, id, events, composed),
    // A new contact is within the limits, because the input was validated.
    tagged.length > 0 && !created && requireAtMost(tx, 'tags', id),
    joined && !created && requireAtMost(tx, 'lists', id),
  ])
  const isPending = mustConfirm && contact.lists.every((one) => one.id !== list.id)
  return { contact, created, ...(list?.double_opt_in && { pending_lists: isPending ? [plainList(list)] : [] }) }
}

/** What a save has read before its first write. */
interface ReadFirst {
  /** The folded e-mail address. */
  readonly emailKey: string
  readonly stored: StoredContact | undefined
  readonly indexed: IndexedAttributes
}

/** Inserts the contact, or saves the texts and attributes of the stored one. @returns `inserted`: without tags and lists. */
async function insertOrUpdate(
  tx: Tx,
  fields: NewContact,
  read: ReadFirst,
): Promise<{ id: number; inserted?: Contact; updated: boolean }> {
  const { emailKey, stored, indexed } = read
  if (stored) {
    const { texts, attributes } = fields
    const updated = await saveChanges(tx, stored, texts, mergeAttributes(stored, attributes), indexed)
    return { id: stored.id, updated }
  }
  let inserted = await insertContact(tx, fields, read)
  if (!inserted) {
    await refuseErased(tx, emailKey)
    inserted = await insertContact(tx, fields, read, true)
  }
  if (inserted) return { id: inserted.id, inserted, updated: false }
  // Another process inserted the contact first. It may even have erased it again, so start over.
  const winner = await queries.lockContactByEmail(tx, { client_id: tx.clientId, email_key: emailKey })
  return await insertOrUpdate(tx, fields, { ...read, stored: winner })
}

async function insertContact(
  tx: Tx,
  { email, texts, attributes }: NewContact,
  { emailKey, indexed }: ReadFirst,
  isChecked = false,
): Promise<Contact | undefined> {
  const all = { ...noTexts, ...texts }
  const search = searchText(all.name, email)
  const ownAttributes = changeAttributes(noAttributes, attributes)
  const row = { uuid: randomUUID(), email, ...all, unsubscribed_by_contact: false, created_at: now(tx) }
  const id = await queries.insertContact(tx, {
    ...row,
    client_id: tx.clientId,
    email_key: emailKey,
    is_checked: isChecked,
    attributes: writeAttributes(ownAttributes),
    search,
  })
  if (!id) return undefined
  tx.transaction.searchChanges.push({ clientId: tx.clientId, contactId: id, before: null, after: search })
  await indexAttributes(tx, [{ contactId: id, attributes: ownAttributes, isNew: true }], indexed)
  const extra_attributes = Object.fromEntries(ownAttributes)
  return contactOf({ ...row, id, extra_attributes, unsubscribed_at: null, tags: [], lists: [], topics: [] })
}

const contactOf = recordFrom(contactFields)

/** @returns Whether the contact was not on the list. */
async function join(tx: Tx, id: number, list: List, created: boolean): Promise<boolean> {
  const membership = { client_id: tx.clientId, contact_id: id, list_id: list.id }
  const inserted = queries.insertMembership(tx, membership)
  if (created) tx.transaction.defer(inserted)
  else if ((await inserted) === 0) return false
  await recordHistory(tx, [{ contactId: id, type: 'list_joined', listId: list.id }])
  if (list.double_opt_in) await pending.deleteRequest(tx, membership)
  return true
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
 * @param indexed Read if they are not given.
 * @returns Whether anything changed.
 */
export async function saveChanges(
  tx: Tx,
  stored: StoredContact,
  newTexts: Partial<ContactTexts>,
  newAttributes: string | undefined,
  indexed?: IndexedAttributes,
): Promise<boolean> {
  const texts = { ...(textsOf(stored) as ContactTexts), ...newTexts }
  const attributes = newAttributes ?? stored.attributes
  if (attributes === stored.attributes && textNames.every((name) => texts[name] === stored[name])) return false
  const search = texts.name === stored.name ? stored.search : searchText(texts.name, stored.email)
  tx.transaction.defer(
    queries.updateContact(tx, { client_id: tx.clientId, id: stored.id, ...texts, attributes, search }),
  )
  if (attributes !== stored.attributes) {
    const changed = { contactId: stored.id, attributes: readAttributes(attributes), isNew: false }
    await indexAttributes(tx, [changed], indexed)
  }
  if (search !== stored.search) {
    tx.transaction.searchChanges.push({
      clientId: tx.clientId,
      contactId: stored.id,
      before: stored.search,
      after: search,
    })
  }
  return true
}

/** @returns All attributes as JSON text; undefined when none changes. */
export function mergeAttributes(stored: StoredContact, changes: AttributeChanges): string | undefined {
  if (changes.size === 0) return undefined
  return writeAttributes(changeAttributes(readAttributes(stored.attributes), changes))
}

/**
 * Adds tags to a contact. Creates missing tags.
 *
 * @param options.known The tags that exist, read if they are not given.
 * @param options.created Whether the contact is new. Otherwise the database finds out which tags it did not have.
 * @returns The events of the tags that the contact got.
 */
export async function addTags(
  tx: Tx,
  contactId: number,
  names: readonly string[],
  { known, created = false }: { known?: ReadonlyMap<string, Tag>; created?: boolean } = {},
): Promise<ContactEvent[]> {
  if (names.length === 0) return []
  const tagIds = [...(await ensureTags(tx, names, known)).values()]
  const rows = tagIds.map((tag_id) => ({ client_id: tx.clientId, contact_id: contactId, tag_id }))
  const inserted = queries.insertContactTags(tx, rows)
  if (created) tx.transaction.defer(inserted)
  return tagEvents('contact.tagged', contactId, created ? tagIds : await inserted)
}

/** Replaces the contact's tags, and returns the events. The tag limit needs no check, because the input was validated. */
export async function replaceTags(tx: Tx, contact_id: number, names: readonly string[]): Promise<ContactEvent[]> {
  const tag_ids = [...(await ensureTags(tx, names)).values()]
  const removed = await queries.deleteOtherContactTags(tx, { contact_id, tag_ids })
  const rows = tag_ids.map((tag_id) => ({ client_id: tx.clientId, contact_id, tag_id }))
  const tagged = rows.length > 0 ? await queries.insertContactTags(tx, rows) : []
  return [
    ...tagEvents('contact.tagged', contact_id, tagged),
    ...tagEvents(
      'contact.untagged',
      contact_id,
      removed.map(({ tag_id }) => tag_id),
    ),
  ]
}
