import { CompiledQuery, type Kysely } from 'kysely'
import type { DatabaseSource, Storage } from '../connection.ts'
import { postgresMigrations } from '../migrations/postgres.ts'
import { Connections, Reader } from '../postgres/connections.ts'
import { toMailkeepError } from '../postgres/database-errors.ts'
import { builder, dialect } from '../postgres/dialect.ts'
import type { DriverPool, DriverQuery, DriverResult, PooledClient } from '../postgres/driver.ts'
import { adopt, askForOwnRows } from '../postgres/host.ts'
import { ensureSearchIndex } from '../postgres/search-index.ts'
import { Writes } from '../postgres/writes.ts'
import { type ReservedConnection, reserve } from './reserved-connection.ts'

/** Nobody tells of other processes' commits through a host's Kysely: it is looked so often. */
const lookMs = 200

/** PostgreSQL through a Kysely instance: its driver and pool are the host's. */
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
        version: async () => Math.floor(performance.now() / lookMs),
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

/** A Kysely instance as the pool that it has behind it. */
class KyselyPool implements DriverPool {
  readonly waitingCount = 0
  readonly #kysely: Kysely<unknown>

  constructor(kysely: Kysely<unknown>) {
    this.#kysely = kysely
  }

  async connect(): Promise<PooledClient> {
    const held = await reserve(this.#kysely)
    return { query: (query) => ask(held, query), release: () => held.release(), on: nothing, off: nothing }
  }

  async end(): Promise<void> {}
  on(): void {}
  off(): void {}
}

async function ask({ connection }: ReservedConnection, { text, values = [] }: DriverQuery): Promise<DriverResult> {
  const { rows, numAffectedRows } = await askForOwnRows(connection, CompiledQuery.raw(text, values))
  return { rows, rowCount: Number(numAffectedRows ?? rows.length), command: text.toUpperCase() }
}

function nothing(): void {}
