import { randomInt } from 'node:crypto'
import type { QueryResult } from 'kysely'
import { invalid } from '../../errors.ts'
import type { Connection, Query } from '../connection.ts'
import { noTransaction, otherDatabase, transactionEnded } from '../host-transaction.ts'
import { isIterating, stillIterating } from './database-errors.ts'
import { column, type SqliteHandle } from './handle.ts'
import { PreparedConnection } from './prepared-connection.ts'

type Handle = SqliteHandle & { readonly open: boolean }

/** Whether a handle is on the database that mailkeep has open. */
export type IsSameDatabase = (handle: { readonly name: string; readonly memory: boolean }) => boolean

/**
 * A handle with a transaction that the host began. Before each statement, it checks that the same transaction is still
 * open. After a ROLLBACK, SQLite would run the statement in its own transaction and commit it.
 *
 * The transaction is marked with the `user_version` of the connection's temporary database. That value is part of the
 * transaction: ROLLBACK removes it, and a later BEGIN does not restore it. A COMMIT is detected because the next
 * statement finds no open transaction.
 */
class MarkedTransaction implements Connection {
  readonly #handle: Handle
  readonly #connection: PreparedConnection
  readonly #mark = randomInt(1, 2 ** 31)
  readonly #readMark: { get(): unknown }
  #ended = false

  constructor(handle: Handle, connection: PreparedConnection) {
    this.#handle = handle
    this.#connection = connection
    handle.exec(`pragma temp.user_version = ${this.#mark}`)
    this.#readMark = handle.prepare('pragma temp.user_version').pluck()
  }

  get isOpen(): boolean {
    this.#ended ||= !this.#handle.open || !this.#handle.inTransaction || Number(this.#readMark.get()) !== this.#mark
    return !this.#ended
  }

  run<R>(query: Query): QueryResult<R> {
    if (!this.isOpen) throw transactionEnded()
    return this.#connection.run(query)
  }
}

const statements = new WeakMap<Handle, PreparedConnection>()
const transactions = new WeakMap<Handle, MarkedTransaction>()

/**
 * Returns the transaction that is open on a better-sqlite3 handle. The host may use any kind of BEGIN, but only BEGIN
 * IMMEDIATE waits for the lock.
 *
 * @throws MailkeepError `validation_failed`: not a handle, closed, on another database, or without a transaction.
 */
export function adoptHandle(handle: unknown, isSameDatabase: IsSameDatabase): Connection {
  if (!isHandle(handle)) {
    const message =
      "This must be Kysely's transaction or a better-sqlite3 handle; of another library such as Drizzle, the handle it runs on."
    throw invalid('transaction', message)
  }
  if (!handle.open) throw invalid('transaction', 'This better-sqlite3 handle is closed.')
  if (!handle.inTransaction) throw noTransaction()
  if (!isSameDatabase(handle)) throw otherDatabase()
  if (column(handle, 'pragma foreign_keys')[0] !== '1') {
    throw invalid('transaction', "mailkeep needs foreign keys: run 'pragma foreign_keys = on' before BEGIN.")
  }
  const known = transactions.get(handle)
  if (known?.isOpen) return known
  const connection = statements.get(handle) ?? new PreparedConnection(handle)
  statements.set(handle, connection)
  const transaction = beginMarked(handle, connection)
  transactions.set(handle, transaction)
  return transaction
}

function beginMarked(handle: Handle, connection: PreparedConnection): MarkedTransaction {
  try {
    return new MarkedTransaction(handle, connection)
  } catch (error) {
    throw isIterating(error) ? stillIterating(error) : error
  }
}

/** Checks the shape and not the class, because the host may use another copy of better-sqlite3. */
function isHandle(handle: unknown): handle is Handle {
  return typeof handle === 'object' && handle !== null && 'inTransaction' in handle && 'prepare' in handle
}
