import { createHash } from 'node:crypto'
import type { CompiledQuery, QueryResult } from 'kysely'
import { MailkeepError } from '../../errors.ts'
import type { Logger } from '../../logger.ts'
import { closedMessage } from '../closed.ts'
import type { Connection } from '../connection.ts'
import { DatabaseError, toMailkeepError } from './database-errors.ts'
import { customPlanMark } from './dialect.ts'
import { type DriverPool, type DriverResult, ignoreErrorEvents, type PooledClient } from './driver.ts'
import { rowTypes } from './values.ts'

export interface ConnectionLimits {
  /** Waiting for a connection at most; more are refused. */
  readonly waiting: number
  /** How long each waits. */
  readonly waitMs: number
  /** How long a statement may take, seen from here: the server's own limit comes first, if it still answers. */
  readonly answerMs: number
}

export const connectionLimits: ConnectionLimits = { waiting: 10_000, waitMs: 5000, answerMs: 35_000 }

/** Statements kept on a connection at most. The library's own are a closed set, far smaller. */
const keptStatements = 1000
/** A lost connection is noticed at its next statement; the pool may hold more of them. */
const freshAttempts = 3

/** One connection while it is held. */
export class Session implements Connection {
  readonly #client: PooledClient
  readonly #nameOf: (sql: string) => string | undefined
  /** No time-out of ours: a migration takes as long as it takes. */
  unlimited = false
  /** Whether the connection must not be used again. */
  broken = false
  readonly #answerMs: number

  constructor(client: PooledClient, nameOf: (sql: string) => string | undefined, answerMs: number) {
    this.#client = client
    this.#nameOf = nameOf
    this.#answerMs = answerMs
  }

  async executeQuery<R>(query: CompiledQuery): Promise<QueryResult<R>> {
    const { rows, rowCount } = await this.ask(query.sql, query.parameters)
    return { rows: rows as R[], numAffectedRows: BigInt(rowCount ?? 0) }
  }

  /** @throws Fault */
  async ask(text: string, values: readonly unknown[] = []): Promise<DriverResult> {
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
      const fault = new DatabaseError(error)
      this.broken ||= fault.kind === 'lost' || fault.kind === 'stale'
      throw fault
    }
  }
}

/** Hands connections of a pool out, in the order in which they are asked for, and never waits without a bound. */
export class Connections {
  readonly #pool: DriverPool
  readonly #limits: ConnectionLimits
  readonly #names: Map<string, string> | undefined
  readonly #onIdleError: (error: Error) => void
  #held = 0
  #closed = false
  #whenIdle: (() => void) | undefined

  /** @param prepare Whether the server keeps our statements; not behind a pooler that hands out its connections. */
  constructor(pool: DriverPool, logger: Logger, prepare: boolean, limits: ConnectionLimits = connectionLimits) {
    this.#pool = pool
    this.#limits = limits
    this.#names = prepare ? new Map() : undefined
    // Without a listener an idle connection's end would end the process.
    this.#onIdleError = (error) => logger.debug({ err: error }, 'an idle database connection ended')
    pool.on('error', this.#onIdleError)
    // The pool removes its own listener right after this event, before `connect()` resolves. New clients and those
    // that a host's pool had before pass here alike.
    pool.on('acquire', ignoreErrorEvents)
  }

  /**
   * Does `work` on a connection of its own.
   *
   * @throws Fault; MailkeepError `unavailable`: closing, none to be had in time, or too many are waiting.
   */
  async use<T>(work: (session: Session) => Promise<T>): Promise<T> {
    this.#held += 1
    try {
      return await this.#useHeld(work)
    } finally {
      this.#held -= 1
      if (this.#held === 0) this.#whenIdle?.()
    }
  }

  /**
   * Waits for what is under way.
   *
   * @param end Whether the pool is ours to end.
   */
  async close(end: boolean): Promise<void> {
    if (this.#closed) return
    this.#closed = true
    if (this.#held > 0) await new Promise<void>((resolve) => (this.#whenIdle = resolve))
    // Ours still has connections that are just being ended: what the server says to them then must be heard, too.
    if (end) {
      await this.#pool.end()
    } else {
      this.#pool.off('error', this.#onIdleError)
      this.#pool.off('acquire', ignoreErrorEvents)
    }
  }

  async #useHeld<T>(work: (session: Session) => Promise<T>): Promise<T> {
    const client = await this.#acquire()
    ignoreErrorEvents(client) // in case the host's pool emits no `acquire`
    const session = new Session(client, this.#nameOf, this.#limits.answerMs)
    try {
      return await work(session)
    } finally {
      client.release(session.broken)
    }
  }

  async #acquire(): Promise<PooledClient> {
    if (this.#closed) throw new MailkeepError('unavailable', closedMessage)
    if (this.#pool.waitingCount >= this.#limits.waiting) {
      throw new MailkeepError('unavailable', 'Too many requests wait for the database: try again shortly.')
    }
    try {
      return await inTime(this.#pool.connect(), this.#limits.waitMs)
    } catch (error) {
      throw new MailkeepError('unavailable', 'The database gives no connection: try again shortly.', { cause: error })
    }
  }

  /** Of the text itself: another mailkeep on the same pool has the same name for it. */
  readonly #nameOf = (sql: string): string | undefined => {
    const names = this.#names
    if (!names) return undefined
    const known = names.get(sql)
    if (known !== undefined) return known
    if (names.size >= keptStatements || sql.startsWith(customPlanMark)) return undefined
    const name = `mailkeep_${createHash('sha256').update(sql).digest('base64url').slice(0, 22)}`
    names.set(sql, name)
    return name
  }
}

/** Reads what is committed. */
export class Reader implements Connection {
  readonly #connections: Connections

  constructor(connections: Connections) {
    this.#connections = connections
  }

  async executeQuery<R>(query: CompiledQuery): Promise<QueryResult<R>> {
    for (let attempt = 1; ; attempt++) {
      try {
        return await this.#connections.use((session) => session.executeQuery<R>(query))
      } catch (error) {
        const isFresh = error instanceof DatabaseError && (error.kind === 'lost' || error.kind === 'stale')
        if (!isFresh || attempt >= freshAttempts) throw toMailkeepError(error)
      }
    }
  }
}

/** A host's pool may wait without a bound; what comes too late is given back. */
async function inTime(connecting: Promise<PooledClient>, waitMs: number): Promise<PooledClient> {
  let timer: NodeJS.Timeout | undefined
  let late = false
  const given = connecting.then((client) => {
    if (late) client.release()
    return client
  })
  const timeout = new Promise<never>((_, reject) => {
    timer = setTimeout(() => {
      late = true
      reject(new Error(`none was free within ${waitMs / 1000} s`))
    }, waitMs)
  })
  try {
    return await Promise.race([given, timeout])
  } finally {
    clearTimeout(timer)
  }
}
