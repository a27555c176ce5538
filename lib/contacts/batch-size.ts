/** How much one transaction of many contacts writes. */
import type { Context } from '../context.ts'
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

/** This many tags, lists and topics of a stored contact count as one row: they are read for its events. */
const membershipsPerRow = 5

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

/** Returns how many rows a contact counts as, without the deliveries that each address has once. */
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

/** What a stored contact adds to the size of a transaction that changes it. */
export interface StoredSize {
  /** The rows that its attributes and memberships count as, because they are read. */
  readonly rows: number
  /** Its tags, lists and topics. */
  readonly memberships: number
}

/**
 * Returns the sizes of the large contacts among these, by id and by folded e-mail address.
 *
 * @param removes Whether their tags or topics may be removed. Each of them raises an event. Then the contacts with a single
 *   membership are returned, too.
 */
export async function findLarge(
  ctx: Context,
  keys: { readonly ids?: readonly number[]; readonly emailKeys?: readonly string[] },
  removes: boolean,
): Promise<Map<number | string, StoredSize>> {
  const found = await listLarge(ctx, {
    client_id: ctx.clientId,
    ids: keys.ids ?? [],
    email_keys: keys.emailKeys ?? [],
    min_bytes: attributeCharactersPerRow,
    min_memberships: removes ? 1 : membershipsPerRow,
  })
  const large = new Map<number | string, StoredSize>()
  for (const { id, email_key, bytes, memberships } of found) {
    const rows = Math.floor(bytes / attributeCharactersPerRow) + Math.floor(memberships / membershipsPerRow)
    large.set(id, { rows, memberships }).set(email_key, { rows, memberships })
  }
  return large
}

/** The contacts that one transaction saves. */
export interface EntryBatch {
  readonly entries: Entry[]
  readonly contacts: ByEmail
}

/**
 * Divides contacts into transactions of about the same number of rows.
 *
 * @param replacesTags Whether the contacts lose the tags that their last input does not have.
 */
export async function* batchesOf(
  ctx: Context,
  entries: Iterable<Entry>,
  replacesTags: boolean,
): AsyncGenerator<EntryBatch> {
  const deliveries = await countDeliveries(ctx)
  for (const batch of divide(entries, () => 0, deliveries)) {
    const large = await findLarge(ctx, { emailKeys: [...batch.contacts.keys()] }, replacesTags)
    const rowsOfStored = (emailKey: string) => {
      const { rows, memberships } = large.get(emailKey) ?? { rows: 0, memberships: 0 }
      return rows + (replacesTags ? memberships * (1 + deliveries.perEvent) : 0)
    }
    if (large.size > 0) yield* divide(batch.entries, rowsOfStored, deliveries)
    else yield batch
  }
}

function* divide(
  entries: Iterable<Entry>,
  rowsOfStored: (emailKey: string) => number,
  deliveries: DeliveryCounts,
): Generator<EntryBatch> {
  let batch = { entries: [] as Entry[], contacts: new Map<string, NewContact[]>() }
  let rows = 0
  for (const entry of entries) {
    batch.entries.push(entry)
    if (isRefused(entry)) continue
    rows += rowsOf(entry, deliveries)
    // Contacts with the same e-mail address are read once, and raise one event.
    const firstOf = groupByEmail(batch.contacts, entry)
    if (firstOf !== undefined) rows += deliveries.perContact + rowsOfStored(firstOf)
    if (rows < maxRowsPerTransaction) continue
    yield batch
    batch = { entries: [], contacts: new Map() }
    rows = 0
  }
  if (batch.entries.length > 0) yield batch
}
