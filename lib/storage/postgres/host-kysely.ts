import { CompiledQuery, type Kysely } from 'kysely'
import { pollingFeed } from '../change-feed.ts'
import { plainQuery } from '../connection.ts'
import { type DatabaseSource, noLiveness } from '../database.ts'
import { type ReservedConnection, reserve } from '../kysely-connection.ts'
import { postgresMigrations } from '../migrations/postgres.ts'
import { Connections } from './connections.ts'
import { databaseOn } from './database.ts'
import type { DriverPool, DriverQuery, DriverResult, PooledClient } from './driver.ts'
import { queryPlainRows } from './host-transaction.ts'

/** Poll interval for commits of other processes, because Kysely has no LISTEN. */
const pollIntervalMs = 200

/** Uses PostgreSQL through the host's Kysely instance, driver and pool. */
export function openPostgresThrough(kysely: Kysely<unknown>, own: boolean): DatabaseSource {
  return {
    kind: 'postgres',
    migrations: postgresMigrations,
    async open(logger) {
      const connections = new Connections(new KyselyPool(kysely), logger, false)
      return databaseOn(connections, logger, {
        clock: Date.now,
        changes: pollingFeed(async () => Math.floor(performance.now() / pollIntervalMs)),
        liveness: noLiveness,
        figures: () => ({}),
        async close() {
          await connections.close(false)
          if (own) await kysely.destroy()
        },
      })
    },
  }
}

/** Adapts a Kysely instance to the interface of a pool. */
class KyselyPool implements DriverPool {
  readonly waitingCount = 0
  readonly #kysely: Kysely<unknown>

  constructor(kysely: Kysely<unknown>) {
    this.#kysely = kysely
  }

  async connect(): Promise<PooledClient> {
    const reserved = await reserve(this.#kysely)
    let isReleased = false
    return {
      async query(query) {
        // A statement behind one that timed out would run after the rollback, in no transaction.
        if (isReleased) throw new Error('The connection was returned to Kysely and is not queryable')
        return await ask(reserved, query)
      },
      release(isBroken = false) {
        isReleased = true
        if (isBroken) void rollBackAndRelease(reserved)
        else reserved.release()
      },
      on() {},
    }
  }

  async end(): Promise<void> {}
  on(): void {}
  off(): void {}
}

/**
 * Kysely cannot close a connection. If the host's driver stopped waiting for a statement, that statement may still run in
 * an open transaction, which the next user of the connection would commit.
 */
async function rollBackAndRelease(connection: ReservedConnection): Promise<void> {
  for (let isTimeout = true; isTimeout; ) {
    try {
      await connection.run(plainQuery('rollback'))
      isTimeout = false
    } catch (error) {
      isTimeout = error instanceof Error && error.message === 'Query read timeout'
    }
  }
  connection.release()
}

async function ask(connection: ReservedConnection, { text, values = [] }: DriverQuery): Promise<DriverResult> {
  const { rows, numAffectedRows } = await queryPlainRows(connection, CompiledQuery.raw(text, values))
  return { rows, rowCount: Number(numAffectedRows ?? rows.length), command: text.toUpperCase() }
}
