import { hash } from 'node:crypto'
import { setTimeout as delay } from 'node:timers/promises'
import type { QueryResult } from 'kysely'
import { ClientTurns } from '../../client-turns.ts'
import { closed, MailkeepError } from '../../errors.ts'
import type { Logger } from '../../logger.ts'
import { inTime } from '../../time-limit.ts'
import type { Connection, Query } from '../connection.ts'
import type { Database } from '../database.ts'
import { destroyed } from '../kysely-connection.ts'
import { DatabaseError, sqlStateOf, toMailkeepError } from './database-errors.ts'
import { customPlanMark } from './dialect.ts'
import { type DriverPool, type DriverResult, ignoreErrorEvents, type PooledClient } from './driver.ts'
import { rowTypes } from './values.ts'

interface ConnectionLimits {
  /** Maximum requests that wait for a connection, in all and of one client. Further requests are rejected. */
  readonly waiting: number
  readonly waitingOfClient: number
  /** Maximum time that a request waits for a connection. */
  readonly waitMs: number
  /**
   * Client-side timeout of a statement. The server's limit is lower, so this one applies only if the server is gone.
   */
  readonly answerMs: number
}

export const connectionLimits: ConnectionLimits = {
  waiting: 10_000,
  waitingOfClient: 7500,
  waitMs: 5000,
  answerMs: 35_000,
}

/** Part of the connections that one client may use at a time. */
const clientShare = 0.9
/** SQLSTATE of a server, database or role whose limit of connections is reached. */
const tooManyConnections = '53300'
/** Wait before the next attempt to connect when that limit is reached. */
const connectRetryMs = 100
/** Maximum prepared statements per connection. The library has far fewer. */
const maxPreparedStatements = 1000
/** Attempts of a read. A lost connection fails at its next statement, and the pool may hold several. */
const maxReadAttempts = 3

/** One connection of the pool, for as long as it is in use. */
export class Session implements Connection {
  readonly #client: PooledClient
  readonly #nameOf: (sql: string) => string | undefined
  /** Whether to run statements without the client-side timeout, as migrations need it. */
  unlimited = false
  /** Whether the connection must not be used again. */
  broken = false
  /** The error of the first statement that failed. */
  failure: DatabaseError | undefined
  readonly #answerMs: number
  /** Resolves when the statement that was sent last has its answer. */
  #last: Promise<unknown> = Promise.resolve()

  constructor(client: PooledClient, nameOf: (sql: string) => string | undefined, answerMs: number) {
    this.#client = client
    this.#nameOf = nameOf
    this.#answerMs = answerMs
  }

  async run<R>(query: Query): Promise<QueryResult<R>> {
    const { rows, rowCount } = await this.ask(query.sql, query.parameters)
    return { rows: rows as R[], numAffectedRows: BigInt(rowCount ?? 0) }
  }

  /**
   * Statements that are asked together are sent together, if the driver can do it. The server runs them in order.
   *
   * @throws DatabaseError
   */
  ask(text: string, values: readonly unknown[] = []): Promise<DriverResult> {
    if (this.#client.pipeline) return this.#send(text, values)
    const answer = this.#last.then(() => this.#send(text, values))
    this.#last = answer.catch(() => {})
    return answer
  }

  async #send(text: string, values: readonly unknown[]): Promise<DriverResult> {
    const name = values.length > 0 ? this.#nameOf(text) : undefined
    try {
      return await this.#client.query({
        text,
        values: values as unknown[],
        types: rowTypes,
        ...(name === undefined ? {} : { name }),
        ...(this.unlimited ? {} : { query_timeout: this.#answerMs }),
      })
    } catch (error) {
      const mapped = new DatabaseError(error)
      this.broken ||= mapped.kind === 'lost' || mapped.kind === 'stale'
      this.failure ??= mapped
      throw mapped
    }
  }
}

/** A connection of the pool, lent to one caller. */
interface Loan {
  readonly client: PooledClient
  /** Returns the connection to the pool, or closes it if `end` is true. */
  readonly release: (end: boolean) => void
}

/** Lends the connections of a pool in FIFO order, with a limited queue and a limited waiting time. */
export class Connections {
  readonly #pool: DriverPool
  readonly #limits: ConnectionLimits
  /**
   * Leaves connections to other clients. Otherwise a client with many requests that wait for one lock would keep all of
   * them. Undefined if the size of the pool is not known.
   */
  readonly #turns: ClientTurns | undefined
  readonly #names: Map<string, string> | undefined
  readonly #onIdleError: (error: Error) => void
  #inUse = 0
  #closed = false
  #whenIdle: (() => void) | undefined

