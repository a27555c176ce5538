import { randomUUID } from 'node:crypto'
import { type AbortInput, AbortOptions } from '../abort.ts'
import { type ChangedContact, indexAttributes } from '../attributes/operations.ts'
import { auditOnce } from '../audit/operations.ts'
import { distinct } from '../collections.ts'
import { addressErased, findErased } from '../consent/suppressions.ts'
import { type Context, now, type Tx } from '../context.ts'
import { invalid } from '../errors.ts'
import { inTurn, lockBatches } from '../jobs/batch-queue.ts'
import { inputLimits, withCommas } from '../limits.ts'
import { getList } from '../lists/operations.ts'
import type { List } from '../lists/schema.ts'
import { parse } from '../parse.ts'
import { transact } from '../storage/transaction.ts'
import { findEventEndpoints, isWanted } from '../webhooks/outbox.ts'
import { noAttributes, readAttributes, writeAttributes } from './attributes.ts'
import { batchesOf, type EntryBatch } from './batch-size.ts'
import { type ByEmail, countTags, type LimitState, limitsOf, type StoredByEmail } from './bulk-limits.ts'
import { addTagsToMany, joinLists } from './bulk-memberships.ts'
import { type BulkResult, type Entry, isRefused, type Merged, mergeContacts, orRefused } from './bulk-merge.ts'
import * as queries from './bulk-queries.ts'
import { requireMayConfirm } from './double-opt-in.ts'
import { type ContactEvent, raiseEventsOfContacts } from './events.ts'
import { tooMany } from './limits.ts'
import { saveChanges } from './save.ts'
import { type ContactInput, NewContact, noTexts } from './schema.ts'
import { searchText } from './search.ts'

/** Maximum contacts per call. Callers with more should import a file or call again. */
const maxContactsPerCall = 10_000

/**
 * Same as `addToList` for each contact, at a fraction of the cost. Invalid contacts are refused, and the others are
 * saved. Each transaction saves some hundreds of contacts. After an error the contacts saved before it stay, and the
 * call can be repeated safely.
 *
 * @param inputs At most 10,000. Contacts with the same e-mail address are merged in order and raise one event. The
 *   stored result is the same as from saving them one by one.
 * @param options `signal` stops the call between two transactions. It then throws the signal's reason.
 * @returns The result of each contact, in the order of `inputs`.
 * @throws MailkeepError `not_found`: no such list; `validation_failed`: not an array, or too many contacts.
 */
export async function addContactsToList(
  ctx: Context,
  listId: number,
  inputs: readonly ContactInput[],
  options: AbortInput = {},
): Promise<BulkResult[]> {
  const { signal } = parse(AbortOptions, options, 'options')
  if (!Array.isArray(inputs)) throw invalid('body', 'This must be an array of contacts.')
  if (inputs.length > maxContactsPerCall) {
    throw invalid('body', `At most ${withCommas(maxContactsPerCall)} contacts at a time.`)
  }
  // Before the first await, because the caller may change the array after it. `map` would skip holes.
  const entries = Array.from(inputs, (input) => entryOf(ctx, input))
  await getList(ctx, listId)
  const onSave = auditOnce(ctx, { type: 'list.imported', targetId: listId })
  return await addEntries(ctx, listId, entries, { signal, onSave })
}

export function entryOf(ctx: Context, input: unknown): Entry {
  return orRefused(() => {
    const contact = parse(NewContact, input)
    requireMayConfirm(ctx, contact.confirmed)
    return contact
  })
}

/** Steps that an import adds to the transaction of each batch. */
export interface BatchSteps {
  /** Whether `complete` replaces the tags of contacts by those of their last input. */
  readonly replacesTags: boolean
  /** Returns the contacts to save. `complete` sets the results of the others. `stored` are locked. */
  choose(stored: readonly StoredByEmail[], contacts: ByEmail): ByEmail
  /** Returns the ids of the contacts that the file says to have unsubscribed. */
  unsubscribed(saved: SavedContacts): ReadonlySet<number>
  /**
   * Runs before the events are raised, and returns those to raise.
   *
   * @param confirmed The contacts that need not confirm lists with double opt-in.
   */
  complete(
    tx: Tx,
    saved: SavedContacts,
    events: ContactEvent[],
    confirmed: ReadonlySet<number>,
  ): Promise<ContactEvent[]>
}

