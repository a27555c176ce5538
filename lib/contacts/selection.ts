import type { Context } from '../context.ts'
import { parse } from '../parse.ts'
import { resolveFilters } from './filters.ts'
import { planListing } from './listing-plan.ts'
import { ContactFilters, type ContactFiltersInput } from './schema.ts'

/** Returns the ids of selected contacts after an id, in ascending order. */
export type Selection = (after: number, limit: number) => Promise<number[]>

/**
 * Selects the contacts of the listing with the same filters, for work that goes through all of them.
 *
 * @throws MailkeepError Same as `list`.
 */
export async function selectContacts(ctx: Context, query: Omit<ContactFiltersInput, 'email'>): Promise<Selection> {
  const filters = await resolveFilters(ctx, parse(ContactFilters, query))
  if (!filters) return async () => []
  const scan = await planListing(ctx, filters)
  return async (after, limit) => (await scan({ after, desc: false, limit })).map(({ id }) => id)
}
