import type { Context } from '../context.ts'
import type { Range } from '../page.ts'
import { nextTurn } from '../time.ts'
import * as queries from './listing-queries.ts'

/** The filters of a listing. */
export interface Filters {
  readonly lists: readonly number[]
  readonly tags: readonly number[]
  readonly topics: readonly number[]
  /** Folded search text; empty when off. */
  readonly search: string
  readonly flags: Omit<queries.Flags, 'desc'>
}

/** Returns the ids of a range of the listing. */
export type Scan = (range: Range) => Promise<{ id: number }[]>

/** Members of a filter are counted up to this number, to find the most selective filter. */
const maxCountedMembers = 300
/** Up to this many members, checking each one for the search text is cheaper than the search index. */
const maxMembersToCheck = 200
/** Number of search matches that are sampled to estimate the search's selectivity. */
const maxSampledMatches = 100
/** The search index is queried for this many of the rarest parts. More parts would cost more than they save. */
const maxQueriedParts = 2

/** Maximum members that one query looks up in the search index. */
const maxMembersPerLookup = 4000

/** Estimate of how many contacts a filter selects. */
interface Selectivity {
  /** Number of contacts, counted up to `maxCountedMembers`. */
  readonly members: number
  /** Difference between the highest and lowest counted id. A larger span means a more selective filter. */
  readonly span: number
}

interface Membership {
  readonly kind: queries.Kind
  readonly values: readonly number[]
}

/**
 * Plans the scan of a listing. It scans the index of the most selective filter, and checks the other filters for each
 * contact. So a combination of filters costs no more than the most selective one.
 */
export async function planListing(ctx: Context, filters: Filters): Promise<Scan> {
  const { search, flags } = filters
  const memberships = membershipsOf(filters)
  if (memberships.some(({ values }) => values.length === 0)) return async () => []
  // Shorter search texts are not in the index.
  const usesSearchIndex = flags.search && [...search].length >= ctx.storage.dialect.shortestMatch
  if (usesSearchIndex) return await planSearch(ctx, filters, memberships)
  const membership = memberships.length > 1 ? await findRarest(ctx, memberships) : memberships[0]
  return membership ? memberScan(ctx, filters, membership) : contactScan(ctx, filters)
}

async function planSearch(ctx: Context, filters: Filters, memberships: readonly Membership[]): Promise<Scan> {
  const { search } = filters
  const [rarest, parts] = await Promise.all([findRarest(ctx, memberships), rarestParts(ctx, search)])
  if (rarest && rarest.members <= maxMembersToCheck) return memberScan(ctx, filters, rarest)
  if (!rarest) return matchScan(ctx, filters, parts)
  const limit = maxSampledMatches
  const candidates = await queries.listCandidates(ctx, { client_id: ctx.clientId, search, parts, limit })
  const ids = candidates.map(({ id }) => id)
  if (ids.length < limit) return candidateScan(ctx, filters, ids)
  const matches: Selectivity = { members: limit, span: Math.max(...ids) - Math.min(...ids) }
  return cheapestScan(ctx, filters, { parts, matches, memberships, rarest })
}

interface Choice {
  readonly parts: readonly string[]
  readonly matches: Selectivity
  readonly memberships: readonly Membership[]
  readonly rarest: Membership & Selectivity
}

/** Returns the cheapest scan for a search and a filter that both select many contacts. */
function cheapestScan(ctx: Context, filters: Filters, { parts, matches, memberships, rarest }: Choice): Scan {
  const { costs, intersection } = ctx.storage.dialect
  const [matchDensity, memberDensity] = [1 / spacingOf(matches), 1 / spacingOf(rarest)]
  const checkedValues = memberships.reduce((sum, { values }) => sum + values.length, 0)
  const matchCost = costs.match(checkedValues) * matchDensity
  const memberCost = costs.member(spacingOf(rarest)) * memberDensity
  const intersectionCost = intersection ? intersection.cost * (matchDensity + memberDensity) : Number.POSITIVE_INFINITY
  if (intersectionCost < Math.min(matchCost, memberCost))
    return intersectionScan(ctx, filters, rarest, parts, spacingOf(matches))
  return matchCost < memberCost ? matchScan(ctx, filters, parts) : memberScan(ctx, filters, rarest)
}

/** Returns the average distance between the ids of two selected contacts. */
function spacingOf({ members, span }: Selectivity): number {
  return Math.max(1, span / members)
}

function membershipsOf(filters: Filters): Membership[] {
  const on = queries.kinds.filter((kind) => filters.flags[`${kind}s`])
  return on.map((kind) => ({ kind, values: filters[`${kind}s`] }))
}

async function findRarest(
  ctx: Context,
  memberships: readonly Membership[],
): Promise<(Membership & Selectivity) | undefined> {
  const counted = await Promise.all(
    memberships.map(async ({ kind, values }) => {
      const { members, lowest, highest } = (await queries.countMembers[kind](ctx, {
        ids: values,
        limit: maxCountedMembers,
      }))!
      return { kind, values, members, span: (highest ?? 0) - (lowest ?? 0) }
    }),
  )
  return counted.sort(byRarity)[0]
}

