import { CompiledQuery, type Kysely } from 'kysely'
import type { DatabaseSource, Storage } from '../connection.ts'
import { postgresMigrations } from '../migrations/postgres.ts'
import { Connections, Reader } from '../postgres/connections.ts'
import { toMailkeepError } from '../postgres/database-errors.ts'
import { builder, dialect } from '../postgres/dialect.ts'
import type { DriverPool, DriverQuery, DriverResult, PooledClient } from '../postgres/driver.ts'
import { adopt, queryPlainRows } from '../postgres/host.ts'
import { ensureSearchIndex } from '../postgres/search-index.ts'
import { Writes } from '../postgres/writes.ts'
import { type ReservedConnection, reserve } from './reserved-connection.ts'

/** Poll interval for commits of other processes, because Kysely has no LISTEN. */
const pollIntervalMs = 200

/** Uses PostgreSQL through the host's Kysely instance, driver and pool. */
export function openPostgresThrough(kysely: Kysely<unknown>, own: boolean): DatabaseSource {
  return {
    kind: 'postgres',
    migrations: postgresMigrations,
    async open(logger) {
      const connections = new Connections(new KyselyPool(kysely), logger, false)
      const reader = new Reader(connections)
      const writes = new Writes(connections)
      const storage: Storage = {
        dialect,
        builder,
        reader,
        write: (work) => writes.write(work),
        writeAlone: (work) => writes.writeAlone(work),
        migrated: () => ensureSearchIndex(reader, writes, logger),
        version: async () => Math.floor(performance.now() / pollIntervalMs),
        toMailkeepError: toMailkeepError,
        adopt,
        close: async () => {
          await connections.close(false)
          if (own) await kysely.destroy()
        },
      }
      return storage
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
    return { query: (query) => ask(reserved, query), release: () => reserved.release(), on: nothing, off: nothing }
  }

  async end(): Promise<void> {}
  on(): void {}
  off(): void {}
}

async function ask({ connection }: ReservedConnection, { text, values = [] }: DriverQuery): Promise<DriverResult> {
  const { rows, numAffectedRows } = await queryPlainRows(connection, CompiledQuery.raw(text, values))
  return { rows, rowCount: Number(numAffectedRows ?? rows.length), command: text.toUpperCase() }
}

function nothing(): void {}
