/**
 * PostgreSQL for tests: see find-postgres. Each test file has a database there, which goes with it; each `open` has a
 * schema of its own.
 */
import { randomBytes } from 'node:crypto'
import { after, describe, test as nodeTest, type TestContext, type TestOptions } from 'node:test'
import pg from 'pg'
import type { DatabaseSource } from '../lib/index.ts'
import { type PostgresOptions, postgres } from '../lib/storage/postgres.ts'
import { asking, findPostgres } from './find-postgres.ts'

export { asking }

/** Databases of files that were killed are dropped by a later one. */
const prefix = 'mailkeep_test'
const staleMs = 3_600_000

const found = await findPostgres()

/** Whether there is a PostgreSQL to test on. */
export const hasPostgres = found.url !== undefined

/** The run counts the tests that are skipped with this reason. */
export const withoutPostgres = 'there is no PostgreSQL'

/** As `node:test` has it; inside `onPostgres` a test that is skipped where there is no PostgreSQL. */
export let test: typeof nodeTest = nodeTest

type TestFunction = (t: TestContext) => unknown

const skipped = ((name: string, ...rest: [TestFunction] | [TestOptions, TestFunction]) => {
  const options = rest.length === 2 ? rest[0] : {}
  return nodeTest(name, { ...options, skip: withoutPostgres })
}) as typeof nodeTest

/** A suite that needs a PostgreSQL: where there is none, each of its tests counts as skipped. */
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
after(dropDatabase) // here, at the root: asked for inside a test it would come after that test

/** An empty database of this test file's own. */
export async function databaseUrl(): Promise<string> {
  return (await ownDatabase()).url
}

function ownDatabase(): Promise<OwnDatabase> {
  ofThisFile ??= makeDatabase()
  return ofThisFile
}

/** Schemas of this file that are empty again: making one anew costs ten times as much as emptying it. */
const emptied: string[] = []

export interface PostgresTestDatabase {
  readonly url: string
  readonly schema: string
  readonly source: DatabaseSource
  /** Runs a statement on a connection of its own, beside the library. */
  ask(text: string, values?: unknown[]): Promise<Record<string, unknown>[]>
  close(): Promise<void>
}

/** An empty schema in this file's database, as a source. */
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

/** Empties all tables but the list of migrations, and lets ids begin at 1. */
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
  await asking(found.url, `create database ${name}`)
  await asking(found.url, `alter database ${name} set synchronous_commit = off`) // it need not outlive a crash
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
    await asking(found.url!, `drop database if exists ${name} with (force)`)
  }
  await found.close()
}

async function dropStale(server: string): Promise<void> {
  const rows = await asking(server, 'select datname as name from pg_database where datname like $1', [`${prefix}\\_%`])
  for (const { name } of rows as { name: string }[]) {
    const madeMs = Number(name.split('_')[2])
    if (Date.now() - madeMs > staleMs)
      await asking(server, `drop database if exists ${name} with (force)`).catch(() => {})
  }
}
