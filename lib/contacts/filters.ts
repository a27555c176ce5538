/** Turns the filters of a query, and of the segment that it names, into the parameters of statements. */

import { findIndexedValues, type IndexedValue } from '../attributes/operations.ts'
import { distinct } from '../collections.ts'
import type { Context } from '../context.ts'
import { foldAddress } from '../parse.ts'
import { filtersOfSegment } from '../segments/operations.ts'
import type { SegmentFilters } from '../segments/schema.ts'
import { firstTime, lastTime } from '../time.ts'
import type { FilterValues, Flags, Kind } from './listing-conditions.ts'
import * as queries from './listing-queries.ts'
import type { ContactFilters } from './schema.ts'
import { searchTerm } from './search.ts'

/** The filters of a listing, without ids of other clients. Unused filters are empty. */
export interface Filters {
  /** Folded address; undefined when off. */
  readonly emailKey: string | undefined
  /** Ids of contacts; undefined when off. */
  readonly ids: readonly number[] | undefined
  readonly values: FilterValues
  readonly attributes: readonly IndexedValue[]
  readonly flags: Omit<Flags, 'desc' | 'counted'>
}

/**
 * @param given Filters to use instead of those that the segment of the query has now.
 * @returns undefined when no contact can match, because none of the lists, tags or topics of a filter exists.
 * @throws MailkeepError `not_found`: no such segment; `validation_failed`: an attribute is not indexed.
 */
export async function resolveFilters(
  ctx: Context,
  query: ContactFilters,
  given?: SegmentFilters,
): Promise<Filters | undefined> {
  const current = () => (query.segment === undefined ? {} : filtersOfSegment(ctx, query.segment))
  const segment: SegmentFilters = given ?? (await current())
  const named = namesRecords(query) || namesRecords(segment) ? await findNamed(ctx, query, segment) : nothingNamed
  const { lists, tags, topics, exclude_lists, exclude_tags, attributes } = named
  // Unknown ids match nothing. A filter with several values needs one that exists.
  if ([...lists, ...tags, ...topics].some((ids) => ids.length === 0)) return undefined
  const searches = [query.search, segment.search].filter(Boolean).map((text) => searchTerm(text!))
  const times = (name: 'created_after' | 'created_before') =>
    [query[name], segment[name]].filter((time) => time !== undefined).sort()
  const values: FilterValues = {
    lists: lists[0] ?? [],
    tags: tags[0] ?? [],
    topics: topics[0] ?? [],
    more_lists: lists[1] ?? [],
    more_tags: tags[1] ?? [],
    more_topics: topics[1] ?? [],
    has_more_lists: lists.length > 1,
    has_more_tags: tags.length > 1,
    has_more_topics: topics.length > 1,
    exclude_lists,
    exclude_tags,
    search: searches[0] ?? '',
    more_search: searches[1] ?? '',
    created_after: times('created_after').at(-1) ?? firstTime,
    created_before: times('created_before')[0] ?? lastTime,
  }
  const flags = {
    unsubscribed: query.include_unsubscribed,
    only: query.unsubscribed === 'only',
    lists: lists.length > 0,
    tags: tags.length > 0,
    topics: topics.length > 0,
    search: searches.length > 0,
    attribute: attributes.length > 0,
    attributes: attributes.length > 1,
    excluded: exclude_lists.length > 0 || exclude_tags.length > 0,
    times: hasCreatedFilter(values),
    more: lists.length > 1 || tags.length > 1 || topics.length > 1 || searches.length > 1,
  }
  return {
    emailKey: query.email === undefined ? undefined : foldAddress(query.email),
    ids: query.ids && distinct(query.ids),
    values,
    attributes,
    flags,
  }
}

/** The records that a query and its segment filter by, without ids of other clients. */
interface Named {
  /** The ids of the query's filter and those of the segment's, as far as they are given. */
  readonly lists: readonly (readonly number[])[]
  readonly tags: readonly (readonly number[])[]
  readonly topics: readonly (readonly number[])[]
  readonly exclude_lists: readonly number[]
  readonly exclude_tags: readonly number[]
  readonly attributes: readonly IndexedValue[]
}

const nothingNamed: Named = { lists: [], tags: [], topics: [], exclude_lists: [], exclude_tags: [], attributes: [] }

/** Whether filters name records that must be read. */
function namesRecords({ lists, tags, topics, exclude_lists, exclude_tags, attributes }: SegmentFilters): boolean {
  return [lists, tags, topics, exclude_lists, exclude_tags, attributes].some((filter) => filter !== undefined)
}

/** Reads all of them in one turn of the event loop. */
async function findNamed(ctx: Context, query: ContactFilters, segment: SegmentFilters): Promise<Named> {
  const [lists, tags, topics, exclude_lists, exclude_tags, ...attributes] = await Promise.all([
    findGroups('list', 'lists'),
    findGroups('tag', 'tags'),
    findGroups('topic', 'topics'),
    findOwnIds(ctx, 'list', both('exclude_lists').flat()),
    findOwnIds(ctx, 'tag', both('exclude_tags').flat()),
    findIndexedValues(ctx, query.attributes ?? {}),
    findIndexedValues(ctx, segment.attributes ?? {}),
  ])
  return { lists, tags, topics, exclude_lists, exclude_tags, attributes: attributes.flat() }

  function findGroups(kind: Kind, name: 'lists' | 'tags' | 'topics') {
    return Promise.all(both(name).map((ids) => findOwnIds(ctx, kind, ids)))
  }

  function both(name: 'lists' | 'tags' | 'topics' | 'exclude_lists' | 'exclude_tags'): (readonly number[])[] {
    return [query[name], segment[name]].filter((ids) => ids !== undefined)
  }
}

/** Whether the filters limit the time of creation. */
export function hasCreatedFilter(values: FilterValues): boolean {
  return values.created_after !== firstTime || values.created_before !== lastTime
}

/** Returns those of the ids that are records of the client. The others match nothing. */
export async function findOwnIds(ctx: Context, kind: Kind, ids: readonly number[]): Promise<number[]> {
  if (ids.length === 0) return []
  return (await queries.own[kind](ctx, { client_id: ctx.clientId, ids })).map(({ id }) => id)
}
