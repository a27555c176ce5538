import { invalid, MailkeepError, notFound } from '../../errors.ts'
import { noTransaction, otherDatabase } from '../host-transaction.ts'

/**
 * How a failed statement is handled:
 * - `retryable`: a serialization failure or deadlock. A retry may succeed.
 * - `raced`: a unique or foreign key was violated. A concurrent transaction may be the cause, and a retry sees its
 *   rows.
 * - `stale`: the prepared statements of this connection are invalid. Another connection may work.
 * - `lost`: the connection is closed or unusable.
 * - `busy`: the server is reachable but cannot run the statement now.
 * - `refused`: the statement itself is wrong.
 */
export type DatabaseErrorKind = 'retryable' | 'raced' | 'stale' | 'lost' | 'busy' | 'refused'

/** The error of a failed statement. Callers of the storage never get it. */
export class DatabaseError extends Error {
  override readonly name = 'DatabaseError'
  readonly kind: DatabaseErrorKind
  override readonly cause: Error

  constructor(cause: unknown) {
    const error = cause instanceof Error ? cause : new Error(String(cause))
    super(error.message)
    this.cause = error
    this.kind = kindOf(error)
  }

  /** PostgreSQL's SQLSTATE code; undefined if the error is not from the server. */
  get sqlState(): string | undefined {
    return sqlStateOf(this.cause)
  }
}

/** Serialization failure and deadlock. */
const retryable = /^(40001|40P01)$/
/** Violations of unique and foreign keys. */
const raced = /^(23505|23503)$/
/** Connection exceptions, shutdowns, session timeouts, and a server that has become a read-only replica. */
const lost = /^(08...|57P0[1-5]|25P03|25P04|25006)$/
/** Insufficient resources, statement and lock timeouts, and I/O errors of the server. */
const busy = /^(53...|55P03|57014|58...)$/
/**
 * Prepared statements that are missing or exist already. See `kindOf` for those with other columns after a migration.
 */
const stale = /^(26000|42P05)$/

function kindOf(error: Error): DatabaseErrorKind {
  const state = sqlStateOf(error)
  if (state === undefined) return isValueError(error) ? 'refused' : 'lost'
  if (retryable.test(state)) return 'retryable'
  if (raced.test(state)) return 'raced'
  if (stale.test(state) || (state === '0A000' && error.message.includes('cached plan'))) return 'stale'
  if (lost.test(state) || isReadWriteOnReplica(error)) return 'lost'
  return busy.test(state) ? 'busy' : 'refused'
}

/**
 * Whether `begin read write` failed on a replica. The server refuses to set the parameter as it refuses an unsupported
 * feature.
 */
function isReadWriteOnReplica(error: Error): boolean {
  return sqlStateOf(error) === '0A000' && 'routine' in error && error.routine === 'call_bool_check_hook'
}

/** Requires a `severity`, which only the server's errors have. Node's codes such as EPIPE look like an SQLSTATE. */
export function sqlStateOf(error: Error): string | undefined {
  return 'severity' in error && 'code' in error && typeof error.code === 'string' ? error.code : undefined
}

/** Whether a value could not be encoded or decoded, as opposed to a socket error. */
function isValueError(error: Error): boolean {
  return error instanceof TypeError || error instanceof RangeError || error instanceof SyntaxError
}

/**
 * Maps a database error to the error that callers get. It never has a code of the driver or the server.
 *
 * @param inHostTransaction Whether the statement ran in a transaction that the host opened.
 */
export function toMailkeepError(error: unknown, inHostTransaction = false): unknown {
  if (!(error instanceof DatabaseError)) return error
  const { cause, kind, sqlState } = error
  if (sqlState === '25P01') return noTransaction(cause) // mailkeep's savepoint outside a host's transaction
  if (inHostTransaction && (sqlState === '42P01' || isOfSqlite(cause))) return otherDatabase(cause)
  if (isOfSqlite(cause)) return invalid('dialect', "This Kysely runs on SQLite: its dialect is 'sqlite'.", cause)
  if (inHostTransaction && sqlState === '25P02') {
    return invalid('transaction', 'A statement of this transaction failed before: roll it back and begin again.', cause)
  }
  if (inHostTransaction && sqlState === '25006') {
    return invalid(
      'transaction',
      'This transaction can only read: begin one that may write, on the primary server.',
      cause,
    )
  }
  if (sqlState === '23503') return notFound(recordOf(cause))
  if (sqlState === '23505') {
    return new MailkeepError('conflict', 'Another request changes the same record: try again.', { cause })
  }
  if (kind === 'refused') {
    return new MailkeepError('internal', `A statement failed (${sqlState ?? cause.name}).`, { cause })
  }
  if (sqlState !== undefined && stale.test(sqlState)) {
    const message = 'Prepared statements fail: a pooler in front of the database needs the option pooler.'
    return new MailkeepError('unavailable', message, { cause })
  }
  const what = kind === 'lost' ? 'cannot be reached' : 'cannot do this now'
  return new MailkeepError('unavailable', `The database ${what}: try again shortly.`, { cause })
}

/** Returns the record type that a violated foreign key points to. Constraint names contain table and column. */
function recordOf(cause: Error): string {
  const constraint = 'constraint' in cause ? String(cause.constraint) : ''
  return /_(client|list|contact|event|delivery)_id_fkey$/.exec(constraint)?.[1] ?? 'record'
}

/** Recognises an error of SQLite: the host's Kysely or its transaction is on another kind of database. */
function isOfSqlite(cause: Error): boolean {
  return 'code' in cause && String(cause.code).startsWith('SQLITE_')
}
