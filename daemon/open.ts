import { createMailkeep, type Logger, type Mailkeep } from '../lib/index.ts'
import { sqlite } from '../lib/storage/sqlite.ts'
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
    database: sqlite(config.database),
    encryptionKey,
    previousEncryptionKeys: config.previousEncryptionKey === undefined ? [] : [config.previousEncryptionKey],
    logger,
    webhooks: config.webhooks,
  })
}
