import { type RawBuilder, sql } from 'kysely'
import type { Dialect } from '../storage/dialect.ts'
import { int, ints, json, type Parameter, statement, text, texts } from '../storage/statement.ts'
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
    return dialect.merge(all, { distinct: false, desc: on.desc, limit: p.limit })
  },
  flags,
)

/** Same as `scanContacts`, by a scan over the search index. Only for search texts that are in the index. */
export const scanMatches = statement.all(
  listingParameters,
  (_, p, dialect, on) =>
    dialect.walkMatches({
      ...p,
      desc: on.desc,
      conditions: (id) => conditions(id, p, dialect, { ...on, search: false }),
    }),
  flags,
)

/**
 * Same as `scanContacts`, by a scan over the members of these lists, tags or topics: one ordered range for each, merged.
 * `gather` returns the members without the other filters.
 */
export function scanMembers(kind: Kind, values: readonly number[]) {
  const ranges = rangesFor(values.length)
  // Repeated values fill the surplus slots. The union removes duplicates.
  const valueSlots = Object.fromEntries(
    Array.from({ length: ranges }, (_, i) => [`value_${i}`, values[i % values.length]!]),
  )
  return { ...memberScan(kind, ranges), valueSlots }
}

/** Rounds up to a power of two, so that a filter of up to 100 values needs only a few different statements. */
function rangesFor(count: number): number {
  return 2 ** Math.ceil(Math.log2(count))
}

type MemberScan = ReturnType<typeof newMemberScan>
const memberScans = new Map<string, MemberScan>()

function memberScan(kind: Kind, ranges: number): MemberScan {
  const name = `${kind} ${ranges}`
  const scan = memberScans.get(name) ?? newMemberScan(kind, ranges)
  memberScans.set(name, scan)
  return scan
}

/** Returns the range of one value's members. */
type RangeOf = (value: RawBuilder<unknown>) => RawBuilder<unknown>

function newMemberScan(kind: Kind, ranges: number) {
  const names = Array.from({ length: ranges }, (_, i) => `value_${i}`)
  const values: Record<string, Parameter<number>> = Object.fromEntries(names.map((name) => [name, int]))
  const membership = sql.table(`mailkeep_contact_${kind}`)
  const merged = (p: object, dialect: Dialect, on: Pick<Flags, 'desc'>, range: RangeOf) => {
    const { limit, ...slots } = p as Record<string, RawBuilder<unknown>>
    const all = names.map((name) => range(slots[name]!))
    return dialect.merge(all, { distinct: true, desc: on.desc, limit: limit! })
  }
  const scan = statement.all(
    { ...values, ...listingParameters } as typeof listingParameters,
    (_, p, dialect, on) => {
      const conditionsOfAll = conditions(sql.ref('m.contact_id'), p, dialect, { ...on, [`${kind}s`]: false })
      // The bound appears twice, because PostgreSQL does not apply it to the other side of the join.
      const range = (value: RawBuilder<unknown>) => sql`
        select m.contact_id as id from ${membership} as m cross join mailkeep_contact as c
        where c.id = m.contact_id and ${sql.ref(`m.${kind}_id`)} = ${value}
          and m.contact_id ${beyond(on)} ${p.after} and c.id ${beyond(on)} ${p.after} ${conditionsOfAll}`
      return merged(p, dialect, on, range)
    },
    flags,
  )
  const gather = statement(
    { ...values, after: int, limit: int },
    (_, p, dialect, on) => {
      const range = (value: RawBuilder<unknown>) => sql`select m.contact_id as id from ${membership} as m
        where ${sql.ref(`m.${kind}_id`)} = ${value} and m.contact_id ${beyond(on)} ${p.after}`
      return dialect.intersection!.gather(merged(p, dialect, on, range))
    },
    ['desc'],
  )
  return { scan, gather }
}

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
    on.search ? sql`and ${dialect.contains(sql.ref('c.search'), p.search)}` : undefined,
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

/** Counts the members of all these values, up to a limit. Also returns the lowest and highest counted id. */
function countMembersOf(kind: Kind) {
  return statement(
    { ids: ints, limit: int },
    (_, p, dialect) => sql<{ members: number; lowest: number | null; highest: number | null }>`${dialect.customPlan}
      select count(*) as members, min(id) as lowest, max(id) as highest from (select m.contact_id as id
        from ${sql.table(`mailkeep_contact_${kind}`)} as m
        where ${dialect.inList(sql.ref(`m.${kind}_id`), p.ids)} limit ${p.limit}) as counted`,
  )
}

export const own = { list: ownOf('list'), tag: ownOf('tag'), topic: ownOf('topic') }

export const countMembers = { list: countMembersOf('list'), tag: countMembersOf('tag'), topic: countMembersOf('topic') }

/** Returns those of the given contacts that match the filters, in any order. */
export const listMatching = statement.all(
  { ...listingParameters, ids: ints },
  (_, p, dialect, on) => sql<{ id: number }>`
    select c.id from ${dialect.unnest(p.ids)} cross join mailkeep_contact as c
    where c.id = item.value and c.client_id = ${p.client_id} ${conditions(sql`item.value`, p, dialect, on)}`,
  flags,
)

/** Returns contacts that may match a search. Fewer than the limit means that these are all of them. */
export const listCandidates = statement.all(
  { client_id: int, search: text, parts: texts, limit: int },
  (_, p, dialect) => dialect.listCandidates(p),
)

/** Returns those of the gathered contacts that may match a search. */
export const listMatchesAmong = statement.all(
  { client_id: int, parts: texts, ids: json, lowest: int, highest: int },
  (_, p, dialect) => dialect.intersection!.matchesAmong(p),
)

export const rankParts = statement.all({ client_id: int, parts: texts }, (_, p, dialect) => dialect.rankParts(p))

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
