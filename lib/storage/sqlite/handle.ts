import { invalid } from '../../errors.ts'

/**
 * The part of better-sqlite3's `Database` that mailkeep uses. Every version fits, and its types need not be installed.
 */
export interface SqliteHandle {
  /** The path of the database file. */
  readonly name: string
  readonly memory: boolean
  readonly inTransaction: boolean
  prepare(sql: string): SqliteStatement
  pragma(text: string): unknown
  exec(sql: string): unknown
  close(): unknown
}

/** The part of better-sqlite3's `Statement` that mailkeep uses. */
export interface SqliteStatement {
  /** Whether the statement returns rows. */
  readonly reader: boolean
  all(...values: unknown[]): unknown[]
  iterate(...values: unknown[]): Iterable<unknown>
  get(...values: unknown[]): unknown
  run(...values: unknown[]): { changes: number; lastInsertRowid: number | bigint }
  pluck(): SqliteStatement
  /** Whether integers are returned as BigInt. */
  safeIntegers?(on: boolean): unknown
  raw(): SqliteStatement
}

/** Returns the first column of a query's rows, as text. */
export function column(handle: SqliteHandle, sql: string, ...values: unknown[]): string[] {
  const statement = handle.prepare(sql).pluck()
  return statement.all(...values).map(String)
}

/** Returns the names of all tables of a database. */
export function tablesIn(handle: SqliteHandle): string[] {
  return column(handle, `select name from sqlite_master where type = 'table'`)
}

/** SQLite would create a file of that name. */
const url = /^(?:file:|sqlite3?:|[a-z][a-z\d+.-]*:\/\/)/i

/** @throws MailkeepError `validation_failed`: `source` is neither a path nor an open handle that may write. */
export function checkSource(source: unknown): void {
  if (typeof source === 'string' && url.test(source)) {
    throw invalid('database', "sqlite() takes the path of a file and no URL: 'mail.db' instead of 'file:mail.db'.")
  }
  if (typeof source === 'string' && source.trim() !== source) {
    // better-sqlite3 trims the name, so mailkeep would lock, watch and protect another file than it opens.
    throw invalid('database', 'The path given to sqlite() must not begin or end with white space.')
  }
  if (typeof source === 'string' && source !== '' && !source.includes('\0')) return
  const { prepare, open, readonly, inTransaction } = (source ?? {}) as Partial<Record<string, unknown>>
  if (typeof prepare !== 'function') {
    throw invalid('database', "The argument of sqlite() must be a file's path, ':memory:' or a better-sqlite3 handle.")
  }
  if (open === false) throw invalid('database', 'The better-sqlite3 handle given to sqlite() is closed.')
  if (readonly === true) {
    const message = 'The better-sqlite3 handle given to sqlite() is for reading only: open it without `readonly: true`.'
    throw invalid('database', message)
  }
  if (inTransaction === true) {
    const message =
      'The better-sqlite3 handle given to sqlite() has a transaction open: commit it or roll it back first.'
    throw invalid('database', message)
  }
}
