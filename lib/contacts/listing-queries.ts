import { type RawBuilder, sql } from 'kysely'
import { inputLimits } from '../limits.ts'
import { int, ints, type Parameter, statement, text, texts, time } from '../storage/statement.ts'
import { contactDocument } from './document.ts'
import {
  attributeValue,
  beyond,
  conditions,
  counted,
  type Flags,
  flags,
  type Kind,
  listingParameters,
  type ScanRow,
} from './listing-conditions.ts'

/** Returns the ids of a range of the listing, by a scan over the client's contacts. */
export const scanContacts = statement.all(
  listingParameters,
  (_, p, dialect, on) => {
    const scan = (state: RawBuilder<unknown>) => sql`
      select c.id from mailkeep_contact as c
      where c.client_id = ${p.client_id} and c.id ${beyond(on)} ${p.after} and c.unsubscribed_at ${state}
        ${conditions(sql.ref('c.id'), p, dialect, { ...on, unsubscribed: true, only: false })}`
    // Subscribed and unsubscribed contacts have separate indexes. A scan over all contacts merges the two.
    const gone = scan(sql`is not null`)
    const all = on.only ? [gone] : on.unsubscribed ? [scan(sql`is null`), gone] : [scan(sql`is null`)]
    const merged = dialect.merge(all, { distinct: false, desc: on.desc, limit: p.limit })
    const isFiltered = on.lists || on.tags || on.topics || on.search || on.attribute || on.others
    return sql<ScanRow>`${isFiltered ? dialect.customPlan : sql``} ${counted(merged, on)}`
  },
  flags,
)

/** Same as `scanContacts`, over these contacts. */
export const scanIds = statement.all(
  { ...listingParameters, ids: ints },
  (_, p, dialect, on) => {
    const found = sql`select c.id from (select item.value as contact_id from ${dialect.unnest(p.ids)}) as wanted
      cross join mailkeep_contact as c where c.id = wanted.contact_id and c.client_id = ${p.client_id} and c.id ${beyond(on)} ${p.after}
        ${conditions(sql.ref('c.id'), p, dialect, on)}`
    return counted(dialect.merge([found], { distinct: false, desc: on.desc, limit: p.limit }), on)
  },
  flags,
)

/** Returns the contact with this address, if it matches the filters and is in the range. */
export const findByEmail = statement(
  { ...listingParameters, email_key: text },
  (_, p, dialect, on) => sql<{ id: number; document: string }>`
    select c.id, ${contactDocument(dialect)} as document from mailkeep_contact as c
    where c.client_id = ${p.client_id} and c.email_key = ${p.email_key} and c.id ${beyond(on)} ${p.after}
      ${conditions(sql.ref('c.id'), p, dialect, on)}`,
  flags,
)

/** Same as `scanContacts`, by a scan over the search index. Only for texts that are in the index. */
export const scanMatches = statement.all(
  listingParameters,
  (_, p, dialect, on) =>
    counted(
      dialect.search!.scan({
        ...p,
        desc: on.desc,
        conditions: (id) => conditions(id, p, dialect, { ...on, search: false }),
      }),
      on,
    ),
  flags,
)

/** Same as `scanContacts`, by a scan over the contacts with a value of an attribute. */
export const scanAttribute = statement.all(
  listingParameters,
  (_, p, dialect, on) => {
    const found = sql`select m.contact_id as id from mailkeep_contact_attribute as m ${contactOfMember(on)}
        m.attribute_id = ${p.attribute_id} and m.value_key = ${p.value_key} and m.contact_id ${beyond(on)} ${p.after}
        ${conditions(sql.ref('m.contact_id'), p, dialect, { ...on, attribute: false })}`
    return counted(dialect.merge([found], { distinct: false, desc: on.desc, limit: p.limit }), on)
  },
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
      const members = names.map(
        (name) => sql`select contact_id as id from ${membership}
          where ${sql.ref(`${kind}_id`)} = ${slots[name]} and contact_id ${beyond(on)} ${p.after}`,
      )
      // The other filters are checked after the merge. Before it, a range without a match would be scanned to its end. The
      // limit keeps the order of the merge.
      const merged = dialect.merge(members, { distinct: true, desc: on.desc, limit: sql.lit(Number.MAX_SAFE_INTEGER) })
      const scan = sql`select m.contact_id as id from (select id as contact_id from (${merged})) as m
        ${contactOfMember(on)} true ${others} limit ${p.limit}`
      return counted(scan, on)
    },
    flags,
  )
}

/** Joins the contact's row, which only some conditions read. Every membership has a contact. */
function contactOfMember(on: Pick<Flags, 'search' | 'others'>): RawBuilder<unknown> {
  return on.search || on.others ? sql`cross join mailkeep_contact as c where c.id = m.contact_id and` : sql`where`
}

function memberScansOf(kind: Kind) {
  return new Map(rangeCounts.map((ranges) => [ranges, memberScan(kind, ranges)]))
}

const memberScans = { list: memberScansOf('list'), tag: memberScansOf('tag'), topic: memberScansOf('topic') }

/**
 * Counts the contacts created between two times, up to a limit. Also returns the lowest and highest counted id. The order
 * makes PostgreSQL read the index of times.
 */
export const countCreated = statement(
  { client_id: int, created_after: time, created_before: time, limit: int },
  (_, p) => sql<Sample>`select count(*) as members, min(id) as lowest, max(id) as highest from (select id
    from mailkeep_contact
    where client_id = ${p.client_id} and created_at > ${p.created_after} and created_at < ${p.created_before}
    order by created_at, id limit ${p.limit}) as counted`,
)

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

/** Counts the contacts with a value of an attribute, up to a limit. */
export const countAttribute = statement(
  { ...attributeValue, limit: int },
  (
    _,
    p,
  ) => sql<Sample>`select count(*) as members, min(id) as lowest, max(id) as highest from (select m.contact_id as id
    from mailkeep_contact_attribute as m
    where m.attribute_id = ${p.attribute_id} and m.value_key = ${p.value_key} limit ${p.limit}) as counted`,
)

/** Counts the client's unsubscribed contacts, up to a limit. */
export const countUnsubscribed = statement(
  { client_id: int, limit: int },
  (_, p) => sql<Sample>`select count(*) as members, min(id) as lowest, max(id) as highest from (select id
    from mailkeep_contact where client_id = ${p.client_id} and unsubscribed_at is not null limit ${p.limit}) as counted`,
)

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
    select c.id, ${contactDocument(dialect)} as document
    from ${dialect.unnest(p.ids)} cross join mailkeep_contact as c where c.id = item.value`,
)

/**
 * Returns the contacts of these ids, in this order, until their documents have `max_length` UTF-16 code units. The last
 * one may exceed it. For connections that read row by row: half as expensive as `listDocumentsWithin`.
 */
export const listDocumentsUntil = statement.bounded(
  { ids: ints, max_length: int },
  (_, p, dialect) => sql<{ id: number; document: string }>`
    select c.id, ${contactDocument(dialect)} as document
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
      select page.at + 1, c.id, ${contactDocument(dialect)},
        page.bytes_before + coalesce(octet_length(page.document), 0)
      from page left join mailkeep_contact as c on c.id = ${dialect.itemAt(p.ids, sql`page.at + 1`)}
      where page.at + 1 < ${p.count}
        and page.bytes_before + coalesce(octet_length(page.document), 0) < ${p.max_bytes}
    )
    select id, document from page where id is not null order by at`,
)
