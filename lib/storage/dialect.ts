import type { CompiledQuery, Expression, Kysely, RawBuilder } from 'kysely'
import type { Parameters, SlotMark } from './statement.ts'
import type { Tables } from './tables.ts'

/** The parts of statements that differ between databases, so that each query is written once. */
export interface Dialect {
  readonly name: 'sqlite' | 'postgres'
  /** Builds statements; it never runs them. */
  readonly builder: Kysely<Tables>
  /** Whether several transactions write at the same time. */
  readonly concurrentWriters: boolean
  /** Whether the driver returns the id of an inserted row. On SQLite, RETURNING would cost a temporary table. */
  readonly returnsInsertId: boolean
  /** Whether one statement can insert into several tables, by a writing WITH. */
  readonly writesSeveralTables: boolean
  /** Whether its connections read row by row, and so observe `maxLength` of a query. */
  readonly readsRowByRow: boolean
  /** Whether a statement over rows runs once for each: see `statement.each`. */
  readonly writesRowByRow: boolean
  /** The type of a column that holds a time. */
  readonly timeType: string
  /** Selects one row if a table of that name exists. */
  findTable(name: Expression<unknown>): RawBuilder<unknown>
  /** The placeholder of a parameter, cast where the database needs it. */
  slot(mark: SlotMark): RawBuilder<unknown>
  /** Converts a value for the driver. */
  bind(mark: SlotMark, value: unknown): unknown
  /** A list parameter as a table named `item` with one column, `item.value`. */
  unnest(list: Expression<unknown>): RawBuilder<{ value: never }>
  /** The value at a position of a list parameter, counted from 0. */
  itemAt(list: Expression<unknown>, position: Expression<unknown>): RawBuilder<unknown>
  /** A `rows` parameter as a table named `item` with these columns, in the order of the rows. */
  unnestRows(rows: Expression<unknown>, columns: Parameters): RawBuilder<unknown>
  /** Whether `column` is one of the values of a list parameter. */
  inList(column: Expression<unknown>, list: Expression<unknown>): RawBuilder<boolean>
  /**
   * Whether `column` is one of the few values that `query` selects. PostgreSQL looks each value up in an index. A plain
   * `in` would be a join, which reads whole tables while there are no statistics of them.
   */
  inFew(column: Expression<unknown>, query: Expression<unknown>): RawBuilder<boolean>
  /** Whether `text` contains `part`, taken literally. */
  contains(text: Expression<unknown>, part: Expression<unknown>): RawBuilder<boolean>
  /** Same as `contains`, for the searched column. The planner may use its index. */
  matches(text: Expression<unknown>, search: Expression<unknown>): RawBuilder<boolean>
  /** Merges several selects that an index returns in order of `id`, and returns the first rows. Ends the statement. */
  merge(ranges: readonly RawBuilder<unknown>[], merge: Merge): RawBuilder<{ id: number }>
  /** Selects the ids that `inner` selects for each row of `from`, a table named `item`: a lateral join. */
  idsOfEach(from: RawBuilder<unknown>, inner: RawBuilder<unknown>): RawBuilder<{ id: number }>
  /**
   * Whether a contact has one of these lists, tags or topics, given as a list parameter.
   *
   * @param inRange The condition of a listing's range, for a statement that PostgreSQL may plan as a join of the members. It
   *   does not infer the condition for them, and would read all members before the range. Without it, each contact is
   *   looked up.
   */
  isMember(
    kind: 'list' | 'tag' | 'topic',
    contactId: Expression<unknown>,
    values: Expression<unknown>,
    inRange?: IdCondition,
  ): RawBuilder<boolean>
  /** Whether a contact has this value of an indexed attribute. */
  hasAttribute(
    contactId: Expression<unknown>,
    attributeId: Expression<unknown>,
    valueKey: Expression<unknown>,
    inRange?: IdCondition,
  ): RawBuilder<boolean>
  /** A column in a condition that must not decide which index a statement scans. */
  unindexed(column: Expression<unknown>): RawBuilder<unknown>
  /** A field of a stored JSON object of strings, as text; null if there is none. */
  field(json: Expression<unknown>, name: Expression<unknown>): RawBuilder<string | null>
  isUnsubscribed(clientId: Expression<unknown>, contactId: Expression<unknown>): RawBuilder<boolean>
  /** The search index, if a listing must choose between it and other indexes. Absent if the database's planner does. */
  readonly search?: SearchDialect
  /** Updates the planner's statistics of contacts. Absent if the planner has none. */
  readonly analyzeContacts?: CompiledQuery
  /** A column as a JSON value: text, a number or null. */
  value(column: Expression<unknown>): RawBuilder<unknown>
  /** Same for a column of text that needs no escapes and is not null, such as a UUID. */
  plainText(column: Expression<unknown>): RawBuilder<unknown>
  /** A JSON object of JSON values. Keeps the order of the keys. */
  object(fields: Record<string, Expression<unknown>>): RawBuilder<unknown>
  /** The rows of `from …` as a JSON array of the JSON value `item`, in ascending `order`. */
  list(item: Expression<unknown>, order: Expression<unknown>, from: Expression<unknown>): RawBuilder<unknown>
  /**
   * Joins the rows of a table that meet a condition, such as an id from the row before. PostgreSQL looks them up for each
   * row. A plain join reads whole tables while there are no statistics of them.
   */
  joinEach(table: string, alias: string, condition: Expression<unknown>): RawBuilder<unknown>
  /** A stored time as a JSON value, in the API's format. */
  time(column: Expression<unknown>): RawBuilder<unknown>
  /** A stored boolean as a JSON value. */
  bool(column: Expression<unknown>): RawBuilder<unknown>
  /** A stored JSON document, or an integer, as a JSON value. */
  json(column: Expression<unknown>): RawBuilder<unknown>
  /**
   * Ends a select that locks its rows until the transaction ends, and skips rows that another transaction has locked.
   */
  readonly forUpdateSkipLocked: RawBuilder<unknown>
  /** Ends a select that locks its rows for changes until the transaction ends. Other transactions wait. */
  readonly forUpdate: RawBuilder<unknown>
  /**
   * Takes the named lock until the transaction ends. Does not wait: `taken` is false if another transaction holds it.
   * Absent if the database has one writer at a time.
   */
  tryLock?(name: Expression<unknown>): RawBuilder<{ taken: boolean }>
  /** As `tryLock`, but waits for the lock. */
  lock?(name: Expression<unknown>): RawBuilder<unknown>
  /** As `lock`, but others may share the lock. */
  lockShared?(name: Expression<unknown>): RawBuilder<unknown>
  /** Begins a statement that must be planned with its values, because their frequency decides which index to scan. */
  readonly customPlan: RawBuilder<unknown>
  /**
   * Makes the statements of a transaction use indexes. Otherwise the server scans a table that was small when it planned the
   * statement. Absent if the database does not keep plans.
   */
  readonly useIndexes?: CompiledQuery
  /** JSON as text, for a column of a result. */
  jsonText(json: Expression<unknown>): RawBuilder<string>
}

