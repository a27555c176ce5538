import { setImmediate } from 'node:timers'
import type { QueryResult } from 'kysely'
import { closed } from '../../errors.ts'
import { type Connection, plainQuery, type Query } from '../connection.ts'
import { type ErrorMapper, isLocked } from './database-errors.ts'
import { groupLimits, lockedTooLong } from './group.ts'
import type { SqliteHandle } from './handle.ts'
import type { PreparedConnection } from './prepared-connection.ts'

const begin = plainQuery('begin')
const end = plainQuery('commit')

/** Maximum time of reads in one turn of the event loop. At least one read runs in each turn. */
const maxTurnMs = 5

interface PendingRead {
  readonly query: Query
  readonly resolve: (result: QueryResult<never> | Promise<QueryResult<never>>) => void
  readonly reject: (error: unknown) => void
}

/**
 * Reads committed rows. On a connection shared with the writer, it waits until no transaction is open. It collects the
 * reads of one turn of the event loop and runs them together under one lock. If reads alternated with other work, each
 * would find the processor's caches cold, which doubles its time.
 */
export class Reader implements Connection {
  readonly #connection: PreparedConnection
  readonly #handle: SqliteHandle
  readonly #toMailkeepError: ErrorMapper
  #pending: PendingRead[] = []
  #closed = false

  constructor(connection: PreparedConnection, handle: SqliteHandle, toMailkeepError: ErrorMapper) {
    this.#connection = connection
    this.#handle = handle
    this.#toMailkeepError = toMailkeepError
  }

  /** Rejects all later reads. The handle itself may belong to the host and stay open. */
  close(): void {
    this.#closed = true
  }

  /** @throws MailkeepError `unavailable` */
  refuseClosed(): void {
    if (this.#closed) throw closed()
  }

  run<R>(query: Query): Promise<QueryResult<R>> {
    if (this.#closed) return Promise.reject(closed())
    return new Promise<QueryResult<R>>((resolve, reject) => {
      if (this.#pending.length === 0) setImmediate(() => this.#readPending())
      this.#pending.push({ query, resolve, reject })
    })
  }

  #readPending(): void {
    const pending = this.#pending
    this.#pending = []
    if (this.#handle.inTransaction) for (const { query, resolve } of pending) resolve(this.#readLater(query))
    else if (pending.length === 1) this.#readAll(pending)
    else this.#withReadLock(() => this.#readAll(pending))
  }

  #readAll(pending: readonly PendingRead[]): void {
    const endsMs = performance.now() + maxTurnMs
    for (const [at, { query, resolve, reject }] of pending.entries()) {
      if (performance.now() > endsMs) {
        this.#postpone(pending.slice(at))
        return
      }
      try {
        resolve(this.#connection.run(query))
      } catch (error) {
        reject(this.#toMailkeepError(error))
      }
    }
  }

  /** Moves the remaining reads to the next turn. The results so far can be sent first, which frees their memory. */
  #postpone(rest: readonly PendingRead[]): void {
    if (this.#pending.length === 0) setImmediate(() => this.#readPending())
    this.#pending.unshift(...rest)
  }

  #withReadLock(read: () => void): void {
    this.#try(begin)
    read()
    // A read error may have ended the transaction.
    if (this.#handle.inTransaction) this.#try(end)
  }

  /** Ignores errors, because each read that follows reports the same problem. */
  #try(control: Query): void {
    try {
      this.#connection.run(control)
    } catch {}
  }

  async #readLater<R>(query: Query): Promise<QueryResult<R>> {
    await retryWhileLocked(() => !this.#handle.inTransaction)
    try {
      return this.#connection.run(query)
    } catch (error) {
      throw this.#toMailkeepError(error)
    }
  }
}

/** Retries for 5 s while `attempt` returns false or fails on a lock. It does not block the thread. */
export async function retryWhileLocked(attempt: () => unknown): Promise<void> {
  const deadlineMs = performance.now() + groupLimits.lockMs
  for (let pauseMs = 0; performance.now() < deadlineMs; pauseMs = Math.min(pauseMs + 1, 20)) {
    try {
      if (attempt() !== false) return
    } catch (error) {
      if (!isLocked(error)) throw error
    }
    await new Promise((resolve) => (pauseMs === 0 ? setImmediate(resolve) : setTimeout(resolve, pauseMs)))
  }
  throw lockedTooLong()
}
