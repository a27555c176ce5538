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

/** Length of a trigram. The search index contains every sequence of three letters. */
const trigramLength = 3

const maxTrigrams = 12

const wordSeparator = /[^\p{L}\p{M}\p{N}]+/u

/**
 * Writes parameters as `+?`, which compiles to the same code as `?`. SQLite plans with the value of `limit ?`, and since 3.54
 * with that of `x = ?` in a sorted statement. It then compiles the statement again whenever a value is bound, which can take
 * longer than running it.
 */
class QueryCompiler extends SqliteQueryCompiler {
  protected override getCurrentParameterPlaceholder(): string {
    return '+?'
  }
}

/** Compiles statements for SQLite. */
const builder = new Kysely<Tables>({
  dialect: {
    createAdapter: () => new SqliteAdapter(),
    createDriver: () => new DummyDriver(),
    createIntrospector: (db) => new SqliteIntrospector(db),
    createQueryCompiler: () => new QueryCompiler(),
  },
})

const clientSpan = sql.lit(searchClientSpan)

/** Quotes text for an FTS5 query, so that it is taken literally. */
const quoted = (text: RawBuilder<unknown>) => sql`'"' || replace(${text}, '"', '""') || '"'`

/**
 * Builds an FTS5 query for single trigrams; the statement then checks the texts that contain all of them. A phrase
 * query would read the list of every trigram of the phrase, which is slower.
 */
const allOf = (parts: Expression<unknown>) =>
  sql`(select group_concat(${quoted(sql`value`)}, ' AND ') from json_each(${parts}))`

/** Lower bound, exclusive, of a client's row ids in the search index. */
const baseOf = (client: Expression<unknown>) => sql`${client} * ${clientSpan}`

/** Condition for a client's rows in the search index. */
const rowsOf = (client: Expression<unknown>) =>
  sql`match.rowid > ${baseOf(client)} and match.rowid < ${baseOf(client)} + ${clientSpan}`

const contains = (text: Expression<unknown>, part: Expression<unknown>) => sql<boolean>`instr(${text}, ${part}) > 0`

/** Writes rows as JSON arrays. SQLite finds a field of an object by comparing names, which takes 1.6 times as long. */
function rowsAsArrays(rows: readonly Readonly<Record<string, unknown>>[], columns: readonly string[]): string {
  return JSON.stringify(rows.map((row) => columns.map((name) => row[name])))
}

