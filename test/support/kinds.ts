/** The kinds of database that suites run on. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe } from 'node:test'
import Database from 'better-sqlite3'
import { Kysely, PostgresDialect } from 'kysely'
import pg from 'pg'
import { type DatabaseSource, kysely } from '../../lib/index.ts'
import { migrate } from '../../lib/storage/migrate.ts'
import { sqlite } from '../../lib/storage/sqlite.ts'
import { onPostgres, openPostgres, queryOnce } from './databases.ts'
import { databaseFolder } from './folders.ts'

/** In memory it is a host's handle, which the test can query too; `:memory:` is the library's own. */
export type Kind = KindOfSqlite | KindOfPostgres
type KindOfSqlite = 'a SQLite file' | "a host's handle of a file" | 'SQLite in memory' | ':memory:'
type KindOfPostgres = 'PostgreSQL' | "a host's Kysely on PostgreSQL"
export type Row = Record<string, unknown>

/** `run.ts --database` sets it. */
const chosen = process.env.MAILKEEP_TEST_DATABASE

/** Runs the suite on each kind, unless the run is for the other database. */
export function onKinds(kinds: readonly Kind[], name: string, suite: (kind: Kind) => void): void {
  for (const kind of kinds) {
    if (chosen !== undefined && isOnServer(kind) !== (chosen === 'postgres')) continue
    const declare = isOnServer(kind) ? onPostgres : describe
    declare(`${name}, on ${kind}`, () => suite(kind))
  }
}

function isOnServer(kind: Kind): kind is KindOfPostgres {
  return kind.endsWith('PostgreSQL')
}

/** A database that several mailkeeps may share; the last of them closes it. */
export interface Place {
  readonly kind: Kind
  readonly source: DatabaseSource
  /** The variables that another process needs to open the database. */
  readonly env: { readonly FILE?: string; readonly URL?: string; readonly SCHEMA?: string }
  /** Runs a statement independently of the library; parameters are `?`. */
  ask(text: string, ...values: unknown[]): Promise<Row[]>
  close(): Promise<void>
}

/** A database with all tables and no rows. The migrations take several times as long as a copy of it. */
const migrated = await migratedSqlite()

async function migratedSqlite(): Promise<Buffer> {
  const handle = new Database(':memory:')
  const source = sqlite(handle)
  const logger = { debug() {}, info() {}, warn() {}, error() {} }
  await migrate(await source.open(logger), source.migrations, Date.now)
  const bytes = handle.serialize()
  handle.close()
  return bytes
}

/** Opens a new database without rows. A SQLite database has its tables. */
export async function openPlace(kind: Kind): Promise<Place> {
  return isOnServer(kind) ? await onServer(kind) : onSqlite(kind)
}

/** SQLite, with the handle for features that only SQLite has. */
export function onSqlite(kind: KindOfSqlite): Place & { readonly handle: Database.Database } {
  const folder = / file$/.test(kind) ? mkdtempSync(join(databaseFolder, 'mailkeep-test-')) : undefined
  const file = folder && join(folder, 'mail.db')
  if (file !== undefined) writeFileSync(file, migrated)
  /** A separate handle for a file; in memory the only one. */
  const handle = new Database(file ?? migrated, { timeout: 5000 })
  const host = kind === "a host's handle of a file" ? new Database(file!) : handle
  const source = sqlite(kind === 'a SQLite file' ? file! : kind === ':memory:' ? kind : host)
  return {
    kind,
    handle,
    source,
    env: file === undefined ? {} : { FILE: file },
    async ask(text, ...values) {
      if (kind === ':memory:') throw new Error('only the library can query :memory:')
      const bound = values.map((value) => (Number.isInteger(value) ? BigInt(value as number) : value))
      if (bound.length === 0 && !/^\s*select/.test(text)) {
        handle.exec(text)
        return []
      }
      const statement = handle.prepare(text)
      if (statement.reader) return statement.all(...bound) as Row[]
      statement.run(...bound)
      return []
    },
    async close() {
      host.close()
      handle.close()
      if (folder) rmSync(folder, { recursive: true })
    },
  }
}

async function onServer(kind: KindOfPostgres): Promise<Place> {
  const database = await openPostgres()
  const host = kind === 'PostgreSQL' ? undefined : await hostOn(database)
  let spoilt = false
  return {
    kind,
    source: host ? kysely(host, { dialect: 'postgres' }) : database.source,
    env: { URL: database.url, SCHEMA: database.schema },
    ask(text, ...values) {
      spoilt ||= /^\s*create /.test(text)
      let n = 0
      return database.ask(
        text.replaceAll('?', () => `$${++n}`),
        values,
      )
    },
    async close() {
      await host?.destroy()
      if (!spoilt) return await database.close()
      await database.ask(`drop schema "${database.schema}" cascade`) // the next test must not have the triggers of this one
    },
  }
}

/** Opens a Kysely instance of a host, whose connections use the schema. */
async function hostOn({ url, schema }: { readonly url: string; readonly schema: string }): Promise<Kysely<unknown>> {
  await queryOnce(url, `create schema if not exists "${schema}"`)
  const pool = new pg.Pool({ connectionString: `${url}?options=-c%20search_path%3D${schema}` })
  pool.on('error', () => {})
  return new Kysely<unknown>({ dialect: new PostgresDialect({ pool }) })
}
