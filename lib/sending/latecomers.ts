/** Contacts who joined the audience of a newsletter after it had started, and do not get it. */
import { type Change, findChangesSince, findLastChange } from '../consent/history.ts'
import { getContact } from '../contacts/reading.ts'
import type { Tx } from '../context.ts'
import { findSegmentFilters, type StartedAudience } from './audience.ts'
import type { Audience } from './schema.ts'

type Filters = Pick<Audience, 'lists' | 'topics' | 'exclude_lists'>
type Memberships = { readonly lists: readonly number[]; readonly topics: readonly number[] }

/**
 * Returns the contacts who were not in the audience when the newsletter started: not subscribed, on none of its lists or
 * topics, or on a list that it excludes. Reads the history of their memberships. Tags and attributes have no history.
 *
 * @param since The last change of any contact before the newsletter started.
 */
export async function findLatecomers(
  tx: Tx,
  started: StartedAudience,
  contactIds: readonly number[],
  since: number,
): Promise<ReadonlySet<number>> {
  if (contactIds.length === 0 || (await findLastChange(tx)) === since) return new Set()
  const filters = [started.audience, await findSegmentFilters(tx, started)]
  const late = new Set<number>()
  for (const [id, changes] of await findChangesSince(tx, contactIds, since)) {
    const { lists, topics } = await getContact(tx, id)
    const now = { lists: lists.map((list) => list.id), topics: topics.map((topic) => topic.id) }
    if (!filters.every((filter) => matched(filter, changes, now))) late.add(id)
  }
  return late
}

/** Whether a contact matched before its changes. */
function matched({ lists, topics, exclude_lists }: Filters, changes: readonly Change[], now: Memberships): boolean {
  const isSubscribed = changes.find(({ type }) => type === 'unsubscribed' || type === 'resubscribed')
  if (isSubscribed?.type === 'resubscribed') return false
  const wasOn = (id: number) => before(changes.filter(({ listId }) => listId === id)) ?? now.lists.includes(id)
  const hadTopic = (id: number) => before(changes.filter(({ topicId }) => topicId === id)) ?? now.topics.includes(id)
  if (exclude_lists?.some(wasOn)) return false
  return (!lists?.length || lists.some(wasOn)) && (!topics?.length || topics.some(hadTopic))
}

/** Whether a membership existed before its first change; undefined if it did not change. */
function before(changes: readonly Change[]): boolean | undefined {
  const first = changes.find(({ type }) => type !== 'confirmation_requested')
  return first && (first.type === 'list_left' || first.type === 'topic_unsubscribed')
}
