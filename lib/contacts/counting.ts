import { hash } from 'node:crypto'
import { BoundedCache } from '../bounded-cache.ts'
import type { Context } from '../context.ts'
import { parse } from '../parse.ts'
import { databaseVersion } from '../storage/version.ts'
import { type Filters, resolveFilters } from './filters.ts'
import { findByEmail } from './listing.ts'
import { planListing } from './listing-plan.ts'
import { ContactFilters, type ContactFiltersInput } from './schema.ts'

/** Maximum contacts that one statement counts, so that other reads need not wait long. */
const maxCountedPerStatement = 10_000

/**
 * Counts the client's contacts that match the filters of `list`. Without a query it counts all contacts, including
 * unsubscribed ones. Counts in batches, and remembers the count until the next commit in the database.
 *
 * @throws MailkeepError Same as `list`.
 */
export async function countContacts(ctx: Context, query?: ContactFiltersInput): Promise<number> {
  const filters = parse(ContactFilters, query ?? { include_unsubscribed: true })
  const key = hash('sha256', `${ctx.clientId} ${JSON.stringify(filters)}`)
  return await ctx.local.counts(ctx, key, async () => countResolved(ctx, await resolveFilters(ctx, filters)))
}

/** Returns the count of a key. Calls `count` unless the database is as it was when this key was counted last. */
export type CountCache = (ctx: Context, key: string, count: () => Promise<number>) => Promise<number>

/** For contexts whose reads see changes that are not committed. */
export const countAlways: CountCache = (_ctx, _key, count) => count()

const maxCachedCounts = 1000

/** Remembers counts, each with the version of the database for which it is exact. */
export function countCache(): CountCache {
  const cached = new BoundedCache<string, { version: string; count: number }>(maxCachedCounts)
  return async (ctx, key, count) => {
    if (ctx.transaction) return await countAlways(ctx, key, count)
    const version = await databaseVersion(ctx)
    const known = cached.get(key, () => ({ version: '', count: 0 }))
    if (known.version === version) return known.count
    const counted = await count()
    if ((await databaseVersion(ctx)) === version) Object.assign(known, { version, count: counted })
    return counted
  }
}

async function countResolved(ctx: Context, filters: Filters | undefined): Promise<number> {
  if (!filters) return 0
  if (filters.emailKey !== undefined) return (await findByEmail(ctx, filters, { after: 0, desc: false })).length
  if (!isCheaperByDifference(ctx, filters)) return await countRows(ctx, filters)
  const { flags } = filters
  const all = await countRows(ctx, { ...filters, flags: { ...flags, unsubscribed: true } })
  return all - (await countRows(ctx, { ...filters, flags: { ...flags, only: true } }))
}

/**
 * Whether to subtract the unsubscribed contacts. The index of a membership or an attribute counts all contacts of one
 * filter without looking at the contacts themselves. There are few unsubscribed ones, which have their own index.
 */
function isCheaperByDifference(ctx: Context, { ids, flags }: Filters): boolean {
  const { unsubscribed, only, lists, tags, topics, attribute, search, others } = flags
  if (!ctx.storage.dialect.search || ids || unsubscribed || only || search || others) return false
  return [lists, tags, topics, attribute].filter(Boolean).length === 1
}

async function countRows(ctx: Context, filters: Filters): Promise<number> {
  const scan = await planListing(ctx, filters)
  let count = 0
  for (let after = 0; ; ) {
    const [batch] = await scan({ after, desc: false, limit: maxCountedPerStatement }, true)
    const { id, counted = 0 } = batch!
    count += Number(counted)
    if (counted < maxCountedPerStatement) return count
    after = id
  }
}
