import { type RawBuilder, sql } from 'kysely'
import { inputLimits } from '../limits.ts'
import type { Dialect } from '../storage/dialect.ts'
import { int, ints, type Parameter, statement, text, texts } from '../storage/statement.ts'
import { contactDocument } from './document.ts'

/** Kinds of memberships that a listing can filter by. */
export const kinds = ['list', 'tag', 'topic'] as const
export type Kind = (typeof kinds)[number]

/** A range of the listing, and the values of the filters. Unused filters are empty. */
const listingParameters = {
  client_id: int,
  after: int,
  limit: int,
  lists: ints,
  tags: ints,
  topics: ints,
  search: text,
  parts: texts,
}

const flags = ['desc', 'unsubscribed', 'lists', 'tags', 'topics', 'search'] as const
export type Flags = Readonly<Record<(typeof flags)[number], boolean>>

type Slots = { readonly [K in keyof typeof listingParameters]: RawBuilder<unknown> }

/** Returns the ids of a range of the listing, by a scan over the client's contacts. */
export const scanContacts = statement.all(
  listingParameters,
  (_, p, dialect, on) => {
    const scan = (state: RawBuilder<unknown>) => sql`
      select c.id from mailkeep_contact as c
      where c.client_id = ${p.client_id} and c.id ${beyond(on)} ${p.after} and c.unsubscribed_at ${state}
        ${conditions(sql.ref('c.id'), p, dialect, { ...on, unsubscribed: true })}`
    // Subscribed and unsubscribed contacts have separate indexes. A scan over all contacts merges the two.
    const all = on.unsubscribed ? [scan(sql`is null`), scan(sql`is not null`)] : [scan(sql`is null`)]
    const merged = dialect.merge(all, { distinct: false, desc: on.desc, limit: p.limit })
    const isFiltered = on.lists || on.tags || on.topics || on.search
    return sql<{ id: number }>`${isFiltered ? dialect.customPlan : sql``} ${merged}`
  },
  flags,
)

/** Same as `scanContacts`, by a scan over the search index. Only for texts that are in the index. */
export const scanMatches = statement.all(
  listingParameters,
  (_, p, dialect, on) =>
    dialect.search!.scan({
      ...p,
      desc: on.desc,
      conditions: (id) => conditions(id, p, dialect, { ...on, search: false }),
    }),
  flags,
)

/**
 * Same as `scanContacts`, by a scan over the members of these lists, tags or topics: one ordered range for each, merged.
 */
export function scanMembers(kind: Kind, values: readonly number[]) {
  const ranges = rangeCounts.find((count) => count >= values.length)!
  // Repeated values fill the surplus slots. The union removes duplicates.
  const valueSlots = Object.fromEntries(
    Array.from({ length: ranges }, (_, i) => [`value_${i}`, values[i % values.length]!]),
  )
  return { scan: memberScans[kind].get(ranges)!, valueSlots }
}

/** Numbers of ranges that have a statement. They are few, so that connections can keep all statements prepared. */
const rangeCounts = [1, 4, 16, inputLimits.values]

function memberScan(kind: Kind, ranges: number) {
  const names = Array.from({ length: ranges }, (_, i) => `value_${i}`)
  const values: Record<string, Parameter<number>> = Object.fromEntries(names.map((name) => [name, int]))
  const membership = sql.table(`mailkeep_contact_${kind}`)
  return statement.all(
    { ...values, ...listingParameters } as typeof listingParameters,
    (_, p, dialect, on) => {
      const others = conditions(sql.ref('m.contact_id'), p, dialect, { ...on, [`${kind}s`]: false })
      const slots = p as unknown as Record<string, RawBuilder<unknown>>
      const all = names.map(
        (name) => sql`select m.contact_id as id from ${membership} as m cross join mailkeep_contact as c
          where c.id = m.contact_id and ${sql.ref(`m.${kind}_id`)} = ${slots[name]}
            and m.contact_id ${beyond(on)} ${p.after} ${others}`,
      )
      return dialect.merge(all, { distinct: true, desc: on.desc, limit: p.limit })
    },
    flags,
  )
}

function memberScansOf(kind: Kind) {
  return new Map(rangeCounts.map((ranges) => [ranges, memberScan(kind, ranges)]))
}

const memberScans = { list: memberScansOf('list'), tag: memberScansOf('tag'), topic: memberScansOf('topic') }

function beyond(on: Pick<Flags, 'desc'>): RawBuilder<unknown> {
  return on.desc ? sql`<` : sql`>`
}

