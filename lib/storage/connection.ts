import type { CompiledQuery, QueryResult } from 'kysely'

/** A compiled query with its parameters. */
export interface Query extends CompiledQuery {
  /**
   * On a connection that reads row by row, reading stops once the texts of the rows have this length together, in UTF-16
   * code units. The last row may exceed it. Other connections return all rows.
   */
  readonly maxLength?: number
}

/** The result of a query. A synchronous driver returns it directly, which saves a promise per statement. */
export type Result<R> = QueryResult<R> | Promise<QueryResult<R>>

/** Runs compiled queries one after another. */
export interface Connection {
  run<R>(query: Query): Result<R>
}

/** Whether a result must be awaited. */
export function isPending<R>(result: Result<R>): result is Promise<QueryResult<R>> {
  return 'then' in result
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
