import { isMailkeepError } from '../lib/index.ts'
import { CliError } from './cli-error.ts'
import type { Config } from './config.ts'
import { shownDatabase } from './database-setting.ts'

/** SQLSTATE `insufficient_privilege` */
const lacksRights = '42501'

/** @returns For an error that the operator can correct, or an error caused by one, a CliError. Other errors unchanged. */
export function databaseError(error: unknown, { database }: Pick<Config, 'database'>): unknown {
  if (isMailkeepError(error, 'internal') && codeOf(error.cause) === lacksRights) {
    const remedy = 'run mailkeep migrate as the role that owns the tables, and see mailkeep doctor'
    return new CliError(`The role of MAILKEEP_DATABASE lacks rights (${(error.cause as Error).message}): ${remedy}.`)
  }
  const code = sqliteCode(error)
  if (code === undefined) return error
  const file = shownDatabase(database)
  if (code.startsWith('SQLITE_CORRUPT') || code === 'SQLITE_NOTADB') {
    const remedy = 'stop mailkeep, look with mailkeep doctor, and restore a backup with mailkeep restore FILE'
    return new CliError(`The database ${file} is damaged (${code}): ${remedy}.`)
  }
  if (code === 'SQLITE_FULL') {
    return new CliError(`The disk of ${file} is full (${code}): free some space, then do it again.`)
  }
  if (code.startsWith('SQLITE_IOERR')) {
    return new CliError(`The disk of ${file} cannot be read or written (${code}): see the system's log.`)
  }
  if (code.startsWith('SQLITE_CANTOPEN')) {
    const what = `The database ${file} cannot be opened (${code})`
    return new CliError(`${what}: its directory must be there, and writable for this user. See mailkeep doctor.`)
  }
  if (code.startsWith('SQLITE_READONLY')) {
    const what = `${file}, its -wal or its -shm cannot be written (${code})`
    return new CliError(`${what}: give them, and their directory, to this user, with mode 600. See mailkeep doctor.`)
  }
  return error
}

function codeOf(error: unknown): unknown {
  return error instanceof Error ? (error as { readonly code?: unknown }).code : undefined
}

/** Returns the code of SQLite that an error has, or that its cause has. */
export function sqliteCode(error: unknown): string | undefined {
  if (!(error instanceof Error)) return undefined
  // The code of a DOMException, as of an aborted request, is a number.
  const { code } = error as { readonly code?: unknown }
  return typeof code === 'string' && code.startsWith('SQLITE_') ? code : sqliteCode(error.cause)
}
