import { type RawBuilder, sql } from 'kysely'
import { inputLimits } from '../limits.ts'
import type { Dialect } from '../storage/dialect.ts'
import { int, ints, type Parameter, statement, text, texts, time } from '../storage/statement.ts'
import { contactDocument } from './document.ts'
import {
  attributeValue,
  beyond,
  conditions,
  conditionsOfId,
  counted,
  type Flags,
  flags,
  isFiltered,
  type Kind,
  listingParameters,
  type ScanRow,
  type Slots,
  within,
} from './listing-conditions.ts'

/** Returns the ids of a range of the listing, by a scan over the client's contacts. */
export const scanContacts = statement.all(
  listingParameters,
  (_, p, dialect, on) => {
    const range = on.times ? within : beyond
    const scan = (state: RawBuilder<unknown>) => sql`
      select c.id from mailkeep_contact as c
      where c.client_id = ${p.client_id} and ${range(sql.ref('c.id'), p, on)} and c.unsubscribed_at ${state}
        ${conditions(sql.ref('c.id'), p, dialect, { ...on, unsubscribed: true, only: false })}`
    // Subscribed and unsubscribed contacts have separate indexes. A scan over all contacts merges the two.
    const unsubscribed = scan(sql`is not null`)
    const all = on.only ? [unsubscribed] : on.unsubscribed ? [scan(sql`is null`), unsubscribed] : [scan(sql`is null`)]
    const merged = dialect.merge(all, { distinct: false, desc: on.desc, limit: p.limit })
    return sql<ScanRow>`${isFiltered(on) ? dialect.customPlan : sql``} ${counted(merged, on)}`
  },
  flags,
)

