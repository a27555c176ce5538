import { randomUUID } from 'node:crypto'
import PQueue from 'p-queue'
import { type Context, now, type Tx } from '../context.ts'
import { invalid } from '../errors.ts'
import { inputLimits } from '../limits.ts'
import { getList } from '../lists/operations.ts'
import type { List } from '../lists/schema.ts'
import { fold, parse } from '../parse.ts'
import { transact } from '../storage/transaction.ts'
import { ensureTags } from '../tags/operations.ts'
import { countRecipients, raiseAll } from '../webhooks/outbox.ts'
import { noAttributes, readAttributes, writeAttributes } from './attributes.ts'
import * as queries from './bulk-queries.ts'
import { tooMany } from './limits.ts'
import { listDocuments } from './listing-queries.ts'
import { type BulkResult, isRefused, type Merged, mergeContacts, orRefused, type Refused } from './merge.ts'
import { type StoredContact, saveChanges } from './operations.ts'
import { type ContactInput, contactFrom, NewContact, noTexts } from './schema.ts'
import { searchText } from './search.ts'

/** A transaction writes at most this many rows, tags included, so that other writes do not wait long. */
const maxRowsPerBatch = 1500

/** This many characters of attributes count as one row. */
const attributeCharactersPerRow = 4000

/** Maximum contacts per call. Callers with more should import a file or call again. */
const maxContactsPerCall = 10_000

/**
 * Same as `addToList` for each contact, at a fraction of the cost. Invalid contacts are refused, and the others are
 * saved. Each transaction saves some hundreds of contacts. After an error the contacts saved before it stay, and the
 * call can be repeated safely.
 *
 * @param inputs At most 10,000. Contacts with the same e-mail address are merged in order and raise one event. The
 *   stored result is the same as from saving them one by one.
 * @returns The result of each contact, in the order of `inputs`.
 * @throws MailkeepError `not_found`: no such list; `validation_failed`: not an array, or too many contacts.
 */
export async function addContactsToList(
  ctx: Context,
  listId: number,
  inputs: readonly ContactInput[],
): Promise<BulkResult[]> {
  if (!Array.isArray(inputs)) throw invalid('body', 'This must be an array of contacts.')
  if (inputs.length > maxContactsPerCall) {
    throw invalid('body', `At most ${maxContactsPerCall.toLocaleString('en')} contacts at a time.`)
  }
  await getList(ctx, listId)
  return await addEntries(ctx, listId, entriesOf(inputs))
}

/** A validated contact, or the error of a refused one. */
export type Entry = NewContact | Refused

export function entryOf(input: unknown): Entry {
  return orRefused(() => parse(NewContact, input))
}

function* entriesOf(inputs: readonly unknown[]): Generator<Entry> {
  for (const input of inputs) yield entryOf(input)
}

/**
 * Saves contacts that are already validated, as `addContactsToList` does.
 *
 * @param onSave Called in the transaction of each batch.
 */
export async function addEntries(
  ctx: Context,
  listId: number,
  entries: Iterable<Entry>,
  onSave?: (tx: Tx) => Promise<void>,
): Promise<BulkResult[]> {
  const results: BulkResult[] = []
  const deliveriesPerContact = await countRecipients(ctx, 'contact.subscribed')
  for (const batch of batchesOf(entries, deliveriesPerContact)) {
    const save = () => addBatch(ctx, listId, batch, onSave)
    results.push(...(await (ctx.transaction ? save() : ctx.local.runBatch(save))))
  }
  return results
}

export type RunBatch = <T>(save: () => Promise<T>) => Promise<T>

/** Runs batches one at a time, so that a single save waits for at most one or two batches of imports. */
export function runBatches(): RunBatch {
  const queue = new PQueue({ concurrency: 1 })
  return (save) => queue.add(save)
}

/** The contacts to save, by folded e-mail address. Repeated addresses have several contacts. */
type ByEmail = ReadonlyMap<string, readonly NewContact[]>

interface Batch {
  readonly entries: Entry[]
  readonly contacts: Map<string, NewContact[]>
}

