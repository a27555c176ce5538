import { type RawBuilder, sql } from 'kysely'
import type { Dialect } from '../storage/dialect.ts'
import { int, ints, json, type Parameter, statement, text, texts } from '../storage/statement.ts'
import { contactDocument } from './document.ts'

/** What a contact can be filtered by through a membership. */
export const kinds = ['list', 'tag', 'topic'] as const
export type Kind = (typeof kinds)[number]

/** A stretch of the listing, and the values of the filters; those that are off are empty. */
const criteria = {
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

type Slots = { readonly [K in keyof typeof criteria]: RawBuilder<unknown> }

/** Which contacts are in a stretch: walks the client's contacts. */
export const scanContacts = statement.all(
  criteria,
  (_, p, dialect, on) => {
    const walk = (state: RawBuilder<unknown>) => sql`
      select c.id from mailkeep_contact as c
      where c.client_id = ${p.client_id} and c.id ${beyond(on)} ${p.after} and c.unsubscribed_at ${state}
        ${conditions(sql.ref('c.id'), p, dialect, { ...on, unsubscribed: true })}`
    // Those subscribed and those not have an index each: all together are the two, merged.
    const all = on.unsubscribed ? [walk(sql`is null`), walk(sql`is not null`)] : [walk(sql`is null`)]
    return dialect.merge(all, { distinct: false, desc: on.desc, limit: p.limit })
  },
  flags,
)

/** The same, over the index of searches; for terms it has. */
export const scanMatches = statement.all(
  criteria,
  (_, p, dialect, on) =>
    dialect.walkMatches({
      ...p,
      desc: on.desc,
      conditions: (id) => conditions(id, p, dialect, { ...on, search: false }),
    }),
  flags,
)

/**
 * The same, over the members of these lists, tags or topics: one ordered range for each, merged. `gather` gives the
 * members alone.
 */
export function scanMembers(kind: Kind, values: readonly number[]) {
  const ranges = rangesFor(values.length)
  // Values again fill the ranges that are too many: a union drops what comes twice.
  const filled = Object.fromEntries(
    Array.from({ length: ranges }, (_, i) => [`value_${i}`, values[i % values.length]!]),
  )
  return { ...memberWalk(kind, ranges), filled }
}

/** One text for each power of two up to a filter's 100 values: a closed set. */
function rangesFor(count: number): number {
  return 2 ** Math.ceil(Math.log2(count))
}

type MemberWalk = ReturnType<typeof newMemberWalk>
const memberWalks = new Map<string, MemberWalk>()

function memberWalk(kind: Kind, ranges: number): MemberWalk {
  const name = `${kind} ${ranges}`
  const walk = memberWalks.get(name) ?? newMemberWalk(kind, ranges)
  memberWalks.set(name, walk)
  return walk
}

/** One value's range of members. */
type RangeOf = (value: RawBuilder<unknown>) => RawBuilder<unknown>

function newMemberWalk(kind: Kind, ranges: number) {
  const names = Array.from({ length: ranges }, (_, i) => `value_${i}`)
  const values: Record<string, Parameter<number>> = Object.fromEntries(names.map((name) => [name, int]))
  const membership = sql.table(`mailkeep_contact_${kind}`)
  const merged = (p: object, dialect: Dialect, on: Pick<Flags, 'desc'>, range: RangeOf) => {
    const { limit, ...slots } = p as Record<string, RawBuilder<unknown>>
    const all = names.map((name) => range(slots[name]!))
    return dialect.merge(all, { distinct: true, desc: on.desc, limit: limit! })
  }
  const walk = statement.all(
    { ...values, ...criteria } as typeof criteria,
    (_, p, dialect, on) => {
      const conditionsOfAll = conditions(sql.ref('m.contact_id'), p, dialect, { ...on, [`${kind}s`]: false })
      // The bound stands twice for PostgreSQL, which does not carry it over to the other side of the join.
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
  return { walk, gather }
}

function beyond(on: Pick<Flags, 'desc'>): RawBuilder<unknown> {
  return on.desc ? sql`<` : sql`>`
}

/** What is asked of each contact on the way: one seek each. */
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

/** Of these lists, tags or topics, those that are the client's. */
function ownOf(kind: Kind) {
  return statement.all(
    { client_id: int, ids: ints },
    (_, p, dialect) => sql<{ id: number }>`select id from ${sql.table(`mailkeep_${kind}`)}
      where client_id = ${p.client_id} and ${dialect.inList(sql.ref('id'), p.ids)}`,
  )
}

/** How many members these have together, counted up to a limit, and the first and last of those counted. */
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

/** Those of these contacts that meet the criteria, in any order. */
export const listMeeting = statement.all(
  { ...criteria, ids: ints },
  (_, p, dialect, on) => sql<{ id: number }>`
    select c.id from ${dialect.unnest(p.ids)} cross join mailkeep_contact as c
    where c.id = item.value and c.client_id = ${p.client_id} ${conditions(sql`item.value`, p, dialect, on)}`,
  flags,
)

/** Contacts that may match a search: all of them, where there are fewer than the limit. */
export const listCandidates = statement.all(
  { client_id: int, search: text, parts: texts, limit: int },
  (_, p, dialect) => dialect.listCandidates(p),
)

/** Those of gathered contacts that may match a search. */
export const listMatchesAmong = statement.all(
  { client_id: int, parts: texts, ids: json, lowest: int, highest: int },
  (_, p, dialect) => dialect.intersection!.matchesAmong(p),
)

export const rankParts = statement.all({ client_id: int, parts: texts }, (_, p, dialect) => dialect.rankParts(p))

/** The contacts of these ids, in any order. */
export const listDocuments = statement.all(
  { ids: ints },
  (_, p, dialect) => sql<{ id: number; document: string }>`
    select c.id, ${contactDocument(dialect, 'c')} as document
    from ${dialect.unnest(p.ids)} cross join mailkeep_contact as c where c.id = item.value`,
)

/**
 * The contacts of these ids, in their order, until their documents have so many bytes: the last one may exceed that.
 * A recursion, because the database then builds each document only if the ones before it leave room. `at` is the
 * position in `ids`; ids without a contact are left out.
 */
export const listDocumentsWithin = statement.all(
  { ids: ints, count: int, max_bytes: int },
  (_, p, dialect) => sql<{ at: number; id: number; document: string; bytes_before: number }>`
    with recursive page (at, id, document, bytes_before) as (
      select -1, cast(null as bigint), cast(null as text), 0
      union all
      select page.at + 1, c.id, ${contactDocument(dialect, 'c')},
        page.bytes_before + coalesce(octet_length(page.document), 0)
      from page left join mailkeep_contact as c on c.id = ${dialect.itemAt(p.ids, sql`page.at + 1`)}
      where page.at + 1 < ${p.count}
        and page.bytes_before + coalesce(octet_length(page.document), 0) < ${p.max_bytes}
    )
    select at, id, document, bytes_before from page where id is not null`,
)

export const countContacts = statement({ client_id: int }, (db, p) =>
  db
    .selectFrom('mailkeep_contact')
    .select((eb) => eb.fn.countAll().as('count'))
    .where('client_id', '=', p.client_id),
)
