import { setImmediate } from 'node:timers'
import type { CompiledQuery, QueryResult } from 'kysely'
import type { Connection } from '../connection.ts'
import type { KeptConnection } from './kept-connection.ts'
import { unlocked } from './locks.ts'

interface Asked {
  readonly query: CompiledQuery
  readonly resolve: (result: QueryResult<never> | Promise<QueryResult<never>>) => void
  readonly reject: (error: unknown) => void
}

/**
 * Reads what is committed: on a connection shared with the writer it waits until no transaction is open. What is asked
 * in one turn of the event loop is read together, at its end: among the work of servers each read would find the
 * processor's caches cold, which doubles its time.
 */
export class Reader implements Connection {
  readonly #connection: KeptConnection
  readonly #handle: { readonly inTransaction: boolean }
  #asked: Asked[] = []

  constructor(connection: KeptConnection, handle: { readonly inTransaction: boolean }) {
    this.#connection = connection
    this.#handle = handle
  }

  executeQuery<R>(query: CompiledQuery): Promise<QueryResult<R>> {
    return new Promise<QueryResult<R>>((resolve, reject) => {
      if (this.#asked.length === 0) setImmediate(() => this.#answer())
      this.#asked.push({ query, resolve, reject })
    })
  }

  #answer(): void {
    const asked = this.#asked
    this.#asked = []
    for (const { query, resolve, reject } of asked) {
      try {
        resolve(this.#handle.inTransaction ? this.#later(query) : this.#connection.executeNow(query))
      } catch (error) {
        reject(error)
      }
    }
  }

  async #later<R>(query: CompiledQuery): Promise<QueryResult<R>> {
    await unlocked(
      () => !this.#handle.inTransaction,
      'The database was locked by another transaction. Inside a transaction of your own? Use mailkeep.using(trx).',
    )
    return await this.#connection.executeQuery(query)
  }
}