function* batchesOf(entries: Iterable<Entry>, deliveriesPerContact: number): Generator<Batch> {
  let batch: Batch = { entries: [], contacts: new Map() }
  let rows = 0
  for (const entry of entries) {
    batch.entries.push(entry)
    if (isRefused(entry)) continue
    const key = fold(entry.email)
    const same = batch.contacts.get(key)
    if (same) same.push(entry)
    else batch.contacts.set(key, [entry])
    // Contacts with the same e-mail address raise one event.
    rows += rowsOf(entry) + (same ? 0 : deliveriesPerContact)
    if (rows < maxRowsPerBatch) continue
    yield batch
    batch = { entries: [], contacts: new Map() }
    rows = 0
  }
  if (batch.entries.length > 0) yield batch
}

function rowsOf({ tags = [], attributes }: NewContact): number {
  let characters = 0
  for (const value of attributes.values()) characters += value?.length ?? 0
  return 1 + tags.length + Math.floor(characters / attributeCharactersPerRow)
}

async function addBatch(
  ctx: Context,
  listId: number,
  { entries, contacts }: Batch,
  onSave?: (tx: Tx) => Promise<void>,
): Promise<BulkResult[]> {
  if (contacts.size === 0) return entries.filter(isRefused)
  const results = await transact(ctx, async (tx) => {
    // Two batches of the same contacts lock them in different orders and would deadlock. A single save locks one
    // contact, and needs no such lock.
    if (tx.storage.dialect.lock) await queries.lockBatches(tx, { name: `batches ${tx.clientId}` })
    const list = await getList(tx, listId)
    const saved = await saveContacts(tx, list, contacts)
    const ids = idsInOrder(entries, saved.results)
    await addTags(tx, new Map(ids.map((id) => [id, saved.tags.get(id)!])))
    await addMemberships(tx, list, ids)
    await onSave?.(tx)
    return saved.results
  })
  return entries.map((entry) => (isRefused(entry) ? entry : results.get(entry)!))
}

/** The ids of the saved contacts, in the order of their first entries. Events and new tags follow it. */
function idsInOrder(entries: readonly Entry[], results: SavedContacts['results']): number[] {
  const saved = entries.map((entry) => (isRefused(entry) ? entry : results.get(entry)!))
  return [...new Set(saved.flatMap((result) => ('id' in result ? [result.id] : [])))]
}

interface SavedContacts {
  readonly results: Map<NewContact, BulkResult>
  /** Tag names to add, by the id of the saved contact. */
  readonly tags: Map<number, readonly string[]>
}

/** Finds contacts by e-mail address or inserts them, and saves their names and attributes. */
async function saveContacts(tx: Tx, list: List, contacts: ByEmail): Promise<SavedContacts> {
  const saved: SavedContacts = { results: new Map(), tags: new Map() }
  const stored = await queries.lockContactsByEmail(tx, { client_id: tx.clientId, email_keys: [...contacts.keys()] })
  const limits = await limitsOf(tx, list, stored, contacts)
  const newcomers = new Map(contacts)
  for (const contact of stored) {
    newcomers.delete(contact.email_key)
    await saveStored(tx, contact, contacts.get(contact.email_key)!, limits, saved)
  }
  const missed = await insertContacts(tx, newcomers, saved)
  if (missed.size > 0) {
    // Another process inserted these after the lock query.
    const rest = await saveContacts(tx, list, missed)
    for (const [contact, result] of rest.results) saved.results.set(contact, result)
    for (const [id, names] of rest.tags) saved.tags.set(id, names)
  }
  return saved
}

/** Stored contacts that are at or near a limit. */
interface LimitState {
  /** Contacts that are on the maximum number of lists. */
  readonly fullOfLists: ReadonlySet<number>
  /** For contacts near the limit: the folded names of their tags. */
  readonly tagKeys: ReadonlyMap<number, Set<string>>
}

async function limitsOf(tx: Tx, list: List, stored: readonly StoredByEmail[], contacts: ByEmail): Promise<LimitState> {
  const contact_ids = stored.map(({ id }) => id)
  const tagKeys = new Map<number, Set<string>>()
  if (contact_ids.length === 0) return { fullOfLists: new Set(), tagKeys }
  const full = await queries.listFullOfLists(tx, { contact_ids, list_id: list.id, max_lists: inputLimits.lists })
  const newTags = stored.map(({ email_key }) => countTags(contacts.get(email_key)!))
  const more_than = inputLimits.tags - Math.max(...newTags)
  const tagged = contact_ids.filter((_, at) => newTags[at]! > 0)
  const near = tagged.length > 0 ? await queries.listWithManyTags(tx, { contact_ids: tagged, more_than }) : []
  for (const { contact_id } of near) tagKeys.set(contact_id, new Set())
  if (near.length > 0) {
    const keys = await queries.listTagKeys(tx, { contact_ids: near.map(({ contact_id }) => contact_id) })
    for (const { contact_id, name_key } of keys) tagKeys.get(contact_id)!.add(name_key)
  }
  return { fullOfLists: new Set(full.map(({ contact_id }) => contact_id)), tagKeys }
}

