/** Writes of one contact: its row, its attributes and its tags. */
import { randomUUID } from 'node:crypto'
import { indexAttributes } from '../attributes/operations.ts'
import { refuseErased } from '../consent/suppressions.ts'
import { now, type Tx } from '../context.ts'
import { fold } from '../parse.ts'
import { ensureTags } from '../tags/operations.ts'
import { changeAttributes, noAttributes, readAttributes, writeAttributes } from './attributes.ts'
import * as queries from './queries.ts'
import { type AttributeChanges, type ContactTexts, type NewContact, noTexts, textNames, textsOf } from './schema.ts'
import { searchText } from './search.ts'

/** A contact after a save. */
interface Saved {
  readonly id: number
  readonly created: boolean
  /** Whether a text or an attribute of a stored contact changed. */
  readonly updated: boolean
}

/** Finds the contact by its e-mail address or inserts it, and saves its name and attributes. */
export async function saveContact(tx: Tx, fields: NewContact): Promise<Saved> {
  const key = { client_id: tx.clientId, email_key: fold(fields.email) }
  const stored = await queries.lockContactByEmail(tx, key)
  if (!stored) {
    let id = await insertContact(tx, key, fields)
    if (!id) {
      await refuseErased(tx, key.email_key)
      id = await insertContact(tx, key, fields, true)
    }
    // Another process inserted the contact first. It may even have erased it again, so start over.
    return id ? { id, created: true, updated: false } : await saveContact(tx, fields)
  }
  const { texts, attributes } = fields
  const updated = await saveChanges(tx, stored, texts, mergeAttributes(stored, attributes))
  return { id: stored.id, created: false, updated }
}

async function insertContact(
  tx: Tx,
  key: { client_id: number; email_key: string },
  { email, texts, attributes }: NewContact,
  isChecked = false,
) {
  const all = { ...noTexts, ...texts }
  const search = searchText(all.name, email)
  const ownAttributes = changeAttributes(noAttributes, attributes)
  const id = await queries.insertContact(tx, {
    ...key,
    is_checked: isChecked,
    uuid: randomUUID(),
    email,
    ...all,
    attributes: writeAttributes(ownAttributes),
    search,
    unsubscribed_by_contact: false,
    created_at: now(tx),
  })
  if (!id) return undefined
  tx.transaction.indexSearch({ clientId: tx.clientId, contactId: id, before: null, after: search })
  await indexAttributes(tx, [{ contactId: id, attributes: ownAttributes, isNew: true }])
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
 * @returns Whether anything changed.
 */
export async function saveChanges(
  tx: Tx,
  stored: StoredContact,
  newTexts: Partial<ContactTexts>,
  newAttributes: string | undefined,
): Promise<boolean> {
  const texts = { ...(textsOf(stored) as ContactTexts), ...newTexts }
  const attributes = newAttributes ?? stored.attributes
  if (attributes === stored.attributes && textNames.every((name) => texts[name] === stored[name])) return false
  const search = texts.name === stored.name ? stored.search : searchText(texts.name, stored.email)
  await queries.updateContact(tx, { client_id: tx.clientId, id: stored.id, ...texts, attributes, search })
  if (attributes !== stored.attributes) {
    await indexAttributes(tx, [{ contactId: stored.id, attributes: readAttributes(attributes), isNew: false }])
  }
  if (search !== stored.search) {
    tx.transaction.indexSearch({ clientId: tx.clientId, contactId: stored.id, before: stored.search, after: search })
  }
  return true
}

/** @returns All attributes as JSON text; undefined when none changes. */
export function mergeAttributes(stored: StoredContact, changes: AttributeChanges): string | undefined {
  if (changes.size === 0) return undefined
  return writeAttributes(changeAttributes(readAttributes(stored.attributes), changes))
}

/** @returns The ids of the tags that the contact got. Without `created`, the database finds out which are new. */
export async function addTags(
  tx: Tx,
  contact_id: number,
  names: readonly string[] = [],
  created = false,
): Promise<readonly number[]> {
  if (names.length === 0) return []
  const tag_ids = [...(await ensureTags(tx, names)).values()]
  const rows = { client_id: tx.clientId, contact_id, tag_ids }
  if (!created) return (await queries.insertMissingTags(tx, rows)).map(({ tag_id }) => tag_id)
  await queries.insertContactTags(tx, rows)
  return tag_ids
}

/** Replaces the contact's tags. The tag limit needs no check, because the input was validated. */
export async function replaceTags(
  tx: Tx,
  contact_id: number,
  names: readonly string[],
): Promise<{ tagged: readonly number[]; untagged: readonly number[] }> {
  const tag_ids = [...(await ensureTags(tx, names)).values()]
  const removed = await queries.deleteOtherContactTags(tx, { contact_id, tag_ids })
  const added =
    tag_ids.length > 0 ? await queries.insertMissingTags(tx, { client_id: tx.clientId, contact_id, tag_ids }) : []
  return { tagged: added.map(({ tag_id }) => tag_id), untagged: removed.map(({ tag_id }) => tag_id) }
}
