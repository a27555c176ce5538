import type { Context } from '../context.ts'
import type { Range } from '../page.ts'
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

/** A scan over the contacts that one filter selects. It checks the other filters for each contact. */
interface FilterScan {
  readonly scan: Scan
  /** Counts the selected contacts up to `maxCounted`. */
  count(): Promise<queries.Sample | undefined>
}

/** Contacts of a filter are counted up to this number, to find the rarest filter. */
const maxCounted = 200
/** The search index is queried for this many of the rarest parts. More parts would cost more than they save. */
const maxQueriedParts = 2

/**
 * Plans the scan of a listing. It scans the index of the rarest filter, and checks the other filters for each contact. Up
 * to `maxCounted` contacts the count decides, so a combination of filters costs no more than its rarest one. Above that the
 * choice is a guess. If the database's planner can choose the index, it does.
 */
export async function planListing(ctx: Context, filters: Filters): Promise<Scan> {
  const kinds = queries.kinds.filter((kind) => filters.flags[`${kind}s`])
  if (kinds.some((kind) => filters[`${kind}s`].length === 0)) return async () => []
  const { search } = ctx.storage.dialect
  if (!search) return contactScan(ctx, filters)
  const scans = kinds.map((kind) => memberScan(ctx, filters, kind))
  // Shorter search texts are not in the index.
  if (filters.flags.search && [...filters.search].length >= search.shortestMatch) {
    scans.push(matchScan(ctx, filters, await rarestParts(ctx, search.parts(filters.search))))
  }
  return scans.length > 1 ? await rarestOf(scans) : (scans[0]?.scan ?? contactScan(ctx, filters))
}

/** Returns the scan with the fewest contacts. Of those with many, it is the one whose first ids are furthest apart. */
async function rarestOf(scans: readonly FilterScan[]): Promise<Scan> {
  const counted = await Promise.all(
    scans.map(async ({ scan, count }) => {
      const { members, lowest, highest } = (await count())!
      return { scan, members, span: (highest ?? 0) - (lowest ?? 0) }
    }),
  )
  return counted.sort((a, b) => a.members - b.members || b.span - a.span)[0]!.scan
}

function contactScan(ctx: Context, filters: Filters): Scan {
  const values = valuesOf(ctx, filters)
  return (range) => queries.scanContacts(ctx, { ...values, ...range }, flagsOf(filters, range))
}

function memberScan(ctx: Context, filters: Filters, kind: queries.Kind): FilterScan {
  const ids = filters[`${kind}s`]
  const { scan, valueSlots } = queries.scanMembers(kind, ids)
  const values = { ...valuesOf(ctx, filters), ...valueSlots }
  return {
    scan: (range) => scan(ctx, { ...values, ...range }, flagsOf(filters, range)),
    count: () => queries.countMembers[kind](ctx, { ids, limit: maxCounted }),
  }
}

function matchScan(ctx: Context, filters: Filters, parts: readonly string[]): FilterScan {
  const values = { ...valuesOf(ctx, filters), parts }
  return {
    scan: (range) => queries.scanMatches(ctx, { ...values, ...range }, flagsOf(filters, range)),
    count: () => queries.countMatches(ctx, { client_id: ctx.clientId, parts, limit: maxCounted }),
  }
}

/**
 * Returns the parts of a search text that the fewest of the client's contacts contain. Prefers parts of different words.
 * A contact with one part of a name usually has the rest of it, so a second part of the same word selects little more.
 */
async function rarestParts(ctx: Context, words: readonly (readonly string[])[]): Promise<readonly string[]> {
  const parts = [...new Set(words.flat())]
  if (parts.length <= maxQueriedParts) return parts
  const ranked = await queries.rankParts(ctx, { client_id: ctx.clientId, parts })
  const distances = new Map(ranked.map(({ part, reached }) => [part, reached ?? Number.MAX_SAFE_INTEGER]))
  const rarestFirst = (all: readonly string[]) => [...all].sort((a, b) => distances.get(b)! - distances.get(a)!)
  const chosen = words.map((word) => rarestFirst(word)[0]!)
  return [...new Set([...rarestFirst(chosen), ...rarestFirst(parts)])].slice(0, maxQueriedParts)
}

function valuesOf(ctx: Context, { lists, tags, topics, search }: Filters) {
  return { client_id: ctx.clientId, lists, tags, topics, search, parts: [] }
}

function flagsOf(filters: Filters, { desc }: Range): queries.Flags {
  return { ...filters.flags, desc }
}