function countTags(contacts: readonly NewContact[]): number {
  return contacts.reduce((sum, { tags = [] }) => sum + tags.length, 0)
}

interface StoredByEmail extends StoredContact {
  readonly email_key: string
}

async function saveStored(
  tx: Tx,
  stored: StoredByEmail,
  contacts: readonly NewContact[],
  { fullOfLists, tagKeys }: LimitState,
  { results, tags }: SavedContacts,
): Promise<void> {
  if (fullOfLists.has(stored.id)) {
    for (const contact of contacts) results.set(contact, { refused: tooMany('lists') })
    return
  }
  const merged = mergeContacts(contacts, () => readAttributes(stored.attributes), tagKeys.get(stored.id), results)
  if (merged.accepted.length === 0) return
  for (const contact of merged.accepted) results.set(contact, { id: stored.id, created: false })
  await saveChanges(tx, stored, merged.texts, merged.attributes && writeAttributes(merged.attributes))
  tags.set(stored.id, merged.tags)
}

/** @returns The contacts that were not inserted, because another process inserted them first. */
async function insertContacts(tx: Tx, newcomers: ByEmail, { results, tags }: SavedContacts): Promise<ByEmail> {
  const all = new Map<string, Merged>()
  for (const [key, contacts] of newcomers) {
    const tagKeys = countTags(contacts) > inputLimits.tags ? new Set<string>() : undefined
    const merged = mergeContacts(contacts, () => noAttributes, tagKeys, results)
    if (merged.accepted.length > 0) all.set(key, merged)
  }
  if (all.size === 0) return new Map()
  const rows = new Map([...all].map(([key, merged]) => [key, rowOf(key, merged)]))
  const inserted = await queries.insertContacts(tx, {
    client_id: tx.clientId,
    created_at: now(tx),
    unsubscribed_by_contact: false,
    contacts: [...rows.values()],
  })
  for (const { id, email_key } of inserted) {
    const merged = all.get(email_key)!
    for (const [at, contact] of merged.accepted.entries()) results.set(contact, { id, created: at === 0 })
    tags.set(id, merged.tags)
    const after = rows.get(email_key)!.search
    tx.transaction.indexSearch({ clientId: tx.clientId, contactId: id, before: null, after })
    all.delete(email_key)
  }
  return new Map([...all].map(([key, { accepted }]) => [key, accepted]))
}

function rowOf(email_key: string, { accepted, texts, attributes = noAttributes }: Merged) {
  const { email } = accepted[0]!
  const all = { ...noTexts, ...texts }
  const search = searchText(all.name, email)
  return { uuid: randomUUID(), email, email_key, ...all, attributes: writeAttributes(attributes), search }
}

async function addTags(tx: Tx, tags: ReadonlyMap<number, readonly string[]>): Promise<void> {
  const names = new Set([...tags.values()].flat())
  if (names.size === 0) return
  const tagIds = await ensureTags(tx, [...names])
  const pairs = [...tags].flatMap(([contact_id, names]) =>
    names.map((name) => ({ contact_id, tag_id: tagIds.get(fold(name))! })),
  )
  await queries.insertTagsOfContacts(tx, { client_id: tx.clientId, pairs })
}

async function addMemberships(tx: Tx, list: List, contact_ids: readonly number[]): Promise<void> {
  const added = await queries.insertMemberships(tx, { client_id: tx.clientId, list_id: list.id, contact_ids })
  const joined = new Set(added.map(({ contact_id }) => contact_id))
  await raiseAll(tx, 'contact.subscribed', async () => {
    const ids = contact_ids.filter((id) => joined.has(id))
    const documents = new Map((await listDocuments(tx, { ids })).map((row) => [row.id, row]))
    const contacts = ids.map((id) => contactFrom(documents.get(id)!)).filter((contact) => !contact.unsubscribed_at)
    return contacts.map((contact) => ({ contactId: contact.id, data: { contact, list } }))
  })
}
