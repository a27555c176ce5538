import type { Context } from '../context.ts'
import { inputLimits } from '../limits.ts'
import { mapPage, type Page, type PageContent, type Range, readPageOf } from '../page.ts'
import { parse } from '../parse.ts'
import { type Filters, resolveFilters } from './filters.ts'
import { planListing } from './listing-plan.ts'
import * as queries from './listing-queries.ts'
import {
  type Contact,
  ContactFilters,
  type ContactFiltersInput,
  ContactQuery,
  type ContactQueryInput,
  contactFrom,
} from './schema.ts'

/**
 * Returns one page of the client's contacts, by ascending id. A contact matches a filter if it matches any of its values. It
 * must match all filters.
 *
 * @throws MailkeepError `validation_failed`; `not_found`: no such segment; `unavailable`: also while the index of an
 *   attribute is being filled.
 */
export async function listPageOfContacts(ctx: Context, query?: ContactQueryInput): Promise<Page<Contact>> {
  return mapPage(await listContactsJson(ctx, query), (document) => contactFrom({ document }))
}

/**
 * Same as `list`, but each contact is JSON text built by the database. Half the cost for callers that forward the JSON.
 *
 * @throws MailkeepError Same as `list`.
 */
export function listContactsJson(ctx: Context, query?: ContactQueryInput): Promise<Page<string>> {
  return listPageOfDocuments(ctx, query, inputLimits.pageBytes)
}

/** @param maxBytes Maximum size of the page, except that a page always has at least one contact. */
export async function listPageOfDocuments(
  ctx: Context,
  query: ContactQueryInput = {},
  maxBytes: number,
): Promise<Page<string>> {
  const { per_page, cursor, ...filterQuery } = parse(ContactQuery, query)
  const page = { per_page, cursor }
  const filters = await resolveFilters(ctx, filterQuery)
  if (!filters || filters.emailKey !== undefined) {
    const find = async (range: Range) => (filters ? await findByEmail(ctx, filters, range) : [])
    return await readPageOf(page, find, (rows) => takeAll(ctx, rows))
  }
  const { list } = await planListing(ctx, filters)
  return await readPageOf(page, list, (rows) => documentsOf(ctx, rows, maxBytes))
}

/** The contact with the address of a filter, with its document: one statement instead of two. */
export async function findByEmail(ctx: Context, filters: Filters, { after, desc }: Pick<Range, 'after' | 'desc'>) {
  const { emailKey, ids, values, flags, attributes } = filters
  const found = await queries.findByEmail(
    ctx,
    {
      ...values,
      client_id: ctx.clientId,
      email_key: emailKey!,
      after,
      until: desc ? 0 : Number.MAX_SAFE_INTEGER,
      limit: 1,
      examined: 1,
      attribute_id: 0,
      value_key: '',
      more_attributes: attributes,
      parts: [],
    },
    { ...flags, attribute: false, others: flags.others || flags.attribute, desc, counted: false },
  )
  return found && (!ids || ids.includes(found.id)) ? [found] : []
}

/** Takes rows that have their documents already. */
async function takeAll(ctx: Context, rows: readonly { id: number; document: string }[]): Promise<PageContent<string>> {
  for (const { id } of rows) ctx.local.onContactRead?.(id)
  return { records: rows.map(({ document }) => document), rowsTaken: rows.length }
}

/** Returns the documents of as many contacts as the limit allows, at least one. */
async function documentsOf(
  ctx: Context,
  rows: readonly { id: number }[],
  maxBytes: number,
): Promise<PageContent<string>> {
  const ids = rows.map(({ id }) => id)
  const found = ctx.storage.dialect.readsRowByRow
    ? await queries.listDocumentsUntil(ctx, { ids, max_length: maxBytes }) // in UTF-8 it is at least as long
    : await queries.listDocumentsWithin(ctx, { ids, count: ids.length, max_bytes: maxBytes })
  const { taken, isFull } = takeWithin(found, maxBytes)
  for (const { id } of taken) ctx.local.onContactRead?.(id)
  // Contacts that were erased after the scan have no document. They count as taken.
  const next = found[taken.length]
  const rowsTaken = !isFull ? rows.length : next ? ids.indexOf(next.id) : ids.indexOf(taken.at(-1)!.id) + 1
  return { records: taken.map(({ document }) => document), rowsTaken }
}

/** Takes the first documents that have at most `maxBytes` together, at least one. */
function takeWithin<T extends { readonly document: string }>(found: readonly T[], maxBytes: number) {
  const taken: T[] = []
  let bytes = 0
  for (const each of found) {
    bytes += Buffer.byteLength(each.document)
    if (bytes > maxBytes && taken.length > 0) break
    taken.push(each)
    if (bytes >= maxBytes) break
  }
  return { taken, isFull: bytes >= maxBytes }
}

/** Returns the ids of selected contacts after an id, in ascending order. */
type Selection = (after: number, limit: number) => Promise<number[]>

/**
 * Selects the contacts of the listing with the same filters, for work that goes through all of them.
 *
 * @throws MailkeepError Same as `list`.
 */
export async function selectContacts(ctx: Context, query: Omit<ContactFiltersInput, 'email'>): Promise<Selection> {
  const filters = await resolveFilters(ctx, parse(ContactFilters, query))
  if (!filters) return async () => []
  const { list } = await planListing(ctx, filters)
  return async (after, limit) => (await list({ after, desc: false, limit })).map(({ id }) => id)
}
