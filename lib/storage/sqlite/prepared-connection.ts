import type { CompiledQuery, QueryResult } from 'kysely'
import { BoundedCache } from '../../bounded-cache.ts'
import type { Connection } from '../connection.ts'

/** The part of better-sqlite3's `Database` that this module uses. */
interface Handle {
  prepare(sql: string): Statement
}

interface Statement {
  readonly reader: boolean
  all(...values: unknown[]): unknown[]
  run(...values: unknown[]): { changes: number; lastInsertRowid: number | bigint }
}

/**
 * SQLite uses the value of a plain `limit ?` for its plan, and recompiles the statement at each binding. A cast avoids
 * it.
 */
const bareLimit = /\blimit \?/g

/** Caches prepared statements, because preparing a statement costs twice as much as running it. */
export class PreparedConnection implements Connection {
  readonly #statements = new BoundedCache<string, Statement>(500)
  readonly #prepare: (sql: string) => Statement

  constructor(handle: Handle) {
    this.#prepare = (sql) => handle.prepare(sql.replaceAll(bareLimit, 'limit cast(? as integer)'))
  }

  async executeQuery<R>(query: CompiledQuery): Promise<QueryResult<R>> {
    return this.executeNow(query)
  }

  executeNow<R>({ sql, parameters }: CompiledQuery): QueryResult<R> {
    const statement = this.#statements.get(sql, this.#prepare)
    if (statement.reader) return { rows: statement.all(...parameters) as R[] }
    const { changes, lastInsertRowid } = statement.run(...parameters)
    return { rows: [], numAffectedRows: BigInt(changes), insertId: BigInt(lastInsertRowid) }
  }
}
