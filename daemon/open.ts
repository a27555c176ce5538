import { createMailkeep, type DatabaseSource, type Logger, type Mailkeep } from '../lib/index.ts'
import type { SqliteOptions } from '../lib/storage/sqlite.ts'
import { nativeAddon } from './addon.ts'
import type { Config } from './config.ts'
import { holdsDatabase } from './database-file.ts'
import { isServer } from './database-url.ts'
import { loadPostgres, loadSqlite } from './drivers.ts'
import { openEncryptionKey } from './encryption-key.ts'

/**
 * Opens the configured database, and migrates it.
 *
 * @throws Complaint, MailkeepError when it cannot be opened.
 */
export async function openMailkeep(config: Config, logger: Logger): Promise<Mailkeep> {
  const database = await sourceOf(config)
  const encryptionKey = await openEncryptionKey(config)
  return await createMailkeep({
    database,
    encryptionKey,
    previousEncryptionKeys: config.previousEncryptionKey === undefined ? [] : [config.previousEncryptionKey],
    logger,
    webhooks: config.webhooks,
  })
}

async function sourceOf({ database, postgres: options }: Config): Promise<DatabaseSource> {
  if (isServer(database)) {
    const { postgres } = await loadPostgres()
    return postgres(database, options)
  }
  holdsDatabase(database)
  const { sqlite } = await loadSqlite()
  return sqlite(database, sqliteOptions())
}

/** What SQLite needs to know about this program. */
export function sqliteOptions(): SqliteOptions {
  const nativeBinding = nativeAddon()
  return nativeBinding === undefined ? {} : { nativeBinding }
}
