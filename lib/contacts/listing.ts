import type { Context } from '../context.ts'
import { mapPage, type Page, readPage, type Stretch } from '../page.ts'
import { parse } from '../parse.ts'
import * as queries from './listing-queries.ts'
import { type Contact, ContactQuery, contactFrom } from './schema.ts'
import { searchTerm } from './search.ts'

/** Counting up to here tells which filter is the rarest; beyond it they all are common. */
const enough = 1000

const kinds = ['list', 'tag', 'topic'] as const

/** A filter that is on: a membership with its values, or the search. */
type Filter = { kind: queries.Kind; values: readonly number[] } | { kind: 'search' }

interface Criteria {
  readonly lists: readonly number[]
  readonly tags: readonly number[]
  readonly topics: readonly number[]
  /** folded; empty when off */
  readonly search: string
  readonly flags: Omit<queries.Flags, 'desc'>
}

type Walk = (stretch: Stretch) => Promise<{ id: number }[]>

/**
 * One page of the client's contacts, by ascending id. Inside one filter any value may match; different filters must
 * all match.
 *
 * @param query `{ lists?, tags?, topics?, search?, include_unsubscribed?, per_page?, cursor? }`; the search is a
 *   substring of name or e-mail, taken literally, without regard to case.
 * @throws MailkeepError `validation_failed`
 */
export async function listPageOfContacts(ctx: Context, query?: unknown): Promise<Page<Contact>> {
  return mapPage(await listDocuments(ctx, query), (document) => contactFrom({ document }))
}

/**
 * As `listPageOfContacts`, each as JSON text: for those who pass them on.
 *
 * @throws MailkeepError `validation_failed`
 */
export async function listDocuments(ctx: Context, query?: unknown): Promise<Page<string>> {
  const { lists, tags, topics, search, include_unsubscribed, ...pageQuery } = parse(ContactQuery, query ?? {})
  const [ownLists, ownTags, ownTopics] = await ownIds(ctx, { list: lists, tag: tags, topic: topics })
  const criteria: Criteria = {
    lists: ownLists!,
    tags: ownTags!,
    topics: ownTopics!,
    search: search ? searchTerm(search) : '',
    flags: {
      unsubscribed: include_unsubscribed,
      lists: lists !== undefined,
      tags: tags !== undefined,
      topics: topics !== undefined,
      search: Boolean(search),
    },
  }
  const walk = await chooseWalk(ctx, criteria)
  const page = await readPage(pageQuery, walk)
  return { data: await documentsOf(ctx, page.data), meta: page.meta }
}

/** A value that is no record of the client's matches nothing. */
function ownIds(ctx: Context, wanted: Readonly<Record<queries.Kind, readonly number[] | undefined>>) {
  return Promise.all(
    kinds.map(async (kind) => {
      const ids = wanted[kind]
      if (!ids || ids.length === 0) return []
      return (await queries.own[kind](ctx, { client_id: ctx.clientId, ids })).map(({ id }) => id)
    }),
  )
}

/** Walks over the rarest filter's own index and asks the others on the way: a mix costs no more than its rarest. */
async function chooseWalk(ctx: Context, criteria: Criteria): Promise<Walk> {
  const filters = filtersOf(ctx, criteria)
  if (filters.some((filter) => filter.kind !== 'search' && filter.values.length === 0)) return async () => []
  const values = { client_id: ctx.clientId, ...valuesOf(criteria) }
  const flags = (stretch: Stretch): queries.Flags => ({ ...criteria.flags, desc: stretch.desc })
  const rarest = await findRarest(ctx, filters, criteria.search)
  if (!rarest) return (stretch) => queries.walkContacts(ctx, { ...values, ...between(stretch) }, flags(stretch))
  if (rarest.kind === 'search') {
    return (stretch) => queries.walkMatches(ctx, { ...values, ...between(stretch) }, flags(stretch))
  }
  const { walk, filled } = queries.walkMembers(rarest.kind, rarest.values)
  return (stretch) => walk(ctx, { ...values, ...filled, ...between(stretch) }, flags(stretch))
}

function between({ after, limit }: Stretch) {
  return { after, limit }
}

function valuesOf({ lists, tags, topics, search }: Criteria) {
  return { lists, tags, topics, search }
}

/** The filters that are on and have an index of their own: a search has none below the length the index knows. */
function filtersOf(ctx: Context, criteria: Criteria): Filter[] {
  const filters: Filter[] = []
  for (const kind of kinds) {
    if (criteria.flags[`${kind}s`]) filters.push({ kind, values: criteria[`${kind}s`] })
  }
  const { shortestMatch } = ctx.storage.dialect
  if (criteria.flags.search && [...criteria.search].length >= shortestMatch) filters.push({ kind: 'search' })
  return filters
}

async function findRarest(ctx: Context, filters: readonly Filter[], search: string): Promise<Filter | undefined> {
  if (filters.length < 2) return filters[0]
  let rarest = filters[0]
  let fewest = Number.POSITIVE_INFINITY
  for (const filter of filters) {
    const count = await countOf(ctx, filter, search, Math.min(enough, fewest))
    if (count < fewest) {
      rarest = filter
      fewest = count
    }
  }
  return rarest
}

async function countOf(ctx: Context, filter: Filter, search: string, limit: number): Promise<number> {
  if (filter.kind === 'search') {
    return (await queries.countMatches(ctx, { client_id: ctx.clientId, search, limit }))!.matches
  }
  return (await queries.countMembers[filter.kind](ctx, { ids: filter.values, limit }))!.members
}

async function documentsOf(ctx: Context, rows: readonly { id: number }[]): Promise<string[]> {
  if (rows.length === 0) return []
  const documents = await queries.listDocuments(ctx, { ids: rows.map(({ id }) => id) })
  const known = new Map(documents.map(({ id, document }) => [id, document]))
  // One that was erased since the walk is gone.
  return rows.map(({ id }) => known.get(id)).filter((document) => document !== undefined)
}
