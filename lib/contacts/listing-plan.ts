import { distinct } from '../collections.ts'
import type { Context } from '../context.ts'
import type { Range } from '../page.ts'
import { type Filters, hasCreatedFilter } from './filters.ts'
import { type Bounds, boundsOfCreated, clamped, from, unbounded } from './listing-bounds.ts'
import { type FilterValues, type Flags, isFiltered, type Kind, kinds, type ScanRow } from './listing-conditions.ts'
import * as queries from './listing-queries.ts'

/** How a listing is read. */
interface ListingPlan {
  /** Returns the ids of a range of the listing. */
  list(range: Range): Promise<{ id: number }[]>
  count(): Promise<number>
}

/** The parameters that all scans of a listing share. */
interface Shared {
  readonly filters: Filters
  readonly values: Values
}

type Values = FilterValues & {
  readonly client_id: number
  readonly attribute_id: number
  readonly value_key: string
  readonly more_attributes: Filters['attributes']
  readonly parts: readonly string[]
}

/** The contacts that one filter selects. */
interface Candidates {
  /** Checks the other filters for some of them. */
  readonly examine: Examine
  /** Counts the first of them. @param limit Default: `maxCounted`. */
  count(limit?: number): Promise<queries.Sample | undefined>
}

/** `until`: the last id that may be returned. `examined`: maximum contacts to check. */
type Examine = (
  range: Range & { readonly until: number; readonly examined: number },
  flags: Flags,
) => Promise<ScanRow[]>

/** The first contacts of a filter are counted up to this number, to find the rarest filter. */
const maxCounted = 40
/**
 * Up to this number, PostgreSQL merges the members of several values, which it has to sort. Counting so many takes less than
 * a millisecond.
 */
const maxMerged = 1000
/** The search index is queried for this many of the rarest parts. More parts would cost more than they save. */
const maxQueriedParts = 2

/**
 * Plans the scan of a listing. It scans the index of the rarest filter, and checks the other filters for each contact. Up
 * to `maxCounted` contacts the count decides, so a combination of filters costs no more than its rarest one. Above that the
 * choice is a guess. PostgreSQL plans counts itself, and the listings that `chooseCandidates` leaves to it.
 */
export async function planListing(ctx: Context, filters: Filters): Promise<ListingPlan> {
  // A scan reads the index of the first attribute.
  const { sorted: attributes } = await rarestFirst(filters.attributes, (value) =>
    queries.countAttribute(ctx, { ...value, limit: maxCounted }),
  )
  const [first = { attribute_id: 0, value_key: '' }, ...more_attributes] = attributes
  const values = { client_id: ctx.clientId, ...filters.values, ...first, more_attributes, parts: [] }
  const { ids, flags } = filters
  // Only SQLite reads in this process, so that a statement that examines many contacts would block it.
  const isInProcess = ctx.storage.dialect.search !== undefined
  const maxPerCount = isInProcess ? maxCountedInProcess : maxCountedByServer
  if (ids) {
    const scan: Examine = (range, on) => queries.scanIds(ctx, { ...values, ids, ...range }, on)
    return inOneStatement(scan, flags, unbounded, maxPerCount)
  }
  const bounds = hasCreatedFilter(values) ? boundsOfCreated(ctx, filters.values, flags.only) : unbounded
  const scan: Examine = (range, on) => queries.scanContacts(ctx, { ...values, ...range }, on)
  const planned = inOneStatement(scan, flags, bounds, maxPerCount)
  const chosen = isFiltered(flags) ? await chooseCandidates(ctx, { filters, values }) : undefined
  if (!chosen) return planned
  const narrowed = from(chosen.lowest, bounds)
  if (isInProcess) return inBatches(chosen.examine, flags, narrowed)
  return { ...inOneStatement(chosen.examine, flags, narrowed, maxPerCount), count: planned.count }
}

const maxId = Number.MAX_SAFE_INTEGER

