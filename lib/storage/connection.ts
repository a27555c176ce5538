import type { CompiledQuery, DatabaseConnection, Kysely, QueryResult } from 'kysely'
import type { Logger } from '../logger.ts'
import type { Clock } from '../time.ts'
import type { Dialect } from './dialect.ts'
import type { Migration } from './migrate.ts'
import type { Tables } from './tables.ts'

/** Runs compiled queries one after another: Kysely's own interface, so any of its drivers will do. */
export interface Connection extends Pick<DatabaseConnection, 'executeQuery'> {
  /** Where the driver answers at once: spares a statement the promises on its way. Undefined when it cannot now. */
  executeNow?<R>(query: CompiledQuery): QueryResult<R> | undefined
}

/** What the searches of a contact look at, before and after a change; null where there is no contact. */
export interface SearchChange {
  readonly clientId: number
  readonly contactId: number
  readonly before: string | null
  readonly after: string | null
}

/** One transaction's view of the database. */
export interface Transaction extends Connection {
  /** Keeps the index of searches in step, within the transaction; where the database does so itself it does nothing. */
  indexSearch(change: SearchChange): void
  /** Runs once the transaction is durable; never when it is undone. */
  afterCommit(effect: () => void): void
}

/** Runs more than once when the database asks for it: it must do nothing but statements. */
export type Work<T> = (transaction: Transaction) => Promise<T>

/** What the processes of a database have in common, where it serves several machines. */
export interface Shared {
  /** The database's clock: leases and due times mean the same to all. */
  readonly clock: Clock
  /** Calls `listener` as soon as another process tells of a commit. */
  onNotification(listener: () => void): void
  /** Tells the other processes of a commit that gave them something to do; several are told together. */
  notify(): void
}

/** What a database tells of its work: each where it has such a thing. */
export interface StorageFigures {
  /** Writes that wait for their turn. */
  readonly writesWaiting?: number
  /** Transactions committed, by how many writes they had: the position is the number. */
  readonly groupSizes?: readonly number[]
  readonly pool?: { readonly total: number; readonly idle: number; readonly waiting: number }
}

export interface ErrorContext {
  readonly inHostTransaction?: boolean
}

/** A database as the rest of the library sees it. */
export interface Storage {
  readonly dialect: Dialect
  /** Of a host's transaction, where that is another. */
  readonly hostDialect?: Dialect
  /** Builds statements; it never runs them. */
  readonly builder: Kysely<Tables>
  /** Reads what is committed; never waits for the queue of writes where the database is a file. */
  readonly reader: Connection
  /** Does all of `work` or nothing; answers once it is durable. */
  write<T>(work: Work<T>): Promise<T>
  /** As `write`, while no other process does the same, and without time limits: for migrations. */
  writeAlone<T>(work: Work<T>): Promise<T>
  /**
   * Called once the schema is up to date: for what depends on the server and not on the schema alone.
   *
   * @param options.idle Nobody works with it: what takes long may be done now.
   */
  migrated?(options?: { readonly idle?: boolean }): Promise<void>
  readonly shared?: Shared
  /** Brings the index of searches in step; absent where the database does so itself. */
  indexSearch?(connection: Connection, changes: readonly SearchChange[]): Promise<void>
  /**
   * Does some of what takes superseded texts out of the index of searches, down to the file; absent where nothing of
   * them stays. Within a transaction: what that or a later one supersedes may stay.
   *
   * @param progress What it gave before; undefined: it begins.
   * @returns undefined: it is done.
   */
  purgeSearch?(connection: Connection, progress?: number): Promise<number | undefined>
  /** Whether the index of searches lies in so many pieces that a purge, which leaves it in one, is worth its while. */
  isSearchScattered?(): Promise<boolean>
  /**
   * Makes the file anew, if a purge has ended since it was last made and it is small enough for that; where it would be
   * too soon, the next call does. Absent where that is not ours to do.
   */
  compact?(nowMs: number): Promise<void>
  /**
   * Maps a driver's error to the MailkeepError that callers get; other errors stay what they are.
   *
   * @param options.inHostTransaction The statement ran in a transaction that the host opened.
   */
  toMailkeepError(error: unknown, options?: ErrorContext): unknown
  /**
   * The connection of a transaction that the host has open.
   *
   * @param handle Kysely's transaction, or the driver's own handle.
   * @throws MailkeepError `validation_failed`: it is neither, or has no transaction open.
   */
  adopt(handle: unknown): Connection
  /** What it can tell of its work. */
  figures?(): StorageFigures
  /** A number that changes when another process or handle has committed, or may have. */
  version(): Promise<number>
  /** Waits for writes under way, then closes what was opened here. */
  close(): Promise<void>
}

/** What `sqlite()` and `postgres()` return: a database that is not opened yet. */
export interface DatabaseSource {
  readonly kind: 'sqlite' | 'postgres'
  /** @internal */
  readonly migrations: readonly Migration[]
  /** @internal */
  open(logger: Logger): Promise<Storage>
}

/** A compiled text with other values in its slots. */
export function withParameters<R>(compiled: CompiledQuery<R>, parameters: readonly unknown[]): CompiledQuery<R> {
  return { query: compiled.query, queryId: compiled.queryId, sql: compiled.sql, parameters }
}

/** A text without slots, as transaction control and migrations have. */
export function plainQuery(sql: string): CompiledQuery {
  return {
    query: { kind: 'RawNode', sqlFragments: [sql], parameters: [] } as never,
    queryId: { queryId: sql },
    sql,
    parameters: [],
  }
}