/** Same as `scanContacts`, over these contacts. */
export const scanIds = statement.all(
  { ...listingParameters, ids: ints },
  (_, p, dialect, on) => {
    const found = sql`select c.id from (select item.value as contact_id from ${dialect.unnest(p.ids)}) as wanted
      cross join mailkeep_contact as c
      where c.id = wanted.contact_id and c.client_id = ${p.client_id} and ${beyond(sql.ref('c.id'), p, on)}
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
    where c.client_id = ${p.client_id} and c.email_key = ${p.email_key} and ${beyond(sql.ref('c.id'), p, on)}
      ${conditions(sql.ref('c.id'), p, dialect, on)}`,
  flags,
)

/**
 * Filters the first `examined` of some candidates, in order of id. With the flag `counted` it returns one row: how many
 * candidates there were, how many of them match, and the id of the last one.
 */
function examine(candidates: RawBuilder<unknown>, p: Slots, dialect: Dialect, on: Flags): RawBuilder<ScanRow> {
  const from = sql`from (${candidates}) as candidate`
  const matches = sql`true ${conditionsOfId(sql.ref('candidate.id'), p, dialect, on)}`
  if (!on.counted) return sql`select candidate.id ${from} where ${matches} limit ${p.limit}`
  const last = on.desc ? sql`min` : sql`max`
  return sql`select ${last}(candidate.id) as id, count(*) as examined, count(*) filter (where ${matches}) as counted
    ${from}`
}

/** Examines the client's contacts. */
export const examineContacts = statement.all(
  listingParameters,
  (_, p, dialect, on) => {
    const some = (state: RawBuilder<unknown>) => sql`select c.id from mailkeep_contact as c
      where c.client_id = ${p.client_id} and ${within(sql.ref('c.id'), p, on)} and c.unsubscribed_at ${state}`
    const unsubscribed = some(sql`is not null`)
    const all = on.only ? [unsubscribed] : on.unsubscribed ? [some(sql`is null`), unsubscribed] : [some(sql`is null`)]
    const candidates = dialect.merge(all, { distinct: false, desc: on.desc, limit: p.examined })
    return examine(candidates, p, dialect, { ...on, unsubscribed: true, only: false })
  },
  flags,
)

/** Examines the contacts that may match a search. Only for texts that are in the index. */
export const examineMatches = statement.all(
  listingParameters,
  (_, p, dialect, on) => examine(dialect.search!.scan({ ...p, desc: on.desc, limit: p.examined }), p, dialect, on),
  flags,
)

/** Examines the contacts with a value of an attribute. */
export const examineAttribute = statement.all(
  listingParameters,
  (_, p, dialect, on) => {
    const holders = sql`select contact_id as id from mailkeep_contact_attribute where attribute_id = ${p.attribute_id}
      and value_key = ${p.value_key} and ${within(sql.ref('contact_id'), p, on)}`
    const candidates = dialect.merge([holders], { distinct: false, desc: on.desc, limit: p.examined })
    return examine(candidates, p, dialect, { ...on, attribute: false })
  },
  flags,
)

/** No record has this id. */
const noId = 0

/** Statements over the members of these lists, tags or topics: one ordered range for each, merged. */
export function membersOf(kind: Kind, values: readonly number[]) {
  const ranges = rangeCounts.find((count) => count >= values.length)!
  const valueSlots = Object.fromEntries(Array.from({ length: ranges }, (_, i) => [`value_${i}`, values[i] ?? noId]))
  return { ...memberStatements[kind].get(ranges)!, valueSlots }
}

/** Numbers of ranges that have a statement. They are few, so that connections can keep all statements prepared. */
const rangeCounts = [1, 4, 16, inputLimits.values]

function memberStatementsWith(kind: Kind, ranges: number) {
  const names = Array.from({ length: ranges }, (_, i) => `value_${i}`)
  const values: Record<string, Parameter<number>> = Object.fromEntries(names.map((name) => [name, int]))
  const select = (slots: object, inRange: RawBuilder<unknown>) =>
    names.map(
      (name) => sql`select contact_id as id from ${sql.table(`mailkeep_contact_${kind}`)}
        where ${sql.ref(`${kind}_id`)} = ${(slots as Record<string, RawBuilder<unknown>>)[name]} ${inRange}`,
    )
  return {
    examine: statement.all(
      { ...values, ...listingParameters } as typeof listingParameters,
      (_, p, dialect, on) => {
        const members = select(p, sql`and ${within(sql.ref('contact_id'), p, on)}`)
        // The other filters are checked after the merge. Before it, a range without a match would be scanned to its end.
        const candidates = dialect.merge(members, { distinct: true, desc: on.desc, limit: p.examined })
        return examine(candidates, p, dialect, { ...on, [`${kind}s`]: false })
      },
      flags,
    ),
    /** Samples the members of all values. */
    count: statement({ ...values, limit: int } as { limit: typeof int }, (_, p, dialect) =>
      sampleOf(dialect.merge(select(p, sql``), { distinct: false, desc: false, limit: p.limit })),
    ),
  }
}

function memberStatementsOf(kind: Kind) {
  return new Map(rangeCounts.map((ranges) => [ranges, memberStatementsWith(kind, ranges)]))
}

const memberStatements = {
  list: memberStatementsOf('list'),
  tag: memberStatementsOf('tag'),
  topic: memberStatementsOf('topic'),
}

/** Counted contacts. The ids are null if there are none. */
export interface Sample {
  readonly members: number
  readonly lowest: number | null
  readonly highest: number | null
}

/** @param ids Selects ids up to a limit. */
function sampleOf(ids: RawBuilder<unknown>): RawBuilder<Sample> {
  return sql`select count(*) as members, min(id) as lowest, max(id) as highest from (${ids}) as counted`
}

const created = { client_id: int, created_after: time, created_before: time }

function createdBetween(p: { readonly [Name in keyof typeof created]: RawBuilder<unknown> }): RawBuilder<unknown> {
  return sql`from mailkeep_contact
    where client_id = ${p.client_id} and created_at > ${p.created_after} and created_at < ${p.created_before}`
}

/** Finds out whether more contacts than these were created between two times. The order is that of an index. */
export const findMoreCreated = statement(
  { ...created, than: int },
  (_, p) => sql`select 1 ${createdBetween(p)} order by created_at, id limit 1 offset ${p.than}`,
)

/** Samples the contacts created between two times. The order makes PostgreSQL read the index of times. */
export const countCreated = statement({ ...created, limit: int }, (_, p) =>
  sampleOf(sql`select id ${createdBetween(p)} order by created_at, id limit ${p.limit}`),
)

/** Counts which of the next subscribed contacts were created between two times. With `only`, of the unsubscribed ones. */
export const sampleCreated = statement(
  { ...created, after: int, limit: int },
  (_, p, _dialect, on) => sql<{ sampled: number; created: number }>`
    select count(*) as sampled,
      count(*) filter (where created_at > ${p.created_after} and created_at < ${p.created_before}) as created
    from (select created_at from mailkeep_contact
      where client_id = ${p.client_id} and ${beyond(sql.ref('id'), p, on)}
        and unsubscribed_at is ${on.only ? sql`not null` : sql`null`}
      order by id ${on.desc ? sql`desc` : sql`asc`} limit ${p.limit}) as next`,
  ['desc', 'only'],
)

/** Returns the given lists, tags or topics that belong to the client. */
function ownOf(kind: Kind) {
  return statement.all(
    { client_id: int, ids: ints },
    (_, p, dialect) => sql<{ id: number }>`select id from ${sql.table(`mailkeep_${kind}`)}
      where client_id = ${p.client_id} and ${dialect.inList(sql.ref('id'), p.ids)}`,
  )
}

/** Samples the contacts with a value of an attribute. */
export const countAttribute = statement({ ...attributeValue, limit: int }, (_, p) =>
  sampleOf(sql`select m.contact_id as id from mailkeep_contact_attribute as m
    where m.attribute_id = ${p.attribute_id} and m.value_key = ${p.value_key} order by m.contact_id limit ${p.limit}`),
)

/** Samples the client's unsubscribed contacts. */
export const countUnsubscribed = statement({ client_id: int, limit: int }, (_, p) =>
  sampleOf(sql`select id from mailkeep_contact
    where client_id = ${p.client_id} and unsubscribed_at is not null order by id limit ${p.limit}`),
)

export const own = { list: ownOf('list'), tag: ownOf('tag'), topic: ownOf('topic') }

/** Samples contacts that may match a search. */
export const countMatches = statement({ client_id: int, parts: texts, limit: int }, (_, p, dialect) =>
  sampleOf(dialect.search!.candidates(p)),
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
 * Returns the documents of these contacts, in this order, until they have `max_length` UTF-16 code units. The last one may
 * exceed it. For connections that read row by row: half as expensive as `listDocumentsWithin`.
 */
export const listDocumentsUntil = statement.bounded(
  { ids: ints, max_length: int },
  (_, p, dialect) => sql<{ document: string }>`
    select ${contactDocument(dialect)} as document
    from ${dialect.unnest(p.ids)} cross join mailkeep_contact as c where c.id = item.value`,
)

/**
 * The same for connections that read all rows at once. The query is recursive, so that the database builds a document
 * only if the previous ones are below the limit.
 */
export const listDocumentsWithin = statement.all(
  { ids: ints, count: int, max_bytes: int },
  (_, p, dialect) => sql<{ document: string }>`
    with recursive page (at, id, document, bytes_before) as (
      select -1, cast(null as bigint), cast(null as text), 0
      union all
      select page.at + 1, c.id, ${contactDocument(dialect)},
        page.bytes_before + coalesce(octet_length(page.document), 0)
      from page left join mailkeep_contact as c on c.id = ${dialect.itemAt(p.ids, sql`page.at + 1`)}
      where page.at + 1 < ${p.count}
        and page.bytes_before + coalesce(octet_length(page.document), 0) < ${p.max_bytes}
    )
    select document from page where id is not null order by at`,
)
