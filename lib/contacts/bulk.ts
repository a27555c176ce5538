import { randomUUID } from 'node:crypto'
import { type Context, now, type Tx } from '../context.ts'
import { invalid, isMailkeepError, type MailkeepError } from '../errors.ts'
import { getList } from '../lists/operations.ts'
import type { List } from '../lists/schema.ts'
import { fold, parse } from '../parse.ts'
import { transact } from '../storage/transaction.ts'
import { ensureTagsByKey } from '../tags/operations.ts'
import { countRecipients, raiseAll } from '../webhooks/outbox.ts'
import * as queries from './bulk-queries.ts'
import { listDocuments } from './listing-queries.ts'
import { mergeAttributes, saveChanges } from './operations.ts'
import { contactFrom, NewContact } from './schema.ts'
import { searchText } from './search.ts'

/** What became of one of many contacts: it was saved, or refused. */
export type BulkResult =
  | { readonly id: number; readonly created: boolean; readonly refused?: undefined }
  | { readonly refused: MailkeepError }

/** A transaction ends after so many rows, tags and deliveries included: other writes wait for no more than these. */
const mostRows = 1500

/** Attributes of so many characters count as a row. */
const rowCharacters = 4000

/** Of one call: whoever has more has them in a file or a stream, and calls again. */
const most = 10_000

/**
 * As `addContactToList` for each, at a fraction of the cost. Each stands for itself: one that is refused leaves nothing
 * behind, and the others are saved. They are saved in transactions of some hundreds: what was saved before an error stays,
 * and doing it again changes nothing.
 *
 * @param inputs At most 10,000; an e-mail that comes twice is saved twice, in their order.
 * @returns What became of each, in the order of `inputs`.
 * @throws MailkeepError `not_found`: no such list; `validation_failed`: no array, or too many.
 */
export async function addContactsToList(ctx: Context, listId: number, inputs: unknown): Promise<BulkResult[]> {
  if (!Array.isArray(inputs)) throw invalid('body', 'This must be an array of contacts.')
  if (inputs.length > most) throw invalid('body', `At most ${most.toLocaleString('en')} contacts at a time.`)
  await getList(ctx, listId)
  const results: BulkResult[] = []
  const deliveriesPerContact = await countRecipients(ctx, 'contact.subscribed')
  for (const batch of batchesOf(inputs, deliveriesPerContact))
    results.push(...(await inTurn(ctx, () => addBatch(ctx, listId, batch))))
  return results
}

/** One batch at a time, so that other writes come between; inside a transaction that is for its owner to decide. */
function inTurn<T>(ctx: Context, save: () => Promise<T>): Promise<T> {
  return ctx.transaction ? save() : ctx.batches.add(save)
}

/** An entry that breaks a rule stays in its place, as what is told of it. */
type Entry = NewContact | Refused

/** The same address may come so often in a batch. */
const mostRounds = 4

interface Batch {
  readonly entries: Entry[]
  /** Those to be saved, by their e-mails, folded: an address that comes again is saved after its first time. */
  readonly rounds: Map<string, NewContact>[]
}

function* batchesOf(inputs: readonly unknown[], deliveriesPerContact: number): Generator<Batch> {
  let batch: Batch = { entries: [], rounds: [] }
  let rows = 0
  for (const input of inputs) {
    const entry = orRefused(() => parse(NewContact, input))
    batch.entries.push(entry)
    if (isRefused(entry)) continue
    rows += rowsOf(entry) + deliveriesPerContact
    if (placeIn(batch.rounds, entry) < mostRounds && rows < mostRows) continue
    yield batch
    batch = { entries: [], rounds: [] }
    rows = 0
  }
  if (batch.entries.length > 0) yield batch
}

/** @returns in which round it is, from 1. */
function placeIn(rounds: Map<string, NewContact>[], contact: NewContact): number {
  const key = fold(contact.email)
  const at = rounds.findIndex((round) => !round.has(key))
  if (at < 0) return rounds.push(new Map([[key, contact]]))
  rounds[at]!.set(key, contact)
  return at + 1
}

function rowsOf({ tags = [], attributes }: NewContact): number {
  let characters = 0
  for (const value of attributes.values()) characters += value?.length ?? 0
  return 1 + tags.length + Math.floor(characters / rowCharacters)
}

