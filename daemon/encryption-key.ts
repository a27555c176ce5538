import { randomBytes } from 'node:crypto'
import { open, readFile, rm } from 'node:fs/promises'
import { dirname } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { sync } from './atomic-file.ts'
import { CliError, reasonOf } from './cli-error.ts'
import type { Config } from './config.ts'
import { isKey } from './database-key.ts'
import { holdsDatabase, inMemory, isServer } from './database-setting.ts'

/** Maximum time between another process creating the key file and writing the key to it. */
const keyWriteTimeoutMs = 2_000

/**
 * Returns the key that encrypts webhook secrets. A configured key has precedence. Otherwise the key is in a file beside
 * the SQLite database, created with a new database. PostgreSQL needs a configured key.
 *
 * @returns Base64 of 32 bytes.
 * @throws CliError The file cannot be read or created, or the key of an existing database is missing.
 */
export async function openEncryptionKey({ encryptionKey, database }: Config): Promise<string> {
  if (encryptionKey !== undefined) return encryptionKey
  if (isServer(database)) {
    // The daemons of one PostgreSQL database have no common directory for a key file.
    const how = 'set it to what openssl rand -base64 32 gives, the same for every process of this database'
    throw new CliError(`MAILKEEP_ENCRYPTION_KEY is needed with PostgreSQL: ${how}.`)
  }
  if (database === inMemory) return randomBytes(32).toString('base64')
  const path = `${database}.key`
  const existing = await readKey(path)
  if (existing !== undefined) return existing
  // Every process creates the key before the database. So an existing database without a key file has lost its key.
  // Read again, because another process may have created both since the first read.
  if (!holdsDatabase(database))
    return (await createKey(path)) ?? (await readKey(path)) ?? failMissingKey(database, path)
  return (await readKey(path)) ?? failMissingKey(database, path)
}

function failMissingKey(database: string, path: string): never {
  throw new CliError(`The key of the database ${database} is missing: set MAILKEEP_ENCRYPTION_KEY, or restore ${path}.`)
}

async function readKey(path: string): Promise<string | undefined> {
  for (const startedMs = performance.now(); ; await delay(20)) {
    const text = await readIfExists(path)
    if (text === undefined || isKey(text)) return text
    if (performance.now() - startedMs > keyWriteTimeoutMs)
      throw new CliError(
        `${path} does not hold the base64 of 32 bytes: restore it, or delete it if its database is new.`,
      )
  }
}

async function readIfExists(path: string): Promise<string | undefined> {
  try {
    return (await readFile(path, 'utf8')).trim()
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined
    throw new CliError(`The encryption key ${path} cannot be read: ${reasonOf(error)}.`)
  }
}

/** @returns Undefined when another process created the file first. */
async function createKey(path: string): Promise<string | undefined> {
  const key = randomBytes(32).toString('base64')
  try {
    await using file = await open(path, 'wx', 0o600)
    try {
      await file.writeFile(`${key}\n`)
      await file.sync()
    } catch (error) {
      await rm(path, { force: true })
      throw error
    }
    await sync(dirname(path)).catch(() => {}) // not every system can sync a directory
    return key
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return undefined
    throw new CliError(`The encryption key ${path} cannot be made: ${reasonOf(error)}.`)
  }
}
