import { closeSync, existsSync, openSync } from 'node:fs'
import BetterSqlite3 from 'better-sqlite3'
import { isMailkeepError, MailkeepError } from '../errors.ts'
import type { Logger } from '../logger.ts'
import { checkOptions } from '../option-schemas.ts'
import type { Database, DatabaseSource } from './database.ts'
import { tablesOf } from './migrate.ts'
import { sqliteMigrations } from './migrations/sqlite.ts'
import type { RowSource } from './row-source.ts'
import { type CompactionReport, compactNow } from './sqlite/compaction.ts'
import { copyInto, type FileReport, report } from './sqlite/copy.ts'
import { databaseOn } from './sqlite/database.ts'
import { damaged, isDamaged, isLocked } from './sqlite/database-errors.ts'
import { checkSource, type SqliteHandle, tablesIn } from './sqlite/handle.ts'
import { ProcessLocks } from './sqlite/liveness.ts'
import { requireSupportedNode } from './sqlite/node-version.ts'
import { openRowSource } from './sqlite/rows.ts'

export type { CompactionReport } from './sqlite/compaction.ts'
export type { FileReport } from './sqlite/copy.ts'
export type { SqliteHandle, SqliteStatement } from './sqlite/handle.ts'

export interface SqliteOptions {
  /** Path of better-sqlite3's native addon, or the loaded addon itself, where it is not beside its package. */
  readonly nativeBinding?: string | object | undefined
}

/**
 * A SQLite database.
 *
 * @param source A file path, `:memory:`, or a better-sqlite3 handle. If the handle is on a file, mailkeep opens
 *   additional connections to that file. A handle in memory is used directly.
 * @throws MailkeepError `validation_failed`: `source` is wrong or an option is unknown; `unavailable`, when it is
 *   opened: the database cannot be opened, or better-sqlite3 does not run on this Node.
 */
export function sqlite(source: string | SqliteHandle, options: SqliteOptions = {}): DatabaseSource {
  checkSource(source)
  checkOptions('sqlite', options)
  return {
    kind: 'sqlite',
    migrations: sqliteMigrations,
    open: (logger, mayCreate = true) => open(source, options, logger, mayCreate),
  }
}

async function open(
  source: string | SqliteHandle,
  options: SqliteOptions,
  logger: Logger,
  mayCreate: boolean,
): Promise<Database> {
  const isPath = typeof source === 'string'
  const file = isPath ? source : source.name
  const inMemory = isPath ? file === ':memory:' || file === '' : source.memory
  if (isPath || !inMemory) requireSupportedNode()
  if (!mayCreate && !inMemory && !existsSync(file)) {
    throw new MailkeepError('unavailable', `There is no database ${file}, and migrate: false does not create one.`)
  }
  const ownHandles: SqliteHandle[] = []
  const openHandle = () => {
    const handle = connect(file, options, inMemory)
    ownHandles.push(handle)
    return handle
  }
  try {
    const writer = inMemory && !isPath ? source : openHandle()
    const reader = inMemory ? writer : openHandle()
    logger.debug({ database: file }, 'database opened')
    if (inMemory) return await databaseOn({ writer, reader, ownHandles, file: undefined, locks: undefined, logger })
    return await databaseOn({ writer, reader, ownHandles, file, locks: processLocks(file, options), logger })
  } catch (error) {
    for (const handle of ownHandles) handle.close()
    throw cannotOpen(file, error)
  }
}

function processLocks(file: string, options: SqliteOptions): ProcessLocks {
  return new ProcessLocks(file, (path) => connect(path, options, false))
}

function connect(file: string, options: SqliteOptions, inMemory: boolean): SqliteHandle {
  // The file holds personal data, so create it with mode 600 before SQLite uses the umask. Its log files copy the mode.
  // A file that exists is not opened: to close it would end the locks that this process has on it.
  if (!inMemory && !existsSync(file)) closeSync(openSync(file, 'a', 0o600))
  // Do not let SQLite wait for locks. That would block this thread, which may itself hold the lock.
  return newHandle(file, options, { timeout: 0 })
}

function newHandle(
  file: string,
  { nativeBinding }: SqliteOptions,
  options: { readonly timeout: number; readonly fileMustExist?: boolean },
): SqliteHandle {
  return new BetterSqlite3(file, { ...options, ...(nativeBinding && { nativeBinding: nativeBinding as string }) })
}

function cannotOpen(file: string, error: unknown): MailkeepError {
  if (isMailkeepError(error)) return error
  if (isDamaged(error)) return damaged(file, error)
  const message = `The database ${file} cannot be opened: ${reasonOf(error)}`
  return new MailkeepError('unavailable', message, { cause: error })
}

function reasonOf(error: unknown): string {
  const message = error instanceof Error ? error.message : String(error)
  if (!message.startsWith('Could not locate the bindings file')) return message
  const remedy = 'Allow its install script, then run: npm rebuild better-sqlite3'
  return `better-sqlite3 was installed without its native addon. ${remedy}`
}