/** Maximum contacts that one statement counts on SQLite, so that other requests need not wait long. */
const maxCountedInProcess = 10_000
/** And on a server, so that it ends long before the server's timeout. A count in small batches takes seven times as long. */
const maxCountedByServer = 1_000_000

/** Reads a range with one statement, and counts at most `limit` contacts with each. */
function inOneStatement(scan: Examine, flags: Filters['flags'], bounds: Bounds, limit: number): ListingPlan {
  const examined = maxId
  return {
    async list(range) {
      const ids = clamped(range, await bounds.near(range))
      return await scan({ ...range, ...ids, examined }, { ...flags, desc: range.desc, counted: false })
    },
    async count() {
      const ids = await bounds.all()
      let total = 0
      for (let after = 0; ; ) {
        const range = { ...clamped({ after, desc: false }, ids), limit, desc: false, examined }
        const [batch] = await scan(range, { ...flags, desc: false, counted: true })
        const counted = Number(batch!.counted)
        total += counted
        if (counted < limit) return total
        after = batch!.id
      }
    },
  }
}

/** Maximum contacts that one statement examines. With one to three filters it takes 1 to 12 ms. */
const maxExamined = 4000

/** Examines a range in batches, so that other requests run in between, however few contacts match. */
function inBatches(examine: Examine, flags: Filters['flags'], bounds: Bounds): ListingPlan {
  const examined = maxExamined
  return {
    async list({ after, desc, limit }) {
      const list = { ...flags, desc, counted: false }
      const ids = await bounds.near({ after, desc, limit })
      let range = { ...clamped({ after, desc }, ids), desc, limit, examined }
      const first = await examine(range, list)
      if (first.length >= limit) return first
      const rows: ScanRow[] = []
      while (rows.length < limit) {
        const [batch] = await examine(range, { ...flags, desc, counted: true })
        // Most batches have no match. The others are listed up to this id, because contacts may have changed since.
        const found = { ...range, until: batch!.id, limit: limit - rows.length, examined: maxId }
        if (batch!.counted! > 0) rows.push(...(await examine(found, list)))
        if (batch!.examined! < examined) return rows
        range = { ...range, after: batch!.id }
      }
      return rows
    },
    async count() {
      const ids = await bounds.all()
      let range = { ...clamped({ after: 0, desc: false }, ids), desc: false, limit: examined, examined }
      for (let total = 0; ; ) {
        const [batch] = await examine(range, { ...flags, desc: false, counted: true })
        total += batch!.counted!
        if (batch!.examined! < examined) return total
        range = { ...range, after: batch!.id }
      }
    },
  }
}

/**
 * Returns the scan of the rarest filter, and the lowest id that a contact of all filters may have; undefined if PostgreSQL
 * must plan the scan. It plans badly where the contacts of a filter are neighbours, such as those of a new list: it expects
 * them anywhere, and reads all contacts before them. But it can search in other ways than in order of id, and it cannot
 * merge the members of several values without sorting them, so it merges only few.
 */
async function chooseCandidates(ctx: Context, shared: Shared) {
  const {
    filters: { flags },
    values,
  } = shared
  const { search } = ctx.storage.dialect
  if (!search && flags.search) return undefined
  const used = kinds.filter((kind) => flags[`${kind}s`])
  const isMerged = (kind: Kind) => !search && values[`${kind}s`].length > 1
  const found = used.filter((kind) => !isMerged(kind)).map((kind) => members(ctx, shared, kind))
  const merged = await Promise.all(used.filter(isMerged).map((kind) => fewMembers(ctx, shared, kind)))
  found.push(...merged.filter((few) => few !== undefined))
  if (flags.attribute) found.push(holders(ctx, shared))
  if (!search && found.length === 0) return undefined
  if (flags.only) found.push(unsubscribed(ctx, shared))
  // Shorter search texts are not in the index.
  if (search && flags.search && [...values.search].length >= search.shortestMatch) {
    found.push(matches(ctx, shared, await rarestParts(ctx, search.parts(values.search))))
  }
  const { sorted, lowest } = await rarestFirst(found, ({ count }) => count())
  const [{ examine } = allContacts(ctx, shared)] = sorted
  return { examine, lowest }
}

