/** The listings of lists, topics and tags, with the number of contacts of each. */
import * as v from 'valibot'
import type { Context } from '../context.ts'
import { listLists } from '../lists/operations.ts'
import type { List } from '../lists/schema.ts'
import { type Page, type PageInput, pageFields } from '../page.ts'
import { closedObject, parse, QueryBoolean } from '../parse.ts'
import { listTags } from '../tags/operations.ts'
import type { Tag } from '../tags/schema.ts'
import { listTopics } from '../topics/operations.ts'
import type { Topic } from '../topics/schema.ts'
import { countContacts } from './counting.ts'

/** Selects a page of lists, topics or tags. */
export interface GroupQueryInput extends PageInput {
  /** Whether to count the subscribed contacts of each; default false. */
  readonly counts?: boolean | '1' | '0' | 'true' | 'false' | undefined
}

/** A list, a topic or a tag of a listing with counts. */
export interface Counted {
  /** Number of contacts that the contact listing shows for it: without unsubscribed ones. Only with `counts`. */
  contacts_count?: number
}

const GroupQuery = closedObject({ ...pageFields, counts: v.optional(QueryBoolean, false) })

/**
 * Returns one page of the client's lists, by ascending id. With `counts` each has `contacts_count`.
 *
 * @throws MailkeepError `validation_failed`
 */
export async function listCountedLists(ctx: Context, query?: GroupQueryInput): Promise<Page<List & Counted>> {
  const { counts, page } = pageOf(query)
  return await withCounts(await listLists(ctx, page), counts, (id) => countContacts(ctx, { lists: [id] }))
}

/**
 * Returns one page of the client's tags, by ascending id. With `counts` each has `contacts_count`.
 *
 * @throws MailkeepError `validation_failed`
 */
export async function listCountedTags(ctx: Context, query?: GroupQueryInput): Promise<Page<Tag & Counted>> {
  const { counts, page } = pageOf(query)
  return await withCounts(await listTags(ctx, page), counts, (id) => countContacts(ctx, { tags: [id] }))
}

/**
 * Returns one page of a list's topics, by ascending id. With `counts` each has `contacts_count`.
 *
 * @throws MailkeepError `not_found`: no such list; `validation_failed`.
 */
export async function listCountedTopics(
  ctx: Context,
  listId: number,
  query?: GroupQueryInput,
): Promise<Page<Topic & Counted>> {
  const { counts, page } = pageOf(query)
  return await withCounts(await listTopics(ctx, listId, page), counts, (id) => countContacts(ctx, { topics: [id] }))
}

/** Validates the query, and separates the part that selects the page. */
function pageOf(query: GroupQueryInput = {}): { counts: boolean; page: PageInput } {
  const { counts } = parse(GroupQuery, query)
  const { counts: _, ...page } = query
  return { counts, page }
}

/** Counts one after another, so that other requests come between. */
async function withCounts<T extends { id: number }>(
  { data, meta }: Page<T>,
  isWanted: boolean,
  count: (id: number) => Promise<number>,
): Promise<Page<T & Counted>> {
  if (!isWanted) return { data, meta }
  const counted: (T & Counted)[] = []
  for (const record of data) counted.push({ ...record, contacts_count: await count(record.id) })
  return { data: counted, meta }
}
