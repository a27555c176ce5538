import type { QueryResult } from 'kysely'
import { invalid, isMailkeepError, type MailkeepError } from '../errors.ts'
import { type Connection, plainQuery, type Query } from './connection.ts'
import type { Database } from './database.ts'
import type { Dialect } from './dialect.ts'
import { Transaction, type Work } from './transaction.ts'

const savepoint = plainQuery('savepoint mailkeep_host')
const release = plainQuery('release savepoint mailkeep_host')
const undo = plainQuery('rollback to savepoint mailkeep_host')

/** A transaction of the host, as one kind of database runs it. */
interface HostTransaction {
  /** What the host passed to `using()`: Kysely's transaction, or a driver's handle. */
  readonly handle: object
  /** The connection with the host's transaction. */
  readonly connection: Connection
  readonly dialect: Dialect
  /** Fails outside a transaction. Only for a connection that would read without one: it runs before each read. */
  readonly requireTransaction?: Query
  /** Maps a driver's error to the MailkeepError that callers get. Returns other errors unchanged. */
  toMailkeepError(error: unknown): unknown
}

/** The end of the last operation of each handle. The host may call `using()` many times in one transaction. */
const lastOperations = new WeakMap<object, Promise<void>>()

/**
 * Returns a database that works inside the host's transaction. Its writes are committed or rolled back with that
 * transaction. Operations run one after another, each in a savepoint, so that a failed operation leaves no changes.
 */
export function withinHostTransaction(database: Database, host: HostTransaction): Database {
  const connection = withMappedErrors(host)
  return {
    ...database,
    dialect: host.dialect,
    // Do not query the version, because its connection may be the host's only one.
    changes: {
      version: async () => 0,
      notify: () => database.changes.notify(),
      subscribe: (listener) => database.changes.subscribe(listener),
    },
    read: readerOn(connection, host.requireTransaction),
    transaction(work) {
      const last = lastOperations.get(host.handle) ?? Promise.resolve()
      const result = last.then(() => runInSavepoint(database, connection, work))
      const end = () => {}
      lastOperations.set(host.handle, result.then(end, end))
      return result
    },
    close: async () => {},
  }
}

/** Asks for the check and the read at once, which a driver that pipelines sends in one round trip. */
function readerOn({ run }: ReturnType<typeof withMappedErrors>, check: Query | undefined): Database['read'] {
  if (!check) return run
  return async <R>(query: Query) => (await Promise.all([run(check), run<R>(query)]))[1]
}

function withMappedErrors({ connection, toMailkeepError }: HostTransaction) {
  return {
    async run<R>(query: Query): Promise<QueryResult<R>> {
      try {
        return await connection.run<R>(query)
      } catch (error) {
        if (isMailkeepError(error)) throw error
        throw isEnded(error) ? transactionEnded(error) : toMailkeepError(error)
      }
    },
  }
}

/** Recognises Kysely's error for a transaction that is used after its end. */
function isEnded(error: unknown): boolean {
  return error instanceof Error && /^Transaction is already (?:committed|rolled back|aborted)/.test(error.message)
}

/**
 * Runs statements one after another, because the host's driver may refuse several at once. After a failure it runs no
 * more: a full disk ends the transaction, and SQLite would commit each later statement separately.
 */
function inOrder(connection: Connection): Connection {
  let last: Promise<unknown> = Promise.resolve()
  return {
    run<R>(query: Query): Promise<QueryResult<R>> {
      const result = last.then(() => connection.run<R>(query))
      last = result
      result.catch(() => {})
      return result
    },
  }
}

async function runInSavepoint<T>({ search }: Database, connection: Connection, work: Work<T>): Promise<T> {
  const transaction = new Transaction(inOrder(connection))
  await connection.run(savepoint)
  try {
    const value = await transaction.perform(work)
    await Promise.all(transaction.deferred)
    if (transaction.searchChanges.length > 0) await search.update(connection, transaction.searchChanges)
    await connection.run(release)
    // mailkeep cannot know when the host commits. An effect that polls too early finds nothing, and a later poll does.
    for (const effect of transaction.effects) effect()
    return value
  } catch (error) {
    await rollBack(connection)
    throw error
  }
}

async function rollBack(connection: Connection): Promise<void> {
  try {
    await connection.run(undo)
    await connection.run(release)
  } catch {
    // The transaction has ended. The error of the operation reports it.
  }
}

export function noTransaction(cause?: unknown): MailkeepError {
  const message = 'No transaction is open: begin one first, and await everything inside it.'
  return invalid('transaction', message, cause)
}

/** Reported for a call that was not awaited. It runs after the transaction's end, where SQLite would commit it. */
export function transactionEnded(cause?: unknown): MailkeepError {
  const message =
    "The host's transaction has ended: await every call before COMMIT or ROLLBACK, and call using() again in each transaction. " +
    'A synchronous transaction function, as db.transaction(fn) of better-sqlite3 and Drizzle, cannot be used: run BEGIN and COMMIT yourself. ' +
    'On SQLite, a rollback to a savepoint from before using() has the same effect: call using() again after it.'
  return invalid('transaction', message, cause)
}

/** @param cause The database's error, if there was one. */
export function otherDatabase(cause?: unknown): MailkeepError {
  const message =
    "This transaction is not on mailkeep's database: its tables are not there. Open it on the same database and schema."
  return invalid('transaction', message, cause)
}
