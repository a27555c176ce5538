/** How much one transaction of many contacts writes. */
import type { Context } from '../context.ts'
import { fold } from '../parse.ts'
import { countSubscribed, findEventEndpoints } from '../webhooks/outbox.ts'
import { type EventType, eventTypes } from '../webhooks/schema.ts'
import { type ByEmail, groupByEmail } from './bulk-limits.ts'
import { type Entry, isRefused } from './bulk-merge.ts'
import { listLarge } from './bulk-queries.ts'
import type { AttributeChanges, NewContact } from './schema.ts'

/** A transaction writes at most this many rows, tags included, so that other writes do not wait long. */
export const maxRowsPerTransaction = 1500

/** This many characters of attributes count as one row, those of the stored contact too. */
const attributeCharactersPerRow = 4000

/** How many deliveries a change can create. */
export interface DeliveryCounts {
  /** A saved contact. */
  readonly perContact: number
  readonly perTag: number
  /** Any event. */
  readonly perEvent: number
}

export async function countDeliveries(ctx: Context): Promise<DeliveryCounts> {
  const endpoints = await findEventEndpoints(ctx)
  const count = (type: EventType) => countSubscribed(endpoints, type)
  return {
    perContact: count('contact.subscribed') + Math.max(count('contact.created'), count('contact.updated')),
    perTag: count('contact.tagged'),
    perEvent: Math.max(...eventTypes.map(count)),
  }
}

/** A contact of an import can be added to lists and topics, too. */
interface Counted extends NewContact {
  readonly restored?: { readonly lists: readonly unknown[]; readonly topics: readonly unknown[] }
}

/** Returns how many rows a contact counts as. */
export function rowsOf({ tags = [], attributes, restored }: Counted, { perTag, perContact }: DeliveryCounts): number {
  const memberships = restored ? restored.lists.length + restored.topics.length : 0
  return 1 + tags.length * (1 + perTag) + memberships * (1 + perContact) + rowsOfAttributes(attributes)
}

/** Returns how many rows attributes count as, apart from their contact. */
export function rowsOfAttributes(attributes: AttributeChanges): number {
  let characters = 0
  for (const value of attributes.values()) characters += value?.length ?? 0
  return Math.floor(characters / attributeCharactersPerRow)
}

/** The rows that the stored attributes of large contacts count as, by the contact's id and folded e-mail address. */
type LargeContacts = ReadonlyMap<number | string, number>

/** Finds the large contacts among those with these ids or folded e-mail addresses. A change reads all their attributes. */
export async function findLarge(
  ctx: Context,
  keys: { readonly ids?: readonly number[]; readonly emailKeys?: readonly string[] },
): Promise<LargeContacts> {
  const { ids = [], emailKeys: email_keys = [] } = keys
  const found = await listLarge(ctx, { client_id: ctx.clientId, ids, email_keys, at_least: attributeCharactersPerRow })
  const large = new Map<number | string, number>()
  for (const { id, email_key, bytes } of found) {
    const rows = Math.floor(bytes / attributeCharactersPerRow)
    large.set(id, rows).set(email_key, rows)
  }
  return large
}

/** The contacts that one transaction saves. */
export interface EntryBatch {
  readonly entries: Entry[]
  readonly contacts: ByEmail
}

/** Divides contacts into transactions of about the same number of rows. */
export async function* batchesOf(ctx: Context, entries: Iterable<Entry>): AsyncGenerator<EntryBatch> {
  const deliveries = await countDeliveries(ctx)
  for (const batch of divide(entries, deliveries)) {
    const large = await findLarge(ctx, { emailKeys: [...batch.contacts.keys()] })
    if (large.size > 0) yield* divide(batch.entries, deliveries, large)
    else yield batch
  }
}

function* divide(entries: Iterable<Entry>, deliveries: DeliveryCounts, large?: LargeContacts): Generator<EntryBatch> {
  let batch = { entries: [] as Entry[], contacts: new Map<string, NewContact[]>() }
  let rows = 0
  for (const entry of entries) {
    batch.entries.push(entry)
    if (isRefused(entry)) continue
    rows += rowsOf(entry, deliveries)
    // Contacts with the same e-mail address are read once, and raise one event.
    if (groupByEmail(batch.contacts, entry)) rows += deliveries.perContact + (large?.get(fold(entry.email)) ?? 0)
    if (rows < maxRowsPerTransaction) continue
    yield batch
    batch = { entries: [], contacts: new Map() }
    rows = 0
  }
  if (batch.entries.length > 0) yield batch
}
