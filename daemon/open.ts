import { createMailkeep, type Logger, type Mailkeep } from '../lib/index.ts'
import { type SqliteOptions, sqlite } from '../lib/storage/sqlite.ts'
import { nativeAddon } from './addon.ts'
import type { Config } from './config.ts'
import { holdsDatabase } from './database-file.ts'
import { openEncryptionKey } from './encryption-key.ts'

/**
 * Opens the configured database, and migrates it.
 *
 * @throws Complaint, MailkeepError when it cannot be opened.
 */
export async function openMailkeep(config: Config, logger: Logger): Promise<Mailkeep> {
  await holdsDatabase(config.database)
  const encryptionKey = await openEncryptionKey(config)
  return await createMailkeep({
    database: sqlite(config.database, sqliteOptions()),
    encryptionKey,
    previousEncryptionKeys: config.previousEncryptionKey === undefined ? [] : [config.previousEncryptionKey],
    logger,
    webhooks: config.webhooks,
  })
}

/** What SQLite needs to know about this program. */
export function sqliteOptions(): SqliteOptions {
  const nativeBinding = nativeAddon()
  return nativeBinding === undefined ? {} : { nativeBinding }
}
