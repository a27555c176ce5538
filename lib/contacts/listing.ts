import type { Context } from '../context.ts'
import { inputLimits } from '../limits.ts'
import { mapPage, type Page, type PageContent, type Range, readPageOf } from '../page.ts'
import { parse } from '../parse.ts'
import type { SegmentFilters } from '../segments/schema.ts'
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
async function listPageOfDocuments(
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

/** Returns the documents of all pages. Reads one page per query, so that other work can run in between. */
export async function* pagesOfDocuments(
  ctx: Context,
  filters: ContactFiltersInput,
  signal: AbortSignal | undefined,
): AsyncGenerator<string[]> {
  let cursor: string | undefined
  do {
    signal?.throwIfAborted()
    const query = { ...filters, per_page: inputLimits.pageRecords, cursor }
    const { data, meta } = await listPageOfDocuments(ctx, query, inputLimits.exportBytes)
    yield data
    cursor = meta.next_cursor ?? undefined
  } while (cursor !== undefined)
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
    { ...flags, attribute: false, attributes: flags.attribute, desc, counted: false },
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
  const found = await findDocuments(ctx, ids, maxBytes)
  const { taken, isFull } = takeWithin(found, maxBytes)
  if (ctx.local.onContactRead) for (const document of taken) ctx.local.onContactRead(idOf(document))
  // Contacts that were erased after the scan have no document. They count as taken.
  const next = found[taken.length]
  const rowsTaken = !isFull ? rows.length : next ? ids.indexOf(idOf(next)) : ids.indexOf(idOf(taken.at(-1)!)) + 1
  return { records: taken, rowsTaken }
}

/** Returns the first of these documents, until they have `maxBytes`. The last one may exceed it. */
async function findDocuments(ctx: Context, ids: readonly number[], maxBytes: number): Promise<string[]> {
  // In UTF-8 a text has at least as many bytes as code units.
  if (ctx.storage.dialect.readsRowByRow) return await queries.listDocumentsUntil(ctx, { ids, max_length: maxBytes })
  const found = await queries.listDocumentsWithin(ctx, { ids, count: ids.length, max_bytes: maxBytes })
  return found.map(({ document }) => document)
}

/** The id is the first field of a document. */
function idOf(document: string): number {
  return Number.parseInt(document.slice(document.indexOf(':') + 1), 10)
}

/** Takes the first documents that have at most `maxBytes` together, at least one. */
function takeWithin(found: readonly string[], maxBytes: number): { taken: string[]; isFull: boolean } {
  const taken: string[] = []
  let bytes = 0
  for (const document of found) {
    bytes += Buffer.byteLength(document)
    if (bytes > maxBytes && taken.length > 0) break
    taken.push(document)
    if (bytes >= maxBytes) break
  }
  return { taken, isFull: bytes >= maxBytes }
}

/** Returns the ids of selected contacts after an id, in ascending order. */
type Selection = (after: number, limit: number) => Promise<number[]>

/**
 * Selects the contacts of the listing with the same filters, for work that goes through all of them.
 *
 * @param segment Filters to use instead of those that the segment of the query has now.
 * @throws MailkeepError Same as `list`.
 */
export async function selectContacts(
  ctx: Context,
  query: Omit<ContactFiltersInput, 'email'>,
  segment?: SegmentFilters,
): Promise<Selection> {
  const filters = await resolveFilters(ctx, parse(ContactFilters, query), segment)
  if (!filters) return async () => []
  const { list } = await planListing(ctx, filters)
  return async (after, limit) => (await list({ after, desc: false, limit })).map(({ id }) => id)
}
