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
 * Number of `using()` calls after which a transaction is forgotten. Rows that were committed are of no use, but SQLite does
 * not report a COMMIT.
 */
const maxRows = 100_000

/**
 * A handle of the host. Each `using()` inserts a row with a new id into a temporary table. ROLLBACK removes the row, and a
 * later BEGIN does not restore it. A COMMIT keeps it, so it is detected only while no transaction is open.
 */
class HostHandle {
  readonly connection: PreparedConnection
  readonly #handle: Handle
  readonly #insert: { run(id: number): unknown }
  readonly #delete: { run(from: number, to: number): unknown }
  readonly #find: { get(id: number): unknown }
  /** Random at first, because another copy of mailkeep may use the same handle. */
  #lastId = randomInt(2 ** 47)
  /** Ids inserted while an operation's savepoint is open. If the operation fails, its rollback removes their rows. */
  #inSavepoint: number[] | undefined

  constructor(handle: Handle) {
    this.connection = new PreparedConnection(handle)
    this.#handle = handle
    this.#createTable()
    this.#insert = handle.prepare('insert into temp.mailkeep_host_transaction values (?)')
    this.#delete = handle.prepare('delete from temp.mailkeep_host_transaction where id between ? and ?')
    this.#find = handle.prepare('select 1 from temp.mailkeep_host_transaction where id = ?')
  }

  adopt(): HostTransaction {
    this.#createTable()
    const id = ++this.#lastId
    this.#insert.run(id)
    this.#inSavepoint?.push(id)
    this.#delete.run(id - 2 * maxRows, id - maxRows)
    return new HostTransaction(this, id)
  }

  /** Whether the transaction in which `using()` inserted the id is open. */
  isOpen(id: number): boolean {
    if (!this.#handle.open || !this.#handle.inTransaction) return false
    try {
      return this.#find.get(id) !== undefined
    } catch {
      return false // ROLLBACK has removed the table
    }
  }

  /** Runs a statement of mailkeep. */
  run<R>(query: Query): QueryResult<R> {
    const result = this.connection.run<R>(query)
    if (query.sql.startsWith('savepoint ')) this.#inSavepoint = []
    if (query.sql.startsWith('rollback to ')) for (const id of this.#inSavepoint ?? []) this.#insert.run(id)
    if (query.sql.startsWith('release ')) this.#inSavepoint = undefined
    return result
  }

  /** Needed again after a ROLLBACK of the transaction that created it. `without rowid`: keeps `last_insert_rowid()`. */
  #createTable(): void {
    this.#handle.exec(
      'create table if not exists temp.mailkeep_host_transaction (id integer primary key) without rowid',
    )
  }
}

/**
 * A transaction that the host began. Before each statement, it checks that the same transaction is still open. After a
 * ROLLBACK, SQLite would run the statement in its own transaction and commit it.
 */
class HostTransaction implements Connection {
  readonly #host: HostHandle
  readonly #id: number
  #ended = false

  constructor(host: HostHandle, id: number) {
    this.#host = host
    this.#id = id
  }

  run<R>(query: Query): QueryResult<R> {
    this.#ended ||= !this.#host.isOpen(this.#id)
    if (this.#ended) throw transactionEnded()
    return this.#host.run(query)
  }
}

const hostHandles = new WeakMap<Handle, HostHandle>()

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
  try {
    const host = hostHandles.get(handle) ?? new HostHandle(handle)
    hostHandles.set(handle, host)
    return host.adopt()
  } catch (error) {
    throw isIterating(error) ? stillIterating(error) : error
  }
}

/** Checks the shape and not the class, because the host may use another copy of better-sqlite3. */
function isHandle(handle: unknown): handle is Handle {
  return typeof handle === 'object' && handle !== null && 'inTransaction' in handle && 'prepare' in handle
}
