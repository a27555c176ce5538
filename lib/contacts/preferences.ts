import * as v from 'valibot'
import type { Context } from '../context.ts'
import { inputLimits } from '../limits.ts'
import { closedObject, parse } from '../parse.ts'
import { transact } from '../storage/transaction.ts'
import type { Timestamp } from '../time.ts'
import { findTopicsOfLists } from '../topics/operations.ts'
import type { Topic } from '../topics/schema.ts'
import { type ContactKey, lockContact } from './contact-key.ts'
import { removeContactFromList, subscribeToTopic, unsubscribeFromTopic } from './operations.ts'
import { getContact } from './reading.ts'

/** What a contact gets, and what it may choose. */
export interface Preferences {
  email: string
  /** Null while subscribed. */
  unsubscribed_at: Timestamp | null
  /** The lists that the contact is on. */
  lists: ListPreferences[]
}

export interface ListPreferences {
  id: number
  name: string
  /** At most 500 in all lists, besides those that the contact is subscribed to. */
  topics: TopicPreference[]
}

export interface TopicPreference {
  id: number
  name: string
  description: string | null
  subscribed: boolean
}

/** Ids of lists and topics. What no longer exists, and what is so already, changes nothing. */
export interface PreferencesInput {
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
const PreferencesChange = closedObject({ leaveLists: Ids, joinTopics: Ids, leaveTopics: Ids })

/**
 * Returns the contact's lists and their topics, as the preferences page shows them.
 *
 * @throws MailkeepError `not_found`
 */
export async function getPreferences(ctx: Context, id: ContactKey): Promise<Preferences> {
  const { email, unsubscribed_at, lists, topics: subscribed } = await getContact(ctx, id)
  const listIds = lists.map((list) => list.id)
  const choosable = await findTopicsOfLists(ctx, listIds, maxChoosableTopics)
  const subscribedIds = new Set(subscribed.map((topic) => topic.id))
  const topics = [...subscribed, ...choosable.filter((topic) => !subscribedIds.has(topic.id))]
  topics.sort((a, b) => a.id - b.id)
  const choiceOf = ({ id: topicId, name, description }: Topic): TopicPreference => ({
    ...{ id: topicId, name, description },
    subscribed: subscribedIds.has(topicId),
  })
  return {
    email,
    unsubscribed_at,
    lists: lists.map((list) => ({
      id: list.id,
      name: list.name,
      topics: topics.filter((topic) => topic.list_id === list.id).map(choiceOf),
    })),
  }
}

/**
 * Changes lists and topics of a contact in one transaction, and raises their events.
 *
 * @throws MailkeepError `not_found`; `validation_failed`: also when the contact would have too many topics.
 */
export async function updatePreferences(ctx: Context, key: ContactKey, input: PreferencesInput): Promise<Preferences> {
  const { leaveLists, joinTopics, leaveTopics } = parse(PreferencesChange, input)
  return transact(ctx, async (tx) => {
    const { id } = await lockContact(tx, key)
    const before = await getPreferences(tx, id)
    for (const list of before.lists) {
      if (leaveLists.has(list.id)) {
        await removeContactFromList(tx, list.id, id)
        continue
      }
      for (const topic of list.topics) {
        if (topic.subscribed && leaveTopics.has(topic.id)) await unsubscribeFromTopic(tx, id, topic.id)
        if (!topic.subscribed && joinTopics.has(topic.id)) await subscribeToTopic(tx, id, topic.id)
      }
    }
    return await getPreferences(tx, id)
  })
}
