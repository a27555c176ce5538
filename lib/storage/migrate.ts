import { MailkeepError } from '../errors.ts'
import { type Clock, timestamp } from '../time.ts'
import { plainQuery } from './connection.ts'
import type { Database } from './database.ts'
import { findSetting } from './settings.ts'
import { type Scope, statement, text, time } from './statement.ts'
import type { Transaction } from './transaction.ts'

/** One migration of the schema. It must never change once it is released. */
export interface Migration {
  readonly name: string
  readonly statements: readonly string[]
  /** Changes rows after the statements, where SQL cannot. */
  readonly change?: (scope: Scope) => Promise<void>
}

const findTable = statement({ name: text }, (_, p, dialect) => dialect.findTable(p.name))

const listMigrations = statement.all({}, (db) => db.selectFrom('mailkeep_migration').select('name'))

const insertMigration = statement({ name: text, applied_at: time }, (db, row) =>
  db.insertInto('mailkeep_migration').values(row),
)

/**
 * Applies all missing migrations. Each runs in its own transaction, which first checks whether another process has
 * applied it. So several processes may start at the same time.
 *
 * @throws MailkeepError `conflict`: a newer version has migrated the database.
 */
export async function migrate(storage: Database, migrations: readonly Migration[], now: Clock): Promise<void> {
  const applied = await listApplied(storage, migrations)
  if (applied.size === 0) await createTable(storage)
  for (const migration of migrations) {
    if (!applied.has(migration.name)) await apply(storage, migration, now)
  }
}

/**
 * Checks that the database has all migrations, and changes nothing.
 *
 * @throws MailkeepError `conflict`: it lacks some, or a newer version has migrated it.
 */
export async function requireMigrated(storage: Database, migrations: readonly Migration[]): Promise<void> {
  const applied = await listApplied(storage, migrations)
  const { unapplied } = compareMigrations([...applied], migrations)
  if (unapplied.length === 0) return
  throw new MailkeepError(
    'conflict',
    `The database lacks ${unapplied.join(', ')}: run mailkeep migrate, or open it without migrate: false, as a role that may change tables.`,
  )
}

/** Returns the migrations that a database lacks, and those that this version does not know. */
export function compareMigrations(applied: readonly string[], migrations: readonly Migration[]) {
  const known = migrations.map(({ name }) => name)
  return {
    unapplied: known.filter((name) => !applied.includes(name)),
    unknown: applied.filter((name) => !known.includes(name)),
  }
}

/** @returns the names of the tables that these migrations create. */
export function tablesOf(migrations: readonly Migration[]): string[] {
  const created = /^create (?:virtual )?table (\w+)/
  return migrations.flatMap(({ statements }) => statements.flatMap((sql) => created.exec(sql)?.[1] ?? []))
}

function createTable(storage: Database): Promise<void> {
  const columns = `name text primary key, applied_at ${storage.dialect.timeType} not null`
  const create = plainQuery(`create table if not exists mailkeep_migration (${columns})`)
  return storage.transaction(async (transaction) => void (await transaction.run(create)), { exclusive: true })
}

/** Lists the migrations that the database has. @throws MailkeepError `conflict`: a newer version has migrated it. */
async function listApplied(storage: Database, migrations: readonly Migration[]): Promise<Set<string>> {
  const exists = await findTable({ storage }, { name: 'mailkeep_migration' })
  const applied = exists ? (await listMigrations({ storage }, {})).map(({ name }) => name) : []
  const { unknown } = compareMigrations(applied, migrations)
  if (unknown.length === 0) return new Set(applied)
  throw new MailkeepError(
    'conflict',
    `The database was made by a newer mailkeep (it has ${unknown.join(', ')}): run that version or a later one.`,
  )
}

function apply(storage: Database, { name, statements, change }: Migration, now: Clock): Promise<void> {
  const work = async (transaction: Transaction) => {
    const scope = { storage, transaction }
    const applied = await listMigrations(scope, {})
    if (applied.some((row) => row.name === name)) return
    for (const sql of statements) await transaction.run(plainQuery(sql))
    await change?.(scope)
    await insertMigration(scope, { name, applied_at: timestamp(now()) })
  }
  return storage.transaction(work, { exclusive: true })
}

/** Name of the setting that exists while rows are being copied into the database. Its value is the progress. */
export const copySetting = 'copy'

/**
 * Refuses a database whose copy is incomplete.
 *
 * @throws MailkeepError `conflict`
 */
async function refuseIncompleteCopy(scope: Scope): Promise<void> {
  if (!(await findSetting(scope, { name: copySetting }))) return
  throw new MailkeepError('conflict', 'A copy into this database is not finished: run mailkeep copy again.')
}

/**
 * Migrates a database that is about to be used, or checks its schema.
 *
 * @param mayChange False: the schema is only checked, and a missing search index is not created.
 */
export async function openSchema(
  storage: Database,
  migrations: readonly Migration[],
  now: Clock,
  mayChange = true,
): Promise<void> {
  if (mayChange) await migrate(storage, migrations, now)
  else await requireMigrated(storage, migrations)
  await refuseIncompleteCopy({ storage })
  if (mayChange) await storage.search.create({ idle: false })
}
