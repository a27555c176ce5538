import { renameSync } from 'node:fs'
import { rename, rm, writeFile } from 'node:fs/promises'
import { resolve } from 'node:path'
import type { FileReport } from '../../lib/storage/sqlite.ts'
import { sync, writeFileAtomic } from '../atomic-file.ts'
import { CliError } from '../cli-error.ts'
import type { Config } from '../config.ts'
import { sqliteCode } from '../database-error.ts'
import { findKey, type KeyLocation } from '../database-key.ts'
import { holdsDatabase, inMemory, isServer } from '../database-setting.ts'
import { loadSqlite } from '../drivers.ts'
import { sqliteOptions } from '../open.ts'
import { plural } from '../progress.ts'
import { copyVerified } from './backup.ts'
import type { Command } from './command.ts'

export const restore: Command = {
  usage: 'restore FILE',
  examples: { FILE: '/backups/mailkeep.db' },
  about: 'Replace the database with a verified backup; the existing database, which must not be in use, is renamed',
  run: async ({ args: [backup = ''], config, print, onExit }) => {
    const { database } = config
    if (isServer(database)) throw new CliError('A PostgreSQL database is restored by its own tools: see pg_restore.')
    if (database === inMemory) throw new CliError('--database must be the file to restore to.', 2)
    if (resolve(backup) === resolve(database)) throw new CliError(`${backup} is the database itself.`, 2)
    if (!holdsDatabase(backup)) throw new CliError(`There is no backup ${backup}.`)
    const report = await inspectBackup(backup)
    refuseNewer(backup, report)
    const key = await findBackupKey(report, backup, config)
    let aside: string | undefined
    let rows: FileReport['rows'] = {}
    const write = async (partial: string) => {
      rows = (await copyVerified(backup, partial, database, (error) => damagedBackup(backup, error))).rows
      // A large file takes seconds. In the steps after it there is no database, and a start would create an empty one.
      await sync(partial)
      // The last step before the rename. Until here the database is unchanged.
      aside = await moveAside(database)
      if (key?.in === 'file') await placeKey(`${database}.key`, key, aside)
    }
    await writeFileAtomic(database, write, onExit)
    const lines = [
      `${resolve(database)} holds ${plural(rows.contact ?? 0, 'contact')} of ${plural(rows.client ?? 0, 'client')}, verified`,
    ]
    if (aside !== undefined) lines.push(`The previous database is in ${resolve(aside)}`)
    lines.push(keyLine(key, config))
    const json = { database: resolve(database), rows, aside: aside === undefined ? null : resolve(aside) }
    print({ json: { ...json, key_known: key !== undefined }, text: lines.join('\n') })
  },
}

async function inspectBackup(backup: string): Promise<FileReport> {
  const { inspectFile } = await loadSqlite()
  try {
    return inspectFile(backup, { ...sqliteOptions(), thorough: false })
  } catch (error) {
    throw damagedBackup(backup, error)
  }
}

/** The error of SQLite would be taken for one of the database to replace. */
function damagedBackup(backup: string, error: unknown): unknown {
  const code = sqliteCode(error) ?? sqliteCode((error as Error).cause)
  if (code === undefined) return error
  return new CliError(`The backup ${backup} cannot be read (${code}): it is damaged. Restore another one.`)
}

function refuseNewer(backup: string, { unknown }: FileReport): void {
  if (unknown.length === 0) return
  throw new CliError(`${backup} was made by a newer mailkeep (it has ${unknown.join(', ')}): restore it with that one.`)
}

async function findBackupKey({ keyId }: FileReport, backup: string, config: Config): Promise<KeyLocation | undefined> {
  return keyId === null ? undefined : await findKey(keyId, config, [`${backup}.key`, `${config.database}.key`])
}

/**
 * Renames the existing database and its log.
 *
 * @returns The database's new name; undefined when there was no database.
 */
async function moveAside(database: string): Promise<string | undefined> {
  const aside = `${database}.before-restore-${new Date().toISOString().replace(/\D/g, '').slice(0, 14)}`
  const log = async () => {
    // SQLite would apply a log left by a crash to the restored database.
    await rename(`${database}-wal`, `${aside}-wal`).catch(() => {})
    await rm(`${database}-shm`, { force: true })
  }
  if (!holdsDatabase(database)) {
    await log()
    return undefined
  }
  const { closeOff } = await loadSqlite()
  closeOff(database, sqliteOptions(), () => renameSync(database, aside))
  await log()
  return aside
}

/** Writes the backup's key file. Renames the old key file together with the old database. */
async function placeKey(path: string, { path: found, key }: KeyLocation & { in: 'file' }, aside: string | undefined) {
  if (resolve(found) === resolve(path)) return
  if (aside !== undefined) await rename(path, `${aside}.key`).catch(() => {})
  await writeFileAtomic(path, (partial) => writeFile(partial, `${key.trim()}\n`))
}

function keyLine(key: KeyLocation | undefined, { database }: Config): string {
  if (key?.in === 'setting') return 'Its key is the one in MAILKEEP_ENCRYPTION_KEY'
  if (key) return `Its key is in ${resolve(database)}.key`
  return `ITS KEY IS MISSING: it will not start before MAILKEEP_ENCRYPTION_KEY is set to it, or it is in ${resolve(database)}.key`
}
