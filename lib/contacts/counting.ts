import type { Context } from '../context.ts'
import { parse } from '../parse.ts'
import { type Filters, resolveFilters } from './filters.ts'
import { findByEmail } from './listing.ts'
import { planListing } from './listing-plan.ts'
import { ContactFilters, type ContactFiltersInput } from './schema.ts'

/**
 * Counts the client's contacts that match the filters of `list`. Without a query it counts all contacts, including
 * unsubscribed ones. Counts in batches, so that other requests need not wait.
 *
 * @throws MailkeepError Same as `list`.
 */
export async function countContacts(
  ctx: Context,
  query: ContactFiltersInput = { include_unsubscribed: true },
): Promise<number> {
  const filters = await resolveFilters(ctx, parse(ContactFilters, query))
  if (!filters) return 0
  if (filters.emailKey !== undefined) return (await findByEmail(ctx, filters, { after: 0, desc: false })).length
  if (!isCheaperByDifference(ctx, filters)) return await countRows(ctx, filters)
  const { flags } = filters
  const all = await countRows(ctx, { ...filters, flags: { ...flags, unsubscribed: true } })
  const unsubscribed = await countRows(ctx, { ...filters, flags: { ...flags, only: true } })
  return Math.max(0, all - unsubscribed) // contacts may have changed between the two
}

/**
 * Whether to subtract the unsubscribed contacts. The index of a membership or an attribute counts all contacts of one
 * filter without looking at the contacts themselves. There are few unsubscribed ones, which have their own index.
 */
function isCheaperByDifference(ctx: Context, { ids, flags }: Filters): boolean {
  const { lists, tags, topics, attribute, ...others } = flags
  if (!ctx.storage.dialect.search || ids || Object.values(others).some((on) => on)) return false
  return [lists, tags, topics, attribute].filter(Boolean).length === 1
}

async function countRows(ctx: Context, filters: Filters): Promise<number> {
  return await (await planListing(ctx, filters)).count()
}
