import { invalid } from '../../errors.ts'
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
 * @param connection The one that has the transaction.
 */
export function withinHostTransaction(storage: Storage, connection: Connection): Storage {
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
    await connection.executeQuery(undo)
    await connection.executeQuery(release)
    throw storage.failure(error)
  }
}

interface KyselyTransaction extends Connection {
  readonly isTransaction: boolean
  withoutPlugins(): KyselyTransaction
}

/** The connection of a Kysely transaction; undefined when it is something else. The host's plugins leave us alone. */
export function connectionOfKysely(handle: unknown): Connection | undefined {
  if (typeof handle !== 'object' || handle === null || !('isTransaction' in handle)) return undefined
  const kysely = handle as KyselyTransaction
  if (kysely.isTransaction !== true) throw noTransaction()
  const plain = kysely.withoutPlugins()
  return { executeQuery: (query) => plain.executeQuery(query) }
}

export function noTransaction(): Error {
  return invalid('transaction', 'This has no transaction open: begin one first, and await everything inside it.')
}
