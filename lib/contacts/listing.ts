import type { Context } from '../context.ts'
import { inputLimits } from '../limits.ts'
import { mapPage, type Page, type PageContent, readPageOf } from '../page.ts'
import { parse } from '../parse.ts'
import { type Filters, planListing } from './listing-plan.ts'
import * as queries from './listing-queries.ts'
import { type Contact, ContactQuery, type ContactQueryInput, contactFrom } from './schema.ts'
import { searchTerm } from './search.ts'

/**
 * Returns one page of the client's contacts, by ascending id. A contact matches a filter if it matches any of its values. It
 * must match all filters.
 *
 * @throws MailkeepError `validation_failed`
 */
export async function listPageOfContacts(ctx: Context, query?: ContactQueryInput): Promise<Page<Contact>> {
  return mapPage(await listContactsJson(ctx, query), (document) => contactFrom({ document }))
}

/**
 * Same as `list`, but each contact is JSON text built by the database. Half the cost for callers that forward the JSON.
 *
 * @throws MailkeepError `validation_failed`
 */
export async function listContactsJson(ctx: Context, query?: ContactQueryInput): Promise<Page<string>> {
  return await listDocuments(ctx, query, inputLimits.pageBytes)
}

/** @param maxBytes Maximum size of the page, except that a page always has at least one contact. */
export async function listDocuments(
  ctx: Context,
  query: ContactQueryInput | undefined,
  maxBytes: number,
): Promise<Page<string>> {
  const { lists, tags, topics, search, include_unsubscribed, ...pageQuery } = parse(ContactQuery, query ?? {})
  const [ownLists, ownTags, ownTopics] = await ownIds(ctx, { list: lists, tag: tags, topic: topics })
  const filters: Filters = {
    lists: ownLists!,
    tags: ownTags!,
    topics: ownTopics!,
    search: search ? searchTerm(search) : '',
    flags: {
      unsubscribed: include_unsubscribed,
      lists: lists !== undefined,
      tags: tags !== undefined,
      topics: topics !== undefined,
      search: Boolean(search),
    },
  }
  const scan = await planListing(ctx, filters)
  return await readPageOf(pageQuery, scan, (rows) => documentsOf(ctx, rows, maxBytes))
}

/** Counts the client's contacts, including unsubscribed ones. A million contacts take about a tenth of a second. */
export async function countContacts(ctx: Context): Promise<number> {
  return Number((await queries.countContacts(ctx, { client_id: ctx.clientId }))!.count)
}

/** Removes ids that are not records of the client, because they match nothing. */
function ownIds(ctx: Context, wanted: Readonly<Record<queries.Kind, readonly number[] | undefined>>) {
  return Promise.all(
    queries.kinds.map(async (kind) => {
      const ids = wanted[kind]
      if (!ids || ids.length === 0) return []
      return (await queries.own[kind](ctx, { client_id: ctx.clientId, ids })).map(({ id }) => id)
    }),
  )
}

/** Returns the documents of as many contacts as the limit allows, at least one. */
async function documentsOf(
  ctx: Context,
  rows: readonly { id: number }[],
  maxBytes: number,
): Promise<PageContent<string>> {
  const ids = rows.map(({ id }) => id)
  const found = ctx.storage.dialect.readsRowByRow
    ? await queries.listDocumentsUntil(ctx, { ids, max_bytes: maxBytes })
    : await queries.listDocumentsWithin(ctx, { ids, count: ids.length, max_bytes: maxBytes })
  const bytes = found.reduce((sum, { document }) => sum + Buffer.byteLength(document), 0)
  const isCut = bytes >= maxBytes && found.length > 0
  const lastAt = isCut ? ids.indexOf(found.at(-1)!.id) : -1
  // The last contact may exceed the limit. Then it starts the next page, unless it is the only one.
  const exceeds = bytes > maxBytes && found.length > 1
  if (exceeds) found.pop()
  for (const { id } of found) ctx.local.onContactRead?.(id)
  // Contacts that were erased after the scan have no document. They count as taken.
  const rowsTaken = isCut ? lastAt + (exceeds ? 0 : 1) : rows.length
  return { records: found.map(({ document }) => document), rowsTaken }
}
