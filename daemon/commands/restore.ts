import { existsSync, readFileSync, renameSync } from 'node:fs'
import { rename, rm, writeFile } from 'node:fs/promises'
import { resolve } from 'node:path'
import type { FileReport } from '../../lib/storage/sqlite.ts'
import { followLink, sync, writeFileAtomic } from '../atomic-file.ts'
import { CliError } from '../cli-error.ts'
import type { Config } from '../config.ts'
import { sqliteCode } from '../database-error.ts'
import { findKey, type KeyLocation } from '../database-key.ts'
import { holdsDatabase, inMemory, isServer, refuseSpaces } from '../database-setting.ts'
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
    refuseSpaces(backup)
    if (isServer(database)) throw new CliError('A PostgreSQL database is restored by its own tools: see pg_restore.')
    if (database === inMemory) throw new CliError('--database must be the file to restore to.', 2)
    if (resolve(backup) === resolve(database)) throw new CliError(`${backup} is the database itself.`, 2)
    if (!holdsDatabase(backup)) throw new CliError(`There is no backup ${backup}: check the path.`)
    const report = await inspectBackup(backup)
    refuseNewer(backup, report)
    const key = await findKey(report.keyId, config, [`${backup}.key`, `${database}.key`])
    const newKey = key?.in === 'file' && resolve(key.path) !== resolve(`${database}.key`) ? key.key.trim() : undefined
    const file = await followLink(database)
    let aside: Aside = {}
    const write = async (partial: string) => {
      await copyVerified(backup, partial, database, (error) => damagedBackup(backup, error))
      // A large file takes seconds. In the steps after it there is no database, and a start would create an empty one.
      await sync(partial)
      // The last step before the rename. Until here the database is unchanged.
      aside = await moveAside(file, database, newKey)
      if (newKey !== undefined) await placeKey(`${database}.key`, newKey)
    }
    await writeFileAtomic(file, write, onExit, 'restore')
    const { rows, sending } = report
    const lines = [
      `${resolve(database)} holds ${plural(rows.contact ?? 0, 'contact')} of ${plural(rows.client ?? 0, 'client')}, verified`,
    ]
    if (aside.database !== undefined) lines.push(`The previous database is in ${resolve(aside.database)}`)
    if (aside.key !== undefined) lines.push(`The previous key is in ${resolve(aside.key)}`)
    lines.push(keyLine(key, config), ...sendingLine(sending))
    const [moved, key_aside] = [aside.database, aside.key].map((path) => (path === undefined ? null : resolve(path)))
    const json = { database: resolve(database), rows, sending, aside: moved, key_aside, key_known: key !== undefined }
    print({ json, text: lines.join('\n') })
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
  const code = sqliteCode(error)
  if (code === undefined) return error
  return new CliError(`The backup ${backup} cannot be read (${code}): it is damaged. Restore another one.`)
}

function refuseNewer(backup: string, { unknown }: FileReport): void {
  if (unknown.length === 0) return
  throw new CliError(`${backup} was made by a newer mailkeep (it has ${unknown.join(', ')}): restore it with that one.`)
}

/** The new names of the files that were renamed. */
interface Aside {
  readonly database?: string
  readonly key?: string
}

/**
 * Renames the existing database, its log, and a key file that is to be replaced.
 *
 * @param file The file of the database, which may be a link to it.
 * @param newKey The content of the new key file; undefined when the key file stays.
 */
async function moveAside(file: string, database: string, newKey: string | undefined): Promise<Aside> {
  const suffix = unusedSuffix([file, database])
  const aside = file + suffix
  const keyAside = `${database}${suffix}.key`
  const hasDatabase = holdsDatabase(database)
  const replacesKey =
    newKey !== undefined && (hasDatabase ? existsSync(`${database}.key`) : hasOtherKey(database, newKey))
  const moveKey = () => {
    if (replacesKey) renameSync(`${database}.key`, keyAside)
  }
  if (hasDatabase) {
    const { closeOff } = await loadSqlite()
    closeOff(database, sqliteOptions(), () => {
      moveKey()
      try {
        renameSync(file, aside)
      } catch (error) {
        if (replacesKey) renameSync(keyAside, `${database}.key`)
        throw error
      }
    })
  } else moveKey()
  // SQLite would apply a log left by a crash to the restored database.
  await rename(`${file}-wal`, `${aside}-wal`).catch(() => {})
  await rm(`${file}-shm`, { force: true })
  return { ...(hasDatabase && { database: aside }), ...(replacesKey && { key: keyAside }) }
}

/** Returns the end of a name that no earlier restore has given to a file. Only one restore runs at a time. */
function unusedSuffix(names: readonly string[]): string {
  const suffix = `.before-restore-${new Date().toISOString().replace(/\D/g, '').slice(0, 14)}`
  for (let count = 1; ; count++) {
    const numbered = count === 1 ? suffix : `${suffix}-${count}`
    const files = names.flatMap((name) => ['', '-wal', '.key'].map((end) => name + numbered + end))
    if (!files.some((path) => existsSync(path))) return numbered
  }
}

function hasOtherKey(database: string, key: string): boolean {
  try {
    return readFileSync(`${database}.key`, 'utf8').trim() !== key
  } catch (error) {
    return (error as NodeJS.ErrnoException).code !== 'ENOENT'
  }
}

async function placeKey(path: string, key: string): Promise<void> {
  await writeFileAtomic(path, (partial) => writeFile(partial, `${key}\n`))
}

function keyLine(key: KeyLocation | undefined, { database }: Config): string {
  if (key?.in === 'setting') return 'Its key is the one in MAILKEEP_ENCRYPTION_KEY'
  if (key) return `Its key is in ${resolve(database)}.key`
  return `ITS KEY IS MISSING: it will not start before MAILKEEP_ENCRYPTION_KEY is set to it, or it is in ${resolve(database)}.key`
}

/** What was sent since the backup is sent again. */
function sendingLine({ newsletters, sequences }: FileReport['sending']): string[] {
  if (newsletters + sequences === 0) return []
  const what = `${plural(newsletters, 'newsletter')} being sent or scheduled, ${plural(sequences, 'active sequence')}`
  return [`PEOPLE MAY GET MAILS TWICE: ${what}. Start it with --dispatch=false, and pause or cancel them`]
}
