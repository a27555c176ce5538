/** Adds tags to many contacts, and many contacts to a list. */
import { recordHistory } from '../consent/history.ts'
import type { Tx } from '../context.ts'
import type { List } from '../lists/schema.ts'
import { fold } from '../parse.ts'
import { ensureTags } from '../tags/operations.ts'
import * as queries from './bulk-queries.ts'
import { forgetRequests, needsConfirmation, requestConfirmations } from './double-opt-in.ts'
import type { ContactEvent } from './events.ts'

/** @param isWanted Whether to find out which tags are new. @returns The events of new tags. */
export async function addTags(
  tx: Tx,
  tags: ReadonlyMap<number, readonly string[]>,
  isWanted: boolean,
): Promise<ContactEvent[]> {
  const names = new Set([...tags.values()].flat())
  if (names.size === 0) return []
  const tagIds = await ensureTags(tx, [...names])
  const pairs = [...tags].flatMap(([contact_id, names]) =>
    names.map((name) => ({ contact_id, tag_id: tagIds.get(fold(name))! })),
  )
  const rows = { client_id: tx.clientId, pairs }
  if (!isWanted) {
    await queries.insertTagsOfContacts(tx, rows)
    return []
  }
  const added = await queries.insertMissingTagsOfContacts(tx, rows)
  return added.map(({ contact_id, tag_id }) => ({ type: 'contact.tagged', contactId: contact_id, tagId: tag_id }))
}

/**
 * Adds contacts to a list, or asks them to confirm.
 *
 * @param confirmed The contacts that have confirmed elsewhere.
 * @returns The events of the contacts that were not on the list, in the order of the ids.
 */
export async function joinList(
  tx: Tx,
  list: List,
  ids: readonly number[],
  confirmed: ReadonlySet<number>,
): Promise<ContactEvent[]> {
  const mustConfirm = (id: number) => needsConfirmation(list, confirmed.has(id))
  const direct = ids.filter((id) => !mustConfirm(id))
  const asked = ids.filter(mustConfirm).map((contactId) => ({ contactId, list }))
  return [...(await addMemberships(tx, list, direct)), ...(await requestConfirmations(tx, asked))]
}

async function addMemberships(tx: Tx, list: List, contact_ids: readonly number[]): Promise<ContactEvent[]> {
  if (contact_ids.length === 0) return []
  const added = await queries.insertMemberships(tx, { client_id: tx.clientId, list_id: list.id, contact_ids })
  const joined = new Set(added.map(({ contact_id }) => contact_id))
  const newcomers = contact_ids.filter((id) => joined.has(id))
  await recordHistory(
    tx,
    newcomers.map((contactId) => ({ contactId, type: 'list_joined', listId: list.id })),
  )
  await forgetRequests(
    tx,
    newcomers.map((contactId) => ({ contactId, list })),
  )
  return newcomers.map((contactId) => ({ type: 'contact.subscribed', contactId, list }))
}