interface EntryOptions extends AbortInput {
  /** Returns the steps of one transaction. A transaction may run twice. */
  readonly begin?: () => BatchSteps
  /** Called in the transaction of each batch. */
  readonly onSave: (tx: Tx) => void
  /** Filled after each commit. After an error it has the results of what was saved before. */
  readonly results?: BulkResult[]
}

/**
 * Saves contacts that are already validated, as `addContactsToList` does.
 *
 * @param listId Without it, the contacts are added to no list.
 */
export async function addEntries(
  ctx: Context,
  listId: number | undefined,
  entries: Iterable<Entry>,
  { results = [], ...options }: EntryOptions,
): Promise<BulkResult[]> {
  const replacesTags = options.begin?.().replacesTags ?? false
  for await (const batch of batchesOf(ctx, entries, replacesTags)) {
    results.push(...(await inTurn(ctx, options.signal, () => addBatch(ctx, listId, batch, options))))
  }
  return results
}

async function addBatch(
  ctx: Context,
  listId: number | undefined,
  { entries, contacts }: EntryBatch,
  { begin, onSave }: EntryOptions,
): Promise<BulkResult[]> {
  if (contacts.size === 0) return entries.filter(isRefused)
  const results = await transact(ctx, async (tx) => {
    await lockBatches(tx)
    const list = listId === undefined ? undefined : await getList(tx, listId)
    const endpoints = await findEventEndpoints(tx)
    const steps = begin?.()
    const saved = await saveContacts(tx, list, contacts, steps)
    const ids = idsInOrder(entries, saved.results)
    const events = savedEvents(saved, ids)
    const tags = new Map(ids.map((id) => [id, saved.tags.get(id)!]))
    events.push(...(await addTagsToMany(tx, tags, isWanted(tx, endpoints, 'contact.tagged'))))
    const confirmed = new Set(confirmedIds(entries, saved.results))
    const joinings = list ? ids.map((contactId) => ({ contactId, list, confirmed: confirmed.has(contactId) })) : []
    events.push(...(await joinLists(tx, joinings, steps?.unsubscribed(saved))))
    onSave(tx)
    await raiseEventsOfContacts(tx, endpoints, steps ? await steps.complete(tx, saved, events, confirmed) : events)
    return saved.results
  })
  return entries.map((entry) => (isRefused(entry) ? entry : results.get(entry)!))
}

/** The ids of the saved contacts, in the order of their first entries. Events and new tags follow it. */
function idsInOrder(entries: readonly Entry[], results: SavedContacts['results']): number[] {
  const saved = entries.map((entry) => (isRefused(entry) ? entry : results.get(entry)))
  return distinct(saved.flatMap((result) => (result && 'id' in result ? [result.id] : [])))
}

/** The ids of the saved contacts of which an entry says that they have confirmed. */
function* confirmedIds(entries: readonly Entry[], results: SavedContacts['results']): Generator<number> {
  for (const entry of entries) {
    if (isRefused(entry) || !entry.confirmed) continue
    const result = results.get(entry) // none if an import skips it
    if (result && 'id' in result) yield result.id
  }
}

export interface SavedContacts {
  readonly results: Map<NewContact, BulkResult>
  /** Tag names to add, by the id of the saved contact. */
  readonly tags: Map<number, readonly string[]>
  /** Ids of new contacts. */
  readonly created: Set<number>
  /** Ids of contacts whose name or attributes changed. */
  readonly updated: Set<number>
}

/** The events of saved contacts, apart from their tags and lists. */
export function savedEvents({ created, updated }: SavedContacts, ids: readonly number[]): ContactEvent[] {
  return [
    ...ids.filter((id) => created.has(id)).map((contactId) => ({ type: 'contact.created' as const, contactId })),
    ...ids.filter((id) => updated.has(id)).map((contactId) => ({ type: 'contact.updated' as const, contactId })),
  ]
}

/**
 * Finds contacts by e-mail address or inserts them, and saves their names and attributes.
 *
 * @param list The list to join. Contacts at the limit of lists are refused.
 * @param steps `choose` returns the contacts to save. With `replacesTags`, stored tags do not count against the limit.
 */
