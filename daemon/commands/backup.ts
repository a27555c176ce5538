import { existsSync } from 'node:fs'
import { readFile, stat, writeFile } from 'node:fs/promises'
import { resolve } from 'node:path'
import type { FileReport } from '../../lib/storage/sqlite.ts'
import { followLink, writeFileAtomic } from '../atomic-file.ts'
import { CliError } from '../cli-error.ts'
import type { Config } from '../config.ts'
import { databaseError, sqliteCode } from '../database-error.ts'
import { findKey, type KeyLocation } from '../database-key.ts'
import {
  bytesOf,
  holdsDatabase,
  inMemory,
  isDatabaseFile,
  isSameFile,
  isServer,
  refuseSpaces,
  requireDatabase,
} from '../database-setting.ts'
import { loadSqlite } from '../drivers.ts'
import { sqliteOptions } from '../open.ts'
import { plural } from '../progress.ts'
import type { Command, Invocation } from './command.ts'

/**
 * Copies the database and its key file, because a database cannot be opened without its key. The key file of the copy
 * is beside it, as with the database. A key from the settings is not copied.
 */
export const backup: Command = {
  usage: 'backup FILE',
  examples: { FILE: '/backups/mailkeep.db' },
  about: 'Copy the database to a file, verified, while the daemon may be writing; its key file is copied beside it',
  run: async (invocation) => {
    const [target = ''] = invocation.args
    refuseSpaces(target)
    const { config } = invocation
    const source = await sourceOf(config)
    const file = await followLink(target) // the key stays beside the link
    await refuseTarget(file, source)
    let copy: FileReport | undefined
    let key: KeyLocation | undefined
    const write = async (partial: string) => {
      copy = await copyVerified(source, partial, file)
      key = await findKey(copy.keyId, config, [`${source}.key`])
      if (key?.in === 'file' && !existsSync(file)) await refuseOtherKey(`${target}.key`, key.key)
    }
    await writeFileAtomic(file, write, invocation.onExit)
    if (key?.in === 'file') await copyKey(`${target}.key`, key.key, invocation)
    await printResult(invocation, target, copy!, key)
  },
}

async function sourceOf({ database }: Config): Promise<string> {
  if (isServer(database)) throw new CliError('A PostgreSQL database is backed up by its own tools: see pg_dump.')
  if (database === inMemory) throw new CliError('A database in memory is gone with its daemon: it has no backups.')
  requireDatabase(database)
  return database
}

async function refuseTarget(target: string, source: string): Promise<void> {
  if (await isSameFile(target, source)) throw new CliError(`${target} is the database itself.`, 2)
  if (await isDatabaseFile(target, source)) {
    throw new CliError(`${target} is a file that mailkeep itself or SQLite uses: the backup needs another name.`, 2)
  }
  const there = await stat(target).catch(() => undefined)
  if (!there) return
  if (there.isDirectory()) throw new CliError(`${target} is a directory.`)
  if (!there.isFile()) throw new CliError(`${target} is not a file.`)
  const log = await stat(`${target}-wal`).catch(() => undefined)
  if (log) throw new CliError(`${target} is a database in use: the backup needs another name.`)
  // Only an earlier backup may be replaced.
  if (!holdsDatabase(target)) throw new CliError(`${target} is there already.`)
  const { holdsForeignTables } = await loadSqlite()
  if (holdsForeignTables(target, sqliteOptions())) {
    throw new CliError(`${target} belongs to another program: the backup needs another name.`)
  }
}

/**
 * Copies a database file and compares the copy with the original.
 *
 * @param target The file to write.
 * @param destination The final name of the file, for messages.
 * @param explain Turns an error of SQLite into one that says what to do.
 * @throws CliError The copy differs from the database.
 */
export async function copyVerified(
  source: string,
  target: string,
  destination: string,
  explain = (error: unknown) => databaseError(error, { database: source }),
): Promise<FileReport> {
  const { copyFile, inspectFile } = await loadSqlite()
  const options = sqliteOptions()
  const copyOrThrow = <T>(copy: () => T): T => {
    try {
      return copy()
    } catch (error) {
      throw sqliteCode(error) === 'SQLITE_FULL' ? fullDisk(source, destination) : explain(error)
    }
  }
  const { before, undisturbed } = copyOrThrow(() => copyFile(source, target, options))
  if (!before.mailkeep) throw new CliError(`${source} is not a mailkeep database: check the path.`)
  const copy = copyOrThrow(() => inspectFile(target, { ...options, thorough: true }))
  const faults = [...copy.faults]
  if (copy.keyId !== before.keyId) faults.push('the setting of the encryption key is missing')
  for (const [name, count] of Object.entries(before.rows)) {
    if (undisturbed && copy.rows[name] !== count) faults.push(`${copy.rows[name]} ${name} rows instead of ${count}`)
  }
  if (faults.length > 0)
    throw new CliError(`${source} cannot be copied whole: ${faults.join('; ')}. See mailkeep doctor.`)
  return copy
}

function fullDisk(source: string, destination: string): CliError {
  const needs = `it needs up to ${Math.ceil(bytesOf(source) / 1e6)} MB`
  return new CliError(`${destination} cannot be written: its disk is full (SQLITE_FULL). Free some space: ${needs}.`)
}

/** The file of a key is replaced only with the backup that it belongs to. */
async function refuseOtherKey(path: string, key: string): Promise<void> {
  const there = await readFile(path, 'utf8').catch(() => undefined)
  if (there === undefined || there.trim() === key.trim()) return
  throw new CliError(`${path} is there already, with another key: the backup needs another name.`)
}

async function copyKey(path: string, key: string, { onExit }: Invocation): Promise<void> {
  await writeFileAtomic(path, (partial) => writeFile(partial, `${key.trim()}\n`), onExit)
}

async function printResult(
  { print }: Invocation,
  target: string,
  { rows, keyId }: FileReport,
  key: KeyLocation | undefined,
): Promise<void> {
  const file = resolve(target)
  const key_file = key?.in === 'file' ? `${file}.key` : null
  const text = [
    `${file} holds ${plural(rows.contact ?? 0, 'contact')} of ${plural(rows.client ?? 0, 'client')}, verified`,
    keyLine(key, key_file),
    ...((await hasOtherKey(`${file}.key`, keyId))
      ? [`${file}.key was there before, and is not its key: move it away`]
      : []),
  ]
  print({ json: { file, key_file, key_known: key !== undefined, rows }, text: text.join('\n') })
}

/** Whether a file beside the backup has another key, so that people may take it for the key of the backup. */
async function hasOtherKey(path: string, keyId: string | null): Promise<boolean> {
  return existsSync(path) && !(await findKey(keyId, {}, [path]))
}

function keyLine(key: KeyLocation | undefined, file: string | null): string {
  if (file !== null) {
    return `THE KEY IS BESIDE IT, in ${file}: the backup cannot be used without it; anyone with both files can read the webhook secrets`
  }
  if (key) {
    return 'THE KEY IS NOT IN IT: it is in your setting MAILKEEP_ENCRYPTION_KEY; store a copy elsewhere, because the backup cannot be used without it'
  }
  return 'THE KEY IS NOT IN IT, AND WAS NOT FOUND: without the right MAILKEEP_ENCRYPTION_KEY the backup cannot be used'
}
