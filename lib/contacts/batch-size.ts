/** How much one transaction of many contacts writes. */
import type { Context } from '../context.ts'
import { countSubscribed, findEventEndpoints } from '../webhooks/outbox.ts'
import { type EventType, eventTypes } from '../webhooks/schema.ts'
import type { NewContact } from './schema.ts'

/** A transaction writes at most this many rows, tags included, so that other writes do not wait long. */
export const maxRowsPerTransaction = 1500

/** This many characters of attributes count as one row. */
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
  let characters = 0
  for (const value of attributes.values()) characters += value?.length ?? 0
  const memberships = restored ? restored.lists.length + restored.topics.length : 0
  return (
    1 + tags.length * (1 + perTag) + memberships * (1 + perContact) + Math.floor(characters / attributeCharactersPerRow)
  )
}
