import { resolve } from 'node:path'
import type { CompactionReport } from '../../lib/storage/sqlite.ts'
import { CliError } from '../cli-error.ts'
import { holdsDatabase, inMemory } from '../database-file.ts'
import { isServer } from '../database-url.ts'
import { loadSqlite } from '../drivers.ts'
import { sqliteOptions } from '../open.ts'
import type { Command } from './command.ts'

export const compact: Command = {
  usage: 'compact',
  about: 'Rewrite the database file, so that no erased data is left in it; writes wait until it is done',
  run: async ({ config: { database }, print }) => {
    if (isServer(database)) throw new CliError('PostgreSQL rewrites tables with its own command: see VACUUM FULL.')
    if (database === inMemory) throw new CliError('A database in memory is no file.')
    if (!holdsDatabase(database)) throw new CliError(`There is no database ${database}.`)
    const { compactFile, inspectFile } = await loadSqlite()
    const options = sqliteOptions()
    if (!inspectFile(database, { ...options, thorough: false }).mailkeep) {
      throw new CliError(`${database} is no database of mailkeep.`)
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
