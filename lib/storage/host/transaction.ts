import type { CompiledQuery, QueryResult } from 'kysely'
import { invalid, isMailkeepError, type MailkeepError } from '../../errors.ts'
import {
  type Connection,
  plainQuery,
  type SearchChange,
  type Storage,
  type Transaction,
  type Work,
} from '../connection.ts'

const savepoint = plainQuery('savepoint mailkeep_host')
const release = plainQuery('release savepoint mailkeep_host')
const undo = plainQuery('rollback to savepoint mailkeep_host')

/**
 * Returns a storage that works inside the host's transaction. Its writes are committed or rolled back with that
 * transaction. Operations run one after another, each in a savepoint, so that a failed operation leaves no changes.
 *
 * @param hostConnection The connection with the host's transaction.
 */
export function withinHostTransaction(storage: Storage, hostConnection: Connection): Storage {
  const connection = withMappedErrors(storage, hostConnection)
  let last: Promise<unknown> = Promise.resolve()
  const write = <T>(work: Work<T>): Promise<T> => {
    const result = last.then(() => runInSavepoint(storage, connection, work))
    last = result.catch(() => {})
    return result
  }
  const dialect = storage.hostDialect ?? storage.dialect
  // Do not query the version, because its connection may be the host's only one. Inside the transaction nothing is
  // cached.
  const version = async () => 0
  return { ...storage, dialect, version, reader: connection, write, writeAlone: write, close: async () => {} }
}

/** Maps all driver errors to MailkeepError. */
function withMappedErrors(storage: Storage, connection: Connection): Connection {
  return {
    async executeQuery<R>(query: CompiledQuery): Promise<QueryResult<R>> {
      try {
        return await connection.executeQuery<R>(query)
      } catch (error) {
        if (isMailkeepError(error)) throw error
        throw isEnded(error) ? transactionEnded(error) : storage.toMailkeepError(error, { inHostTransaction: true })
      }
    },
  }
}

/** Recognises Kysely's error for a transaction that is used after its end. */
function isEnded(error: unknown): boolean {
  return error instanceof Error && /^Transaction is already (?:committed|rolled back|aborted)/.test(error.message)
}

async function runInSavepoint<T>(storage: Storage, connection: Connection, work: Work<T>): Promise<T> {
  const searchChanges: SearchChange[] = []
  const effects: (() => void)[] = []
  const transaction: Transaction = {
    executeQuery: (query) => connection.executeQuery(query),
    indexSearch: (change) => searchChanges.push(change),
    afterCommit: (effect) => effects.push(effect),
  }
  await connection.executeQuery(savepoint)
  try {
    const value = await work(transaction)
    if (searchChanges.length > 0) await storage.indexSearch?.(connection, searchChanges)
    await connection.executeQuery(release)
    // mailkeep cannot know when the host commits. An effect that polls too early finds nothing, and a later poll does.
    for (const effect of effects) effect()
    return value
  } catch (error) {
    await rollBack(connection)
    throw error
  }
}

async function rollBack(connection: Connection): Promise<void> {
  try {
    await connection.executeQuery(undo)
    await connection.executeQuery(release)
  } catch {
    // The transaction has ended. The error of the operation reports it.
  }
}

interface KyselyTransaction extends Connection {
  readonly isTransaction: boolean
  withoutPlugins(): KyselyTransaction
  getExecutor(): { readonly adapter: object }
}

/**
 * Returns the connection of a Kysely transaction without the host's plugins; undefined if the handle is not from
 * Kysely.
 *
 * @param adapterName Matches the names of Kysely's adapters for this kind of database.
 * @throws MailkeepError `validation_failed`: it has no transaction open, or is on another kind of database.
 */
export function connectionOfKysely(handle: unknown, adapterName: RegExp): Connection | undefined {
  if (typeof handle !== 'object' || handle === null || !('isTransaction' in handle)) return undefined
  const kysely = handle as KyselyTransaction
  if (kysely.isTransaction !== true) throw noTransaction()
  if (!adapterName.test(kysely.getExecutor().adapter.constructor.name)) throw otherDatabase()
  const plain = kysely.withoutPlugins()
  return { executeQuery: (query) => plain.executeQuery(query) }
}

export const speaksSqlite = /sqlite/i
export const speaksPostgres = /postgres|pglite/i

export function noTransaction(cause?: unknown): MailkeepError {
  const message = 'This has no transaction open: begin one first, and await everything inside it.'
  return invalid('transaction', message, cause)
}

/** Reported for a call that was not awaited. It runs after the transaction's end, where SQLite would commit it. */
export function transactionEnded(cause?: unknown): MailkeepError {
  const message =
    "The host's transaction has ended: await every call before COMMIT or ROLLBACK, and call using() again in each transaction. " +
    'A synchronous transaction function, as db.transaction(fn) of better-sqlite3 and Drizzle, cannot be used: run BEGIN and COMMIT yourself.'
  return invalid('transaction', message, cause)
}

/** @param cause The database's error, if there was one. */
export function otherDatabase(cause?: unknown): MailkeepError {
  const message =
    "This transaction is not on mailkeep's database: its tables are not there. Open it on the same database and schema."
  return invalid('transaction', message, cause)
}
