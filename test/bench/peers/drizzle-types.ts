/** What the service uses of Drizzle, which is not installed when types are checked. */
import type Database from 'better-sqlite3'

export type Column = { primaryKey(): Column; notNull(): Column }
export type Table = Readonly<Record<string, Column>>
type Values = Readonly<Record<string, unknown>>
export type Row = Readonly<Record<string, unknown>>

export interface Query {
  from(table: Table): Query
  innerJoin(table: Table, on: object): Query
  where(condition: object | undefined): Query
  orderBy(...columns: object[]): Query
  limit(count: number): Query
  values(values: Values): Query
  onConflictDoNothing(): Query
  onConflictDoUpdate(change: { target: readonly Column[]; set: Values }): Query
  returning(columns?: Values): Query
  prepare(): Prepared
}

export interface Prepared {
  all(values: Values): Row[]
  get(values: Values): Row | undefined
  run(values: Values): unknown
}

export interface Drizzle {
  drizzle(options: { client: Database.Database }): {
    select(columns?: Values): Query
    insert(table: Table): Query
    transaction<T>(work: () => T, options: object): T
  }
}

export interface SqliteCore {
  sqliteTable(name: string, columns: Table): Table
  integer(name: string): Column
  text(name: string, options?: object): Column
}

type Sql = ((parts: TemplateStringsArray, ...values: unknown[]) => object) & { placeholder(name: string): object }

export interface Operators {
  and(...conditions: (object | undefined)[]): object
  eq(column: unknown, value: unknown): object
  gt(column: unknown, value: unknown): object
  isNull(column: unknown): object
  getTableColumns(table: Table): Values
  readonly sql: Sql
}
