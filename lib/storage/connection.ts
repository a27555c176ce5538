import type { CompiledQuery, DatabaseConnection, Kysely, QueryResult } from 'kysely'
import type { Logger } from '../logger.ts'
import type { Clock } from '../time.ts'
import type { Dialect } from './dialect.ts'
import type { Migration } from './migrate.ts'
import type { Tables } from './tables.ts'

/** Runs compiled queries one after another. This is Kysely's interface, so any Kysely driver works. */
export interface Connection extends Pick<DatabaseConnection, 'executeQuery'> {
  /** Runs a query synchronously, which saves promises. Absent, or returns undefined, when the driver cannot. */
  executeNow?<R>(query: BoundedQuery): QueryResult<R> | undefined
  /** Whether it reads row by row, and so observes `maxBytes` of a query. */
  readonly readsRowByRow?: boolean | undefined
}

/** A query of which a connection that reads row by row reads no more than needed. */
export interface BoundedQuery extends CompiledQuery {
  /** Reading stops once the texts of the rows have this many bytes of UTF-8. The last row may exceed it. */
  readonly maxBytes?: number
}

/** The search text of a contact before and after a change; null when there is no contact. */
export interface SearchChange {
  readonly clientId: number
  readonly contactId: number
  readonly before: string | null
  readonly after: string | null
}

/** One transaction's view of the database. */
export interface Transaction extends Connection {
  /** Updates the search index within the transaction. Does nothing if the database maintains the index itself. */
  indexSearch(change: SearchChange): void
  /** Registers a function to run after the commit. It does not run if the transaction is rolled back. */
  afterCommit(effect: () => void): void
}

/** The body of a transaction. It may run more than once, so it must do nothing but run statements. */
export type Work<T> = (transaction: Transaction) => Promise<T>

/** Shared facilities of a database that serves processes on several machines. */
export interface Shared {
  /** The database's clock. It gives leases and due times the same meaning in all processes. */
  readonly clock: Clock
  /** Calls `listener` when another process reports a commit. */
  onNotification(listener: () => void): void
  /** Reports a commit with new work to the other processes. Several commits share one notification. */
  notify(): void
}

/** Metrics of a database. Each is absent if it does not apply to the kind of database. */
export interface StorageFigures {
  /** Number of queued writes. */
  readonly writesWaiting?: number
  /** Number of committed transactions by their number of writes. The array index is the number of writes. */
  readonly groupSizes?: readonly number[]
  readonly pool?: { readonly total: number; readonly idle: number; readonly waiting: number }
}

export interface ErrorContext {
  readonly inHostTransaction?: boolean
}

/** A database as the rest of the library sees it. */
export interface Storage {
  readonly dialect: Dialect
  /** The dialect inside a host's transaction, if it differs. */
  readonly hostDialect?: Dialect
  /** Builds statements; it never runs them. */
  readonly builder: Kysely<Tables>
  /** Reads committed rows. If the database is a file, reads never wait for the queue of writes. */
  readonly reader: Connection
  /** Runs `work` as one transaction. Resolves after the commit is durable. */
  write<T>(work: Work<T>): Promise<T>
  /** As `write`, but in one process at a time and without time limits. Migrations need it. */
  writeAlone<T>(work: Work<T>): Promise<T>
  /**
   * Called after the migrations, to create objects that depend on the server, such as the search index.
   *
   * @param options.idle Whether the database is not in use, so that slow work is acceptable.
   */
  migrated?(options?: { readonly idle?: boolean }): Promise<void>
  readonly shared?: Shared
  /** Updates the search index. Absent if the database maintains the index itself. */
  indexSearch?(connection: Connection, changes: readonly SearchChange[]): Promise<void>
  /**
   * Runs one step of a purge, which removes replaced and erased texts from the search index and its file. Texts that
   * the current or a later transaction removes may stay. Absent if the index keeps no such texts.
   *
   * @param progress The result of the step before; undefined begins a purge.
   * @returns undefined when the purge is complete.
   */
  purgeSearch?(connection: Connection, progress?: number): Promise<number | undefined>
  /** Whether the search index is so fragmented that a purge, which merges it into one segment, pays off. */
  isSearchScattered?(): Promise<boolean>
  /**
   * Compacts a small file if a purge has completed since the last compaction. If it is too soon, a later call does it.
   * Absent if mailkeep must not rewrite the file.
   */
  compact?(nowMs: number): Promise<void>
  /**
   * Maps a driver's error to the MailkeepError that callers get. Returns other errors unchanged.
   *
   * @param options.inHostTransaction Whether the statement ran in a transaction that the host opened.
   */
  toMailkeepError(error: unknown, options?: ErrorContext): unknown
  /**
   * Returns the connection of a transaction that the host has open.
   *
   * @param handle Kysely's transaction, or the driver's own handle.
   * @throws MailkeepError `validation_failed`: it is neither, or has no transaction open.
   */
  adopt(handle: unknown): Connection
  /** Current metrics. */
  figures?(): StorageFigures
  /** Returns a number that changes whenever another process or handle may have committed. */
  version(): Promise<number>
  /** Waits for running writes, then closes the connections that mailkeep opened. */
  close(): Promise<void>
}

/** A database that is not open yet, as `sqlite()` and `postgres()` return it. */
export interface DatabaseSource {
  readonly kind: 'sqlite' | 'postgres'
  /** @internal */
  readonly migrations: readonly Migration[]
  /** @internal */
  open(logger: Logger): Promise<Storage>
}

/** Returns a compiled query with other parameter values. */
export function withParameters<R>(compiled: CompiledQuery<R>, parameters: readonly unknown[]): CompiledQuery<R> {
  return { query: compiled.query, queryId: compiled.queryId, sql: compiled.sql, parameters }
}

/** Returns a query without parameters, for transaction control and migrations. */
export function plainQuery(sql: string): CompiledQuery {
  return {
    query: { kind: 'RawNode', sqlFragments: [sql], parameters: [] } as never,
    queryId: { queryId: sql },
    sql,
    parameters: [],
  }
}
