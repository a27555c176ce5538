import { compareMigrations, type Migration } from '../migrate.ts'
import { column, type SqliteHandle, tablesIn } from './handle.ts'

/** A report on a database file. */
export interface FileReport {
  /** Problems that `PRAGMA integrity_check` and `foreign_key_check` found; empty if there are none. */
  readonly faults: readonly string[]
  /** Whether the file has mailkeep's tables. */
  readonly mailkeep: boolean
  /** Migrations that this version has and the file lacks. */
  readonly unapplied: readonly string[]
  /** Migrations that the file has and this version lacks. */
  readonly unknown: readonly string[]
  /** Id of the encryption key that the file belongs to. */
  readonly keyId: string | null
  /** Row counts of the main tables, by table name without prefix. */
  readonly rows: Readonly<Record<string, number>>
  /** Creation time of the newest row of the main tables. */
  readonly latest: string | null
  /** Numbers of newsletters that are being sent or scheduled, and of active sequences. */
  readonly sending: { readonly newsletters: number; readonly sequences: number }
}

const mainTables = ['client', 'token', 'contact', 'tag', 'list', 'topic', 'identity', 'endpoint', 'event', 'delivery']

/** @param thorough Whether to check the integrity of the whole file, which reads all of it. */
export function report(handle: SqliteHandle, migrations: readonly Migration[], thorough: boolean): FileReport {
  const faults = thorough ? findFaults(handle) : []
  const tables = tablesIn(handle)
  const mailkeep = tables.includes('mailkeep_migration') && tables.includes('mailkeep_setting')
  const nothing = { newsletters: 0, sequences: 0 }
  if (!mailkeep)
    return { faults, mailkeep, unapplied: [], unknown: [], keyId: null, rows: {}, latest: null, sending: nothing }
  const applied = column(handle, 'select name from mailkeep_migration')
  const keyId = column(handle, `select value from mailkeep_setting where name = 'encryption_key_id'`)
  const existing = mainTables.filter((name) => tables.includes(`mailkeep_${name}`))
  const latest = existing.flatMap((name) =>
    column(handle, `select created_at from mailkeep_${name} order by id desc limit 1`),
  )
  /** Returns 0 where an older version has no such table. */
  const countOf = (name: string, condition: string) =>
    tables.includes(`mailkeep_${name}`) ? countRows(handle, name, condition) : 0
  return {
    faults,
    mailkeep,
    ...compareMigrations(applied, migrations),
    keyId: keyId[0] ?? null,
    rows: Object.fromEntries(existing.map((name) => [name, countRows(handle, name)])),
    latest: latest.sort().at(-1) ?? null,
    sending: {
      newsletters: countOf('newsletter', `status in ('scheduled', 'sending')`),
      sequences: countOf('sequence', `status = 'active'`),
    },
  }
}

/**
 * Copies a snapshot of a database that may be in use. `VACUUM INTO` reads in one transaction. The online backup API
 * would restart at every write of another process.
 *
 * @param target Must not exist, or be an empty file, which keeps its mode.
 * @returns `before`: a report on the database just before the copy. `undisturbed`: no process wrote during the copy, so
 *   the copy must match the report.
 */
export function copyInto(
  handle: SqliteHandle,
  target: string,
  migrations: readonly Migration[],
): { before: FileReport; undisturbed: boolean } {
  const version = () => JSON.stringify(handle.pragma('data_version'))
  const versionBefore = version()
  const before = report(handle, migrations, false)
  handle.prepare('vacuum into ?').run(target)
  return { before, undisturbed: version() === versionBefore }
}

function findFaults(handle: SqliteHandle): string[] {
  const faults = column(handle, 'pragma integrity_check(20)').filter((line) => line !== 'ok')
  const orphans = handle.prepare('pragma foreign_key_check').all().length
  return orphans === 0 ? faults : [...faults, `${orphans} rows refer to rows that do not exist`]
}

function countRows(handle: SqliteHandle, name: string, condition = 'true'): number {
  return Number(column(handle, `select count(*) from mailkeep_${name} where ${condition}`)[0])
}
