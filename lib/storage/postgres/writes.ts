import type { CompiledQuery, QueryResult } from 'kysely'
import { MailkeepError } from '../../errors.ts'
import type { Transaction, Work } from '../connection.ts'
import { awaitsElsewhere, misuse, transactionIsOver } from '../operation.ts'
import type { Connections, Session } from './connections.ts'
import { DatabaseError, type DatabaseErrorKind, toMailkeepError } from './database-errors.ts'

/** Whatever the server's or the role's defaults are. */
const begin = 'begin isolation level read committed read write'

/**
 * Held until the transaction ends, by one process at a time for each schema. The wait for it, and what it guards, may
 * take longer than any request.
 */
const alone = [
  'set local lock_timeout = 0',
  'set local statement_timeout = 0',
  'set local idle_in_transaction_session_timeout = 0',
  `select pg_advisory_xact_lock(hashtextextended('mailkeep ' || current_schema(), 0))`,
]

/** How often work is run at most, by what undid it. */
const attempts: Readonly<Record<DatabaseErrorKind, number>> = {
  again: 8,
  raced: 3,
  stale: 3,
  lost: 3,
  busy: 1,
  refused: 1,
}

/** Before a next attempt, in milliseconds: doubled each time, and a random part of it, so that two do not meet again. */
const firstPauseMs = 4
const longestPauseMs = 250

/** Runs work as a transaction on a connection of its own; where another transaction undid it, again. */
export class Writes {
  readonly #connections: Connections

  constructor(connections: Connections) {
    this.#connections = connections
  }

  /** @throws MailkeepError `unavailable`, `conflict`, `not_found`; and whatever `work` throws. */
  write<T>(work: Work<T>): Promise<T> {
    return this.#repeat((session) => this.#transaction(session, [], work))
  }

  /** As `write`, while no other process does the same, and without time limits. */
  writeAlone<T>(work: Work<T>): Promise<T> {
    return this.#repeat((session) => {
      session.unlimited = true
      return this.#transaction(session, alone, work)
    })
  }

  async #repeat<T>(attempt: (session: Session) => Promise<Committed<T>>): Promise<T> {
    for (let count = 1; ; count++) {
      try {
        const { value, effects } = await this.#connections.use(attempt)
        for (const effect of effects) effect()
        return value
      } catch (error) {
        if (!(error instanceof DatabaseError) || count >= attempts[error.kind]) throw toMailkeepError(error)
        const pauseMs = Math.random() * Math.min(firstPauseMs * 2 ** count, longestPauseMs)
        await new Promise((resolve) => setTimeout(resolve, pauseMs))
      }
    }
  }

  async #transaction<T>(session: Session, first: readonly string[], work: Work<T>): Promise<Committed<T>> {
    const operation = new Operation(session)
    let value: T
    try {
      await session.ask(begin)
      for (const statement of first) await session.ask(statement)
      value = await operation.run(work)
    } catch (error) {
      await rollBack(session)
      throw error
    }
    await commit(session)
    return { value, effects: operation.effects }
  }
}

interface Committed<T> {
  readonly value: T
  readonly effects: readonly (() => void)[]
}

async function commit(session: Session): Promise<void> {
  let command: string
  try {
    command = (await session.ask('commit')).command
  } catch (error) {
    // The connection may have been lost after the commit: running the work again might do it twice.
    if (error instanceof DatabaseError && error.kind === 'lost') {
      const message = 'The database was lost during the commit: whether it was made is not known.'
      throw new MailkeepError('unavailable', message, { cause: error.cause })
    }
    throw error
  }
  // Work that swallowed a statement's error has nothing to commit, and the server does not call that an error.
  if (command !== 'COMMIT')
    throw misuse('A statement of this transaction failed, and its error was ignored: it was rolled back.')
}

async function rollBack(session: Session): Promise<void> {
  if (session.broken) return
  try {
    await session.ask('rollback')
  } catch {
    session.broken = true
  }
}

/** One operation's transaction: it awaits nothing but statements, as on SQLite; here it would hold a connection. */
class Operation implements Transaction {
  readonly effects: (() => void)[] = []
  readonly #session: Session
  #statements = 0
  #ended: Error | undefined
  #watch: NodeJS.Immediate | undefined
  #abort: (error: Error) => void = () => {}

  constructor(session: Session) {
    this.#session = session
  }

  afterCommit(effect: () => void): void {
    this.effects.push(effect)
  }

  /** The index of searches is the database's own. */
  indexSearch(): void {}

  async executeQuery<R>(query: CompiledQuery): Promise<QueryResult<R>> {
    if (this.#ended) throw this.#ended
    clearImmediate(this.#watch)
    this.#statements += 1
    try {
      return await this.#session.executeQuery(query)
    } finally {
      this.#statements -= 1
      if (this.#statements === 0 && !this.#ended) this.#watchOver()
    }
  }

  run<T>(work: Work<T>): Promise<T> {
    return new Promise<T>((resolve, reject) => {
      const end = (error: Error) => {
        this.#ended ??= error
        clearImmediate(this.#watch)
      }
      this.#abort = (error) => {
        end(error)
        reject(error)
      }
      this.#watchOver()
      work(this)
        .then(resolve, reject)
        .finally(() => end(misuse(transactionIsOver)))
    })
  }

  /** Whoever has got an answer goes on before the event loop turns, or is done, or waits for something else. */
  #watchOver(): void {
    this.#watch = setImmediate(() => {
      this.#abort(misuse(awaitsElsewhere))
    })
  }
}
