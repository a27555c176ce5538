import * as v from 'valibot'
import { findListsLeft } from '../consent/history.ts'
import type { Context, Tx } from '../context.ts'
import { inputLimits } from '../limits.ts'
import { findLists, getList } from '../lists/operations.ts'
import { closedObject, parse } from '../parse.ts'
import { transact } from '../storage/transaction.ts'
import type { Timestamp } from '../time.ts'
import { findTopicsOfLists } from '../topics/operations.ts'
import type { Topic } from '../topics/schema.ts'
import { joinList } from './confirming.ts'
import { type ContactKey, lockContact } from './contact-key.ts'
import { finishChange } from './events.ts'
import { removeContactFromList, subscribeToTopic, unsubscribeFromTopic } from './operations.ts'
import * as pending from './pending-queries.ts'
import { getContact } from './reading.ts'

/** What a contact gets, and what it may choose. */
export interface Preferences {
  email: string
  /** Null while subscribed. */
  unsubscribed_at: Timestamp | null
  /** The lists that the contact is on, and those that it left on the page of its preferences. */
  lists: ListPreferences[]
}

export interface ListPreferences {
  id: number
  name: string
  /** Whether the contact is on the list. It may join a list again that it left itself. */
  joined: boolean
  /** At most 500 in all lists, besides those that the contact is subscribed to. None if it is not on the list. */
  topics: TopicPreference[]
}

export interface TopicPreference {
  id: number
  name: string
  description: string | null
  subscribed: boolean
}

/** Ids of lists and topics. What no longer exists, what is not offered, and what is so already, changes nothing. */
export interface PreferencesInput {
  readonly joinLists?: readonly number[] | undefined
  readonly leaveLists?: readonly number[] | undefined
  readonly joinTopics?: readonly number[] | undefined
  readonly leaveTopics?: readonly number[] | undefined
}

const maxChoosableTopics = inputLimits.topics

const maxIds = 2 * inputLimits.topics
const Ids = v.optional(
  v.pipe(
    v.array(
      v.pipe(v.number('This must be an id.'), v.safeInteger('This must be an id.')),
      'This must be a list of ids.',
    ),
    v.maxLength(maxIds, `This must have at most ${maxIds} ids.`),
    v.transform((ids) => new Set(ids)),
  ),
  [],
)
const PreferencesChange = closedObject({ joinLists: Ids, leaveLists: Ids, joinTopics: Ids, leaveTopics: Ids })

/**
 * Returns the contact's lists and topics, as the preferences page shows them, and the lists that it left there.
 *
 * @throws MailkeepError `not_found`
 */
export async function getPreferences(ctx: Context, key: ContactKey): Promise<Preferences> {
  const { id, email, unsubscribed_at, lists, topics: subscribed } = await getContact(ctx, key)
  const listIds = lists.map((list) => list.id)
  const choosable = await findTopicsOfLists(ctx, listIds, maxChoosableTopics)
  const subscribedIds = new Set(subscribed.map((topic) => topic.id))
  const topics = [...subscribed, ...choosable.filter((topic) => !subscribedIds.has(topic.id))]
  topics.sort((a, b) => a.id - b.id)
  const choiceOf = ({ id: topicId, name, description }: Topic): TopicPreference => ({
    id: topicId,
    name,
    description,
    subscribed: subscribedIds.has(topicId),
  })
  return {
    email,
    unsubscribed_at,
    lists: [
      ...lists.map((list) => ({
        id: list.id,
        name: list.name,
        joined: true,
        topics: topics.filter((topic) => topic.list_id === list.id).map(choiceOf),
      })),
      ...(await listsLeft(ctx, id, listIds)),
    ].sort((a, b) => a.id - b.id),
  }
}

/** Returns the lists that the contact may join again. */
async function listsLeft(ctx: Context, contactId: number, joinedIds: readonly number[]): Promise<ListPreferences[]> {
  const ids = (await findListsLeft(ctx, contactId, inputLimits.lists)).filter((id) => !joinedIds.includes(id))
  if (ids.length === 0) return []
  const lists = await findLists(ctx, ids)
  return [...lists.values()].map(({ id, name }) => ({ id, name, joined: false, topics: [] }))
}

/**
 * Changes lists and topics of a contact in one transaction, and raises their events.
 *
 * @throws MailkeepError `not_found`; `validation_failed`: also when the contact would have too many lists or topics.
 */
export async function updatePreferences(ctx: Context, key: ContactKey, input: PreferencesInput): Promise<Preferences> {
  const { joinLists, leaveLists, joinTopics, leaveTopics } = parse(PreferencesChange, input)
  return transact(ctx, async (tx) => {
    const { id } = await lockContact(tx, key)
    const { lists } = await getPreferences(tx, id)
    const isLeft = (list: ListPreferences) => list.joined && leaveLists.has(list.id)
    const staying = lists.filter((list) => !isLeft(list))
    const topics = staying.flatMap((list) => list.topics)
    for (const list of lists.filter(isLeft)) await removeContactFromList(tx, list.id, id)
    for (const topic of topics) {
      if (topic.subscribed && leaveTopics.has(topic.id)) await unsubscribeFromTopic(tx, id, topic.id)
    }
    // The contact joins last, so that an exchange at the limit is within the limit.
    for (const list of staying) if (!list.joined && joinLists.has(list.id)) await joinAgain(tx, id, list.id)
    for (const topic of topics) {
      if (!topic.subscribed && joinTopics.has(topic.id)) await subscribeToTopic(tx, id, topic.id)
    }
    return await getPreferences(tx, id)
  })
}

/** Needs no confirmation of a list with double opt-in: only the contact has the link to its preferences. */
async function joinAgain(tx: Tx, contactId: number, listId: number): Promise<void> {
  const list = await getList(tx, listId)
  await joinList(tx, contactId, list, 'list_joined')
  if (list.double_opt_in) await pending.deleteRequest(tx, { contact_id: contactId, list_id: listId })
  await finishChange(tx, contactId, [{ type: 'contact.subscribed', contactId, list }])
}
