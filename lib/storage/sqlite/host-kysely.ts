import type { Kysely, QueryResult } from 'kysely'
import { closed, invalid, isMailkeepError, MailkeepError } from '../../errors.ts'
import { inTime } from '../../time-limit.ts'
import { pollingFeed } from '../change-feed.ts'
import { type Connection, plainQuery, type Query } from '../connection.ts'
import { type Database, type DatabaseSource, noLiveness, type SearchIndex } from '../database.ts'
import { withinHostTransaction } from '../host-transaction.ts'
import { connectionOf, connectionOfTransaction, type ReservedConnection, reserve } from '../kysely-connection.ts'
import { sqliteMigrations } from '../migrations/sqlite.ts'
import { errorMapper, isLocked, isOfPostgres } from './database-errors.ts'
import { hostDialect } from './dialect.ts'
import { GroupCommit, type GroupTarget, groupLimits, lockedTooLong } from './group.ts'
import { searchIndexer } from './search-index.ts'
import { searchIndexOn } from './search-purge.ts'

const begin = plainQuery('begin immediate')
const foreignKeys = plainQuery('pragma foreign_keys')
/** `data_version` ignores commits of its own connection, which the host may share, so count the changed rows too. */
const version = plainQuery('select data_version + total_changes() as version from pragma_data_version')

const toMailkeepError = errorMapper(undefined)

/**
 * Uses SQLite through a Kysely instance. Most instances have a single connection, so each group of writes reserves it
 * until its commit.
 */
export function openSqliteThrough(kysely: Kysely<unknown>, own: boolean): DatabaseSource {
  return {
    kind: 'sqlite',
    migrations: sqliteMigrations,
    async open() {
      const reader = new TimeLimitedReader(kysely)
      await requireForeignKeys(reader)
      const indexSearch = searchIndexer()
      const group = new GroupCommit(new HostTarget(kysely, indexSearch))
      const database: Database = {
        dialect: hostDialect,
        clock: Date.now,
        search: searchIndexOn(reader, indexSearch, undefined),
        changes: pollingFeed(async () => (await reader.run<{ version: number }>(version)).rows[0]!.version),
        liveness: noLiveness,
        read: (query) => reader.run(query),
        transaction: (work, options) => group.write(work, options),
        within(handle) {
          const connection = connectionOfTransaction(handle)
          if (!connection) {
            throw invalid(
              'transaction',
              'This must be a transaction of the Kysely instance that mailkeep was made with.',
            )
          }
          return withinHostTransaction(database, {
            handle: handle as object,
            connection,
            dialect: hostDialect,
            toMailkeepError: (error) => toMailkeepError(error, true),
          })
        },
        figures: () => group.figures(),
        async close() {
          await group.close()
          reader.close()
          if (own) await kysely.destroy()
        },
      }
      return database
    },
  }
}

async function requireForeignKeys(reader: Connection): Promise<void> {
  const [row] = (await ask(reader)).rows
  if (row && Number(row.foreign_keys) === 1) return
  throw new MailkeepError('conflict', "mailkeep needs foreign keys: run 'pragma foreign_keys = on' on each connection.")
}

async function ask(reader: Connection): Promise<QueryResult<{ foreign_keys: number }>> {
  try {
    return await reader.run(foreignKeys)
  } catch (error) {
    if (isMailkeepError(error)) throw error
    if (isOfPostgres(error)) {
      throw invalid('dialect', "This Kysely runs on PostgreSQL: its dialect is 'postgres'.", error)
    }
    const reason = error instanceof Error ? error.message : String(error)
    const message = `The database cannot be opened as SQLite through Kysely: ${reason}`
    throw new MailkeepError('unavailable', message, { cause: error })
  }
}

/** Reads with a time limit, because the connection may be reserved for a long transaction. */
class TimeLimitedReader implements Connection {
  readonly #connection: Connection
  #closed = false

  constructor(kysely: Kysely<unknown>) {
    this.#connection = connectionOf(kysely)
  }

  /** Rejects all later reads. The Kysely instance itself may belong to the host and stay open. */
  close(): void {
    this.#closed = true
  }

  async run<R>(query: Query): Promise<QueryResult<R>> {
    if (this.#closed) throw closed()
    try {
      return await inTime(this.#connection.run<R>(query), groupLimits.lockMs, () => {
        throw lockedTooLong()
      })
    } catch (error) {
      throw toMailkeepError(error)
    }
  }
}

/** The target of group commits. Reserves the connection at the start of a group, and releases it after the end. */
class HostTarget implements GroupTarget {
  readonly countChanges = undefined
  readonly #kysely: Kysely<unknown>
  readonly indexSearch: SearchIndex['update']
  #reserving: Promise<ReservedConnection> | undefined
  #releaseTimer: NodeJS.Timeout | undefined
  #reserved: ReservedConnection | undefined
  #open = false

  constructor(kysely: Kysely<unknown>, indexSearch: SearchIndex['update']) {
    this.#kysely = kysely
    this.indexSearch = indexSearch
  }

  readonly connection: Connection = {
    run: async <R>(query: Query): Promise<QueryResult<R>> => {
      const { sql } = query
      try {
        const result = await this.#reserved!.run<R>(query)
        if (sql === 'commit' || sql === 'rollback') this.#release()
        return result
      } catch (error) {
        // The savepoint is missing, so an earlier error has ended the transaction.
        if (sql.startsWith('rollback')) this.#release()
        throw error
      }
    },
  }

  readonly toMailkeepError = toMailkeepError

  inTransaction(): boolean {
    return this.#open
  }

  checkFiles(): void {} // the file is the host's

  async begin(): Promise<boolean> {
    const reserved = await this.#tryReserve()
    if (!reserved) return false
    this.#reserved = reserved
    try {
      await reserved.run(begin)
      this.#open = true
      return true
    } catch (error) {
      this.#release()
      if (isLocked(error)) return false
      throw error
    }
  }

  /** Waits only 20 ms for the connection, so that the caller can enforce its own time limit between two attempts. */
  async #tryReserve(): Promise<ReservedConnection | undefined> {
    this.#reserving ??= this.#startReserving()
    const reserved = await inTime(this.#reserving, 20, () => undefined)
    if (!reserved) return undefined
    this.#reserving = undefined
    clearTimeout(this.#releaseTimer)
    return reserved
  }

  /** Reserves the connection, and releases it if no group has taken it after 100 ms. */
  async #startReserving(): Promise<ReservedConnection> {
    const reserved = await reserve(this.#kysely).catch((error) => {
      this.#reserving = undefined
      throw error
    })
    this.#releaseTimer = setTimeout(() => {
      this.#reserving = undefined
      reserved.release()
    }, 100)
    return reserved
  }

  #release(): void {
    this.#open = false
    this.#reserved?.release()
    this.#reserved = undefined
  }
}
