import { closed, invalid, MailkeepError, notFound } from '../../errors.ts'
import type { Logger } from '../../logger.ts'
import { otherDatabase, transactionEnded } from '../host-transaction.ts'
import { destroyed } from '../kysely-connection.ts'

/**
 * Maps a driver's error to the MailkeepError that callers get. Returns other errors unchanged.
 *
 * @param inHostTransaction Whether the statement ran in a transaction that the host opened. Default false.
 */
export type ErrorMapper = (error: unknown, inHostTransaction?: boolean) => unknown

/** @returns whether another connection or statement holds the lock, so that a retry may succeed. */
export function isLocked(error: unknown): boolean {
  return /^SQLITE_(BUSY|LOCKED)/.test(codeOf(error)) || isIterating(error)
}

/** Recognises better-sqlite3's error for a write while `iterate()` of the same handle has not ended. */
export function isIterating(error: unknown): boolean {
  return error instanceof TypeError && error.message === 'This database connection is busy executing a query'
}

export function stillIterating(cause: unknown): MailkeepError {
  const message = 'A statement of this better-sqlite3 handle is still being iterated: let iterate() end, or use all().'
  return invalid('transaction', message, cause)
}

/** @returns whether the file is not a database or has damaged pages. */
export function isDamaged(error: unknown): boolean {
  return /^SQLITE_(CORRUPT|NOTADB)/.test(codeOf(error))
}

function codeOf(error: unknown): string {
  return error instanceof Error ? String((error as { code?: unknown }).code ?? '') : ''
}

/**
 * Returns the error for a damaged file. Its code is `internal`, so only the library and the command line show the
 * message.
 *
 * @param file The path, if known.
 */
export function damaged(file: string | undefined, cause: unknown): MailkeepError {
  const what = file === undefined ? 'The database' : `The database ${file}`
  const message = `${what} is damaged, or is not a SQLite database: run mailkeep doctor, and restore a backup with mailkeep restore.`
  return new MailkeepError('internal', message, { cause })
}

/** Minimum time between two log lines about the disk, because each write on a full disk fails. */
const minReportIntervalMs = 60_000

/**
 * Returns a function that maps the driver's errors. Errors of the machine that may pass become `unavailable`.
 *
 * @param file The database's path, for messages.
 * @param logger Gets an error about a disk that is full or fails. Callers get a short message, and may be far away.
 */
export function errorMapper(file: string | undefined, logger?: Logger): ErrorMapper {
  let reportedMs = Number.NEGATIVE_INFINITY
  const report = (code: string) => {
    if (performance.now() - reportedMs < minReportIntervalMs) return
    reportedMs = performance.now()
    logger?.error({ file, code }, 'the database cannot be read or written: requests are refused')
  }
  return (error, inHostTransaction = false) => {
    const code = codeOf(error)
    if (isNotOpen(error)) return inHostTransaction ? transactionEnded(error) : closed(error)
    if (isIterating(error)) return stillIterating(error)
    const unusable = destroyed(error)
    if (unusable) return unusable
    // Callers can violate only foreign keys to the client.
    if (code === 'SQLITE_CONSTRAINT_FOREIGNKEY') return notFound('client')
    if (isDamaged(error)) return damaged(file, error)
    if (inHostTransaction && (isMissingTable(error) || isOfPostgres(error))) return otherDatabase(error)
    if (/^SQLITE_(FULL|IOERR|BUSY|LOCKED|READONLY|CANTOPEN|NOMEM)/.test(code)) {
      if (!isLocked(error)) report(code)
      return new MailkeepError('unavailable', `The database cannot be written now (${code}).`, { cause: error })
    }
    return code.startsWith('SQLITE_')
      ? new MailkeepError('internal', `A statement failed (${code}).`, { cause: error })
      : error
  }
}

/** Recognises better-sqlite3's error for a closed handle, which has no code. */
function isNotOpen(error: unknown): boolean {
  return error instanceof TypeError && error.message === 'The database connection is not open'
}

function isMissingTable(error: unknown): boolean {
  return error instanceof Error && /^no such table: (?:\w+\.)?mailkeep_/.test(error.message)
}

/** Recognises an error of a PostgreSQL server: the host's Kysely or its transaction is on another kind of database. */
export function isOfPostgres(error: unknown): boolean {
  return error instanceof Error && 'severity' in error
}
