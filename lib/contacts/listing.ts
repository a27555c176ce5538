import type { Context } from '../context.ts'
import { mapPage, type Page, readPage } from '../page.ts'
import { parse } from '../parse.ts'
import * as queries from './listing-queries.ts'
import { type Contact, ContactQuery, contactFrom } from './schema.ts'
import { searchTerm } from './search.ts'
import { type Criteria, chooseWalk } from './walk.ts'

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
 * As `listPageOfContacts`, each as JSON text: for those who pass them on.
 *
 * @throws MailkeepError `validation_failed`
 */
export async function listDocuments(ctx: Context, query?: unknown): Promise<Page<string>> {
  const { lists, tags, topics, search, include_unsubscribed, ...pageQuery } = parse(ContactQuery, query ?? {})
  const [ownLists, ownTags, ownTopics] = await ownIds(ctx, { list: lists, tag: tags, topic: topics })
  const criteria: Criteria = {
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
  const walk = await chooseWalk(ctx, criteria)
  const page = await readPage(pageQuery, walk)
  return { data: await documentsOf(ctx, page.data), meta: page.meta }
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

async function documentsOf(ctx: Context, rows: readonly { id: number }[]): Promise<string[]> {
  if (rows.length === 0) return []
  const documents = await queries.listDocuments(ctx, { ids: rows.map(({ id }) => id) })
  const known = new Map(documents.map(({ id, document }) => [id, document]))
  for (const { id } of documents) ctx.noteShown?.(id)
  // One that was erased since the walk is gone.
  return rows.map(({ id }) => known.get(id)).filter((document) => document !== undefined)
}
