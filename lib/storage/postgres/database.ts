import type { Logger } from '../../logger.ts'
import { type Database, selfMaintained } from '../database.ts'
import { type Connections, readerOn } from './connections.ts'
import { dialect } from './dialect.ts'
import { within } from './host-transaction.ts'
import { ensureSearchIndex } from './search-index.ts'
import { Writes } from './writes.ts'

/** What depends on how mailkeep reaches the server. */
type Driver = Pick<Database, 'clock' | 'changes' | 'liveness' | 'figures' | 'close'>

/** Makes the database on a pool of connections. */
export function databaseOn(connections: Connections, logger: Logger, driver: Driver): Database {
  const reader = readerOn(connections)
  const writes = new Writes(connections, logger)
  const database: Database = {
    ...driver,
    dialect,
    search: { ...selfMaintained, create: ({ idle }) => ensureSearchIndex(reader, writes, logger, idle) },
    read: reader.run,
    transaction: (work, options) => writes.transaction(work, options),
    within: (handle) => within(database, handle),
  }
  return database
}