  /** @param prepare Whether to use prepared statements. They do not work behind a pooler in transaction mode. */
  constructor(pool: DriverPool, logger: Logger, prepare: boolean, limits: ConnectionLimits = connectionLimits) {
    this.#pool = pool
    this.#limits = limits
    const size = pool.options?.max
    this.#turns = size ? new ClientTurns({ ofClient: Math.ceil(size * clientShare) }) : undefined
    this.#names = prepare ? new Map() : undefined
    // Without a listener, Node would end the process when an idle connection is closed.
    this.#onIdleError = (error) => logger.debug({ err: error }, 'an idle database connection ended')
    pool.on('error', this.#onIdleError)
    // The pool removes its own `error` listener right after this event, before `connect()` resolves. The event covers
    // new clients and those that a host's pool already had.
    pool.on('acquire', ignoreErrorEvents)
  }

  /** Number of calls that wait for a connection. */
  get waiting(): number {
    return this.#pool.waitingCount + (this.#turns?.waiting ?? 0)
  }

  /**
   * Runs `work` on a connection that nothing else uses.
   *
   * @param clientId The client for whom it runs; 0 for no particular client.
   * @throws DatabaseError; MailkeepError `unavailable`: mailkeep is closing, no connection was free in time, or too
   *   many requests are waiting.
   */
  async use<T>(clientId: number, work: (session: Session) => Promise<T>): Promise<T> {
    this.#inUse += 1
    try {
      return await this.#useConnection(clientId, work)
    } finally {
      this.#inUse -= 1
      if (this.#inUse === 0) this.#whenIdle?.()
    }
  }

  /**
   * Waits until all connections are returned.
   *
   * @param end Whether to end the pool. False for a host's pool.
   */
  async close(end: boolean): Promise<void> {
    if (this.#closed) return
    this.#closed = true
    if (this.#inUse > 0) await new Promise<void>((resolve) => (this.#whenIdle = resolve))
    // Keep the listeners on our own pool, because its connections can emit errors while they are being closed.
    if (end) {
      await this.#pool.end()
    } else {
      this.#pool.off('error', this.#onIdleError)
      this.#pool.off('acquire', ignoreErrorEvents)
    }
  }

  async #useConnection<T>(clientId: number, work: (session: Session) => Promise<T>): Promise<T> {
    const { client, release } = await this.#acquire(clientId)
    ignoreErrorEvents(client) // in case the host's pool emits no `acquire`
    const session = new Session(client, this.#nameOf, this.#limits.answerMs)
    try {
      return await work(session)
    } finally {
      release(session.broken)
    }
  }

  async #acquire(clientId: number): Promise<Loan> {
    if (this.#closed) throw closed()
    const { waiting, waitingOfClient } = this.#limits
    if (this.waiting >= waiting || (this.#turns?.waitingOf(clientId) ?? 0) >= waitingOfClient) {
      throw new MailkeepError('unavailable', 'Too many requests wait for the database: try again shortly.')
    }
    try {
      return await this.#borrowInTime(clientId)
    } catch (error) {
      const unusable = destroyed(error) ?? ended(error)
      if (unusable) throw unusable
      throw new MailkeepError('unavailable', 'No database connection is available: try again shortly.', {
        cause: error,
      })
    }
  }

  /** Limits the wait, because a host's pool may have no limit. Returns a late connection to the pool. */
  #borrowInTime(clientId: number): Promise<Loan> {
    const { waitMs } = this.#limits
    const borrowing = this.#borrow(clientId)
    return inTime(borrowing, waitMs, () => {
      borrowing.then(({ release }) => release(false)).catch(() => {})
      throw new Error(`no connection was free within ${waitMs / 1000} s`)
    })
  }

  async #borrow(clientId: number): Promise<Loan> {
    const endTurn = await this.#turns?.begin(clientId)
    try {
      const client = await this.#connect()
      const release = (end: boolean) => {
        client.release(end)
        endTurn?.()
      }
      return { client, release }
    } catch (error) {
      endTurn?.()
      throw error
    }
  }

  /** While the server has no connection left, waits for one of this pool or of another program to be returned. */
  async #connect(): Promise<PooledClient> {
    const endMs = performance.now() + this.#limits.waitMs
    for (;;) {
      try {
        return await this.#pool.connect()
      } catch (error) {
        if (sqlStateOf(error as Error) !== tooManyConnections || performance.now() > endMs) throw error
        await delay(connectRetryMs)
      }
    }
  }

  /** Derives the name from the SQL text, so that another mailkeep on the same pool uses the same name. */
  readonly #nameOf = (sql: string): string | undefined => {
    const names = this.#names
    if (!names) return undefined
    const known = names.get(sql)
    if (known !== undefined) return known
    if (names.size >= maxPreparedStatements || sql.startsWith(customPlanMark)) return undefined
    const name = `mailkeep_${hash('sha256', sql, 'base64url').slice(0, 22)}`
    names.set(sql, name)
    return name
  }
}

/** Returns a connection that reads committed rows. It retries a read whose connection was lost. */
export function readerOn(connections: Connections): { readonly run: Database['read'] } {
  return {
    async run<R>(query: Query, clientId = 0): Promise<QueryResult<R>> {
      for (let attempt = 1; ; attempt++) {
        try {
          return await connections.use(clientId, (session) => session.run<R>(query))
        } catch (error) {
          const canRetry = error instanceof DatabaseError && (error.kind === 'lost' || error.kind === 'stale')
          if (!canRetry || attempt >= maxReadAttempts) throw toMailkeepError(error)
        }
      }
    },
  }
}

/** Returns the error for a pool that the host has ended; undefined for other errors. */
function ended(error: unknown): MailkeepError | undefined {
  if (!(error instanceof Error) || error.message !== 'Cannot use a pool after calling end on the pool') return undefined
  const message = 'The pg pool was ended: close mailkeep before it, and open both again.'
  return new MailkeepError('unavailable', message, { cause: error })
}
