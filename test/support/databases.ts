/**
 * PostgreSQL for tests; see find-postgres. Each test file has its own database there, dropped at its end. Each `open`
 * has its own schema.
 */
import { randomBytes } from 'node:crypto'
import { after, describe, test as nodeTest, type TestContext, type TestOptions } from 'node:test'
import pg from 'pg'
import type { DatabaseSource } from '../../lib/index.ts'
import { type PostgresOptions, postgres } from '../../lib/storage/postgres.ts'
import { findPostgres, queryOnce } from './find-postgres.ts'

export { queryOnce }

/** Prefix of database names. A later run drops the databases of test files that were killed. */
const prefix = 'mailkeep_test'
const staleMs = 3_600_000

const found = await findPostgres()

/** Whether the tests can use a PostgreSQL server. */
export const hasPostgres = found.url !== undefined

/** Skip reason. The test runner counts the tests skipped with it. */
export const withoutPostgres = 'there is no PostgreSQL'

/** Options of `test` for single tests that need PostgreSQL. */
export const needsPostgres = hasPostgres ? {} : { skip: withoutPostgres }

/** Same as `test` of `node:test`; inside `onPostgres` a test is skipped where there is no PostgreSQL. */
export let test: typeof nodeTest = nodeTest

type TestFunction = (t: TestContext) => unknown

const skipped = ((name: string, ...rest: [TestFunction] | [TestOptions, TestFunction]) => {
  const options = rest.length === 2 ? rest[0] : {}
  return nodeTest(name, { ...options, skip: withoutPostgres })
}) as typeof nodeTest

/** A suite that needs PostgreSQL. Without one, each of its tests counts as skipped. */
export function onPostgres(name: string, suite: () => void): void {
  describe(name, () => {
    if (!hasPostgres) test = skipped
    suite()
    test = nodeTest
  })
}

interface OwnDatabase {
  readonly url: string
  readonly name: string
  readonly pool: pg.Pool
}

let ofThisFile: Promise<OwnDatabase> | undefined
after(dropDatabase) // at the root: registered inside a test it would run after that test

/** Returns the URL of an empty database of this test file. */
export async function databaseUrl(): Promise<string> {
  return (await ownDatabase()).url
}

function ownDatabase(): Promise<OwnDatabase> {
  ofThisFile ??= makeDatabase()
  return ofThisFile
}

/** Emptied schemas of this file, for reuse: creating a schema costs ten times as much as emptying one. */
const emptied: string[] = []

interface PostgresTestDatabase {
  readonly url: string
  readonly schema: string
  readonly source: DatabaseSource
  /** Runs a statement on a separate connection, independent of the library. */
  ask(text: string, values?: unknown[]): Promise<Record<string, unknown>[]>
  close(): Promise<void>
}

/** Opens an empty schema in this file's database as a source. */
export async function openPostgres(options: PostgresOptions = {}): Promise<PostgresTestDatabase> {
  const { url, pool } = await ownDatabase()
  const schema = options.schema ?? emptied.pop() ?? `t_${randomBytes(6).toString('hex')}`
  const ask: PostgresTestDatabase['ask'] = async (text, values) => {
    const client = await pool.connect()
    try {
      await client.query(`set search_path = "${schema}"`)
      return (await client.query(text, values)).rows
    } finally {
      client.release()
    }
  }
  return {
    url,
    schema,
    source: postgres(url, { ...options, schema }),
    ask,
    async close() {
      await ask(empty)
      emptied.push(schema)
    },
  }
}

/** Empties all tables except the migrations, and restarts ids at 1. */
const empty = `do $$ declare name text; begin
  if current_setting('is_superuser')::boolean then
    set local session_replication_role = replica; -- in any order
    for name in select oid::regclass from pg_class where relnamespace = current_schema()::regnamespace and relkind = 'r'
        and relname <> 'mailkeep_migration' loop
      execute 'delete from ' || name;
    end loop;
    perform setval(oid::regclass, 1, false) from pg_class
      where relnamespace = current_schema()::regnamespace and relkind = 'S';
  else
    select string_agg(oid::regclass::text, ', ') into name from pg_class
      where relnamespace = current_schema()::regnamespace and relkind = 'r' and relname <> 'mailkeep_migration';
    if name is not null then execute 'truncate ' || name || ' restart identity'; end if;
  end if;
end $$`

async function makeDatabase(): Promise<OwnDatabase> {
  if (found.url === undefined) throw new Error(`There is no PostgreSQL: ${found.reason}`)
  await dropStale(found.url)
  const name = `${prefix}_${Date.now()}_${process.pid}`
  await queryOnce(found.url, `create database ${name}`)
  await queryOnce(found.url, `alter database ${name} set synchronous_commit = off`) // durability is not needed here
  const url = new URL(found.url)
  url.pathname = `/${name}`
  const pool = new pg.Pool({ connectionString: url.href, max: 4, allowExitOnIdle: true })
  pool.on('error', () => {})
  return { url: url.href, name, pool }
}

async function dropDatabase(): Promise<void> {
  if (ofThisFile) {
    const { name, pool } = await ofThisFile
    await pool.end()
    await queryOnce(found.url!, `drop database if exists ${name} with (force)`)
  }
  await found.close()
}

async function dropStale(server: string): Promise<void> {
  const rows = await queryOnce(server, 'select datname as name from pg_database where datname like $1', [
    `${prefix}\\_%`,
  ])
  for (const { name } of rows as { name: string }[]) {
    const madeMs = Number(name.split('_')[2])
    if (Date.now() - madeMs > staleMs)
      await queryOnce(server, `drop database if exists ${name} with (force)`).catch(() => {})
  }
}