/** Returns the condition of a range for a column of ids. */
export type IdCondition = (id: RawBuilder<unknown>) => RawBuilder<unknown>

/** Options of `Dialect.merge`. */
export interface Merge {
  /** Whether to remove duplicates, because a row may be in several ranges. */
  readonly distinct: boolean
  readonly desc: boolean
  readonly limit: Expression<unknown>
}

/** The SQL of a search index that holds trigrams. */
interface SearchDialect {
  /** Minimum number of characters of a search for which the index can be used. */
  readonly shortestMatch: number
  /** Parts of the search that the index can look up, grouped by word. Every matching contact contains all of them. */
  parts(search: string): readonly (readonly string[])[]
  /**
   * Estimates how rare each part is: the row id at which a scan has found some matches; null if there are only a few.
   */
  rankParts(rank: Pick<MatchScan, 'client_id' | 'parts'>): RawBuilder<{ part: string; reached: number | null }>
  /** Selects a client's contacts that may match a search, in order, up to a limit. */
  candidates(list: Pick<MatchScan, 'client_id' | 'parts' | 'limit'>): RawBuilder<{ id: number }>
  /** Same as `candidates`, after a position and up to another. */
  scan(scan: MatchScan): RawBuilder<{ id: number }>
}

/** The parameters of a scan over the search index. */
interface MatchScan {
  readonly client_id: Expression<unknown>
  /** A list parameter: the parts of the search that the index looks up. */
  readonly parts: Expression<unknown>
  readonly after: Expression<unknown>
  readonly until: Expression<unknown>
  readonly limit: Expression<unknown>
  readonly desc: boolean
}
