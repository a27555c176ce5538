/** Finds the stored contacts of a batch that are at or near a limit. */
import type { Context } from '../context.ts'
import { inputLimits } from '../limits.ts'
import type { List } from '../lists/schema.ts'
import { foldAddress } from '../parse.ts'
import * as queries from './bulk-queries.ts'
import type { StoredContact } from './save.ts'
import type { NewContact } from './schema.ts'

/** The contacts to save, by folded e-mail address. Repeated addresses have several contacts. */
export type ByEmail = ReadonlyMap<string, readonly NewContact[]>

/** Adds a contact to those of its address. @returns The folded address if it is the first of them. */
export function groupByEmail(contacts: Map<string, NewContact[]>, contact: NewContact): string | undefined {
  const key = foldAddress(contact.email)
  const same = contacts.get(key)
  if (same) same.push(contact)
  else contacts.set(key, [contact])
  return same ? undefined : key
}

export interface StoredByEmail extends StoredContact {
  readonly email_key: string
}

/** Stored contacts that are at or near a limit. */
export interface LimitState {
  /** Contacts that are on the maximum number of lists. */
  readonly fullOfLists: ReadonlySet<number>
  /** For contacts near the limit: the folded names of their tags. */
  readonly tagKeys: ReadonlyMap<number, Set<string>>
}

/**
 * @param list The list that the contacts will be added to.
 * @param replacesTags Whether the new tags replace the stored ones. An input alone is within the limit.
 */
export async function limitsOf(
  tx: Context,
  list: List | undefined,
  stored: readonly StoredByEmail[],
  contacts: ByEmail,
  replacesTags: boolean,
): Promise<LimitState> {
  const contact_ids = stored.map(({ id }) => id)
  if (contact_ids.length === 0) return { fullOfLists: new Set(), tagKeys: new Map() }
  const full = list
    ? await queries.listFullOfLists(tx, { contact_ids, list_id: list.id, max_lists: inputLimits.lists })
    : []
  const newTags = new Map(stored.map(({ id, email_key }) => [id, countTags(contacts.get(email_key)!)]))
  return {
    fullOfLists: new Set(full.map(({ contact_id }) => contact_id)),
    tagKeys: replacesTags ? new Map() : await findTagsNearLimit(tx, newTags),
  }
}

/** Returns the folded names of the tags of contacts near the limit. @param added The number of new tags of contacts. */
export function findTagsNearLimit(ctx: Context, added: ReadonlyMap<number, number>): Promise<Map<number, Set<string>>> {
  return findNearLimit(added, inputLimits.tags, {
    find: (contact_ids, more_than) => queries.listWithManyTags(ctx, { contact_ids, more_than }),
    list: async (contact_ids) =>
      (await queries.listTagKeys(ctx, { contact_ids })).map((row) => [row.contact_id, row.name_key]),
  })
}

/** Returns the ids of the lists of contacts near the limit. @param added The number of new lists of contacts. */
export function findListsNearLimit(
  ctx: Context,
  added: ReadonlyMap<number, number>,
): Promise<Map<number, Set<number>>> {
  return findNearLimit(added, inputLimits.lists, {
    find: (contact_ids, more_than) => queries.listWithManyLists(ctx, { contact_ids, more_than }),
    list: async (contact_ids) =>
      (await queries.listMemberships(ctx, { contact_ids })).map((row) => [row.contact_id, row.list_id]),
  })
}

/** Returns what the contacts near a limit have. They are few, so most batches read none. */
async function findNearLimit<T>(
  added: ReadonlyMap<number, number>,
  limit: number,
  read: {
    find(contactIds: number[], moreThan: number): Promise<{ contact_id: number }[]>
    list(contactIds: number[]): Promise<[number, T][]>
  },
): Promise<Map<number, Set<T>>> {
  const adding = [...added].filter(([, count]) => count > 0)
  if (adding.length === 0) return new Map()
  const ids = adding.map(([id]) => id)
  const near = await read.find(ids, limit - Math.max(...adding.map(([, count]) => count)))
  const taken = new Map(near.map(({ contact_id }) => [contact_id, new Set<T>()]))
  if (near.length > 0) for (const [id, value] of await read.list([...taken.keys()])) taken.get(id)!.add(value)
  return taken
}

export function countTags(contacts: readonly NewContact[]): number {
  return contacts.reduce((sum, { tags = [] }) => sum + tags.length, 0)
}
