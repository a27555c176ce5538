import type { Context } from '../context.ts'
import type { Range } from '../page.ts'
import { nextTurn } from '../time.ts'
import * as queries from './listing-queries.ts'

/** What the contacts of a listing must meet. */
export interface Filters {
  readonly lists: readonly number[]
  readonly tags: readonly number[]
  readonly topics: readonly number[]
  /** folded; empty when off */
  readonly search: string
  readonly flags: Omit<queries.Flags, 'desc'>
}

/** Gives the ids of a stretch of the listing. */
export type Scan = (stretch: Range) => Promise<{ id: number }[]>

/** Counting up to here tells which filter is the rarest; beyond it they all are common. */
const enough = 300
/** So few members are asked for a search sooner than it is looked up. */
const few = 200
/** So many matches of a search tell how common it is. */
const sampled = 100
/** Of a search's parts the index is asked for the rarest: each more would cost more than it spares. */
const askedParts = 2

/** So many members are looked up in the index of searches together, at most. */
const mostTogether = 4000

/** How few contacts a filter lets through. */
interface Selectivity {
  /** How many, counted up to `enough` … */
  readonly members: number
  /** … and over how many ids those counted are spread: the more, the fewer there are. */
  readonly span: number
}

interface Membership {
  readonly kind: queries.Kind
  readonly values: readonly number[]
}

/** Walks over the rarest filter's own index and asks the others on the way: a mix costs no more than its rarest. */
export async function planListing(ctx: Context, criteria: Filters): Promise<Scan> {
  const { search, flags } = criteria
  const memberships = membershipsOf(criteria)
  if (memberships.some(({ values }) => values.length === 0)) return async () => []
  // Shorter ones have no index.
  const looked = flags.search && [...search].length >= ctx.storage.dialect.shortestMatch
  if (looked) return await chooseWithSearch(ctx, criteria, memberships)
  const membership = memberships.length > 1 ? await findRarest(ctx, memberships) : memberships[0]
  return membership ? walkMembers(ctx, criteria, membership) : walkContacts(ctx, criteria)
}

async function chooseWithSearch(ctx: Context, criteria: Filters, memberships: readonly Membership[]): Promise<Scan> {
  const { search } = criteria
  const [rarest, parts] = await Promise.all([findRarest(ctx, memberships), rarestParts(ctx, search)])
  if (rarest && rarest.members <= few) return walkMembers(ctx, criteria, rarest)
  if (!rarest) return walkMatches(ctx, criteria, parts)
  const limit = sampled
  const candidates = await queries.listCandidates(ctx, { client_id: ctx.clientId, search, parts, limit })
  const ids = candidates.map(({ id }) => id)
  if (ids.length < limit) return walkKnown(ctx, criteria, ids)
  const matches: Selectivity = { members: limit, span: Math.max(...ids) - Math.min(...ids) }
  return cheapest(ctx, criteria, { parts, matches, memberships, rarest })
}

interface Choice {
  readonly parts: readonly string[]
  readonly matches: Selectivity
  readonly memberships: readonly Membership[]
  readonly rarest: Membership & Selectivity
}

/** Of the ways to walk over a search that is common and a filter that is. */
function cheapest(ctx: Context, criteria: Filters, { parts, matches, memberships, rarest }: Choice): Scan {
  const { costs, intersection } = ctx.storage.dialect
  const [ofMatches, ofMembers] = [1 / spacingOf(matches), 1 / spacingOf(rarest)]
  const asked = memberships.reduce((sum, { values }) => sum + values.length, 0)
  const overMatches = costs.match(asked) * ofMatches
  const overMembers = costs.member(spacingOf(rarest)) * ofMembers
  const overBoth = intersection ? intersection.cost * (ofMatches + ofMembers) : Number.POSITIVE_INFINITY
  if (overBoth < Math.min(overMatches, overMembers)) return walkBoth(ctx, criteria, rarest, parts, spacingOf(matches))
  return overMatches < overMembers ? walkMatches(ctx, criteria, parts) : walkMembers(ctx, criteria, rarest)
}

/** One id in so many. */
function spacingOf({ members, span }: Selectivity): number {
  return Math.max(1, span / members)
}

function membershipsOf(criteria: Filters): Membership[] {
  const on = queries.kinds.filter((kind) => criteria.flags[`${kind}s`])
  return on.map((kind) => ({ kind, values: criteria[`${kind}s`] }))
}

async function findRarest(
  ctx: Context,
  memberships: readonly Membership[],
): Promise<(Membership & Selectivity) | undefined> {
  const counted = await Promise.all(
    memberships.map(async ({ kind, values }) => {
      const { members, lowest, highest } = (await queries.countMembers[kind](ctx, { ids: values, limit: enough }))!
      return { kind, values, members, span: (highest ?? 0) - (lowest ?? 0) }
    }),
  )
  return counted.sort(byRarity)[0]
}

