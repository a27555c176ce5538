import { setImmediate } from 'node:timers'
import type { CompiledQuery, QueryResult } from 'kysely'
import { MailkeepError } from '../../errors.ts'
import { closedMessage } from '../closed.ts'
import { type Connection, plainQuery, type Storage } from '../connection.ts'
import { unlocked } from './locks.ts'
import type { PreparedConnection } from './prepared-connection.ts'

const begin = plainQuery('begin')
const end = plainQuery('commit')

/** After so long other work of the process gets a turn. At least one read is answered in each. */
const maxTurnMs = 5

interface Asked {
  readonly query: CompiledQuery
  readonly resolve: (result: QueryResult<never> | Promise<QueryResult<never>>) => void
  readonly reject: (error: unknown) => void
}

/**
 * Reads what is committed: on a connection shared with the writer it waits until no transaction is open. What is asked
 * in one turn of the event loop is read together, at its end, under one lock: among the work of servers each read would
 * find the processor's caches cold, which doubles its time.
 */
export class Reader implements Connection {
  readonly #connection: PreparedConnection
  readonly #handle: { readonly inTransaction: boolean }
  readonly #failure: Storage['toMailkeepError']
  #asked: Asked[] = []
  #closed = false

  constructor(
    connection: PreparedConnection,
    handle: { readonly inTransaction: boolean },
    failure: Storage['toMailkeepError'],
  ) {
    this.#connection = connection
    this.#handle = handle
    this.#failure = failure
  }

  /** Refuses all later reads: the handle may be the host's, and stay open. */
  close(): void {
    this.#closed = true
  }

  /** @throws MailkeepError `unavailable` */
  refuseClosed(): void {
    if (this.#closed) throw new MailkeepError('unavailable', closedMessage)
  }

  executeQuery<R>(query: CompiledQuery): Promise<QueryResult<R>> {
    if (this.#closed) return Promise.reject(new MailkeepError('unavailable', closedMessage))
    return new Promise<QueryResult<R>>((resolve, reject) => {
      if (this.#asked.length === 0) setImmediate(() => this.#answer())
      this.#asked.push({ query, resolve, reject })
    })
  }

  #answer(): void {
    const asked = this.#asked
    this.#asked = []
    if (this.#handle.inTransaction) for (const { query, resolve } of asked) resolve(this.#later(query))
    else if (asked.length === 1) this.#answerAll(asked)
    else this.#underOneLock(() => this.#answerAll(asked))
  }

  #answerAll(asked: readonly Asked[]): void {
    const endsMs = performance.now() + maxTurnMs
    for (const [at, { query, resolve, reject }] of asked.entries()) {
      if (performance.now() > endsMs) {
        this.#postpone(asked.slice(at))
        return
      }
      try {
        resolve(this.#connection.executeNow(query))
      } catch (error) {
        reject(this.#failure(error))
      }
    }
  }

  /** To the next turn: what was read until now can be sent, and so need not stay in memory with all that follows. */
  #postpone(rest: readonly Asked[]): void {
    if (this.#asked.length === 0) setImmediate(() => this.#answer())
    this.#asked.unshift(...rest)
  }

  #underOneLock(read: () => void): void {
    this.#try(begin)
    read()
    // An error of the file's may have ended it.
    if (this.#handle.inTransaction) this.#try(end)
  }

  /** Where this fails each read meets the fault itself, and tells of it. */
  #try(control: CompiledQuery): void {
    try {
      this.#connection.executeNow(control)
    } catch {}
  }

  async #later<R>(query: CompiledQuery): Promise<QueryResult<R>> {
    await unlocked(
      () => !this.#handle.inTransaction,
      'The database was locked by another transaction. Inside a transaction of your own? Use mailkeep.using(trx).',
    )
    try {
      return this.#connection.executeNow(query)
    } catch (error) {
      throw this.#failure(error)
    }
  }
}
