import type { CompiledQuery, Kysely } from 'kysely'
import type { Connection } from '../connection.ts'

/** A connection of a Kysely instance that is reserved for one user. */
export interface ReservedConnection {
  readonly connection: Connection
  /** Returns it to the Kysely instance. */
  release(): void
}

/** Adapts a Kysely instance to `Connection`. */
export function connectionOf(kysely: Pick<Kysely<unknown>, 'executeQuery'>): Connection {
  return { executeQuery: <R>(query: CompiledQuery) => kysely.executeQuery(query as CompiledQuery<R>) }
}

/** Reserves a connection. Waits until one is free. */
export function reserve(kysely: Kysely<unknown>): Promise<ReservedConnection> {
  return new Promise((resolve, reject) => {
    kysely
      .connection()
      .execute(
        (connection) =>
          new Promise<void>((release) => {
            resolve({ connection: connectionOf(connection), release })
          }),
      )
      .catch(reject)
  })
}
