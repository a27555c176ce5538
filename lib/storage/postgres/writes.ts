import { MailkeepError } from '../../errors.ts'
import type { Logger } from '../../logger.ts'
import type { TransactionOptions } from '../database.ts'
import { misuse, Transaction, type Work } from '../transaction.ts'
import type { Connections, Session } from './connections.ts'
import { DatabaseError, type DatabaseErrorKind, toMailkeepError } from './database-errors.ts'
import { watchLocks } from './lock-watch.ts'

/** Sets the isolation level explicitly, because the server or the role may have other defaults. */
const begin = 'begin isolation level read committed read write'

/**
 * Takes a lock that one process per schema can hold, until the transaction ends. The wait for it and the guarded work
 * may exceed the usual time limits.
 */
const takeExclusiveLock = [
  'set local lock_timeout = 0',
  'set local statement_timeout = 0',
  'set local idle_in_transaction_session_timeout = 0',
  `select pg_advisory_xact_lock(hashtextextended('mailkeep ' || current_schema(), 0))`,
]

/** Maximum attempts per kind of error. */
const maxAttempts: Readonly<Record<DatabaseErrorKind, number>> = {
  retryable: 8,
  raced: 3,
  stale: 3,
  lost: 3,
  busy: 1,
  refused: 1,
}

/** SQLSTATE of statements behind one that failed. */
const abortedTransaction = '25P02'

/** Exponential backoff between attempts. Random jitter keeps two transactions from colliding again. */
const firstPauseMs = 4
const maxPauseMs = 250

/** Runs work as a transaction on its own connection, and retries it after a conflict with another transaction. */
export class Writes {
  readonly #connections: Connections
  readonly #logger: Logger

  constructor(connections: Connections, logger: Logger) {
    this.#connections = connections
    this.#logger = logger
  }

  /** @throws MailkeepError `unavailable`, `conflict`, `not_found`; and the errors that `work` throws. */
  transaction<T>(work: Work<T>, { exclusive = false, clientId = 0 }: TransactionOptions = {}): Promise<T> {
    return this.#withRetries(clientId, async (session) => {
      if (!exclusive) return await runTransaction(session, [], work)
      session.unlimited = true
      const stopWatching = await watchLocks(session, this.#connections, this.#logger)
      return await runTransaction(session, takeExclusiveLock, work).finally(stopWatching)
    })
  }

  async #withRetries<T>(clientId: number, attempt: (session: Session) => Promise<Committed<T>>): Promise<T> {
    for (let count = 1; ; count++) {
      try {
        const { value, effects } = await this.#connections.use(clientId, attempt)
        for (const effect of effects) effect()
        return value
      } catch (error) {
        if (!(error instanceof DatabaseError) || count >= maxAttempts[error.kind]) throw toMailkeepError(error)
        const pauseMs = Math.random() * Math.min(firstPauseMs * 2 ** count, maxPauseMs)
        await new Promise((resolve) => setTimeout(resolve, pauseMs))
      }
    }
  }
}

async function runTransaction<T>(session: Session, first: readonly string[], work: Work<T>): Promise<Committed<T>> {
  const transaction = new Transaction(session, { mayPause: true })
  // The work's first statements are sent together with BEGIN.
  const begun = Promise.all([begin, ...first].map((statement) => session.ask(statement)))
  begun.catch(() => transaction.end())
  let value: T
  try {
    if (first.length > 0) await begun
    value = await transaction.perform(work)
  } catch (error) {
    await rollBack(session)
    throw causeOf((await firstFailure([begun, ...transaction.deferred])) ?? error, session)
  }
  // COMMIT is sent together with the work's last statements. If one of them fails, the server rolls back instead.
  const committed = commit(session)
  const failure = await firstFailure([begun, ...transaction.deferred, committed])
  // If a statement's result is lost, the result of COMMIT decides.
  if (isUnanswered(failure)) await committed
  else if (failure !== undefined) throw causeOf(failure, session)
  return { value, effects: transaction.effects }
}

/** The statements behind a failed one fail because of it, and their errors may arrive before its own. */
function causeOf(error: unknown, session: Session): unknown {
  const isFollowing = error instanceof DatabaseError && error.sqlState === abortedTransaction
  return isFollowing ? (session.failure ?? error) : error
}

async function firstFailure(statements: readonly Promise<unknown>[]): Promise<unknown> {
  const ends = await Promise.allSettled(statements)
  return ends.find((end) => end.status === 'rejected')?.reason
}

/** Whether the driver knew already that the connection has ended. */
function wasNotSent({ message }: DatabaseError): boolean {
  return /is not queryable$/.test(message)
}

/** Whether the connection ended before the server answered the statement. */
function isUnanswered(failure: unknown): boolean {
  return failure instanceof DatabaseError && failure.kind === 'lost' && failure.sqlState === undefined
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
    // Do not retry. The connection may have been lost after the commit, and a retry would do the work twice.
    if (error instanceof DatabaseError && error.kind === 'lost' && !wasNotSent(error)) {
      const message =
        'The connection to the database was lost during the commit. The change may have been saved or not.'
      throw new MailkeepError('unavailable', message, { cause: error.cause })
    }
    throw error
  }
  // If the work caught a statement's error, PostgreSQL answers COMMIT with a rollback and reports no error.
  if (command !== 'COMMIT')
    throw misuse('The transaction was rolled back, because one of its statements failed and the error was ignored.')
}

async function rollBack(session: Session): Promise<void> {
  if (session.broken) return
  try {
    await session.ask('rollback')
  } catch {
    session.broken = true
  }
}