/** Returns the conditions that the scan checks for each contact. Each costs one index seek. */
function conditions(contactId: RawBuilder<unknown>, p: Slots, dialect: Dialect, on: Flags): RawBuilder<unknown> {
  const parts = [
    on.lists ? sql`and ${dialect.isMember('list', contactId, p.lists)}` : undefined,
    on.tags ? sql`and ${dialect.isMember('tag', contactId, p.tags)}` : undefined,
    on.topics ? sql`and ${dialect.isMember('topic', contactId, p.topics)}` : undefined,
    on.unsubscribed ? undefined : sql`and not ${dialect.isUnsubscribed(p.client_id, contactId)}`,
    on.search ? sql`and ${dialect.matches(sql.ref('c.search'), p.search)}` : undefined,
  ]
  return sql.join(
    parts.filter((part) => part !== undefined),
    sql` `,
  )
}

/** Returns the given lists, tags or topics that belong to the client. */
function ownOf(kind: Kind) {
  return statement.all(
    { client_id: int, ids: ints },
    (_, p, dialect) => sql<{ id: number }>`select id from ${sql.table(`mailkeep_${kind}`)}
      where client_id = ${p.client_id} and ${dialect.inList(sql.ref('id'), p.ids)}`,
  )
}

/** Counted contacts. The ids are null if there are none. */
export interface Sample {
  readonly members: number
  readonly lowest: number | null
  readonly highest: number | null
}

/** Counts the members of all these values, up to a limit. Also returns the lowest and highest counted id. */
function countMembersOf(kind: Kind) {
  return statement(
    { ids: ints, limit: int },
    (
      _,
      p,
      dialect,
    ) => sql<Sample>`select count(*) as members, min(id) as lowest, max(id) as highest from (select m.contact_id as id
        from ${sql.table(`mailkeep_contact_${kind}`)} as m
        where ${dialect.inList(sql.ref(`m.${kind}_id`), p.ids)} limit ${p.limit}) as counted`,
  )
}

export const own = { list: ownOf('list'), tag: ownOf('tag'), topic: ownOf('topic') }

export const countMembers = { list: countMembersOf('list'), tag: countMembersOf('tag'), topic: countMembersOf('topic') }

/** Samples contacts that may match a search: how many, up to a limit, and the lowest and highest id. */
export const countMatches = statement(
  { client_id: int, parts: texts, limit: int },
  (_, p, dialect) => sql<Sample>`select count(*) as members, min(id) as lowest, max(id) as highest
    from (${dialect.search!.candidates(p)}) as counted`,
)

export const rankParts = statement.all({ client_id: int, parts: texts }, (_, p, dialect) =>
  dialect.search!.rankParts(p),
)

/** Returns the contacts of these ids, in any order. */
export const listDocuments = statement.all(
  { ids: ints },
  (_, p, dialect) => sql<{ id: number; document: string }>`
    select c.id, ${contactDocument(dialect, 'c')} as document
    from ${dialect.unnest(p.ids)} cross join mailkeep_contact as c where c.id = item.value`,
)

/**
 * Returns the contacts of these ids, in this order, until their documents have `max_bytes` bytes. The last one may exceed
 * it. For connections that read row by row: half as expensive as `listDocumentsWithin`.
 */
export const listDocumentsUntil = statement.bounded(
  { ids: ints, max_bytes: int },
  (_, p, dialect) => sql<{ id: number; document: string }>`
    select c.id, ${contactDocument(dialect, 'c')} as document
    from ${dialect.unnest(p.ids)} cross join mailkeep_contact as c where c.id = item.value`,
)

/**
 * The same for connections that read all rows at once. The query is recursive, so that the database builds a document
 * only if the previous ones are below the limit.
 */
export const listDocumentsWithin = statement.all(
  { ids: ints, count: int, max_bytes: int },
  (_, p, dialect) => sql<{ id: number; document: string }>`
    with recursive page (at, id, document, bytes_before) as (
      select -1, cast(null as bigint), cast(null as text), 0
      union all
      select page.at + 1, c.id, ${contactDocument(dialect, 'c')},
        page.bytes_before + coalesce(octet_length(page.document), 0)
      from page left join mailkeep_contact as c on c.id = ${dialect.itemAt(p.ids, sql`page.at + 1`)}
      where page.at + 1 < ${p.count}
        and page.bytes_before + coalesce(octet_length(page.document), 0) < ${p.max_bytes}
    )
    select id, document from page where id is not null order by at`,
)

export const countContacts = statement({ client_id: int }, (db, p) =>
  db
    .selectFrom('mailkeep_contact')
    .select((eb) => eb.fn.countAll().as('count'))
    .where('client_id', '=', p.client_id),
)
