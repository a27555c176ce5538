import {
  DummyDriver,
  type Expression,
  Kysely,
  type RawBuilder,
  SqliteAdapter,
  SqliteIntrospector,
  SqliteQueryCompiler,
  sql,
} from 'kysely'
import type { Dialect } from '../dialect.ts'
import type { Tables } from '../tables.ts'
import { searchClientSpan } from './search-index.ts'
import { trigram, trigramsOf } from './trigrams.ts'

/** Compiles statements for SQLite. */
export const builder = new Kysely<Tables>({
  dialect: {
    createAdapter: () => new SqliteAdapter(),
    createDriver: () => new DummyDriver(),
    createIntrospector: (db) => new SqliteIntrospector(db),
    createQueryCompiler: () => new SqliteQueryCompiler(),
  },
})

/** One index of searches serves all clients: a contact's row there is client × 2^40 + contact, so a client is a range. */
const clientSpan = sql.lit(searchClientSpan)

/** Text taken literally, as FTS5 reads it. */
const quoted = (text: RawBuilder<unknown>) => sql`'"' || replace(${text}, '"', '""') || '"'`

/**
 * FTS5 is asked for single trigrams, and the texts that have them all are looked at: it would take every letter's trigram
 * of a phrase, step by step through each one's list.
 */
const allOf = (parts: Expression<unknown>) =>
  sql`(select group_concat(${quoted(sql`value`)}, ' AND ') from json_each(${parts}))`

/** Roughly, of a page of the file. */
const contactsOfPage = 13

/** Below a client's rows of the index. */
const baseOf = (client: Expression<unknown>) => sql`${client} * ${clientSpan}`

/** A client's rows of the index. */
const rowsOf = (client: Expression<unknown>) =>
  sql`match.rowid > ${baseOf(client)} and match.rowid < ${baseOf(client)} + ${clientSpan}`

const contains = (text: Expression<unknown>, part: Expression<unknown>) => sql<boolean>`instr(${text}, ${part}) > 0`

/** SQLite's phrases. */
export const dialect: Dialect = {
  name: 'sqlite',
  concurrentWriters: false,
  returnsInsertId: true,
  timeType: 'text',
  findTable: (name) => sql`select 1 from sqlite_master where type = 'table' and name = ${name}`,
  slot: (mark) => sql`${mark}`,
  bind(type, value) {
    // Every JS number is bound as REAL: searches ignore such bounds, and JSON shows 7.0.
    if (type === 'int') return BigInt(value as number)
    if (type === 'bool') return value ? 1n : 0n
    if (type === 'ints' || type === 'texts' || type === 'jsons' || type === 'rows') return JSON.stringify(value)
    return value
  },
  unnest: (list) => sql`json_each(${list}) as item`,
  itemAt: (list, position) => sql`${list} ->> (${position})`,
  unnestRows: (rows, columns) => {
    const fields = Object.keys(columns).map((name) => sql`value ->> ${sql.lit(name)} as ${sql.ref(name)}`)
    return sql`(select ${sql.join(fields)} from json_each(${rows})) as item`
  },
  inList: (column, list) => sql`${column} in (select value from json_each(${list}))`,
  contains,
  merge: (ranges, { distinct, desc, limit }) =>
    sql`${sql.join([...ranges], distinct ? sql` union ` : sql` union all `)}
      order by id ${desc ? sql`desc` : sql`asc`} limit ${limit}`,
  // Microseconds. A match is asked in indexes whether it meets the filters; of a member its contact's row is read, which
  // costs more the fewer contacts of a page of the file are members.
  costs: {
    match: (asked) => 0.3 + 0.4 * asked,
    member: (spacing) => 0.6 + 2 * Math.min(1, spacing / contactsOfPage),
  },
  shortestMatch: trigram,
  searchParts: trigramsOf,
  // The further one must go for some that have it, the fewer have it.
  rankParts: ({ client_id, parts }) => sql`select part.value as part, (select match.rowid from mailkeep_search as match
      where match.search match ${quoted(sql`part.value`)} and ${rowsOf(client_id)} order by match.rowid limit 1 offset 63
    ) as reached from json_each(${parts}) as part`,
  // Both are scalar, so that they are asked as soon as the contact's id is known: its row, which is large and far from the
  // one before, is read only of those that pass. "exists" would be made a join behind it.
  isMember: (kind, contactId, values) => {
    const name = `mailkeep_contact_${kind}`
    return sql`(select 1 from ${sql.table(name)} as other indexed by ${sql.ref(`${name}_${kind}`)}
      where ${sql.ref(`other.${kind}_id`)} in (select value from json_each(${values})) and other.contact_id = ${contactId}
      limit 1) is not null`
  },
  isUnsubscribed: (clientId, contactId) => sql`(select 1 from mailkeep_contact as gone
    indexed by mailkeep_contact_unsubscribed
    where gone.client_id = ${clientId} and gone.id = ${contactId} and gone.unsubscribed_at is not null) is not null`,
  walkMatches: ({ client_id, search, parts, after, limit, desc, conditions }) => {
    const base = baseOf(client_id)
    const range = desc
      ? sql`match.rowid > ${base} and match.rowid < ${base} + min(${after}, ${clientSpan})`
      : sql`match.rowid > ${base} + min(${after}, ${clientSpan}) and match.rowid < ${base} + ${clientSpan}`
    return sql`select c.id from mailkeep_search as match cross join mailkeep_contact as c
      where match.search match ${allOf(parts)} and ${range} ${conditions(sql`match.rowid - ${base}`)}
        and c.id = match.rowid - ${base} and ${contains(sql.ref('c.search'), search)}
      order by match.rowid ${desc ? sql`desc` : sql`asc`} limit ${limit}`
  },
  intersection: {
    cost: 0.3,
    gather: (ids) => sql`select count(*) as count, json_group_array(id) as ids, min(id) as lowest, max(id) as highest
      from (${ids})`,
    matchesAmong: ({ client_id, parts, ids, lowest, highest }) => sql`select match.rowid - ${baseOf(client_id)} as id
      from mailkeep_search as match where match.search match ${allOf(parts)}
        and match.rowid >= ${baseOf(client_id)} + ${lowest} and match.rowid <= ${baseOf(client_id)} + ${highest}
        and match.rowid - ${baseOf(client_id)} in (select value from json_each(${ids}))`,
  },
  listCandidates: ({ client_id, parts, limit }) => sql`select match.rowid - ${baseOf(client_id)} as id
    from mailkeep_search as match where match.search match ${allOf(parts)} and ${rowsOf(client_id)} limit ${limit}`,
  object: (fields) =>
    sql`json_object(${sql.join(Object.entries(fields).flatMap(([name, value]) => [sql.lit(name), value]))})`,
  // Rows come in the order of the index they are walked over, which is the one asked for: sorting them would cost more.
  // SQLite 3.54 and later do not pass the JSON subtype through a scalar subquery, so `json()` states it again.
  list: (item, _order, from) => sql`json((select json_group_array(${item}) ${from}))`,
  time: (column) => sql`${column}`,
  bool: (column) => sql`json(iif(${column}, 'true', 'false'))`,
  json: (column) => sql`json(${column})`,
  forUpdateSkipLocked: sql``, // there is one writer at a time
  forUpdate: sql``,
  customPlan: sql``,
  jsonText: (value) => sql<string>`${value}`,
}

/** Through a driver of the host's: Kysely leaves it open whether the id of an inserted row is told. */
export const hostDialect: Dialect = { ...dialect, returnsInsertId: false }
