import { type CompiledQuery, type Kysely, type QueryResult, type RawBuilder, type Simplify, sql } from 'kysely'
import type { Database } from './database.ts'
import type { Dialect } from './dialect.ts'
import type { Tables } from './tables.ts'
import type { Transaction } from './transaction.ts'

export type ParameterType = 'int' | 'text' | 'bool' | 'time' | 'json' | 'ints' | 'texts' | 'rows'

/** A named parameter of a statement: its database type, and the TypeScript type of its values. */
export interface Parameter<T> {
  readonly type: ParameterType
  readonly value?: T
  /** Of `rows`: the names of the columns. */
  readonly columns?: readonly string[]
}

export const int: Parameter<number> = { type: 'int' }
export const text: Parameter<string> = { type: 'text' }
export const bool: Parameter<boolean> = { type: 'bool' }
/** A time in the format of `timestamp()`. */
export const time: Parameter<string> = { type: 'time' }
/** A JSON document as text. */
export const json: Parameter<string> = { type: 'json' }
/** A list of any length is one parameter. */
export const ints: Parameter<readonly number[]> = { type: 'ints' }
export const texts: Parameter<readonly string[]> = { type: 'texts' }

/** Rows with these columns. `dialect.unnestRows` turns them into a table. */
export function rows<C extends Parameters>(columns: C): Parameter<readonly Values<C>[]> {
  return { type: 'rows', columns: Object.keys(columns) }
}

/** Text with a fixed set of values. */
export function word<T extends string>(): Parameter<T> {
  return { type: 'text' }
}

export function nullable<T>(parameter: Parameter<T>): Parameter<T | null> {
  return parameter as Parameter<T | null>
}

/** Placeholder for a value in the parameters of a compiled statement. */
export class SlotMark {
  readonly name: string
  readonly type: ParameterType
  readonly columns: readonly string[]
  constructor(name: string, { type, columns = [] }: Parameter<unknown>) {
    this.name = name
    this.type = type
    this.columns = columns
  }
}

/** The parameters of a statement, by name. */
export type Parameters = Record<string, Parameter<unknown>>
type ValueOf<P> = P extends Parameter<infer T> ? T : never
type Slots<P extends Parameters> = { readonly [K in keyof P]: RawBuilder<ValueOf<P[K]>> }
/** The values of parameters or of the columns of a row. */
export type Values<P extends Parameters> = { readonly [K in keyof P]: ValueOf<P[K]> }
type Flags<F extends string> = { readonly [K in F]: boolean }

/** A query builder of Kysely or a raw `sql` fragment. */
interface Compilable<R> {
  compile(db: Kysely<Tables>): CompiledQuery<R>
}

/** Where a statement runs: in the transaction if there is one, otherwise it reads committed rows. */
export interface Scope {
  readonly storage: Database
  readonly transaction?: Transaction | undefined
  /** The client for whom it runs; absent or 0 for no particular client. */
  readonly clientId?: number
}

type Build<P extends Parameters, R, F extends string> = (
  db: Kysely<Tables>,
  slots: Slots<P>,
  dialect: Dialect,
  flags: Flags<F>,
) => Compilable<R>

type Run<P extends Parameters, F extends string, Result> = (
  scope: Scope,
  ...rest: [F] extends [never] ? [values: Values<P>] : [values: Values<P>, flags: Flags<F>]
) => Promise<Result>

interface Compiled<R> {
  readonly query: CompiledQuery<R>
  readonly fill: (values: Record<string, unknown>) => unknown[]
}

/**
 * Defines a statement with typed, named parameters, built with Kysely. It is compiled once for each kind of database,
 * at its first use. Later runs only fill in the values. Returns the first row, or undefined.
 *
 * @param parameters The parameters. For values of a row, they are named like the columns.
 * @param build Builds the statement from placeholders. The values are not known yet.
 * @param flags Names of optional parts. Each combination is compiled separately, at its first use.
 */
export function statement<P extends Parameters, R, F extends string = never>(
  parameters: P,
  build: Build<P, R, F>,
  flags: readonly F[] = [],
): Run<P, F, Simplify<R> | undefined> {
  return prepare(parameters, build, flags, ({ rows }) => rows[0] as Simplify<R> | undefined)
}

/** As `statement`, but returns all rows. */
statement.all = <P extends Parameters, R, F extends string = never>(
  parameters: P,
  build: Build<P, R, F>,
  flags: readonly F[] = [],
): Run<P, F, Simplify<R>[]> => {
  return prepare(parameters, build, flags, ({ rows }) => rows as Simplify<R>[])
}

/** A query of rows with an `id`. */
interface Listing<R> extends Compilable<R> {
  where(column: 'id', operator: '<' | '>', value: RawBuilder<number>): Listing<R>
  orderBy(column: 'id', direction: 'asc' | 'desc'): Listing<R>
  limit(count: RawBuilder<number>): Listing<R>
}

const rangeParameters = { after: int, limit: int }

/** As `statement.all`, for a listing that is read in ranges: at most `limit` rows after the id `after`. */
statement.range = <P extends Parameters, R, F extends string = never>(
  parameters: P,
  build: (db: Kysely<Tables>, slots: Slots<P>, dialect: Dialect, flags: Flags<F>) => Listing<R>,
  flags: readonly F[] = [],
): Run<P & typeof rangeParameters, F | 'desc', Simplify<R>[]> => {
  return prepare(
    { ...parameters, ...rangeParameters },
    (db, p, dialect, on) =>
      build(db, p, dialect, on)
        .where('id', on.desc ? '<' : '>', p.after)
        .orderBy('id', on.desc ? 'desc' : 'asc')
        .limit(p.limit),
    [...flags, 'desc'],
    ({ rows }) => rows as Simplify<R>[],
  )
}

