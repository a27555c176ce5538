/** The filters of contact listings in SQL: parameters, flags and conditions of the statements in `listing-queries.ts`. */
import { type RawBuilder, sql } from 'kysely'
import type { Dialect, IdCondition } from '../storage/dialect.ts'
import { bool, int, ints, rows, text, texts, time } from '../storage/statement.ts'

/** Kinds of memberships that a listing can filter by. */
export const kinds = ['list', 'tag', 'topic'] as const
export type Kind = (typeof kinds)[number]

/** The values of filters. Unused filters are empty. */
const filterParameters = {
  lists: ints,
  tags: ints,
  topics: ints,
  search: text,
  // The filters of a segment that the query has too.
  more_lists: ints,
  more_tags: ints,
  more_topics: ints,
  has_more_lists: bool,
  has_more_tags: bool,
  has_more_topics: bool,
  more_search: text,
  exclude_lists: ints,
  exclude_tags: ints,
  created_after: time,
  created_before: time,
}

export type FilterValues = {
  readonly [Name in keyof typeof filterParameters]: NonNullable<(typeof filterParameters)[Name]['value']>
}

export const attributeValue = { attribute_id: int, value_key: text }

/** A range of the listing, and the values of its filters. */
export const listingParameters = {
  client_id: int,
  after: int,
  /** The last id that may be returned. */
  until: int,
  limit: int,
  /** Maximum contacts that an `examine…` statement looks at. */
  examined: int,
  ...filterParameters,
  // The attribute whose index may be scanned, and the other ones.
  ...attributeValue,
  more_attributes: rows(attributeValue),
  parts: texts,
}

export const flags = [
  'desc',
  'counted',
  'unsubscribed',
  'only',
  'lists',
  'tags',
  'topics',
  'search',
  'attribute',
  'attributes',
  'excluded',
  'times',
  'more',
] as const

/**
 * Optional parts of a statement. `counted`: returns only the number of rows and the last id. `unsubscribed`: includes
 * unsubscribed contacts. `only`: returns only these. `attributes`: checks the attributes after the first one. `excluded`:
 * leaves out lists and tags. `times`: checks the time of creation. `more`: checks the filters that a segment has too.
 */
export type Flags = Readonly<Record<(typeof flags)[number], boolean>>

/** A row of a scan. With the flag `counted` there is one row: the number of rows, and the id of the last one or null. */
export interface ScanRow {
  readonly id: number
  readonly counted?: number
  /** Number of rows before the filters. Only of the `examine…` statements. */
  readonly examined?: number
}

export type Slots = { readonly [K in keyof typeof listingParameters]: RawBuilder<unknown> }

/** Whether a scan reads contacts that it then leaves out, so that the limit does not bound its time. */
export function isFiltered(on: Omit<Flags, 'desc' | 'counted'>): boolean {
  return on.lists || on.tags || on.topics || on.search || on.attribute || on.excluded || on.times || on.more
}

/** Returns the condition of the rows that follow a position. */
export function beyond(id: RawBuilder<unknown>, p: Pick<Slots, 'after'>, on: Pick<Flags, 'desc'>): RawBuilder<unknown> {
  return on.desc ? sql`${id} < ${p.after}` : sql`${id} > ${p.after}`
}

/** Returns the condition of the rows that follow a position, up to the last id. */
export function within(id: RawBuilder<unknown>, p: Slots, on: Pick<Flags, 'desc'>): RawBuilder<unknown> {
  return sql`${beyond(id, p, on)} and ${id} ${on.desc ? sql`>=` : sql`<=`} ${p.until}`
}

/** With the flag `counted`, counts the rows of a scan. */
export function counted(scan: RawBuilder<unknown>, on: Pick<Flags, 'counted' | 'desc'>): RawBuilder<ScanRow> {
  if (!on.counted) return scan as RawBuilder<ScanRow>
  return sql<ScanRow>`select max(id) as id, count(*) as counted from (${scan}) as page`
}

/** Returns the conditions of all filters. The statement names the contact's row `c`. */
export function conditions(contactId: RawBuilder<unknown>, p: Slots, dialect: Dialect, on: Flags): RawBuilder<unknown> {
  const inRange = (id: RawBuilder<unknown>) => beyond(id, p, on)
  return sql`${indexedConditions(contactId, p, dialect, on, inRange)} ${rowConditions(p, dialect, on)}`
}

