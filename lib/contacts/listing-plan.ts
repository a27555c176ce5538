import type { Context } from '../context.ts'
import type { Range } from '../page.ts'
import { type Filters, hasCreatedFilter } from './filters.ts'
import { type FilterValues, type Flags, type Kind, kinds, type ScanRow } from './listing-conditions.ts'
import * as queries from './listing-queries.ts'

/** Returns the ids of a range of the listing. `counted`: returns one row, the number of contacts and the last id. */
export type Scan = (range: Range, counted?: boolean) => Promise<ScanRow[]>

/** The parameters that all scans of a listing share. */
interface Shared {
  readonly filters: Filters
  readonly values: FilterValues & {
    readonly client_id: number
    readonly attribute_id: number
    readonly value_key: string
    readonly more_attributes: Filters['attributes']
    readonly parts: readonly string[]
  }
}

/** A scan over the contacts that one filter selects. It checks the other filters for each contact. */
interface FilterScan {
  readonly scan: UnboundedScan
  /** Counts the selected contacts up to `maxCounted`. */
  count(): Promise<queries.Sample | undefined>
}

/** `until`: the last id that may be returned. */
type UnboundedScan = (range: Range & { readonly until: number }, flags: Flags) => Promise<ScanRow[]>

/** Contacts of a filter are counted up to this number, to find the rarest filter. */
const maxCounted = 200
/** The search index is queried for this many of the rarest parts. More parts would cost more than they save. */
const maxQueriedParts = 2
/** Up to this number of contacts created between two times, their ids bound the scan. */
const maxCreated = 5000

/**
 * Plans the scan of a listing. It scans the index of the rarest filter, and checks the other filters for each contact. Up
 * to `maxCounted` contacts the count decides, so a combination of filters costs no more than its rarest one. Above that the
 * choice is a guess. If the database's planner can choose the index, it does.
 */
export async function planListing(ctx: Context, filters: Filters): Promise<Scan> {
  const { client_id, values } = { client_id: ctx.clientId, values: filters.values }
  const { lowest, highest } = hasCreatedFilter(values) ? await findIdRange(ctx, filters.values) : everyId
  const attributes = await rarestFirst(ctx, filters.attributes)
  const [first = { attribute_id: 0, value_key: '' }, ...more_attributes] = attributes
  const scan = await unboundedScan(ctx, {
    filters,
    values: { client_id, ...values, ...first, more_attributes, parts: [] },
  })
  return ({ after, desc, limit }, counted = false) => {
    const within = desc ? Math.min(after, highest + 1) : Math.max(after, lowest - 1)
    return scan({ after: within, until: desc ? lowest : highest, desc, limit }, { ...filters.flags, desc, counted })
  }
}

/**
 * Returns the range of the ids of contacts created between two times, if they are few. If they are many, returns the range
 * of all ids: restored contacts and contacts of a clock that was wrong may have any id.
 */
async function findIdRange(ctx: Context, { created_after, created_before }: FilterValues) {
  const times = { client_id: ctx.clientId, created_after, created_before }
  const found = await queries.countCreated(ctx, { ...times, limit: maxCreated + 1 })
  const { members, lowest, highest } = found!
  return members > maxCreated ? everyId : { lowest: lowest ?? 1, highest: highest ?? 0 }
}

const everyId = { lowest: 1, highest: Number.MAX_SAFE_INTEGER - 1 }

async function unboundedScan(ctx: Context, shared: Shared): Promise<UnboundedScan> {
  const { filters, values } = shared
  const { ids, flags } = filters
  if (ids) return (range, on) => queries.scanIds(ctx, { ...values, ids, ...range }, on)
  const { search } = ctx.storage.dialect
  if (!search) return contactScan(ctx, shared)
  const scans = kinds.filter((kind) => flags[`${kind}s`]).map((kind) => memberScan(ctx, shared, kind))
  if (flags.attribute) scans.push(attributeScan(ctx, shared))
  if (flags.only) scans.push(unsubscribedScan(ctx, shared))
  // Shorter search texts are not in the index.
  if (flags.search && [...values.search].length >= search.shortestMatch) {
    scans.push(matchScan(ctx, shared, await rarestParts(ctx, search.parts(values.search))))
  }
  return scans.length > 1 ? await rarestOf(scans) : (scans[0]?.scan ?? contactScan(ctx, shared))
}

/** Returns the scan with the fewest contacts. Of those with many, it is the one whose first ids are furthest apart. */
async function rarestOf(scans: readonly FilterScan[]): Promise<UnboundedScan> {
  const counted = await Promise.all(scans.map(async ({ scan, count }) => ({ scan, ...sizeOf(await count()) })))
  return counted.sort(bySize)[0]!.scan
}

/** Sorts attributes by the number of their contacts. A scan reads the index of the first one. */
async function rarestFirst(ctx: Context, attributes: Filters['attributes']): Promise<Filters['attributes']> {
  if (attributes.length < 2) return attributes
  const counted = await Promise.all(
    attributes.map(async (value) => ({
      value,
      ...sizeOf(await queries.countAttribute(ctx, { ...value, limit: maxCounted })),
    })),
  )
  return counted.sort(bySize).map(({ value }) => value)
}

interface Size {
  readonly members: number
  readonly span: number
}

function sizeOf(sample: queries.Sample | undefined): Size {
  const { members, lowest, highest } = sample!
  return { members, span: (highest ?? 0) - (lowest ?? 0) }
}

function bySize(a: Size, b: Size): number {
  return a.members - b.members || b.span - a.span
}

function contactScan(ctx: Context, { values }: Shared): UnboundedScan {
  return (range, on) => queries.scanContacts(ctx, { ...values, ...range }, on)
}

function unsubscribedScan(ctx: Context, shared: Shared): FilterScan {
  const { client_id } = shared.values
  return {
    scan: contactScan(ctx, shared),
    count: () => queries.countUnsubscribed(ctx, { client_id, limit: maxCounted }),
  }
}

function memberScan(ctx: Context, { values }: Shared, kind: Kind): FilterScan {
  const ids = values[`${kind}s`]
  const { scan, valueSlots } = queries.scanMembers(kind, ids)
  return {
    scan: (range, on) => scan(ctx, { ...values, ...valueSlots, ...range }, on),
    count: () => queries.countMembers[kind](ctx, { ids, limit: maxCounted }),
  }
}

function attributeScan(ctx: Context, { values }: Shared): FilterScan {
  return {
    scan: (range, on) => queries.scanAttribute(ctx, { ...values, ...range }, on),
    count: () => queries.countAttribute(ctx, { ...values, limit: maxCounted }),
  }
}

function matchScan(ctx: Context, { values }: Shared, parts: readonly string[]): FilterScan {
  return {
    scan: (range, on) => queries.scanMatches(ctx, { ...values, parts, ...range }, on),
    count: () => queries.countMatches(ctx, { client_id: values.client_id, parts, limit: maxCounted }),
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
  const sorted = (all: readonly string[]) => [...all].sort((a, b) => distances.get(b)! - distances.get(a)!)
  const chosen = words.map((word) => sorted(word)[0]!)
  return [...new Set([...sorted(chosen), ...sorted(parts)])].slice(0, maxQueriedParts)
}
