import type { CompiledQuery, Kysely } from 'kysely'
import type { Connection } from '../connection.ts'

/** One connection of a Kysely instance, for as long as it is held. */
export interface ReservedConnection {
  readonly connection: Connection
  /** Gives it back. */
  release(): void
}

/** A Kysely instance as what statements run on. */
export function connectionOf(kysely: Pick<Kysely<unknown>, 'executeQuery'>): Connection {
  return { executeQuery: <R>(query: CompiledQuery) => kysely.executeQuery(query as CompiledQuery<R>) }
}

/** Takes a connection; where there is only one it waits until it is free. */
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