/**
 * Sorts filters by the number of their contacts. Of those with many, the one whose first ids are furthest apart is first.
 *
 * @returns The filters, and the lowest id that a contact of all of them may have.
 */
async function rarestFirst<T>(filters: readonly T[], count: (filter: T) => Promise<queries.Sample | undefined>) {
  if (filters.length < 2) return { sorted: filters, lowest: 1 }
  const counted = await Promise.all(
    filters.map(async (filter) => {
      const { members, lowest, highest } = (await count(filter))!
      return { filter, members, lowest: lowest ?? maxId, span: (highest ?? 0) - (lowest ?? 0) }
    }),
  )
  const sorted = counted.sort((a, b) => a.members - b.members || b.span - a.span)
  return { sorted: sorted.map(({ filter }) => filter), lowest: Math.max(...sorted.map(({ lowest }) => lowest)) }
}

function allContacts(ctx: Context, { values }: Shared): Pick<Candidates, 'examine'> {
  return { examine: (range, on) => queries.examineContacts(ctx, { ...values, ...range }, on) }
}

function unsubscribed(ctx: Context, shared: Shared): Candidates {
  const { client_id } = shared.values
  return { ...allContacts(ctx, shared), count: () => queries.countUnsubscribed(ctx, { client_id, limit: maxCounted }) }
}

function members(ctx: Context, { values }: Shared, kind: Kind): Candidates {
  const { examine, count, valueSlots } = queries.membersOf(kind, values[`${kind}s`])
  return {
    examine: (range, on) => examine(ctx, { ...values, ...valueSlots, ...range }, on),
    count: (limit = maxCounted) => count(ctx, { ...valueSlots, limit }),
  }
}

/** Returns the members of several values, unless they are many. They are fewer than those of a filter with many. */
async function fewMembers(ctx: Context, shared: Shared, kind: Kind): Promise<Candidates | undefined> {
  const { examine, count } = members(ctx, shared, kind)
  const sample = (await count(maxMerged + 1))!
  if (sample.members > maxMerged) return undefined
  return { examine, count: async () => ({ ...sample, members: Math.min(sample.members, maxCounted - 1) }) }
}

function holders(ctx: Context, { values }: Shared): Candidates {
  return {
    examine: (range, on) => queries.examineAttribute(ctx, { ...values, ...range }, on),
    count: () => queries.countAttribute(ctx, { ...values, limit: maxCounted }),
  }
}

function matches(ctx: Context, { values }: Shared, parts: readonly string[]): Candidates {
  return {
    examine: (range, on) => queries.examineMatches(ctx, { ...values, parts, ...range }, on),
    count: () => queries.countMatches(ctx, { client_id: values.client_id, parts, limit: maxCounted }),
  }
}

/**
 * Returns the parts of a search text that the fewest of the client's contacts contain. Prefers parts of different words.
 * A contact with one part of a name usually has the rest of it, so a second part of the same word selects little more.
 */
async function rarestParts(ctx: Context, words: readonly (readonly string[])[]): Promise<readonly string[]> {
  const parts = distinct(words.flat())
  if (parts.length <= maxQueriedParts) return parts
  const ranked = await queries.rankParts(ctx, { client_id: ctx.clientId, parts })
  const distances = new Map(ranked.map(({ part, reached }) => [part, reached ?? Number.MAX_SAFE_INTEGER]))
  const sorted = (all: readonly string[]) => [...all].sort((a, b) => distances.get(b)! - distances.get(a)!)
  const chosen = words.map((word) => sorted(word)[0]!)
  return distinct([...sorted(chosen), ...sorted(parts)]).slice(0, maxQueriedParts)
}
