import type { Migration } from '../migrate.ts'

/** What is needed of better-sqlite3's `Database`. */
interface Handle {
  prepare(sql: string): { all(...values: unknown[]): unknown[]; run(...values: unknown[]): unknown }
  pragma(text: string): unknown
  exec(sql: string): unknown
}

/** What a database file holds, seen from outside. */
export interface FileReport {
  /** What `PRAGMA integrity_check` and `foreign_key_check` complain of; empty when all is well. */
  readonly faults: readonly string[]
  /** Whether mailkeep has been here at all. */
  readonly mailkeep: boolean
  /** Steps of the schema that this version knows and the file lacks, and the other way round. */
  readonly unapplied: readonly string[]
  readonly unknown: readonly string[]
  /** Names the encryption key it belongs to. */
  readonly keyId: string | null
  /** Rows of the main tables, by name without prefix. */
  readonly rows: Readonly<Record<string, number>>
  /** The latest moment that any row of the main tables was made. */
  readonly latest: string | null
}

const counted = ['client', 'token', 'contact', 'tag', 'list', 'topic', 'identity', 'endpoint', 'event', 'delivery']

/** @param thorough Whether the whole file is read; else only what a glance tells. */
export function report(handle: Handle, migrations: readonly Migration[], thorough: boolean): FileReport {
  const faults = thorough ? findFaults(handle) : []
  const tables = new Set(column(handle, `select name from sqlite_master where type = 'table'`))
  const mailkeep = tables.has('mailkeep_migration') && tables.has('mailkeep_setting')
  if (!mailkeep) return { faults, mailkeep, unapplied: [], unknown: [], keyId: null, rows: {}, latest: null }
  const applied = new Set(column(handle, 'select name from mailkeep_migration'))
  const known = migrations.map(({ name }) => name)
  const keyId = column(handle, `select value from mailkeep_setting where name = 'encryption_key_id'`)
  const there = counted.filter((name) => tables.has(`mailkeep_${name}`))
  const latest = there.flatMap((name) =>
    column(handle, `select created_at from mailkeep_${name} order by id desc limit 1`),
  )
  return {
    faults,
    mailkeep,
    unapplied: known.filter((name) => !applied.has(name)),
    unknown: [...applied].filter((name) => !known.includes(name)),
    keyId: keyId[0] ?? null,
    rows: Object.fromEntries(there.map((name) => [name, countRows(handle, name)])),
    latest: latest.sort().at(-1) ?? null,
  }
}

/**
 * Copies a database as it is at this moment, whoever writes to it meanwhile. `VACUUM INTO` reads in one transaction;
 * the online backup would begin anew at every write of another process.
 *
 * @param target Must not exist, or be empty: then it keeps its mode.
 * @returns what the database held just before, and whether nobody wrote meanwhile, so that the copy must be equal.
 */
export function copyInto(
  handle: Handle,
  target: string,
  migrations: readonly Migration[],
): { before: FileReport; undisturbed: boolean } {
  const version = () => JSON.stringify(handle.pragma('data_version'))
  const versionBefore = version()
  const before = report(handle, migrations, false)
  handle.prepare('vacuum into ?').run(target)
  return { before, undisturbed: version() === versionBefore }
}

function findFaults(handle: Handle): string[] {
  const faults = column(handle, 'pragma integrity_check(20)').filter((line) => line !== 'ok')
  const orphans = handle.prepare('pragma foreign_key_check').all().length
  return orphans === 0 ? faults : [...faults, `${orphans} rows refer to rows that are not there`]
}

function countRows(handle: Handle, name: string): number {
  return Number(column(handle, `select count(*) from mailkeep_${name}`)[0])
}

function column(handle: Handle, sql: string): string[] {
  return handle
    .prepare(sql)
    .all()
    .map((row) => String(Object.values(row as object)[0]))
}