function byRarity(a: Selectivity, b: Selectivity): number {
  return a.members - b.members || b.span - a.span
}

/**
 * Returns the parts of a search text that the fewest of the client's contacts contain. Prefers parts of different words.
 * A contact with one part of a name usually has the rest of it, so a second part of the same word selects little more.
 */
async function rarestParts(ctx: Context, search: string): Promise<readonly string[]> {
  const words = ctx.storage.dialect.searchParts(search)
  const parts = [...new Set(words.flat())]
  if (parts.length <= maxQueriedParts) return parts
  const ranked = await queries.rankParts(ctx, { client_id: ctx.clientId, parts })
  const distances = new Map(ranked.map(({ part, reached }) => [part, reached ?? Number.MAX_SAFE_INTEGER]))
  const rarestFirst = (all: readonly string[]) => [...all].sort((a, b) => distances.get(b)! - distances.get(a)!)
  const chosen = words.map((word) => rarestFirst(word)[0]!)
  return [...new Set([...rarestFirst(chosen), ...rarestFirst(parts)])].slice(0, maxQueriedParts)
}

function contactScan(ctx: Context, filters: Filters): Scan {
  const values = valuesOf(ctx, filters)
  return (range) => queries.scanContacts(ctx, { ...values, ...range }, flagsOf(filters, range))
}

function memberScan(ctx: Context, filters: Filters, { kind, values }: Membership): Scan {
  const { scan, valueSlots } = queries.scanMembers(kind, values)
  const all = { ...valuesOf(ctx, filters), ...valueSlots }
  return (range) => scan(ctx, { ...all, ...range }, flagsOf(filters, range))
}

function matchScan(ctx: Context, filters: Filters, parts: readonly string[]): Scan {
  const values = { ...valuesOf(ctx, filters), parts }
  return (range) => queries.scanMatches(ctx, { ...values, ...range }, flagsOf(filters, range))
}

/**
 * Intersects members with search matches. It reads as many members as probably contain a page of matches, and then
 * doubles that number.
 */
function intersectionScan(
  ctx: Context,
  filters: Filters,
  rarest: Membership,
  parts: readonly string[],
  spacing: number,
): Scan {
  const { client_id } = valuesOf(ctx, filters)
  const { gather, valueSlots } = queries.scanMembers(rarest.kind, rarest.values)
  return async (range) => {
    const found: { id: number }[] = []
    const { desc, limit } = range
    let { after } = range
    for (let count = Math.ceil(1.5 * limit * spacing); found.length < limit; count *= 2) {
      const batchSize = Math.min(count, maxMembersPerLookup)
      const members = (await gather(ctx, { ...valueSlots, after, limit: batchSize }, { desc }))!
      if (members.ids === null || members.count === 0) break
      const { ids, lowest, highest } = members
      const matches = await queries.listMatchesAmong(ctx, { client_id, parts, ids, lowest, highest })
      const known = matches.map(({ id }) => id)
      found.push(...(await firstMatching(ctx, filters, known, { desc, limit: limit - found.length })))
      if (members.count < batchSize) break
      after = desc ? lowest : highest
      // A long scan yields to other work, but not inside a transaction, which blocks writes.
      if (!ctx.transaction) await nextTurn()
    }
    return found
  }
}

/** Scans a known set of candidates, which contains all contacts of the listing. */
function candidateScan(ctx: Context, filters: Filters, contacts: readonly number[]): Scan {
  return ({ after, desc, limit }) => {
    const ahead = contacts.filter((id) => (desc ? id < after : id > after))
    return firstMatching(ctx, filters, ahead, { desc, limit })
  }
}

/** Returns the first `limit` contacts that match the filters. It checks batches of doubling size until it has enough. */
async function firstMatching(
  ctx: Context,
  filters: Filters,
  contacts: readonly number[],
  { desc, limit }: Omit<Range, 'after'>,
): Promise<{ id: number }[]> {
  const inOrder = [...contacts].sort((a, b) => (desc ? b - a : a - b))
  const values = { ...valuesOf(ctx, filters), after: 0, limit }
  const found: { id: number }[] = []
  for (let from = 0, count = limit; from < inOrder.length && found.length < limit; from += count, count *= 2) {
    const ids = inOrder.slice(from, from + count)
    const rows = await queries.listMatching(ctx, { ...values, ids }, { ...filters.flags, desc: false })
    const matching = new Set(rows.map(({ id }) => id))
    for (const id of ids) if (matching.has(id)) found.push({ id })
  }
  return found.slice(0, limit)
}

function valuesOf(ctx: Context, { lists, tags, topics, search }: Filters) {
  return { client_id: ctx.clientId, lists, tags, topics, search, parts: [] }
}

function flagsOf(filters: Filters, { desc }: Range): queries.Flags {
  return { ...filters.flags, desc }
}