export async function saveContacts(
  tx: Tx,
  list: List | undefined,
  contacts: ByEmail,
  steps?: Pick<BatchSteps, 'choose' | 'replacesTags'>,
): Promise<SavedContacts> {
  const saved: SavedContacts = { results: new Map(), tags: new Map(), created: new Set(), updated: new Set() }
  const locked = await queries.lockContactsByEmail(tx, { client_id: tx.clientId, email_keys: [...contacts.keys()] })
  const chosen = steps ? steps.choose(locked, contacts) : contacts
  const stored = locked.filter(({ email_key }) => chosen.has(email_key))
  const replacesTags = steps?.replacesTags ?? false
  const limits = await limitsOf(tx, list, stored, chosen, replacesTags)
  const newcomers = new Map(chosen)
  for (const contact of stored) {
    newcomers.delete(contact.email_key)
    await saveStored(tx, contact, chosen.get(contact.email_key)!, limits, saved)
  }
  const missed = await insertContacts(tx, newcomers, saved, replacesTags)
  if (missed.size > 0) {
    // Another process inserted these after the lock query.
    const rest = await saveContacts(tx, list, missed, steps)
    for (const [contact, result] of rest.results) saved.results.set(contact, result)
    for (const [id, names] of rest.tags) saved.tags.set(id, names)
    for (const id of rest.created) saved.created.add(id)
    for (const id of rest.updated) saved.updated.add(id)
  }
  return saved
}

async function saveStored(
  tx: Tx,
  stored: StoredByEmail,
  contacts: readonly NewContact[],
  { fullOfLists, tagKeys }: LimitState,
  { results, tags, updated }: SavedContacts,
): Promise<void> {
  if (fullOfLists.has(stored.id)) {
    for (const contact of contacts) results.set(contact, { refused: tooMany('lists') })
    return
  }
  const merged = mergeContacts(contacts, () => readAttributes(stored.attributes), tagKeys.get(stored.id), results)
  if (merged.accepted.length === 0) return
  for (const contact of merged.accepted) results.set(contact, { id: stored.id, created: false })
  const attributes = merged.attributes && writeAttributes(merged.attributes)
  if (await saveChanges(tx, stored, merged.texts, attributes)) updated.add(stored.id)
  tags.set(stored.id, merged.tags)
}

/** @returns The contacts that were not inserted, because another process inserted them first. */
async function insertContacts(
  tx: Tx,
  newcomers: ByEmail,
  { results, tags, created }: SavedContacts,
  replacesTags: boolean,
): Promise<ByEmail> {
  const all = new Map<string, Merged>()
  const erased = newcomers.size > 0 ? await findErased(tx, [...newcomers.keys()]) : new Set()
  for (const [key, contacts] of newcomers) {
    if (erased.has(key)) {
      for (const contact of contacts) results.set(contact, { refused: addressErased() })
      continue
    }
    const tagKeys = !replacesTags && countTags(contacts) > inputLimits.tags ? new Set<string>() : undefined
    const merged = mergeContacts(contacts, () => noAttributes, tagKeys, results)
    if (merged.accepted.length > 0) all.set(key, merged)
  }
  if (all.size === 0) return new Map()
  const rows = new Map([...all].map(([key, merged]) => [key, rowOf(key, merged)]))
  const inserted = await queries.insertContacts(tx, {
    client_id: tx.clientId,
    created_at: now(tx),
    contacts: [...rows.values()],
  })
  const changed: ChangedContact[] = []
  for (const { id, email_key } of inserted) {
    const merged = all.get(email_key)!
    changed.push({ contactId: id, attributes: merged.attributes ?? noAttributes, isNew: true })
    for (const [at, contact] of merged.accepted.entries()) results.set(contact, { id, created: at === 0 })
    tags.set(id, merged.tags)
    created.add(id)
    const after = rows.get(email_key)!.search
    tx.transaction.searchChanges.push({ clientId: tx.clientId, contactId: id, before: null, after })
    all.delete(email_key)
  }
  await indexAttributes(tx, changed)
  return new Map([...all].map(([key, { accepted }]) => [key, accepted]))
}

function rowOf(email_key: string, { accepted, texts, attributes = noAttributes }: Merged) {
  const { email } = accepted[0]!
  const all = { ...noTexts, ...texts }
  const search = searchText(all.name, email)
  return { uuid: randomUUID(), email, email_key, ...all, attributes: writeAttributes(attributes), search }
}
