import type { CompiledQuery, Kysely } from 'kysely'
import { MailkeepError } from '../errors.ts'
import type { Connection } from './connection.ts'
import { noTransaction } from './host-transaction.ts'

/** A connection of a Kysely instance that is reserved for one user. */
export interface ReservedConnection extends Connection {
  /** Returns it to the Kysely instance. */
  release(): void
}

/** Adapts a Kysely instance to `Connection`. */
export function connectionOf(kysely: Pick<Kysely<unknown>, 'executeQuery'>): Connection {
  return {
    run: <R>({ sql, parameters, query, queryId }: CompiledQuery) =>
      kysely.executeQuery({ sql, parameters, query, queryId } as CompiledQuery<R>),
  }
}

/** Returns the error for a Kysely instance that the host has destroyed; undefined for other errors. */
export function destroyed(error: unknown): MailkeepError | undefined {
  if (!(error instanceof Error) || error.message !== 'driver has already been destroyed') return undefined
  const message = 'The Kysely instance was destroyed: close mailkeep before it, and open both again.'
  return new MailkeepError('unavailable', message, { cause: error })
}

/** Reserves a connection. Waits until one is free. */
export function reserve(kysely: Kysely<unknown>): Promise<ReservedConnection> {
  return new Promise((resolve, reject) => {
    kysely
      .connection()
      .execute((reserved) => new Promise<void>((release) => resolve({ ...connectionOf(reserved), release })))
      .catch(reject)
  })
}

/**
 * Returns the connection of a Kysely transaction, without the host's plugins; undefined if the handle is not from
 * Kysely.
 *
 * @throws MailkeepError `validation_failed`: it has no transaction open.
 */
export function connectionOfTransaction(handle: unknown): Connection | undefined {
  if (typeof handle !== 'object' || handle === null || !('isTransaction' in handle)) return undefined
  const kysely = handle as Kysely<unknown>
  if (kysely.isTransaction !== true) throw noTransaction()
  return connectionOf(kysely.withoutPlugins())
}
