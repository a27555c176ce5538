/** A stored value. Booleans are 0 and 1; times and JSON are text. */
export type Value = string | number | null

/** A table of the source database of a copy. */
export interface SourceTable {
  readonly name: string
  readonly columns: readonly string[]
  /** The columns of its primary key, in order. */
  readonly key: readonly string[]
  readonly rows: number
  /** Highest id ever assigned; 0 for a table without generated ids. */
  readonly lastId: number
}

/** The rows of a database that is locked against changes. */
export interface RowSource {
  /** Identifies the state of the database. It differs after every change. */
  readonly fingerprint: string
  readonly tables: readonly SourceTable[]
  /**
   * @param after The key of the last row read; undefined begins at the first row.
   * @returns the rows after it in the order of the key. The values are in the order of the columns.
   */
  read(table: SourceTable, after: readonly Value[] | undefined, limit: number): readonly (readonly Value[])[]
}

export interface CopyProgress {
  /** Number of copied rows. */
  readonly done: number
  readonly total: number
  /** Table that is being copied, or the name of the current step. */
  readonly what: string
}
