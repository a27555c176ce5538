/** Adds tags to many contacts, and many contacts to lists. */
import { recordHistory } from '../consent/history.ts'
import type { Tx } from '../context.ts'
import { fold } from '../spelling.ts'
import { ensureTags } from '../tags/operations.ts'
import * as queries from './bulk-queries.ts'
import { forgetRequests, type Joining, needsConfirmation, requestConfirmations } from './double-opt-in.ts'
import type { ContactEvent } from './events.ts'

/** @param isWanted Whether to find out which tags are new. @returns The events of new tags, if they are wanted. */
export async function addTagsToMany(
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
  const added = await queries.insertTagsOfContacts(tx, { client_id: tx.clientId, pairs }, { returning: isWanted })
  return added.map(({ contact_id, tag_id }) => ({ type: 'contact.tagged', contactId: contact_id, tagId: tag_id }))
}

/** A contact, a list that it is to join, and whether it has confirmed that elsewhere. */
interface MaybeConfirmed extends Joining {
  readonly confirmed: boolean | undefined
}

/**
 * Adds contacts to lists, or asks them to confirm. Records both in the history.
 *
 * @param unasked Contacts that must get no mail. They do not join lists that they would have to confirm.
 * @returns The events of those that were asked, and of those that were not on the list.
 */
export async function joinLists(
  tx: Tx,
  joinings: readonly MaybeConfirmed[],
  unasked: ReadonlySet<number> = new Set(),
): Promise<ContactEvent[]> {
  const mustConfirm = ({ list, confirmed }: MaybeConfirmed) => needsConfirmation(list, confirmed)
  const asked = joinings.filter((joining) => mustConfirm(joining) && !unasked.has(joining.contactId))
  const direct = joinings.filter((joining) => !mustConfirm(joining))
  return [...(await requestConfirmations(tx, asked)), ...(await addMemberships(tx, direct))]
}

async function addMemberships(tx: Tx, joinings: readonly Joining[]): Promise<ContactEvent[]> {
  if (joinings.length === 0) return []
  await forgetRequests(tx, joinings)
  const pairs = joinings.map(({ contactId, list }) => ({ contact_id: contactId, list_id: list.id }))
  const added = await queries.insertMemberships(tx, { client_id: tx.clientId, pairs })
  const lists = new Map(joinings.map(({ list }) => [list.id, list]))
  await recordHistory(
    tx,
    added.map(({ contact_id, list_id }) => ({ contactId: contact_id, type: 'list_joined', listId: list_id })),
  )
  return added.map(({ contact_id, list_id }) => ({
    type: 'contact.subscribed',
    contactId: contact_id,
    list: lists.get(list_id)!,
  }))
}