function byRarity(a: Selectivity, b: Selectivity): number {
  return a.members - b.members || b.span - a.span
}

/**
 * Those parts of a search that the fewest of the client's contacts have. Of two words where there are several: who has a
 * part of a name has mostly the rest of it too, so that a second part of it tells little.
 */
async function rarestParts(ctx: Context, search: string): Promise<readonly string[]> {
  const words = ctx.storage.dialect.searchParts(search)
  const parts = [...new Set(words.flat())]
  if (parts.length <= askedParts) return parts
  const ranked = await queries.rankParts(ctx, { client_id: ctx.clientId, parts })
  const distances = new Map(ranked.map(({ part, reached }) => [part, reached ?? Number.MAX_SAFE_INTEGER]))
  const rarestFirst = (all: readonly string[]) => [...all].sort((a, b) => distances.get(b)! - distances.get(a)!)
  const chosen = words.map((word) => rarestFirst(word)[0]!)
  return [...new Set([...rarestFirst(chosen), ...rarestFirst(parts)])].slice(0, askedParts)
}

function walkContacts(ctx: Context, criteria: Filters): Scan {
  const values = valuesOf(ctx, criteria)
  return (stretch) => queries.scanContacts(ctx, { ...values, ...stretch }, flagsOf(criteria, stretch))
}

function walkMembers(ctx: Context, criteria: Filters, { kind, values }: Membership): Scan {
  const { walk, filled } = queries.scanMembers(kind, values)
  const all = { ...valuesOf(ctx, criteria), ...filled }
  return (stretch) => walk(ctx, { ...all, ...stretch }, flagsOf(criteria, stretch))
}

function walkMatches(ctx: Context, criteria: Filters, parts: readonly string[]): Scan {
  const values = { ...valuesOf(ctx, criteria), parts }
  return (stretch) => queries.scanMatches(ctx, { ...values, ...stretch }, flagsOf(criteria, stretch))
}

/** As many members at a time as are likely to have a stretch of matches among them; where these do not do, more. */
function walkBoth(
  ctx: Context,
  criteria: Filters,
  rarest: Membership,
  parts: readonly string[],
  spacing: number,
): Scan {
  const { client_id } = valuesOf(ctx, criteria)
  const { gather, filled } = queries.scanMembers(rarest.kind, rarest.values)
  return async (stretch) => {
    const found: { id: number }[] = []
    const { desc, limit } = stretch
    let { after } = stretch
    for (let count = Math.ceil(1.5 * limit * spacing); found.length < limit; count *= 2) {
      const most = Math.min(count, mostTogether)
      const members = (await gather(ctx, { ...filled, after, limit: most }, { desc }))!
      if (members.ids === null || members.count === 0) break
      const { ids, lowest, highest } = members
      const matches = await queries.listMatchesAmong(ctx, { client_id, parts, ids, lowest, highest })
      const known = matches.map(({ id }) => id)
      found.push(...(await meeting(ctx, criteria, known, { desc, limit: limit - found.length })))
      if (members.count < most) break
      after = desc ? lowest : highest
      // A long walk lets others go between, but not inside a transaction, which holds up writes.
      if (!ctx.transaction) await nextTurn()
    }
    return found
  }
}

/** Over contacts among which are all that meet the criteria. */
function walkKnown(ctx: Context, criteria: Filters, contacts: readonly number[]): Scan {
  return ({ after, desc, limit }) => {
    const ahead = contacts.filter((id) => (desc ? id < after : id > after))
    return meeting(ctx, criteria, ahead, { desc, limit })
  }
}

/** The first of these contacts that meet the criteria: asks more and more at a time, until there are enough. */
async function meeting(
  ctx: Context,
  criteria: Filters,
  contacts: readonly number[],
  { desc, limit }: Omit<Range, 'after'>,
): Promise<{ id: number }[]> {
  const inOrder = [...contacts].sort((a, b) => (desc ? b - a : a - b))
  const values = { ...valuesOf(ctx, criteria), after: 0, limit }
  const found: { id: number }[] = []
  for (let from = 0, count = limit; from < inOrder.length && found.length < limit; from += count, count *= 2) {
    const ids = inOrder.slice(from, from + count)
    const meeting = await queries.listMeeting(ctx, { ...values, ids }, { ...criteria.flags, desc: false })
    const met = new Set(meeting.map(({ id }) => id))
    for (const id of ids) if (met.has(id)) found.push({ id })
  }
  return found.slice(0, limit)
}

function valuesOf(ctx: Context, { lists, tags, topics, search }: Filters) {
  return { client_id: ctx.clientId, lists, tags, topics, search, parts: [] }
}

function flagsOf(criteria: Filters, { desc }: Range): queries.Flags {
  return { ...criteria.flags, desc }
}