/** Checks that SQLite runs here, before there is a file. @throws MailkeepError `unavailable` */
export function requireSqlite(options: SqliteOptions): void {
  requireSupportedNode()
  try {
    newHandle(':memory:', options, { timeout: 0 }).close()
  } catch (error) {
    const message = `better-sqlite3 does not run here: ${reasonOf(error)}`
    throw new MailkeepError('unavailable', message, { cause: error })
  }
}

/**
 * Inspects a database file, which may be in use.
 *
 * @returns `missingTables`: tables that its migrations created, and that it lacks.
 * @throws MailkeepError `unavailable`
 */
export function inspectFile(
  file: string,
  { thorough, ...options }: SqliteOptions & { thorough: boolean },
): FileReport & { readonly missingTables: readonly string[] } {
  return onFile(file, options, (handle) => {
    const found = report(handle, sqliteMigrations, thorough)
    const applied = found.mailkeep ? sqliteMigrations.filter(({ name }) => !found.unapplied.includes(name)) : []
    const tables = tablesIn(handle)
    return { ...found, missingTables: tablesOf(applied).filter((name) => !tables.includes(name)) }
  })
}

/** Whether a file has only foreign tables, except SQLite's and Litestream's. @throws MailkeepError `unavailable` */
export function holdsForeignTables(file: string, options: SqliteOptions): boolean {
  return onFile(file, options, (handle) => {
    const tables = tablesIn(handle)
    if (tables.some((name) => name.startsWith('mailkeep_'))) return false
    return tables.some((name) => !/^(?:sqlite|_litestream)_/.test(name))
  })
}

/** Whether another process delivers webhooks and sends mail on a file. This process must not have started. */
export function hasSender(file: string, options: SqliteOptions): boolean {
  return processLocks(file, options).hasSender()
}

/**
 * Copies a snapshot of a database file, which may be in use.
 *
 * @param target Path of an empty file, or of none.
 * @returns a report on the database just before the copy. `undisturbed`: no process wrote during the copy, so the copy
 *   must match the report.
 * @throws MailkeepError `unavailable`
 */
export function copyFile(file: string, target: string, options: SqliteOptions): ReturnType<typeof copyInto> {
  return onFile(file, options, (handle) => copyInto(handle, target, sqliteMigrations))
}

/** Maximum time that a compaction waits for other processes' locks. */
const compactionLockTimeoutMs = 60_000

/**
 * Rewrites a database file with VACUUM, which removes all traces of deleted rows. The file may be in use; other
 * processes' writes wait until it is done.
 *
 * @throws MailkeepError `conflict`: it has tables that are not mailkeep's; `unavailable`
 */
export function compactFile(file: string, options: SqliteOptions): CompactionReport {
  return onFile(file, options, (handle) => compactNow(handle, compactionLockTimeoutMs))
}

/**
 * Merges the write-ahead log of an unused database into its file, and keeps the file locked while `use` runs.
 *
 * @throws MailkeepError `conflict`: another process has it open.
 */
export function closeOff(file: string, options: SqliteOptions, use: () => void): void {
  onFile(file, options, (handle) => {
    try {
      handle.pragma('locking_mode = exclusive')
      handle.pragma('journal_mode = delete')
      handle.exec('begin exclusive')
    } catch (error) {
      if (isLocked(error)) throw new MailkeepError('conflict', `The database ${file} is in use: stop mailkeep first.`)
      // `use` may move a damaged file away, so damage is no reason to stop.
      if (!/^SQLITE_(?:CORRUPT|NOTADB|IOERR)/.test((error as { code?: string }).code ?? '')) throw error
    }
    use()
  })
}

/**
 * Locks a database file exclusively, so that its rows can be copied to another database.
 *
 * @throws MailkeepError `conflict`: another process has it open; `unavailable`
 */
export function openRows(file: string, options: SqliteOptions = {}): RowSource & Disposable {
  requireSupportedNode()
  let handle: SqliteHandle | undefined
  try {
    handle = newHandle(file, options, { fileMustExist: true, timeout: 0 })
    const rows = openRowSource(handle, file)
    return { ...rows, [Symbol.dispose]: () => void handle!.close() }
  } catch (error) {
    handle?.close()
    if (isLocked(error)) throw new MailkeepError('conflict', `The database ${file} is in use: stop mailkeep first.`)
    throw cannotOpen(file, error)
  }
}

function onFile<T>(file: string, options: SqliteOptions, use: (handle: SqliteHandle) => T): T {
  requireSupportedNode()
  try {
    const handle = newHandle(file, options, { fileMustExist: true, timeout: 2000 })
    using _ = { [Symbol.dispose]: () => handle.close() }
    return use(handle)
  } catch (error) {
    throw cannotOpen(file, error)
  }
}