/**
 * Same as `conditions`, for a statement that does not read the contact's row. The row is read last, and only if a filter
 * needs it. Rows are large and not adjacent, so each costs a page read.
 */
export function conditionsOfId(
  contactId: RawBuilder<unknown>,
  p: Slots,
  dialect: Dialect,
  on: Flags,
): RawBuilder<unknown> {
  const indexed = indexedConditions(contactId, p, dialect, on)
  if (!on.search && !on.times && !on.more) return indexed
  return sql`${indexed} and (select 1 from mailkeep_contact as c
    where c.id = ${contactId} ${rowConditions(p, dialect, on)}) is not null`
}

/** Returns the conditions that cost one index seek each. */
function indexedConditions(
  contactId: RawBuilder<unknown>,
  p: Slots,
  dialect: Dialect,
  on: Flags,
  inRange?: IdCondition,
): RawBuilder<unknown> {
  const parts = [
    on.lists ? sql`and ${dialect.isMember('list', contactId, p.lists, inRange)}` : undefined,
    on.tags ? sql`and ${dialect.isMember('tag', contactId, p.tags, inRange)}` : undefined,
    on.topics ? sql`and ${dialect.isMember('topic', contactId, p.topics, inRange)}` : undefined,
    on.attribute ? sql`and ${dialect.hasAttribute(contactId, p.attribute_id, p.value_key, inRange)}` : undefined,
    on.only ? sql`and ${dialect.isUnsubscribed(p.client_id, contactId)}` : undefined,
    on.only || on.unsubscribed ? undefined : sql`and not ${dialect.isUnsubscribed(p.client_id, contactId)}`,
    on.attributes ? otherAttributes(contactId, p, dialect, inRange) : undefined,
    on.excluded ? exclusions(contactId, p, dialect, inRange) : undefined,
    on.more ? moreConditions(contactId, p, dialect, inRange) : undefined,
  ]
  return sql.join(
    parts.filter((part) => part !== undefined),
    sql` `,
  )
}

function otherAttributes(contactId: RawBuilder<unknown>, p: Slots, dialect: Dialect, inRange?: IdCondition) {
  return sql`and not exists (select 1 from ${dialect.unnestRows(p.more_attributes, attributeValue)}
    where not ${dialect.hasAttribute(contactId, sql.ref('item.attribute_id'), sql.ref('item.value_key'), inRange)})`
}

function exclusions(contactId: RawBuilder<unknown>, p: Slots, dialect: Dialect, inRange?: IdCondition) {
  return sql`and not ${dialect.isMember('list', contactId, p.exclude_lists, inRange)}
    and not ${dialect.isMember('tag', contactId, p.exclude_tags, inRange)}`
}

/** Conditions of the filters of a segment that the query has too. A flag for each would make too many statements. */
function moreConditions(contactId: RawBuilder<unknown>, p: Slots, dialect: Dialect, inRange?: IdCondition) {
  return sql`and (not ${p.has_more_lists} or ${dialect.isMember('list', contactId, p.more_lists, inRange)})
    and (not ${p.has_more_tags} or ${dialect.isMember('tag', contactId, p.more_tags, inRange)})
    and (not ${p.has_more_topics} or ${dialect.isMember('topic', contactId, p.more_topics, inRange)})`
}

/** Returns the conditions that read the contact's row `c`. */
function rowConditions(p: Slots, dialect: Dialect, on: Flags): RawBuilder<unknown> {
  const [search, createdAt] = [sql.ref('c.search'), dialect.unindexed(sql.ref('c.created_at'))]
  const parts = [
    on.times ? sql`and ${createdAt} > ${p.created_after} and ${createdAt} < ${p.created_before}` : undefined,
    on.more ? sql`and ${dialect.contains(search, p.more_search)}` : undefined,
    on.search ? sql`and ${dialect.matches(search, p.search)}` : undefined,
  ]
  return sql.join(
    parts.filter((part) => part !== undefined),
    sql` `,
  )
}
