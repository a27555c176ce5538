import {
  DummyDriver,
  type Expression,
  Kysely,
  PostgresAdapter,
  PostgresIntrospector,
  PostgresQueryCompiler,
  type RawBuilder,
  sql,
} from 'kysely'
import { plainQuery } from '../connection.ts'
import type { Dialect, IdCondition } from '../dialect.ts'
import type { Tables } from '../tables.ts'
import { bindValue, castOf } from './values.ts'

/** Compiles statements for PostgreSQL. */
const builder = new Kysely<Tables>({
  dialect: {
    createAdapter: () => new PostgresAdapter(),
    createDriver: () => new DummyDriver(),
    createIntrospector: (db) => new PostgresIntrospector(db),
    createQueryCompiler: () => new PostgresQueryCompiler(),
  },
})

/**
 * Marks a statement that must be planned with its values. The frequency of a search decides between the search index
 * and a scan in order of id, and a generic plan cannot know it.
 */
export const customPlanMark = '/* custom plan */'

/**
 * A LIKE pattern that matches `part` anywhere, taken literally. E'' strings mean the same with every server setting.
 */
function patternOf(part: Expression<unknown>): RawBuilder<string> {
  const escaped = sql`replace(replace(replace(${part}, E'\\\\', E'\\\\\\\\'), '%', E'\\\\%'), '_', E'\\\\_')`
  return sql`('%' || ${escaped} || '%')`
}

/** SQL fragments for PostgreSQL. */
export const dialect: Dialect = {
  name: 'postgres',
  builder,
  concurrentWriters: true,
  returnsInsertId: false,
  writesSeveralTables: true,
  readsRowByRow: false,
  writesRowByRow: false,
  timeType: 'timestamptz',
  findTable: (name) => sql`select 1 where to_regclass(${name}) is not null`,
  slot: (mark) => sql`cast(${mark} as ${sql.raw(castOf[mark.type])})`,
  bind: ({ type }, value) => bindValue(type, value),
  unnest: (list) => sql`unnest(${list}) as item (value)`,
  itemAt: (list, position) => sql`(${list})[${position} + 1]`,
  unnestRows: (rows, columns) => {
    // Read each field as text first. A JSON document in a row is a JSON string, and `json` would keep it one.
    const texts = Object.keys(columns).map((name) => sql`${sql.ref(name)} text`)
    const fields = Object.entries(columns).map(
      ([name, { type }]) => sql`cast(${sql.ref(name)} as ${sql.raw(castOf[type])}) as ${sql.ref(name)}`,
    )
    return sql`(select ${sql.join(fields)} from json_to_recordset(${rows}) as given (${sql.join(texts)})) as item`
  },
  inList: (column, list) => sql`${column} = any (${list})`,
  inFew: (column, query) => sql`${column} = any (array(${query}))`,
  contains: (text, part) => sql`strpos(${text}, ${part}) > 0`,
  matches: (text, search) => sql`${text} like ${patternOf(search)}`,
  merge: (ranges, { distinct, desc, limit }) => {
    const end = sql`order by id ${sql.raw(desc ? 'desc' : 'asc')} limit ${limit}`
    if (ranges.length === 1) return sql`${ranges[0]} ${end}`
    // Give each range the limit too. Otherwise PostgreSQL reads each range completely before it merges them.
    const limited = ranges.map((range) => sql`(${range} ${end})`)
    return sql`${sql.join(limited, sql.raw(distinct ? ' union ' : ' union all '))} ${end}`
  },
  idsOfEach: (from, inner) => sql`select found.id from ${from} cross join lateral (${inner}) as found`,
  isMember: (kind, contactId, values, inRange) => sql`exists (select 1
    from ${sql.table(`mailkeep_contact_${kind}`)} as other
    where other.contact_id = ${contactId} and ${sql.ref(`other.${kind}_id`)} = any (${values})
      ${membersIn(inRange)})`,
  hasAttribute: (contactId, attributeId, valueKey, inRange) => sql`exists (select 1
    from mailkeep_contact_attribute as other
    where other.contact_id = ${contactId} and other.attribute_id = ${attributeId} and other.value_key = ${valueKey}
      ${membersIn(inRange)})`,
  unindexed: (column) => sql`${column}`,
  field: (json, name) => sql`${json} ->> ${name}`,
  isUnsubscribed: (_, contactId) => sql`(select gone.unsubscribed_at from mailkeep_contact as gone
    where gone.id = ${contactId}) is not null`,
  // Skips a table that another process analyses at the moment.
  analyzeContacts: plainQuery(`analyze (skip_locked) mailkeep_contact, mailkeep_contact_list, mailkeep_contact_tag,
    mailkeep_contact_topic, mailkeep_contact_attribute`),
  value: (column) => sql`${column}`,
  plainText: (column) => sql`${column}`,
  object: (fields) =>
    sql`json_build_object(${sql.join(Object.entries(fields).flatMap(([name, value]) => [sql.lit(name), value]))})`,
  list: (item, order, from) => sql`(select coalesce(json_agg(${item} order by ${order}), '[]'::json) ${from})`,
  // PostgreSQL does not turn it into another join, because of `offset`.
  joinEach: (table, alias, condition) =>
    sql`cross join lateral (select * from ${sql.table(table)} as ${sql.table(alias)} where ${condition} offset 0)
      as ${sql.table(alias)}`,
  time: (column) => sql`to_char(${column} at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"')`,
  bool: (column) => sql`${column}`,
  json: (column) => sql`${column}`,
  forUpdateSkipLocked: sql`for update skip locked`,
  forUpdate: sql`for no key update`, // lets other transactions insert rows that reference these
  tryLock: (name) => sql`select pg_try_advisory_xact_lock(${lockId(name)}) as taken`,
  lock: (name) => sql`select pg_advisory_xact_lock(${lockId(name)})`,
  lockShared: (name) => sql`select pg_advisory_xact_lock_shared(${lockId(name)})`,
  customPlan: sql.raw(customPlanMark),
  // Statements without an index would be compiled by LLVM, because of the cost that a scan has then.
  useIndexes: plainQuery(`select set_config('enable_seqscan', 'off', true), set_config('jit', 'off', true)`),
  jsonText: (json) => sql<string>`cast(${json} as text)`,
}

/** Without a range, `offset` makes PostgreSQL look each contact up instead of joining the members. */
function membersIn(inRange: IdCondition | undefined): RawBuilder<unknown> {
  return inRange ? sql`and ${inRange(sql.ref('other.contact_id'))}` : sql`offset 0`
}

/** Derives the lock id from the table's OID, which does not depend on the host's search path. */
function lockId(name: Expression<unknown>): RawBuilder<unknown> {
  return sql`hashtextextended(cast(cast(cast('mailkeep_client' as regclass) as oid) as text) || ' ' || ${name}, 0)`
}
