import { setImmediate } from 'node:timers'
import type { Logger } from '../../logger.ts'
import { nextTurn } from '../../time.ts'
import { pollingFeed } from '../change-feed.ts'
import { type Database, noLiveness } from '../database.ts'
import { withinHostTransaction } from '../host-transaction.ts'
import { connectionOfTransaction } from '../kysely-connection.ts'
import { Compaction } from './compaction.ts'
import { errorMapper, isLocked } from './database-errors.ts'
import { dialect, hostDialect } from './dialect.ts'
import { DatabaseFiles, isSameFile } from './files.ts'
import { GroupCommit, type GroupTarget } from './group.ts'
import type { SqliteHandle } from './handle.ts'
import { adoptHandle, type IsSameDatabase } from './host-handle.ts'
import type { ProcessLocks } from './liveness.ts'
import { PreparedConnection } from './prepared-connection.ts'
import { Reader, retryWhileLocked } from './reader.ts'
import { searchIndexer } from './search-index.ts'
import { searchIndexOn } from './search-purge.ts'

interface Opened {
  readonly writer: SqliteHandle
  /** The same handle as `writer` if one connection is used for both. */
  readonly reader: SqliteHandle
  /** Handles opened by mailkeep. They are closed with the storage. */
  readonly ownHandles: readonly SqliteHandle[]
  /** Undefined for a database in memory. */
  readonly file: string | undefined
  readonly locks: ProcessLocks | undefined
  readonly logger: Logger
}

/** Makes the database on open handles. */
export async function databaseOn({ writer, reader, ownHandles, file, locks, logger }: Opened): Promise<Database> {
  for (const handle of new Set([writer, reader])) await retryWhileLocked(() => configure(handle))
  const write = new PreparedConnection(writer)
  const indexSearch = searchIndexer()
  const toMailkeepError = errorMapper(file, logger)
  const files = file === undefined ? undefined : new DatabaseFiles(file, logger)
  const group = new GroupCommit(target({ handle: writer, connection: write, indexSearch, toMailkeepError, files }))
  // `data_version` ignores commits of its own handle. If the host shares the handle, count the changed rows too.
  const shared = 'select data_version + total_changes() from pragma_data_version'
  const version = writer.prepare(reader === writer ? shared : 'pragma data_version').pluck()
  const reads = new Reader(reader === writer ? write : new PreparedConnection(reader), reader, toMailkeepError)
  const isSameDatabase: IsSameDatabase = (handle) =>
    file === undefined ? handle === writer : isSameFile(handle.name, file)
  const database: Database = {
    dialect,
    clock: Date.now,
    search: searchIndexOn(reads, indexSearch, reader === writer ? undefined : new Compaction(group, writer)),
    changes: pollingFeed(
      oncePerTurn(async () => {
        reads.refuseClosed()
        try {
          return version.get() as number
        } catch (error) {
          throw toMailkeepError(error)
        }
      }),
    ),
    liveness: locks ?? noLiveness,
    read: (query) => reads.run(query),
    transaction: (work, options) => group.write(work, options),
    within: (handle) =>
      withinHostTransaction(database, {
        handle: handle as object,
        connection: connectionOfTransaction(handle) ?? adoptHandle(handle, isSameDatabase),
        dialect: hostDialect,
        toMailkeepError: (error) => toMailkeepError(error, true),
      }),
    figures: () => group.figures(),
    async close() {
      await group.close()
      await nextTurn() // lets the reads of this turn finish
      reads.close()
      locks?.close()
      for (const handle of ownHandles) handle.close()
    },
  }
  return database
}

/** Shares one result between all callers in the same turn of the event loop. */
function oncePerTurn<T>(ask: () => Promise<T>): () => Promise<T> {
  let answer: Promise<T> | undefined
  return () => {
    if (!answer) {
      answer = ask()
      setImmediate(() => {
        answer = undefined
      })
    }
    return answer
  }
}

function configure(handle: SqliteHandle): void {
  handle.pragma('journal_mode = wal')
  handle.pragma('synchronous = full') // after the journal mode, because this build defaults to NORMAL in WAL mode
  handle.pragma('fullfsync = on') // macOS: fsync alone leaves data in the disk's cache. Other systems ignore this.
  handle.pragma('checkpoint_fullfsync = on')
  handle.pragma('foreign_keys = on')
  handle.pragma('secure_delete = on') // overwrites erased personal data in the file
  handle.pragma('journal_size_limit = 67108864')
  // Three times SQLite's default. Pages that change often are copied into the file less often.
  handle.pragma('wal_autocheckpoint = 3000')
  handle.pragma('temp_store = memory')
}

interface TargetParts extends Pick<GroupTarget, 'connection' | 'indexSearch' | 'toMailkeepError'> {
  readonly handle: SqliteHandle
  readonly files: DatabaseFiles | undefined
}

function target({ handle, connection, indexSearch, toMailkeepError, files }: TargetParts): GroupTarget {
  const begin = handle.prepare('begin immediate')
  const changes = handle.prepare('select total_changes()').pluck()
  return {
    connection,
    inTransaction: () => handle.inTransaction,
    // The handle of a database in memory may be the host's.
    countChanges: files && (() => changes.get() as number),
    indexSearch,
    toMailkeepError,
    checkFiles: () => files?.check(),
    async begin() {
      // The host may have a transaction open on a shared handle. Wait for it like for another process.
      if (handle.inTransaction) return false
      if (files?.isMissing) files.check() // so that no more writes go to files that may be lost
      try {
        begin.run()
        return true
      } catch (error) {
        if (isLocked(error)) return false
        throw error
      }
    },
  }
}
