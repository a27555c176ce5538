/** Puts imported contacts back on the lists and topics that an export names. */
import { distinct } from '../../collections.ts'
import { recordHistory } from '../../consent/history.ts'
import type { Tx } from '../../context.ts'
import { inputLimits } from '../../limits.ts'
import { ensureLists } from '../../lists/operations.ts'
import type { List } from '../../lists/schema.ts'
import { createTopic, findTopicsByName } from '../../topics/operations.ts'
import type { Topic } from '../../topics/schema.ts'
import { joinLists } from '../bulk-memberships.ts'
import * as bulk from '../bulk-queries.ts'
import type { ContactEvent } from '../events.ts'
import * as queries from './queries.ts'
import type { Restored, TopicName } from './row-state.ts'

/** Contacts by id, with what the file says of them. */
type RestoredById = ReadonlyMap<number, Restored>

/**
 * Adds the contacts to lists and topics by name. Missing ones are created. A contact that would exceed a limit is left as
 * it is.
 *
 * @param confirmed The contacts that need not confirm lists with double opt-in.
 * @returns The events of new memberships and of requests to confirm.
 */
export async function restoreMemberships(
  tx: Tx,
  contacts: RestoredById,
  confirmed: ReadonlySet<number>,
): Promise<ContactEvent[]> {
  const onLists = [...contacts].filter(([, { lists }]) => lists.length > 0)
  if (onLists.length === 0) return []
  const lists = await ensureLists(tx, distinct(onLists.flatMap(([, each]) => each.lists)))
  const wanted = onLists.map(([id, each]) => [id, each.lists.map((name) => lists.get(name)!.id)] as const)
  const pairs = await withinLimit('lists', wanted, async (contact_ids) =>
    (await bulk.listMemberships(tx, { contact_ids })).map((row) => [row.contact_id, row.list_id]),
  )
  const byId = new Map([...lists.values()].map((list) => [list.id, list]))
  const joinings = pairs.map(([contactId, listId]) => ({
    contactId,
    list: byId.get(listId)!,
    confirmed: confirmed.has(contactId),
  }))
  const joined = await joinLists(tx, joinings, unsubscribedOf(contacts))
  return [...joined, ...(await restoreTopics(tx, onLists, lists))]
}

/** Returns the ids of those that have unsubscribed. */
export function unsubscribedOf(contacts: RestoredById): Set<number> {
  return new Set([...contacts].flatMap(([id, { unsubscribed }]) => (unsubscribed ? [id] : [])))
}

async function restoreTopics(
  tx: Tx,
  contacts: readonly (readonly [number, Restored])[],
  lists: ReadonlyMap<string, List>,
): Promise<ContactEvent[]> {
  const withTopics = contacts.filter(([, { topics }]) => topics.length > 0)
  if (withTopics.length === 0) return []
  const names = distinct(withTopics.flatMap(([, { topics }]) => topics.map(({ topic }) => topic)))
  const listIds = distinct(withTopics.flatMap(([, each]) => each.lists.map((name) => lists.get(name)!.id)))
  const known = new Map<string, Topic>()
  for (const topic of await findTopicsByName(tx, listIds, names)) {
    const key = keyOf(topic.list_id, topic.name)
    if (!known.has(key)) known.set(key, topic)
  }
  const wanted: [number, number[]][] = []
  for (const [id, restored] of withTopics) {
    const ids: number[] = []
    for (const name of restored.topics) {
      const listId = listOf(name, restored.lists, lists, known)
      if (listId !== undefined) ids.push((await ensureTopic(tx, listId, name.topic, known)).id)
    }
    wanted.push([id, ids])
  }
  const pairs = await withinLimit('topics', wanted, async (contact_ids) =>
    (await queries.listSubscriptions(tx, { contact_ids })).map((row) => [row.contact_id, row.topic_id]),
  )
  const added = await queries.insertSubscriptions(tx, {
    client_id: tx.clientId,
    pairs: pairs.map(([contact_id, topic_id]) => ({ contact_id, topic_id })),
  })
  await recordHistory(
    tx,
    added.map(({ contact_id, topic_id }) => ({ contactId: contact_id, type: 'topic_subscribed', topicId: topic_id })),
  )
  return added.map(({ contact_id, topic_id }) => ({
    type: 'contact.topic_subscribed',
    contactId: contact_id,
    topicId: topic_id,
  }))
}

/** Returns the list that the topic belongs to: the named one, one that has the topic, or the contact's first list. */
function listOf(
  { list, topic }: TopicName,
  names: readonly string[],
  lists: ReadonlyMap<string, List>,
  known: ReadonlyMap<string, Topic>,
): number | undefined {
  if (list !== undefined) return names.includes(list) ? lists.get(list)!.id : undefined
  const ids = names.map((name) => lists.get(name)!.id)
  return ids.find((id) => known.has(keyOf(id, topic))) ?? ids[0]
}

async function ensureTopic(tx: Tx, listId: number, name: string, known: Map<string, Topic>): Promise<Topic> {
  const key = keyOf(listId, name)
  const topic = known.get(key) ?? (await createTopic(tx, listId, { name }))
  known.set(key, topic)
  return topic
}

function keyOf(listId: number, name: string): string {
  return `${listId} ${name}`
}

/** Returns the pairs to add, without the contacts that would then have too many. */
async function withinLimit(
  what: 'lists' | 'topics',
  wanted: readonly (readonly [contactId: number, ids: readonly number[]])[],
  list: (contactIds: number[]) => Promise<(readonly [number, number])[]>,
): Promise<[number, number][]> {
  const taken = new Map(wanted.map(([id]) => [id, new Set<number>()]))
  for (const [id, value] of await list([...taken.keys()])) taken.get(id)!.add(value)
  return wanted.flatMap(([contactId, ids]) => {
    const missing = distinct(ids).filter((id) => !taken.get(contactId)!.has(id))
    if (taken.get(contactId)!.size + missing.length > inputLimits[what]) return []
    return missing.map((id): [number, number] => [contactId, id])
  })
}
