import type { CompiledQuery, Kysely, QueryResult, RawBuilder, Simplify } from 'kysely'
import { type Storage, type Transaction, withParameters } from './connection.ts'
import type { Dialect } from './dialect.ts'
import type { Tables } from './tables.ts'

export type ParameterType = 'int' | 'text' | 'bool' | 'time' | 'json' | 'ints' | 'texts' | 'jsons' | 'rows'

/** A named parameter of a statement: how the database takes it, and the type of its values. */
export interface Parameter<T> {
  readonly type: ParameterType
  readonly value?: T
}

export const int: Parameter<number> = { type: 'int' }
export const text: Parameter<string> = { type: 'text' }
export const bool: Parameter<boolean> = { type: 'bool' }
/** A moment, as `timestamp()` gives it. */
export const time: Parameter<string> = { type: 'time' }
/** A JSON document as text. */
export const json: Parameter<string> = { type: 'json' }
/** Lists are one parameter, whatever their length. */
export const ints: Parameter<readonly number[]> = { type: 'ints' }
export const texts: Parameter<readonly string[]> = { type: 'texts' }

/** Rows of these columns; `dialect.eachRow` makes a table of them. */
export function rows<C extends Parameters>(_columns: C): Parameter<readonly Values<C>[]> {
  return { type: 'rows' }
}

/** Text that is one of a few words. */
export function word<T extends string>(): Parameter<T> {
  return { type: 'text' }
}

export function nullable<T>(parameter: Parameter<T>): Parameter<T | null> {
  return parameter as Parameter<T | null>
}

/** Stands in a compiled text's parameters for the value to come. */
export class SlotMark {
  readonly name: string
  readonly type: ParameterType
  constructor(name: string, type: ParameterType) {
    this.name = name
    this.type = type
  }
}

/** By name. */
export type Parameters = Record<string, Parameter<unknown>>
type ValueOf<P> = P extends Parameter<infer T> ? T : never
type Slots<P extends Parameters> = { readonly [K in keyof P]: RawBuilder<ValueOf<P[K]>> }
type Values<P extends Parameters> = { readonly [K in keyof P]: ValueOf<P[K]> }
type Flags<F extends string> = { readonly [K in F]: boolean }

/** Anything of Kysely's that compiles: a query builder or a raw `sql` text. */
interface Compilable<R> {
  compile(db: Kysely<Tables>): CompiledQuery<R>
}

/** Where a statement runs: in a transaction when there is one, else on the reader. */
export interface Scope {
  readonly storage: Storage
  readonly transaction?: Transaction | undefined
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
 * A statement written with Kysely's builder over typed, named parameters; compiled at its first use on a kind of
 * database and run afterwards by filling its slots. Gives the first row, or undefined.
 *
 * @param parameters The parameters; their names are the columns' names where they are values of a row.
 * @param build Must not look at values: there are only slots.
 * @param flags Optional parts; each combination is a text of its own, compiled when first asked for.
 */
export function statement<P extends Parameters, R, F extends string = never>(
  parameters: P,
  build: Build<P, R, F>,
  flags: readonly F[] = [],
): Run<P, F, Simplify<R> | undefined> {
  return prepare(parameters, build, flags, ({ rows }) => rows[0] as Simplify<R> | undefined)
}

/** As `statement`; gives all rows. */
statement.all = <P extends Parameters, R, F extends string = never>(
  parameters: P,
  build: Build<P, R, F>,
  flags: readonly F[] = [],
): Run<P, F, Simplify<R>[]> => {
  return prepare(parameters, build, flags, ({ rows }) => rows as Simplify<R>[])
}

/** As `statement`, of an insert of one row; gives its id, or undefined when it was not inserted. */
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

/** As `statement`; gives the number of rows written. */
statement.affected = <P extends Parameters, R, F extends string = never>(
  parameters: P,
  build: Build<P, R, F>,
  flags: readonly F[] = [],
): Run<P, F, number> => {
  return prepare(parameters, build, flags, ({ numAffectedRows }) => Number(numAffectedRows ?? 0))
}

function prepare<P extends Parameters, R, F extends string, Result>(
  parameters: P,
  build: Build<P, R, F>,
  flags: readonly F[],
  take: (result: QueryResult<R>) => Result,
): Run<P, F, Result> {
  const texts = new WeakMap<Dialect, Compiled<R>[]>()
  const fillIn = (storage: Storage, values: Values<P>, on: Flags<F> | undefined) => {
    const compiled = texts.get(storage.dialect) ?? []
    if (compiled.length === 0) texts.set(storage.dialect, compiled)
    const variant = numberOf(flags, on)
    compiled[variant] ??= compile(storage, parameters, (db, slots, dialect) => build(db, slots, dialect, on!))
    const { query, fill } = compiled[variant]
    return withParameters(query, fill(values))
  }
  return ({ storage, transaction }, ...[values, on]: [values: Values<P>, on?: Flags<F>]) => {
    const connection = transaction ?? storage.reader
    try {
      const query = fillIn(storage, values, on)
      const result = connection.executeNow?.<R>(query)
      return result ? Promise.resolve(take(result)) : connection.executeQuery<R>(query).then(take)
    } catch (error) {
      return Promise.reject(error)
    }
  }
}

function numberOf<F extends string>(flags: readonly F[], on: Flags<F> | undefined): number {
  let variant = 0
  for (const flag of flags) variant = variant * 2 + (on![flag] ? 1 : 0)
  return variant
}

function compile<P extends Parameters, R>(
  { builder, dialect }: Storage,
  parameters: P,
  build: (db: Kysely<Tables>, slots: Slots<P>, dialect: Dialect) => Compilable<R>,
): Compiled<R> {
  const slots = Object.fromEntries(
    Object.entries(parameters).map(([name, { type }]) => [name, dialect.slot(new SlotMark(name, type))]),
  ) as Slots<P>
  const query = build(builder, slots, dialect).compile(builder)
  const marks = query.parameters
  const fill = (values: Record<string, unknown>) =>
    marks.map((mark) => {
      if (!(mark instanceof SlotMark)) return mark
      const value = values[mark.name]
      if (value === undefined) throw new TypeError(`The parameter ${mark.name} is missing: ${query.sql}`)
      return value === null ? null : dialect.bind(mark.type, value)
    })
  return { query, fill }
}
