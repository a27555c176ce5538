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
 * A database seen from inside a transaction of the host's: what is written commits or vanishes with it. Each
 * operation has a savepoint, so that one that fails leaves nothing behind; they run one after another.
 *
 * @param hostConnection The one that has the transaction.
 */
export function withinHostTransaction(storage: Storage, hostConnection: Connection): Storage {
  const connection = withOwnErrors(storage, hostConnection)
  let last: Promise<unknown> = Promise.resolve()
  const write = <T>(work: Work<T>): Promise<T> => {
    const result = last.then(() => runInSavepoint(storage, connection, work))
    last = result.catch(() => {})
    return result
  }
  const dialect = storage.hostDialect ?? storage.dialect
  // The version is asked elsewhere, where the only connection may be the host's: nothing is kept by it in here.
  const version = async () => 0
  return { ...storage, dialect, version, reader: connection, write, writeAlone: write, close: async () => {} }
}

/** Every fault of a driver becomes a MailkeepError. */
function withOwnErrors(storage: Storage, connection: Connection): Connection {
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

/** Kysely's own words for a transaction that is used after its end. */
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
    // Nobody tells when the host commits: what looks too early finds nothing, and the watch over commits sees it later.
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
    // The transaction has ended, and the operation's own error says so.
  }
}

interface KyselyTransaction extends Connection {
  readonly isTransaction: boolean
  withoutPlugins(): KyselyTransaction
  getExecutor(): { readonly adapter: object }
}

/**
 * The connection of a Kysely transaction; undefined when it is something else. The host's plugins leave us alone.
 *
 * @param speaks The names of the adapters that the database of this mailkeep can have.
 * @throws MailkeepError `validation_failed`: it has no transaction open, or is on another kind of database.
 */
export function connectionOfKysely(handle: unknown, speaks: RegExp): Connection | undefined {
  if (typeof handle !== 'object' || handle === null || !('isTransaction' in handle)) return undefined
  const kysely = handle as KyselyTransaction
  if (kysely.isTransaction !== true) throw noTransaction()
  if (!speaks.test(kysely.getExecutor().adapter.constructor.name)) throw otherDatabase()
  const plain = kysely.withoutPlugins()
  return { executeQuery: (query) => plain.executeQuery(query) }
}

export const speaksSqlite = /sqlite/i
export const speaksPostgres = /postgres|pglite/i

export function noTransaction(cause?: unknown): MailkeepError {
  const message = 'This has no transaction open: begin one first, and await everything inside it.'
  return invalid('transaction', message, cause)
}

/** A call that was not awaited runs after the transaction's end, where it would be saved all the same. */
export function transactionEnded(cause?: unknown): MailkeepError {
  const message =
    "The host's transaction has ended: await every call before COMMIT or ROLLBACK, and call using() again in each transaction. " +
    'A synchronous transaction function, as db.transaction(fn) of better-sqlite3 and Drizzle, cannot be used: run BEGIN and COMMIT yourself.'
  return invalid('transaction', message, cause)
}

/** @param cause What the database said, if it was asked. */
export function otherDatabase(cause?: unknown): MailkeepError {
  const message =
    "This transaction is not on mailkeep's database: its tables are not there. Open it on the same database and schema."
  return invalid('transaction', message, cause)
}