/**
 * Returns the texts of a query of one column, until they have `max_length` code units. The last one may exceed it. Only for
 * a connection that reads row by row.
 */
statement.bounded = <P extends Parameters & { readonly max_length: Parameter<number> }>(
  parameters: P,
  build: Build<P, Readonly<Record<string, string>>, never>,
): Run<P, never, string[]> => {
  return prepare(parameters, build, [], ({ rows }) => rows as unknown as string[], true)
}

/** As `statement`, for the insert of one row. Returns its id, or undefined if it was not inserted. */
statement.inserted = <P extends Parameters>(
  parameters: P,
  build: (db: Kysely<Tables>, slots: Slots<P>, dialect: Dialect) => Insertion,
): Run<P, never, number | undefined> => {
  const withId = (db: Kysely<Tables>, slots: Slots<P>, dialect: Dialect) => {
    const insertion = build(db, slots, dialect)
    return dialect.returnsInsertId ? insertion : insertion.returning('id')
  }
  return prepare(parameters, withId, [], ({ rows, insertId, numAffectedRows }) => {
    return rows[0]?.id ?? (numAffectedRows ? Number(insertId) : undefined)
  })
}

interface Insertion extends Compilable<{ id: number }> {
  returning(column: 'id'): Compilable<{ id: number }>
}

/** As `statement`, but returns the number of rows written. */
statement.affected = <P extends Parameters, R>(parameters: P, build: Build<P, R, never>): Run<P, never, number> => {
  return prepare(parameters, build, [], ({ numAffectedRows }) => Number(numAffectedRows ?? 0))
}

/**
 * Defines a statement that writes each of some items. SQLite runs it once for each item, because it binds the values of an
 * item faster than it reads them from JSON. A database server gets all items in one statement.
 *
 * @param columns The parameters of an item.
 * @param build Builds the statement from the values of an item, which `from` makes known.
 * @param returning The column that identifies an item, with its table, if the keys are needed.
 * @returns The keys of the items that were written.
 */
statement.each = <C extends Parameters, K extends keyof C & string = never>(
  columns: C,
  build: (item: Slots<C>, from: RawBuilder<unknown>, dialect: Dialect) => RawBuilder<unknown>,
  returning?: `${keyof Tables}.${K}`,
): ((scope: Scope, items: readonly Values<C>[]) => Promise<Values<C>[K][]>) => {
  const key = returning?.split('.')[1] as K | undefined
  const one = statement.affected(columns, (_, item, dialect) => build(item, sql``, dialect))
  const all = statement.all({ items: rows(columns) }, (_, { items }, dialect) => {
    const item = Object.fromEntries(Object.keys(columns).map((name) => [name, sql.ref(`item.${name}`)])) as Slots<C>
    const written = build(item, sql`from ${dialect.unnestRows(items, columns)}`, dialect)
    return returning === undefined ? written : sql`${written} returning ${sql.ref(returning)}`
  })
  return async (scope, items) => {
    if (!scope.storage.dialect.writesRowByRow) {
      const written = (await all(scope, { items })) as Values<C>[]
      return key === undefined ? [] : written.map((row) => row[key])
    }
    const written = await Promise.all(items.map((item) => one(scope, item)))
    return key === undefined ? [] : items.filter((_, at) => written[at]! > 0).map((item) => item[key])
  }
}

function prepare<P extends Parameters, R, F extends string, Result>(
  parameters: P,
  build: Build<P, R, F>,
  flags: readonly F[],
  take: (result: QueryResult<R>) => Result,
  isBounded = false,
): Run<P, F, Result> {
  const compiled = new WeakMap<Dialect, Compiled<R>[]>()
  return ({ storage, transaction, clientId }, ...[values, on]: [values: Values<P>, on?: Flags<F>]) => {
    try {
      const { dialect } = storage
      const variants = compiled.get(dialect) ?? []
      if (variants.length === 0) compiled.set(dialect, variants)
      let variant = 0
      for (const flag of flags) variant = variant * 2 + (on![flag] ? 1 : 0)
      variants[variant] ??= compile(dialect, parameters, build, on!)
      const { query, fill } = variants[variant]!
      const filled = { query: query.query, queryId: query.queryId, sql: query.sql, parameters: fill(values) }
      const bounded = isBounded ? { ...filled, maxLength: (values as { max_length?: number }).max_length! } : filled
      const result = transaction ? transaction.run<R>(bounded) : storage.read<R>(bounded, clientId)
      return 'then' in result ? result.then(take) : Promise.resolve(take(result))
    } catch (error) {
      return Promise.reject(error)
    }
  }
}

function compile<P extends Parameters, R, F extends string>(
  dialect: Dialect,
  parameters: P,
  build: Build<P, R, F>,
  flags: Flags<F>,
): Compiled<R> {
  const { builder } = dialect
  const slots = Object.fromEntries(
    Object.entries(parameters).map(([name, parameter]) => [name, dialect.slot(new SlotMark(name, parameter))]),
  ) as Slots<P>
  const query = build(builder, slots, dialect, flags).compile(builder)
  const marks = query.parameters
  const fill = (values: Record<string, unknown>) =>
    marks.map((mark) => {
      if (!(mark instanceof SlotMark)) return mark
      const value = values[mark.name]
      if (value === undefined) throw new TypeError(`The parameter ${mark.name} is missing: ${query.sql}`)
      return value === null ? null : dialect.bind(mark, value)
    })
  return { query, fill }
}
