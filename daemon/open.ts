import { resolve } from 'node:path'
import { ses } from '../lib/identities/ses.ts'
import { createMailkeep, type DatabaseSource, type Logger, type Mailkeep } from '../lib/index.ts'
import { hostAndPort, isLoopback } from '../lib/internal.ts'
import type { SqliteOptions } from '../lib/storage/sqlite.ts'
import { nativeAddon } from './addon.ts'
import { CliError } from './cli-error.ts'
import type { Config } from './config.ts'
import { holdsDatabase, inMemory, isServer, refuseMissingDirectory, shownDatabase } from './database-setting.ts'
import { loadPostgres, loadSqlite } from './drivers.ts'
import { openEncryptionKey } from './encryption-key.ts'
import { mailOptions } from './mail.ts'

interface OpenOptions {
  /** Whether to create a missing database and its key, and to migrate a database of an older version. */
  readonly create: boolean
  /** Returns the URL of the contact pages. Default: the configured one, or that of a daemon on this machine. */
  readonly publicUrl?: () => string | undefined
}

/**
 * Opens the configured database.
 *
 * @throws CliError, MailkeepError The database cannot be opened.
 */
export async function openMailkeep(
  config: Config,
  logger: Logger,
  { create, publicUrl = () => config.publicUrl ?? localUrl(config) }: OpenOptions,
): Promise<Mailkeep> {
  const database = await sourceOf(config, create)
  const mail = mailOptions(config.mail) // before the key is created: the settings may be wrong
  const encryptionKey = await openEncryptionKey(config)
  return await createMailkeep({
    database,
    encryptionKey,
    // A daemon of the older version that runs cannot work with a migrated database. None uses one in memory.
    migrate: create || config.database === inMemory,
    previousEncryptionKeys: config.previousEncryptionKey === undefined ? [] : [config.previousEncryptionKey],
    logger,
    webhooks: config.webhooks,
    mail,
    ...(config.mail.transport.kind === 'ses' && { identityProvider: ses() }),
    publicUrl,
    source: 'cli',
  })
}

/** Returns the daemon's address if mail stays on this machine too. Links that leave it need a configured URL. */
function localUrl({ host, port, mail }: Config): string | undefined {
  if (!staysHere(mail.transport) || port === 0 || !isLoopback(host)) return undefined
  return `http://${hostAndPort(host, port)}`
}

function staysHere(transport: Config['mail']['transport']): boolean {
  if (transport.kind !== 'smtp') return transport.kind === 'folder'
  return isLoopback(new URL(transport.url).hostname.replace(/^\[|\]$/g, ''))
}

async function sourceOf({ database, postgres: options }: Config, create: boolean): Promise<DatabaseSource> {
  if (isServer(database)) {
    const { postgres, inspectServer } = await loadPostgres()
    if (!create && !(await inspectServer(database, options)).mailkeep) {
      throw missing(`There are no tables of mailkeep in ${shownDatabase(database)}`, 'MAILKEEP_DATABASE')
    }
    return postgres(database, options)
  }
  if (create) refuseMissingDirectory(database)
  const exists = holdsDatabase(database)
  if (!exists && !create && database !== inMemory) {
    throw missing(`There is no database at ${resolve(database)}`, '--database or MAILKEEP_DATABASE')
  }
  const { sqlite, holdsForeignTables } = await loadSqlite()
  if (exists && holdsForeignTables(database, sqliteOptions())) {
    throw new CliError(`${database} belongs to another program: set MAILKEEP_DATABASE to a file of mailkeep's own.`)
  }
  return sqlite(database, sqliteOptions())
}

function missing(what: string, setting: string): CliError {
  return new CliError(`${what}: name another with ${setting}, or create it with mailkeep migrate.`)
}

/** Returns the options for SQLite in this program. */
export function sqliteOptions(): SqliteOptions {
  const nativeBinding = nativeAddon()
  return nativeBinding === undefined ? {} : { nativeBinding }
}
