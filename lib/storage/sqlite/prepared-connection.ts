import type { QueryResult } from 'kysely'
import { BoundedCache } from '../../bounded-cache.ts'
import type { Connection, Query } from '../connection.ts'
import type { SqliteHandle, SqliteStatement } from './handle.ts'

/** Caches prepared statements, because preparing a statement costs twice as much as running it. */
export class PreparedConnection implements Connection {
  readonly #statements = new BoundedCache<string, SqliteStatement>(500)
  readonly #prepare: (sql: string) => SqliteStatement

  constructor(handle: Pick<SqliteHandle, 'prepare'>) {
    this.#prepare = (sql) => {
      const statement = handle.prepare(sql)
      statement.safeIntegers?.(false) // a host may have set the handle's default to BigInt
      return statement
    }
  }

  run<R>({ sql, parameters, maxLength }: Query): QueryResult<R> {
    const statement = this.#statements.get(sql, this.#prepare)
    if (maxLength !== undefined) return { rows: readUntil(maxLength, statement.pluck().iterate(...parameters)) as R[] }
    if (statement.reader) return { rows: statement.all(...parameters) as R[] }
    const { changes, lastInsertRowid } = statement.run(...parameters)
    return { rows: [], numAffectedRows: BigInt(changes), insertId: BigInt(lastInsertRowid) }
  }
}

/** SQLite builds a row when it is read, so the rest is never built. */
function readUntil(maxLength: number, texts: Iterable<unknown>): string[] {
  const read: string[] = []
  let length = 0
  for (const text of texts as Iterable<string>) {
    read.push(text)
    length += text.length
    if (length >= maxLength) break
  }
  return read
}
