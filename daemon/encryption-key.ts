import { randomBytes } from 'node:crypto'
import { open, readFile } from 'node:fs/promises'
import { dirname } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { CliError, reasonOf } from './cli-error.ts'
import type { Config } from './config.ts'
import { holdsDatabase, inMemory } from './database-file.ts'
import { isServer } from './database-url.ts'

/** How long another process may take between making the key file and writing to it. */
const patienceMs = 2_000

/**
 * The key that webhook secrets are sealed with: as configured, else from a file beside the database,
 * which is made with a new database; PostgreSQL's must be configured.
 *
 * @returns Base64 of 32 bytes.
 * @throws Complaint when the file cannot be read or made, or the key of an existing database is missing.
 */
export async function openEncryptionKey({ encryptionKey, database }: Config): Promise<string> {
  if (encryptionKey !== undefined) return encryptionKey
  if (isServer(database)) {
    // Beside a server there is no place that all its daemons share.
    const how = 'set it to what openssl rand -base64 32 gives, the same for every process of this database'
    throw new CliError(`MAILKEEP_ENCRYPTION_KEY is needed with PostgreSQL: ${how}.`)
  }
  if (database === inMemory) return randomBytes(32).toString('base64')
  const path = `${database}.key`
  const found = await readKey(path)
  if (found !== undefined) return found
  // Whoever makes a database makes its key first, so the key of one that is there can only be missing.
  if (!holdsDatabase(database)) return (await makeKey(path)) ?? (await readKey(path)) ?? missing(database, path)
  return (await readKey(path)) ?? missing(database, path)
}

function missing(database: string, path: string): never {
  throw new CliError(`The key of the database ${database} is missing: set MAILKEEP_ENCRYPTION_KEY, or restore ${path}.`)
}

async function readKey(path: string): Promise<string | undefined> {
  for (const startedMs = performance.now(); ; await delay(20)) {
    const text = await readIfThere(path)
    if (text === undefined || /^[A-Za-z\d+/_-]{43}=?$/.test(text)) return text
    if (performance.now() - startedMs > patienceMs) throw new CliError(`${path} does not hold the base64 of 32 bytes.`)
  }
}

async function readIfThere(path: string): Promise<string | undefined> {
  try {
    return (await readFile(path, 'utf8')).trim()
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined
    throw new CliError(`The encryption key ${path} cannot be read: ${reasonOf(error)}.`)
  }
}

/** @returns undefined when another process made the file first. */
async function makeKey(path: string): Promise<string | undefined> {
  const key = randomBytes(32).toString('base64')
  try {
    await using file = await open(path, 'wx', 0o600)
    await file.writeFile(`${key}\n`)
    await file.sync()
    await keepName(path)
    return key
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return undefined
    throw new CliError(`The encryption key ${path} cannot be made: ${reasonOf(error)}.`)
  }
}

/** Secrets must not outlive their key: its name too must survive a power cut, where the system has a way to see to it. */
async function keepName(path: string): Promise<void> {
  const directory = await open(dirname(path), 'r').catch(() => undefined)
  await directory?.sync().catch(() => {})
  await directory?.close()
}
