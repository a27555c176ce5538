import type { Context } from '../context.ts'
import { inputLimits } from '../limits.ts'
import { type Filled, mapPage, type Page, readPageOf } from '../page.ts'
import { parse } from '../parse.ts'
import { type Filters, planListing } from './listing-plan.ts'
import * as queries from './listing-queries.ts'
import { type Contact, ContactQuery, contactFrom } from './schema.ts'
import { searchTerm } from './search.ts'

/**
 * One page of the client's contacts, by ascending id. Inside one filter any value may match; different filters must
 * all match.
 *
 * @param query `{ lists?, tags?, topics?, search?, include_unsubscribed?, per_page?, cursor? }`; the search is a
 *   substring of name or e-mail, taken literally, without regard to case.
 * @throws MailkeepError `validation_failed`
 */
export async function listPageOfContacts(ctx: Context, query?: unknown): Promise<Page<Contact>> {
  return mapPage(await listDocuments(ctx, query), (document) => contactFrom({ document }))
}

/**
 * As `listPageOfContacts`, each as JSON text, for callers who pass them on.
 *
 * @param maxBytes The page ends before the contact that would make it longer; a single contact may be.
 * @throws MailkeepError `validation_failed`
 */
export async function listDocuments(
  ctx: Context,
  query?: unknown,
  maxBytes: number = inputLimits.pageBytes,
): Promise<Page<string>> {
  const { lists, tags, topics, search, include_unsubscribed, ...pageQuery } = parse(ContactQuery, query ?? {})
  const [ownLists, ownTags, ownTopics] = await ownIds(ctx, { list: lists, tag: tags, topic: topics })
  const criteria: Filters = {
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
  const walk = await planListing(ctx, criteria)
  return await readPageOf(pageQuery, walk, (rows) => documentsOf(ctx, rows, maxBytes))
}

/** How many contacts the client has, unsubscribed ones too. */
export async function countContacts(ctx: Context): Promise<number> {
  return Number((await queries.countContacts(ctx, { client_id: ctx.clientId }))!.count)
}

/** A value that is no record of the client's matches nothing. */
function ownIds(ctx: Context, wanted: Readonly<Record<queries.Kind, readonly number[] | undefined>>) {
  return Promise.all(
    queries.kinds.map(async (kind) => {
      const ids = wanted[kind]
      if (!ids || ids.length === 0) return []
      return (await queries.own[kind](ctx, { client_id: ctx.clientId, ids })).map(({ id }) => id)
    }),
  )
}

/** The documents of as many of these contacts as the limit allows, at least of one. */
async function documentsOf(ctx: Context, rows: readonly { id: number }[], maxBytes: number): Promise<Filled<string>> {
  const ids = rows.map(({ id }) => id)
  const found = await queries.listDocumentsWithin(ctx, { ids, count: ids.length, max_bytes: maxBytes })
  let bytes = 0
  for (const { bytes_before, document } of found) bytes = bytes_before + Buffer.byteLength(document)
  const isCut = bytes >= maxBytes && found.length > 0
  const last = found.at(-1)
  // The database stops behind the contact that exceeds the limit: that one begins the next page, unless it is alone.
  const exceeds = bytes > maxBytes && found.length > 1
  if (exceeds) found.pop()
  for (const { id } of found) ctx.onContactRead?.(id)
  // Contacts that were erased since the walk have no document, and count as taken.
  const rowsTaken = isCut ? last!.at + (exceeds ? 0 : 1) : rows.length
  return { records: found.map(({ document }) => document), rowsTaken }
}
