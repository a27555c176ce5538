import { resolve } from 'node:path'
import type { CompactionReport } from '../../lib/storage/sqlite.ts'
import { CliError } from '../cli-error.ts'
import { inMemory, isServer, requireDatabase, shownDatabase } from '../database-setting.ts'
import { loadSqlite } from '../drivers.ts'
import { sqliteOptions } from '../open.ts'
import { plural } from '../progress.ts'
import { type Command, withMailkeep } from './command.ts'

export const compact: Command = {
  usage: 'compact',
  about: 'Rewrite the database file, so that no erased data is left in it; writes wait until it is done',
  run: async ({ config: { database }, print }) => {
    if (isServer(database)) throw new CliError('PostgreSQL rewrites tables with its own command: see VACUUM FULL.')
    if (database === inMemory) throw new CliError('A database in memory is no file.')
    requireDatabase(database)
    const { compactFile, inspectFile } = await loadSqlite()
    const options = sqliteOptions()
    if (!inspectFile(database, { ...options, thorough: false }).mailkeep) {
      throw new CliError(`${database} is not a mailkeep database: check the path.`)
    }
    const file = resolve(database)
    const report = compactFile(database, options)
    const { bytesBefore: bytes_before, bytesAfter: bytes_after, purgeWaits: purge_waits } = report
    print({ json: { file, bytes_before, bytes_after, purge_waits }, text: textOf(file, report) })
  },
}

function textOf(file: string, { bytesBefore, bytesAfter, purgeWaits }: CompactionReport): string {
  const text = `${file} was rewritten: ${megabytes(bytesAfter)}, before ${megabytes(bytesBefore)}`
  if (!purgeWaits) return text
  return `${text}\nThe search index still contains erased data: run this again after the daemon has purged it`
}

function megabytes(bytes: number): string {
  return `${(bytes / 1e6).toFixed(1)} MB`
}

export const migrate: Command = {
  usage: 'migrate',
  about: 'Bring the database up to date, or create it when it is missing',
  run: async (invocation) => {
    // Opening the database migrates it.
    await withMailkeep(invocation, async () => {}, { create: true })
    const database = shownDatabase(invocation.config.database)
    invocation.print({ json: { database, migrated: true }, text: `${database} is up to date` })
  },
}

export const reseal: Command = {
  usage: 'secrets reseal',
  about: 'Encrypt all stored secrets with the current encryption key; until then the previous key is needed',
  run: async (invocation) => {
    const resealed = await withMailkeep(invocation, (mailkeep) => mailkeep.resealSecrets())
    invocation.print({ json: { resealed }, text: `${plural(resealed, 'secret')} sealed with the current key` })
  },
}
