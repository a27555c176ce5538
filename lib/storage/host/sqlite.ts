import type { CompiledQuery, Kysely, QueryResult } from 'kysely'
import { invalid, MailkeepError } from '../../errors.ts'
import { closedMessage } from '../closed.ts'
import { type Connection, type DatabaseSource, plainQuery, type SearchChange, type Storage } from '../connection.ts'
import { GroupCommit, type GroupTarget, groupLimits } from '../group.ts'
import { sqliteMigrations } from '../migrations/sqlite.ts'
import { errorMapper, isLocked } from '../sqlite/database-errors.ts'
import { builder, hostDialect } from '../sqlite/dialect.ts'
import { searchIndexer } from '../sqlite/search-index.ts'
import { isScattered, searchPurger } from '../sqlite/search-purge.ts'
import { connectionOf, type ReservedConnection, reserve } from './reserved-connection.ts'
import { connectionOfKysely, speaksSqlite } from './transaction.ts'

const begin = plainQuery('begin immediate')
const foreignKeys = plainQuery('pragma foreign_keys')
/** The host may have the same connection: its commits show as rows changed. */
const version = plainQuery('select data_version + total_changes() as version from pragma_data_version')

const heldUp =
  'The database was held by another transaction for 5 s. Inside a transaction of your own? Use mailkeep.using(trx).'

const failure = errorMapper(undefined)

/** SQLite through a Kysely instance: most have one connection for everything, so a group of writes holds it as a whole. */
export function openSqliteThrough(kysely: Kysely<unknown>, own: boolean): DatabaseSource {
  return {
    kind: 'sqlite',
    migrations: sqliteMigrations,
    async open() {
      const reader = new PatientReader(kysely)
      await requireForeignKeys(reader)
      const indexSearch = searchIndexer()
      const group = new GroupCommit(new HostTarget(kysely, indexSearch))
      const storage: Storage = {
        dialect: hostDialect,
        builder,
        reader,
        write: (work) => group.write(work),
        writeAlone: (work) => group.write(work),
        version: async () => (await reader.executeQuery<{ version: number }>(version)).rows[0]!.version,
        indexSearch,
        purgeSearch: searchPurger(),
        isSearchScattered: () => isScattered(reader),
        toMailkeepError: failure,
        adopt: (handle) => {
          const connection = connectionOfKysely(handle, speaksSqlite)
          if (connection) return connection
          throw invalid('transaction', 'This must be a transaction of the Kysely instance that mailkeep was made with.')
        },
        close: async () => {
          await group.close()
          reader.close()
          if (own) await kysely.destroy()
        },
      }
      return storage
    },
  }
}

async function requireForeignKeys(reader: Connection): Promise<void> {
  const [row] = (await reader.executeQuery<{ foreign_keys: number }>(foreignKeys)).rows
  if (row && Number(row.foreign_keys) === 1) return
  throw new MailkeepError('conflict', "mailkeep needs foreign keys: run 'pragma foreign_keys = on' on each connection.")
}

/** Waits for its turn at the connection, but not for ever. */
class PatientReader implements Connection {
  readonly #kysely: Kysely<unknown>
  #closed = false

  constructor(kysely: Kysely<unknown>) {
    this.#kysely = kysely
  }

  /** Refuses all later reads: the instance may be the host's, and stay open. */
  close(): void {
    this.#closed = true
  }

  async executeQuery<R>(query: CompiledQuery): Promise<QueryResult<R>> {
    if (this.#closed) throw new MailkeepError('unavailable', closedMessage)
    let timer: NodeJS.Timeout | undefined
    const late = new Promise<never>((_, reject) => {
      timer = setTimeout(() => reject(new MailkeepError('unavailable', heldUp)), groupLimits.lockMs)
    })
    try {
      return await Promise.race([connectionOf(this.#kysely).executeQuery<R>(query), late])
    } catch (error) {
      throw failure(error)
    } finally {
      clearTimeout(timer)
    }
  }
}

/** Where groups are written: the connection is taken when one begins, and given back with its end. */
class HostTarget implements GroupTarget {
  readonly #kysely: Kysely<unknown>
  readonly #indexSearch: ReturnType<typeof searchIndexer>
  #taking: Promise<ReservedConnection> | undefined
  #unwanted: NodeJS.Timeout | undefined
  #held: ReservedConnection | undefined
  #open = false

  constructor(kysely: Kysely<unknown>, indexSearch: ReturnType<typeof searchIndexer>) {
    this.#kysely = kysely
    this.#indexSearch = indexSearch
  }

  readonly connection: Connection = {
    executeQuery: async <R>({ sql, parameters, query, queryId }: CompiledQuery): Promise<QueryResult<R>> => {
      try {
        const result = await this.#held!.connection.executeQuery<R>({ sql, parameters, query, queryId })
        if (sql === 'commit' || sql === 'rollback') this.#release()
        return result
      } catch (error) {
        // Without its savepoint there is no transaction any more: the error has ended it.
        if (sql.startsWith('rollback')) this.#release()
        throw error
      }
    },
  }

  readonly failure = failure

  indexSearch(changes: readonly SearchChange[]): Promise<void> {
    return this.#indexSearch(this.connection, changes)
  }

  inTransaction(): boolean {
    return this.#open
  }

  async begin(): Promise<boolean> {
    const held = await this.#take()
    if (!held) return false
    this.#held = held
    try {
      await held.connection.executeQuery(begin)
      this.#open = true
      return true
    } catch (error) {
      this.#release()
      if (isLocked(error)) return false
      throw error
    }
  }

  /** Asks again later for what is not free now, so that whoever waits can be told in time. */
  async #take(): Promise<ReservedConnection | undefined> {
    this.#taking ??= this.#startTaking()
    const late = new Promise<undefined>((resolve) => setTimeout(() => resolve(undefined), 20))
    const held = await Promise.race([this.#taking, late])
    if (!held) return undefined
    this.#taking = undefined
    clearTimeout(this.#unwanted)
    return held
  }

  /** One that comes when nobody waits for it any more goes back. */
  async #startTaking(): Promise<ReservedConnection> {
    const held = await reserve(this.#kysely).catch((error) => {
      this.#taking = undefined
      throw error
    })
    this.#unwanted = setTimeout(() => {
      this.#taking = undefined
      held.release()
    }, 100)
    return held
  }

  #release(): void {
    this.#open = false
    this.#held?.release()
    this.#held = undefined
  }
}
