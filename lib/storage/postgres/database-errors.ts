import { invalid, MailkeepError, notFound } from '../../errors.ts'
import type { ErrorContext } from '../connection.ts'
import { noTransaction, otherDatabase } from '../host/transaction.ts'

/**
 * What a failed statement means for the work it belongs to:
 * - `again`: another transaction was in the way; the same work may succeed.
 * - `raced`: a row is there already, or one it points to is not: another transaction may have been faster, and the
 *   same work, run again, sees what it did.
 * - `stale`: this connection's prepared statements are no good any more; another connection's are.
 * - `lost`: the connection is gone, or cannot be trusted any more.
 * - `busy`: the server is there but cannot do it now.
 * - `refused`: the statement itself is wrong.
 */
export type DatabaseErrorKind = 'again' | 'raced' | 'stale' | 'lost' | 'busy' | 'refused'

/** A statement that failed; it never leaves the storage. */
export class DatabaseError extends Error {
  override readonly name = 'Fault'
  readonly kind: DatabaseErrorKind
  override readonly cause: Error

  constructor(cause: unknown) {
    const error = cause instanceof Error ? cause : new Error(String(cause))
    super(error.message)
    this.cause = error
    this.kind = kindOf(error)
  }

  /** PostgreSQL's five characters, if the server spoke at all. */
  get sqlState(): string | undefined {
    return sqlStateOf(this.cause)
  }
}

/** Serialization failure and deadlock. */
const again = /^(40001|40P01)$/
/** Unique and foreign keys. */
const raced = /^(23505|23503)$/
/** Connection exceptions, shutdowns, time-outs of the session, and a server that has become a read-only replica. */
const lost = /^(08...|57P0[1-5]|25P03|25P04|25006)$/
/** Out of resources, out of time, or at fault with its files. */
const busy = /^(53...|55P03|57014|58...)$/
/** A statement that is not there, is there already, or gives other columns since a migration. */
const stale = /^(26000|42P05)$/

function kindOf(error: Error): DatabaseErrorKind {
  const state = sqlStateOf(error)
  if (state === undefined) return isOurs(error) ? 'refused' : 'lost'
  if (again.test(state)) return 'again'
  if (raced.test(state)) return 'raced'
  if (stale.test(state) || (state === '0A000' && error.message.includes('cached plan'))) return 'stale'
  if (lost.test(state)) return 'lost'
  return busy.test(state) ? 'busy' : 'refused'
}

/** Node's codes, such as EPIPE, look alike; only what the server sends has a severity. */
function sqlStateOf(error: Error): string | undefined {
  return 'severity' in error && 'code' in error && typeof error.code === 'string' ? error.code : undefined
}

/** A value that could not be written or read, as opposed to a socket's fault. */
function isOurs(error: Error): boolean {
  return error instanceof TypeError || error instanceof RangeError || error instanceof SyntaxError
}

/** What callers are told: never a code of the driver's or the server's. */
export function toMailkeepError(error: unknown, { inHostTransaction = false }: ErrorContext = {}): unknown {
  if (!(error instanceof DatabaseError)) return error
  const { cause, kind, sqlState } = error
  if (sqlState === '25P01') return noTransaction(cause) // a savepoint of ours, outside a transaction of the host's
  if (inHostTransaction && sqlState === '42P01') return otherDatabase(cause)
  if (inHostTransaction && sqlState === '25P02') {
    return invalid('transaction', 'A statement of this transaction failed before: roll it back and begin again.', cause)
  }
  if (sqlState === '23503') return notFound(recordOf(cause))
  if (sqlState === '23505') {
    return new MailkeepError('conflict', 'Another request changes the same record: try again.', { cause })
  }
  if (kind === 'refused') {
    return new MailkeepError('internal', `A statement failed (${sqlState ?? cause.name}).`, { cause })
  }
  const what = kind === 'lost' ? 'cannot be reached' : 'cannot do this now'
  return new MailkeepError('unavailable', `The database ${what}: try again shortly.`, { cause })
}

/** The record that a broken foreign key points to; constraints are named after table and column. */
function recordOf(cause: Error): string {
  const constraint = 'constraint' in cause ? String(cause.constraint) : ''
  return /_(client|list|contact|event|delivery)_id_fkey$/.exec(constraint)?.[1] ?? 'record'
}
