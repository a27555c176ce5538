import type { CompiledQuery, QueryResult } from 'kysely'

/** A compiled query with its parameters. */
export interface Query extends CompiledQuery {
  /**
   * Only for a connection that reads row by row, and a query of one column of texts. The rows are the texts. Reading stops
   * once they have this length together, in UTF-16 code units. The last one may exceed it.
   */
  readonly maxLength?: number
}

/** The result of a query. A synchronous driver returns it directly, which saves a promise per statement. */
export type Result<R> = QueryResult<R> | Promise<QueryResult<R>>

/** Runs compiled queries one after another. */
export interface Connection {
  run<R>(query: Query): Result<R>
}

/** Returns a query without parameters, for transaction control and migrations. */
export function plainQuery(sql: string): CompiledQuery {
  return {
    query: { kind: 'RawNode', sqlFragments: [sql], parameters: [] } as never,
    queryId: { queryId: sql },
    sql,
    parameters: [],
  }
}