async function addBatch(ctx: Context, listId: number, { entries, rounds }: Batch): Promise<BulkResult[]> {
  const saved = await transact(ctx, async (tx) => {
    // Who finds that another was faster locks what that one wrote, in no order with what it has: they would wait for each
    // other. A single save takes one contact, and is in nobody's way.
    if (tx.storage.dialect.lock) await queries.lockBatches(tx, { name: `batches ${tx.clientId}` })
    const list = await getList(tx, listId)
    const results = new Map<NewContact, BulkResult>()
    for (const round of rounds) await saveRound(tx, list, round, results)
    return results
  })
  return entries.map((entry) => (isRefused(entry) ? entry : saved.get(entry)!))
}

/** @param round By their e-mails, folded. */
async function saveRound(
  tx: Tx,
  list: List,
  round: ReadonlyMap<string, NewContact>,
  results: Map<NewContact, BulkResult>,
): Promise<void> {
  const saved = await saveContacts(tx, round)
  const contacts = new Map<number, NewContact>()
  for (const [key, contact] of round) {
    const result = saved.get(key)!
    results.set(contact, result)
    if (!isRefused(result)) contacts.set(result.id, contact)
  }
  await addTags(tx, contacts)
  await addMemberships(tx, list, [...contacts.keys()])
}

/** Finds them by their e-mails or inserts them, with names and attributes as given. @returns by key. */
async function saveContacts(tx: Tx, round: ReadonlyMap<string, NewContact>): Promise<Map<string, BulkResult>> {
  const results = new Map<string, BulkResult>()
  const stored = await queries.lockContactsByEmail(tx, { client_id: tx.clientId, email_keys: [...round.keys()] })
  for (const contact of stored) {
    const { name, attributes } = round.get(contact.email_key)!
    const refused = await saveChanges(tx, contact, name, attributes).catch(refusal)
    results.set(contact.email_key, refused ?? { id: contact.id, created: false })
  }
  const newcomers = new Map([...round].filter(([key]) => !results.has(key)))
  for (const [key, result] of await insertContacts(tx, newcomers)) results.set(key, result)
  // Another process was faster.
  const missed = new Map([...newcomers].filter(([key]) => !results.has(key)))
  if (missed.size > 0) for (const [key, result] of await saveContacts(tx, missed)) results.set(key, result)
  return results
}

async function insertContacts(tx: Tx, newcomers: ReadonlyMap<string, NewContact>): Promise<Map<string, BulkResult>> {
  const results = new Map<string, BulkResult>()
  const contacts = new Map<string, NewRow>()
  for (const [key, newcomer] of newcomers) {
    const row = orRefused(() => rowOf(key, newcomer))
    if (isRefused(row)) results.set(key, row)
    else contacts.set(key, row)
  }
  if (contacts.size === 0) return results
  const inserted = await queries.insertContacts(tx, {
    client_id: tx.clientId,
    created_at: now(tx),
    unsubscribed_by_contact: false,
    contacts: [...contacts.values()],
  })
  for (const { id, email_key } of inserted) {
    results.set(email_key, { id, created: true })
    const after = contacts.get(email_key)!.search
    tx.transaction.indexSearch({ clientId: tx.clientId, contactId: id, before: null, after })
  }
  return results
}

type NewRow = ReturnType<typeof rowOf>

function rowOf(email_key: string, { email, name = '', attributes }: NewContact) {
  const search = searchText(name, email)
  return { uuid: randomUUID(), email, email_key, name, attributes: mergeAttributes('{}', attributes), search }
}

async function addTags(tx: Tx, contacts: ReadonlyMap<number, NewContact>): Promise<void> {
  const names = new Set([...contacts.values()].flatMap(({ tags = [] }) => tags))
  if (names.size === 0) return
  const tagIds = await ensureTagsByKey(tx, [...names])
  const pairs = [...contacts].flatMap(([contact_id, { tags = [] }]) =>
    tags.map((name) => ({ contact_id, tag_id: tagIds.get(fold(name))! })),
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

interface Refused {
  readonly refused: MailkeepError
}

function isRefused(entry: object): entry is Refused {
  return 'refused' in entry
}

function orRefused<T>(make: () => T): T | Refused {
  try {
    return make()
  } catch (error) {
    return refusal(error)
  }
}

/** What breaks a rule concerns its own entry; any other fault concerns all. */
function refusal(error: unknown): Refused {
  if (isMailkeepError(error, 'validation_failed')) return { refused: error }
  throw error
}
