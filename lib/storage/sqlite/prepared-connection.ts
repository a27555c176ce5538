import type { CompiledQuery, QueryResult } from 'kysely'
import { BoundedCache } from '../../bounded-cache.ts'
import type { Connection } from '../connection.ts'

/** What is needed of better-sqlite3's `Database`. */
interface Handle {
  prepare(sql: string): Statement
}

interface Statement {
  readonly reader: boolean
  all(...values: unknown[]): unknown[]
  run(...values: unknown[]): { changes: number; lastInsertRowid: number | bigint }
}

/** SQLite looks at the value of a bare one while it plans, and so compiles the text again whenever it is bound. */
const bareLimit = /\blimit \?/g

/** Prepared statements kept: preparing anew costs twice as much as running. */
export class PreparedConnection implements Connection {
  readonly #kept = new BoundedCache<string, Statement>(500)
  readonly #prepare: (sql: string) => Statement

  constructor(handle: Handle) {
    this.#prepare = (sql) => handle.prepare(sql.replaceAll(bareLimit, 'limit cast(? as integer)'))
  }

  async executeQuery<R>(query: CompiledQuery): Promise<QueryResult<R>> {
    return this.executeNow(query)
  }

  executeNow<R>({ sql, parameters }: CompiledQuery): QueryResult<R> {
    const statement = this.#kept.get(sql, this.#prepare)
    if (statement.reader) return { rows: statement.all(...parameters) as R[] }
    const { changes, lastInsertRowid } = statement.run(...parameters)
    return { rows: [], numAffectedRows: BigInt(changes), insertId: BigInt(lastInsertRowid) }
  }
}
