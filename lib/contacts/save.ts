/** Writes of one contact: its row, its attributes and its tags. */
import { randomUUID } from 'node:crypto'
import { type IndexedAttributes, indexAttributes, listIndexed } from '../attributes/operations.ts'
import { audit } from '../audit/operations.ts'
import { refuseErased } from '../consent/suppressions.ts'
import { now, type Tx } from '../context.ts'
import { type List, plainList } from '../lists/schema.ts'
import { fold } from '../parse.ts'
import { recordFrom } from '../record.ts'
import { ensureTags, findTagsByName } from '../tags/operations.ts'
import type { Tag } from '../tags/schema.ts'
import { changeAttributes, noAttributes, readAttributes, writeAttributes } from './attributes.ts'
import * as queries from './queries.ts'
import {
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

/** A contact after a save. */
interface Saved {
  readonly id: number
  readonly created: boolean
  /** Whether a text or an attribute of a stored contact changed. */
  readonly updated: boolean
  /** A new contact as it was inserted: without tags and lists. */
  readonly inserted?: Contact
}

/** What a save needs to know. It is read by statements that are sent together. */
export interface Known {
  /** The folded e-mail address. */
  readonly emailKey: string
  readonly stored: StoredContact | undefined
  /** The tags that exist, by the folded name. */
  readonly tags: ReadonlyMap<string, Tag>
  readonly indexed: IndexedAttributes
}

/** Locks the contact. */
export async function readKnown(tx: Tx, { email, tags = [], attributes }: NewContact): Promise<Known> {
  const emailKey = fold(email)
  const [stored, found, indexed] = await Promise.all([
    lockStored(tx, emailKey),
    tags.length > 0 ? findTagsByName(tx, tags) : noTags,
    attributes.size > 0 ? listIndexed(tx) : [],
  ])
  return { emailKey, stored, tags: found, indexed }
}

const noTags: ReadonlyMap<string, Tag> = new Map()

function lockStored(tx: Tx, email_key: string): Promise<StoredContact | undefined> {
  return queries.lockContactByEmail(tx, { client_id: tx.clientId, email_key })
}

/** Inserts the contact, or saves the name and the attributes of the stored one. */
export async function saveContact(tx: Tx, fields: NewContact, known: Known): Promise<Saved> {
  const { emailKey, stored, indexed } = known
  if (!stored) {
    let inserted = await insertContact(tx, fields, known)
    if (!inserted) {
      await refuseErased(tx, emailKey)
      inserted = await insertContact(tx, fields, known, true)
    }
    if (inserted) return { id: inserted.id, created: true, updated: false, inserted }
    // Another process inserted the contact first. It may even have erased it again, so start over.
    return await saveContact(tx, fields, { ...known, stored: await lockStored(tx, emailKey) })
  }
  const { texts, attributes } = fields
  const updated = await saveChanges(tx, stored, texts, mergeAttributes(stored, attributes), indexed)
  return { id: stored.id, created: false, updated }
}

async function insertContact(
  tx: Tx,
  { email, texts, attributes }: NewContact,
  { emailKey, indexed }: Known,
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
  tx.transaction.indexSearch({ clientId: tx.clientId, contactId: id, before: null, after: search })
  await indexAttributes(tx, [{ contactId: id, attributes: ownAttributes, isNew: true }], indexed)
  const extra_attributes = Object.fromEntries(ownAttributes)
  return contactOf({ ...row, id, extra_attributes, unsubscribed_at: null, tags: [], lists: [], topics: [] })
}

const contactOf = recordFrom(contactFields)

/** Records a save in the audit log, unless it changed nothing. */
export async function auditSave(tx: Tx, { id, created, updated }: Saved, tagged: readonly number[]): Promise<void> {
  if (created) await audit(tx, 'contact.created', id)
  else if (updated || tagged.length > 0) await audit(tx, 'contact.updated', id)
}

/** Returns a new contact without reading it, unless it has a tag that was new too. */
export function composeNew(
  { inserted }: Saved,
  known: Known,
  tagged: readonly number[],
  lists: readonly List[],
): Contact | undefined {
  if (!inserted || tagged.length !== known.tags.size) return undefined
  const tags = [...known.tags.values()].sort((a, b) => a.id - b.id)
  return { ...inserted, tags, lists: lists.map(plainList) }
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
    tx.transaction.indexSearch({ clientId: tx.clientId, contactId: stored.id, before: stored.search, after: search })
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
 * @returns The ids of the tags that the contact got.
 */
export async function addTags(
  tx: Tx,
  contact_id: number,
  names: readonly string[] = [],
  { known, created = false }: { known?: ReadonlyMap<string, Tag>; created?: boolean } = {},
): Promise<readonly number[]> {
  if (names.length === 0) return []
  const tag_ids = [...(await ensureTags(tx, names, known)).values()]
  const rows = { client_id: tx.clientId, contact_id, tag_ids }
  if (!created) return (await queries.insertMissingTags(tx, rows)).map(({ tag_id }) => tag_id)
  tx.transaction.defer(queries.insertContactTags(tx, rows))
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
