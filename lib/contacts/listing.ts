import { sql } from 'kysely'
import type { Context } from '../context.ts'
import { mapPage, type Page, readPage } from '../page.ts'
import { fold, parse } from '../parse.ts'
import { int, ints, statement, text } from '../storage/statement.ts'
import { contactDocument } from './document.ts'
import { type Contact, ContactQuery, contactFrom } from './schema.ts'

const listContacts = statement.all(
  { client_id: int, after: int, limit: int, lists: ints, tags: ints, topics: ints, search: text },
  (db, p, dialect, on) => {
    const filters = { list: p.lists, tag: p.tags, topic: p.topics }
    const filtered = (kind: keyof typeof filters) =>
      // Through the record: a list being cleared, or another client's, has no members.
      sql<boolean>`exists (select 1 from ${sql.table(`mailkeep_contact_${kind}`)} as membership
        join ${sql.table(`mailkeep_${kind}`)} as other on other.id = ${sql.ref(`membership.${kind}_id`)}
        where membership.contact_id = c.id and other.client_id = c.client_id
          and ${dialect.anyOf(sql.ref('other.id'), filters[kind])})`
    return db
      .selectFrom('mailkeep_contact as c')
      .select(['c.id', contactDocument(dialect, 'c').as('document')])
      .where('c.client_id', '=', p.client_id)
      .where('c.id', on.desc ? '<' : '>', p.after)
      .$if(!on.unsubscribed, (q) => q.where('c.unsubscribed_at', 'is', null))
      .$if(on.lists, (q) => q.where(filtered('list')))
      .$if(on.tags, (q) => q.where(filtered('tag')))
      .$if(on.topics, (q) => q.where(filtered('topic')))
      .$if(on.search, (q) => q.where(dialect.contains(sql.ref('c.search'), p.search)))
      .orderBy('c.id', on.desc ? 'desc' : 'asc')
      .limit(p.limit)
  },
  ['desc', 'unsubscribed', 'lists', 'tags', 'topics', 'search'],
)

/**
 * One page of the client's contacts, by ascending id. Inside one filter any value may match; different filters must
 * all match.
 *
 * @param query `{ lists?, tags?, topics?, search?, include_unsubscribed?, per_page?, cursor? }`; the search is a
 *   substring of name or e-mail, taken literally, without regard to case.
 * @throws MailkeepError `validation_failed`
 */
export async function listPageOfContacts(ctx: Context, query?: unknown): Promise<Page<Contact>> {
  const { lists, tags, topics, search, include_unsubscribed, ...pageQuery } = parse(ContactQuery, query ?? {})
  const term = search ? searchTerm(search) : ''
  const values = { client_id: ctx.clientId, lists: lists ?? [], tags: tags ?? [], topics: topics ?? [], search: term }
  const on = {
    unsubscribed: include_unsubscribed,
    lists: lists !== undefined,
    tags: tags !== undefined,
    topics: topics !== undefined,
    search: term !== '',
  }
  const page = await readPage(pageQuery, ({ after, limit, desc }) =>
    listContacts(ctx, { ...values, after, limit }, { ...on, desc }),
  )
  return mapPage(page, contactFrom)
}

/** Between name and e-mail, so that no search matches across: neither can have it after folding. */
const separator = '\u001f'

/** What searches of a contact look at. */
export function searchText(name: string, email: string): string {
  return `${searchTerm(name)}${separator}${searchTerm(email)}`
}

function searchTerm(text: string): string {
  return fold(text).replaceAll(separator, ' ')
}
