import { randomInt } from 'node:crypto'
import type { CompiledQuery, QueryResult } from 'kysely'
import { invalid } from '../../errors.ts'
import type { Connection } from '../connection.ts'
import { noTransaction, otherDatabase, transactionEnded } from '../host/transaction.ts'
import { PreparedConnection } from './prepared-connection.ts'

/** What is needed of better-sqlite3's `Database`; the host's may be another copy of the package. */
interface Handle {
  readonly open: boolean
  readonly inTransaction: boolean
  readonly name: string
  readonly memory: boolean
  prepare(sql: string): {
    readonly reader: boolean
    all(...values: unknown[]): unknown[]
    run(...values: unknown[]): { changes: number; lastInsertRowid: number | bigint }
    pluck(): { get(): unknown }
  }
  exec(sql: string): unknown
}

/** Whether a handle is on the database that mailkeep has open. */
export type IsOurs = (handle: { readonly name: string; readonly memory: boolean }) => boolean

/**
 * A handle with a transaction that the host began. Before each statement it makes sure that the same transaction is
 * still open: SQLite would run a statement after ROLLBACK in a transaction of its own, and save it.
 *
 * The mark of the transaction is the user version of the connection's temporary database. It is part of the
 * transaction, so ROLLBACK takes it away, and a later BEGIN does not bring it back. COMMIT is seen as soon as a
 * statement finds no transaction open.
 */
class HostTransaction implements Connection {
  readonly #handle: Handle
  readonly #kept: PreparedConnection
  readonly #mark = randomInt(1, 2 ** 31)
  readonly #readMark: { get(): unknown }
  #ended = false

  constructor(handle: Handle, kept: PreparedConnection) {
    this.#handle = handle
    this.#kept = kept
    handle.exec(`pragma temp.user_version = ${this.#mark}`)
    this.#readMark = handle.prepare('pragma temp.user_version').pluck()
  }

  get isOpen(): boolean {
    this.#ended ||= !this.#handle.open || !this.#handle.inTransaction || this.#readMark.get() !== this.#mark
    return !this.#ended
  }

  async executeQuery<R>(query: CompiledQuery): Promise<QueryResult<R>> {
    if (!this.isOpen) throw transactionEnded()
    return this.#kept.executeNow(query)
  }
}

const statements = new WeakMap<Handle, PreparedConnection>()
const transactions = new WeakMap<Handle, HostTransaction>()

/**
 * The transaction that is open on a better-sqlite3 handle. Only that the host has begun is asked: to wait for a lock,
 * it should be BEGIN IMMEDIATE.
 *
 * @throws MailkeepError `validation_failed`: not a handle, closed, on another database, or without a transaction.
 */
export function adoptHandle(handle: unknown, isOurs: IsOurs): Connection {
  if (!isHandle(handle)) {
    const message =
      "This must be Kysely's transaction or a better-sqlite3 handle; of another library such as Drizzle, the handle it runs on."
    throw invalid('transaction', message)
  }
  if (!handle.open) throw invalid('transaction', 'This better-sqlite3 handle is closed.')
  if (!handle.inTransaction) throw noTransaction()
  if (!isOurs(handle)) throw otherDatabase()
  const known = transactions.get(handle)
  if (known?.isOpen) return known
  const kept = statements.get(handle) ?? new PreparedConnection(handle)
  statements.set(handle, kept)
  const transaction = new HostTransaction(handle, kept)
  transactions.set(handle, transaction)
  return transaction
}

/** By its shape: the host's better-sqlite3 may be another copy. */
function isHandle(handle: unknown): handle is Handle {
  return typeof handle === 'object' && handle !== null && 'inTransaction' in handle && 'prepare' in handle
}