/** SQL fragments for SQLite. */
export const dialect: Dialect = {
  name: 'sqlite',
  builder,
  concurrentWriters: false,
  returnsInsertId: true,
  writesSeveralTables: false,
  readsRowByRow: true,
  writesRowByRow: true,
  timeType: 'text',
  findTable: (name) => sql`select 1 from sqlite_master where type = 'table' and name = ${name}`,
  slot: (mark) => sql`${mark}`,
  bind({ type, columns }, value) {
    // better-sqlite3 binds numbers as REAL. FTS5 ignores REAL bounds on row ids, and JSON shows 7.0 instead of 7.
    if (type === 'int') return BigInt(value as number)
    if (type === 'bool') return value ? 1n : 0n
    if (type === 'ints' || type === 'texts') return JSON.stringify(value)
    if (type === 'rows') return rowsAsArrays(value as readonly Readonly<Record<string, unknown>>[], columns)
    return value
  },
  unnest: (list) => sql`json_each(${list}) as item`,
  itemAt: (list, position) => sql`${list} ->> (${position})`,
  unnestRows: (rows, columns) => {
    const fields = Object.keys(columns).map((name, at) => sql`value ->> ${sql.lit(at)} as ${sql.ref(name)}`)
    return sql`(select ${sql.join(fields)} from json_each(${rows})) as item`
  },
  inList: (column, list) => sql`${column} in (select value from json_each(${list}))`,
  inFew: (column, query) => sql`${column} in (${query})`,
  contains,
  matches: contains,
  merge: (ranges, { distinct, desc, limit }) =>
    sql`${sql.join([...ranges], distinct ? sql` union ` : sql` union all `)}
      order by id ${desc ? sql`desc` : sql`asc`} limit ${limit}`,
  // SQLite has no lateral join, but the arguments of a table-valued function may refer to the tables before it.
  idsOfEach: (from, inner) => sql`select found.value as id
    from ${from} cross join json_each((select json_group_array(id) from (${inner}))) as found`,
  // `isMember` and `isUnsubscribed` are scalar subqueries, so SQLite evaluates them as soon as it knows the contact's
  // id. It then reads only the rows of contacts that pass; each is large and far from the one before. SQLite would turn
  // EXISTS into a join that runs after reading the row.
  isMember: (kind, contactId, values) => {
    const name = `mailkeep_contact_${kind}`
    return sql`(select 1 from ${sql.table(name)} as other indexed by ${sql.ref(`${name}_${kind}`)}
      where ${sql.ref(`other.${kind}_id`)} in (select value from json_each(${values})) and other.contact_id = ${contactId}
      limit 1) is not null`
  },
  hasAttribute: (contactId, attributeId, valueKey) => sql`(select 1 from mailkeep_contact_attribute as other
    where other.contact_id = ${contactId} and other.attribute_id = ${attributeId} and other.value_key = ${valueKey}
    limit 1) is not null`,
  unindexed: (column) => sql`+${column}`,
  field: (json, name) => sql`(select value from json_each(${json}) where key = ${name})`,
  isUnsubscribed: (clientId, contactId) => sql`(select 1 from mailkeep_contact as gone
    indexed by mailkeep_contact_unsubscribed
    where gone.client_id = ${clientId} and gone.id = ${contactId} and gone.unsubscribed_at is not null) is not null`,
  search: {
    shortestMatch: trigramLength,
    parts: trigramsOf,
    // The row id of the 64th match: the higher it is, the rarer the part.
    rankParts: ({
      client_id,
      parts,
    }) => sql`select part.value as part, (select match.rowid from mailkeep_search as match
        where match.search match ${quoted(sql`part.value`)} and ${rowsOf(client_id)} order by match.rowid limit 1 offset 63
      ) as reached from json_each(${parts}) as part`,
    candidates: ({ client_id, parts, limit }) => sql`select match.rowid - ${baseOf(client_id)} as id
      from mailkeep_search as match where match.search match ${allOf(parts)} and ${rowsOf(client_id)}
      order by match.rowid limit ${limit}`,
    scan: ({ client_id, parts, after, until, limit, desc }) => {
      const base = baseOf(client_id)
      const range = desc
        ? sql`match.rowid >= ${base} + ${until} and match.rowid < ${base} + min(${after}, ${clientSpan})`
        : sql`match.rowid > ${base} + min(${after}, ${clientSpan}) and match.rowid <= ${base} + min(${until}, ${clientSpan} - 1)`
      return sql`select match.rowid - ${base} as id from mailkeep_search as match
        where match.search match ${allOf(parts)} and ${range} order by match.rowid ${desc ? sql`desc` : sql`asc`} limit ${limit}`
    },
  },
  // JSON is built as plain text. SQLite's own JSON functions would parse nested values again, which takes 1.6 times as
  // long. They recognize nested JSON by a subtype, which SQLite 3.54 and later lose in a scalar subquery.
  value: (column) => sql`json_quote(${column})`,
  plainText: (column) => sql`'"' || ${column} || '"'`,
  object: (fields) => {
    const parts = Object.entries(fields).flatMap(([name, value], at) => [
      sql.lit(`${at === 0 ? '{' : ','}${JSON.stringify(name)}:`),
      value,
    ])
    return sql`concat(${sql.join(parts)}, '}')`
  },
  // No ORDER BY, which would cost more: SQLite reads the rows from an index that already has the requested order.
  list: (item, _order, from) => sql`concat('[', (select group_concat(${item}, ',') ${from}), ']')`,
  joinEach: (table, alias, condition) => sql`cross join ${sql.table(table)} as ${sql.table(alias)} on ${condition}`,
  time: (column) => sql`ifnull('"' || ${column} || '"', 'null')`, // a time needs no escapes
  bool: (column) => sql`iif(${column}, 'true', 'false')`,
  json: (column) => sql`${column}`,
  forUpdateSkipLocked: sql``, // there is one writer at a time
  forUpdate: sql``,
  customPlan: sql``,
  jsonText: (value) => sql<string>`${value}`,
}

/** The dialect for a host's driver. Kysely guarantees neither insert ids nor reading row by row. */
export const hostDialect: Dialect = {
  ...dialect,
  returnsInsertId: false,
  readsRowByRow: false,
  writesRowByRow: false,
}

/**
 * Returns trigrams of a text, grouped by the word in which they begin. They cover a short text, and are spread evenly
 * over a long one. A text of fewer than three letters has none.
 */
function trigramsOf(text: string): string[][] {
  const letters = [...text]
  const last = letters.length - trigramLength
  if (last < 0) return []
  const step = Math.max(trigramLength, Math.ceil(last / (maxTrigrams - 1)))
  const starts = [...Array.from({ length: Math.ceil(last / step) }, (_, i) => i * step), last]
  const byWord = new Map<number, Set<string>>()
  for (const start of starts) {
    const word = letters
      .slice(0, start + 1)
      .join('')
      .split(wordSeparator).length
    byWord.set(word, (byWord.get(word) ?? new Set()).add(letters.slice(start, start + trigramLength).join('')))
  }
  return [...byWord.values()].map((parts) => [...parts])
}
