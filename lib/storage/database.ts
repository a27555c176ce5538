import type { QueryResult } from 'kysely'
import type { Logger } from '../logger.ts'
import type { Clock } from '../time.ts'
import type { ChangeFeed } from './change-feed.ts'
import type { Connection, Query } from './connection.ts'
import type { Dialect } from './dialect.ts'
import type { Migration } from './migrate.ts'
import type { SearchChange, Work } from './transaction.ts'

/** A database as the rest of the library sees it. */
export interface Database {
  readonly dialect: Dialect
  /** The clock of a shared database server, which gives leases and due times the same meaning in all processes. */
  readonly clock: Clock
  readonly search: SearchIndex
  readonly changes: ChangeFeed
  readonly liveness: Liveness
  /**
   * Reads committed rows. If the database is a file, reads never wait for the queue of writes.
   *
   * @param clientId The client for whom it reads. Default: no particular client.
   */
  read<R>(query: Query, clientId?: number): Promise<QueryResult<R>>
  /** Runs `work` as one transaction. Resolves after the commit is durable. */
  transaction<T>(work: Work<T>, options?: TransactionOptions): Promise<T>
  /**
   * Returns the database inside a transaction that the host has open.
   *
   * @param handle Kysely's transaction, or the driver's own handle.
   * @throws MailkeepError `validation_failed`: it is neither, or has no transaction open.
   */
  within(handle: unknown): Database
  /** Current metrics. */
  figures(): StorageFigures
  /** Waits for running writes, then closes the connections that mailkeep opened. */
  close(): Promise<void>
}

export interface TransactionOptions {
  /** Runs in one process at a time and without time limits, as migrations need it. */
  readonly exclusive?: boolean
  /** The client whose transaction it is. Default: no particular client. */
  readonly clientId?: number | undefined
}

/** The search index, as far as the database does not maintain it by itself. */
export interface SearchIndex {
  /** Whether replaced and erased texts stay in the index until a purge. */
  readonly keepsErasedTexts: boolean
  /**
   * Creates the index if it is missing. Called after the migrations.
   *
   * @param options.idle Whether the database is not in use, so that slow work is acceptable.
   */
  create(options: { readonly idle: boolean }): Promise<void>
  /** Updates the index within the transaction of the connection. */
  update(connection: Connection, changes: readonly SearchChange[]): Promise<void>
  /**
   * Runs one step of a purge, which removes replaced and erased texts from the index and its file. Texts that the
   * current or a later transaction removes may stay.
   *
   * @param progress The result of the step before; undefined begins a purge.
   * @returns undefined when the purge is complete.
   */
  purge(connection: Connection, progress?: number): Promise<number | undefined>
  /** Whether the index is so fragmented that a purge, which merges it into one segment, pays off. */
  isScattered(): Promise<boolean>
  /**
   * Rewrites a small database file if a purge has completed since the last time. If it is too soon, a later call does
   * it.
   */
  compact(nowMs: number): Promise<void>
}

/** Tells which of the processes that share a database are alive, so that the claims of dead ones need not wait. */
export interface Liveness {
  /**
   * Returns the id of this process, which names it in its claims, and holds a lock for it until the process ends. Empty
   * if the database cannot tell when the process dies: then its claims end with their leases.
   */
  id(): string
  /** Returns those of the ids whose process has certainly died. */
  findDead(ids: readonly string[]): Promise<string[]>
}

/** For a database whose file or server connection belongs to the host, or that only this process has. */
export const noLiveness: Liveness = { id: () => '', findDead: async () => [] }

/** The search index of a database that maintains it by itself. */
export const selfMaintained: Omit<SearchIndex, 'create'> = {
  keepsErasedTexts: false,
  update: async () => {},
  purge: async () => undefined,
  isScattered: async () => false,
  compact: async () => {},
}

/** Metrics of a database. Each is absent if it does not apply to the kind of database. */
export interface StorageFigures {
  /** Number of queued writes. */
  readonly writesWaiting?: number
  /** Number of committed transactions by their number of writes. The array index is the number of writes. */
  readonly groupSizes?: readonly number[]
  readonly pool?: { readonly total: number; readonly idle: number; readonly waiting: number }
}

/** A database that is not open yet, as `sqlite()`, `postgres()` and `kysely()` return it. */
export interface DatabaseSource {
  readonly kind: 'sqlite' | 'postgres'
  /** @internal */
  readonly migrations: readonly Migration[]
  /**
   * @internal
   * @param mayCreate Whether a file that is missing is created. Default: true.
   */
  open(logger: Logger, mayCreate?: boolean): Promise<Database>
}
