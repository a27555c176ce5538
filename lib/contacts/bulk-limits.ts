/** Finds the stored contacts of a batch that are at or near a limit. */
import type { Context } from '../context.ts'
import { inputLimits } from '../limits.ts'
import type { List } from '../lists/schema.ts'
import { fold } from '../parse.ts'
import * as queries from './bulk-queries.ts'
import type { StoredContact } from './save.ts'
import type { NewContact } from './schema.ts'

/** The contacts to save, by folded e-mail address. Repeated addresses have several contacts. */
export type ByEmail = ReadonlyMap<string, readonly NewContact[]>

/** Adds a contact to those of its address. @returns Whether it is the first of them. */
export function groupByEmail(contacts: Map<string, NewContact[]>, contact: NewContact): boolean {
  const key = fold(contact.email)
  const same = contacts.get(key)
  if (same) same.push(contact)
  else contacts.set(key, [contact])
  return same === undefined
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

/** @param list The list that the contacts will be added to. */
export async function limitsOf(
  tx: Context,
  list: List | undefined,
  stored: readonly StoredByEmail[],
  contacts: ByEmail,
): Promise<LimitState> {
  const contact_ids = stored.map(({ id }) => id)
  const tagKeys = new Map<number, Set<string>>()
  if (contact_ids.length === 0) return { fullOfLists: new Set(), tagKeys }
  const full = list
    ? await queries.listFullOfLists(tx, { contact_ids, list_id: list.id, max_lists: inputLimits.lists })
    : []
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

export function countTags(contacts: readonly NewContact[]): number {
  return contacts.reduce((sum, { tags = [] }) => sum + tags.length, 0)
}
