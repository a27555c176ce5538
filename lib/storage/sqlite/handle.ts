/** What mailkeep uses of better-sqlite3's `Database`. Any of its versions fits, without its types being installed. */
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

/** What mailkeep uses of better-sqlite3's `Statement`. */
export interface SqliteStatement {
  /** Whether the statement returns rows. */
  readonly reader: boolean
  all(...values: unknown[]): unknown[]
  get(...values: unknown[]): unknown
  run(...values: unknown[]): { changes: number; lastInsertRowid: number | bigint }
  pluck(): SqliteStatement
  raw(): SqliteStatement
}
