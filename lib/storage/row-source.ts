/** A value as a table gives it; booleans are 0 and 1, moments and JSON are text. */
export type Value = string | number | null

/** A table of a database that is being copied. */
export interface SourceTable {
  readonly name: string
  readonly columns: readonly string[]
  /** The columns of its primary key, in order. */
  readonly key: readonly string[]
  readonly rows: number
  /** The highest id it ever gave out; 0 where it gives none. */
  readonly lastId: number
}

/** All rows of a database that nobody changes meanwhile. */
export interface RowSource {
  /** Another one after any change. */
  readonly fingerprint: string
  readonly tables: readonly SourceTable[]
  /**
   * @param after The key of the last row read; undefined: from the start.
   * @returns rows beyond it, in the order of the key, their values in the order of the columns.
   */
  read(table: SourceTable, after: readonly Value[] | undefined, limit: number): readonly (readonly Value[])[]
}

export interface CopyProgress {
  /** Rows copied, of so many. */
  readonly done: number
  readonly total: number
  /** What is being copied, or done. */
  readonly what: string
}
