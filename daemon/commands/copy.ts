import { resolve } from 'node:path'
import type { FileReport } from '../../lib/storage/sqlite.ts'
import { CliError } from '../cli-error.ts'
import { databaseError } from '../database-error.ts'
import { findKey, type KeyLocation } from '../database-key.ts'
import { holdsDatabase, holdsPassword, inMemory, isServer, refuseSpaces, shownDatabase } from '../database-setting.ts'
import { loadPostgres, loadSqlite } from '../drivers.ts'
import { sqliteOptions } from '../open.ts'
import { plural } from '../progress.ts'
import type { Command, Invocation } from './command.ts'

/**
 * Moves a database to PostgreSQL; it does not replicate. No process may write to the file during the copy or use it
 * afterwards. The file itself is not changed.
 */
export const copy: Command = {
  usage: 'copy',
  about: 'Copy a SQLite database that is not in use into an empty PostgreSQL database, with ids, tokens and secrets',
  flags: [
    {
      name: 'from',
      value: 'FILE',
      about: 'The SQLite file, or a backup of it',
      required: true,
      example: 'mailkeep.db',
    },
    {
      name: 'to',
      value: 'URL',
      about: 'The PostgreSQL database, without a password',
      default: 'MAILKEEP_COPY_TO',
      example: 'postgres://mailkeep@db/mailkeep',
    },
  ],
  run: async (invocation) => {
    const { config, logger, progress } = invocation
    const from = invocation.flags.from!
    refuseSpaces(from)
    const to = readTarget(invocation)
    const { inspectFile, openRows } = await loadSqlite()
    const { copyInto } = await loadPostgres()
    await requireSource(from)
    try {
      const report = inspectFile(from, { ...sqliteOptions(), thorough: false })
      refuseOtherVersion(from, report)
      using rows = openRows(from, sqliteOptions())
      const show = ({ done, total, what }: { done: number; total: number; what: string }) =>
        progress?.show({ what: what.replace('mailkeep_', ''), done, total, unit: 'row' })
      const counts = await copyInto(to, rows, { ...config.postgres, logger, report: show })
      progress?.clear()
      printResult(invocation, to, from, counts, await findKey(report.keyId, config, [`${from}.key`]))
    } catch (error) {
      throw databaseError(error, { database: from })
    } finally {
      progress?.clear()
    }
  },
}

/** @throws CliError There is no target, or the flag contains a password, which other users can read. */
function readTarget({ flags: { to }, config }: Invocation): string {
  if (to === undefined) {
    if (config.copyTo !== undefined) return config.copyTo
    throw new CliError('copy needs --to, or MAILKEEP_COPY_TO if the URL contains a password.', 2)
  }
  if (holdsPassword(to)) {
    const instead = 'set MAILKEEP_COPY_TO or MAILKEEP_COPY_TO_FILE instead, or leave the password to PGPASSWORD'
    throw new CliError(`--to takes no password, as others can read the command line: ${instead}.`, 2)
  }
  if (!/^postgres(?:ql)?:\/\//i.test(to)) throw new CliError('--to must be a URL: postgres://USER@HOST/DATABASE.', 2)
  return to
}

async function requireSource(from: string): Promise<void> {
  if (isServer(from) || from === inMemory) throw new CliError('--from must be a SQLite file.', 2)
  if (!holdsDatabase(from)) throw new CliError(`There is no database ${from}: set --from to its path.`)
}

function refuseOtherVersion(from: string, { mailkeep, unknown, unapplied }: FileReport): void {
  if (!mailkeep) throw new CliError(`${from} is not a mailkeep database: check the path.`)
  if (unknown.length > 0) {
    throw new CliError(`${from} was made by a newer mailkeep (it has ${unknown.join(', ')}): copy it with that one.`)
  }
  if (unapplied.length > 0) {
    throw new CliError(`${from} is of an older version: bring it up to date first, with mailkeep migrate.`)
  }
}

function printResult(
  { print }: Invocation,
  to: string,
  from: string,
  counts: Readonly<Record<string, number>>,
  key: KeyLocation | undefined,
): void {
  const rows = Object.fromEntries(Object.entries(counts).map(([name, count]) => [name.replace('mailkeep_', ''), count]))
  const text = [
    `${shownDatabase(to)} holds ${plural(rows.contact ?? 0, 'contact')} of ${plural(rows.client ?? 0, 'client')}; every table has as many rows as in ${resolve(from)}`,
    keyLine(key),
    `START NO MAILKEEP ON ${resolve(from)} ANY MORE: it would send the pending deliveries a second time`,
  ]
  const keyFile = key?.in === 'file' ? resolve(key.path) : null
  const json = { to: shownDatabase(to), rows, key_file: keyFile, key_known: key !== undefined }
  print({ json, text: text.join('\n') })
}

function keyLine(key: KeyLocation | undefined): string {
  if (key?.in === 'setting') return 'Its key is the one in MAILKEEP_ENCRYPTION_KEY'
  if (key) return `Its key is in ${resolve(key.path)}: give it to every daemon, by MAILKEEP_ENCRYPTION_KEY_FILE`
  return 'ITS KEY WAS NOT FOUND: no daemon will start before MAILKEEP_ENCRYPTION_KEY is set to it'
}
