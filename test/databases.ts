/**
 * PostgreSQL for tests: the server that MAILKEEP_TEST_POSTGRES names, else the one at 127.0.0.1:5432, if it lets us make
 * a database of our own. Each test file has one, which goes with it; each `open` has a schema of its own there.
 */
import { randomBytes } from 'node:crypto'
import { after } from 'node:test'
import pg from 'pg'
import type { DatabaseSource } from '../lib/index.ts'
import { type PostgresOptions, postgres } from '../lib/storage/postgres.ts'

const named = process.env.MAILKEEP_TEST_POSTGRES
const usual = 'postgres://postgres@127.0.0.1:5432/postgres'

/** Databases of files that were killed are dropped by a later one. */
const prefix = 'mailkeep_test'
const staleMs = 3_600_000

/** The server's URL, with a database to connect to; undefined when there is none. */
const serverUrl: string | undefined = await findServer()

/** Whether there is a PostgreSQL to test on. */
export const hasPostgres = serverUrl !== undefined

/** For tests that need one: as `test`'s options. */
export const needsPostgres = hasPostgres ? {} : { skip: 'there is no PostgreSQL' }

let ofThisFile: Promise<string> | undefined
after(dropDatabase) // here, at the root: asked for inside a test it would come after that test

/** An empty database of this test file's own. */
export function databaseUrl(): Promise<string> {
  ofThisFile ??= makeDatabase()
  return ofThisFile
}

/** Schemas of this file that are empty again: making one anew costs ten times as much as emptying it. */
const emptied: string[] = []

/** An empty schema in this file's database, as a source. */
export async function openPostgres(options: PostgresOptions = {}): Promise<PostgresTestDatabase> {
  const url = await databaseUrl()
  const schema = options.schema ?? emptied.pop() ?? `t_${randomBytes(6).toString('hex')}`
  const inSchema = `${url}?options=-c%20search_path%3D${schema}`
  return {
    url,
    schema,
    source: postgres(url, { ...options, schema }),
    ask: (text, values) => asking(inSchema, text, values),
    async close() {
      await asking(inSchema, empty)
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
    execute 'truncate ' || name || ' restart identity';
  end if;
end $$`

export interface PostgresTestDatabase {
  readonly url: string
  readonly schema: string
  readonly source: DatabaseSource
  /** Runs a statement on a connection of its own, beside the library. */
  ask(text: string, values?: unknown[]): Promise<Record<string, unknown>[]>
  close(): Promise<void>
}

/** As the harnesses list databases; empty where there is no PostgreSQL. */
export const postgresDatabases = hasPostgres ? [{ name: 'PostgreSQL', open: () => openPostgres() }] : []

export async function asking(url: string, text: string, values: unknown[] = []): Promise<Record<string, unknown>[]> {
  const client = new pg.Client({ connectionString: url, connectionTimeoutMillis: 5000 })
  await client.connect()
  try {
    return (await client.query(text, values)).rows
  } finally {
    await client.end()
  }
}

async function findServer(): Promise<string | undefined> {
  const url = named ?? usual
  try {
    const [role] = await asking(
      url,
      'select rolcreatedb or rolsuper as creates from pg_roles where rolname = current_user',
    )
    if (role?.creates) return url
    throw new Error('the role may not create databases')
  } catch (error) {
    const reason = error instanceof Error ? error.message || (error as { code?: string }).code : error
    // Whoever named a server wants it tested; elsewhere the run goes on without, and says so.
    if (named !== undefined) throw new Error(`MAILKEEP_TEST_POSTGRES cannot be used: ${reason}`)
    process.stderr.write(`\n*** No PostgreSQL at 127.0.0.1:5432 (${reason}): all that needs one is SKIPPED. ***\n\n`)
    return undefined
  }
}

async function makeDatabase(): Promise<string> {
  if (serverUrl === undefined) throw new Error('There is no PostgreSQL.')
  await dropStale(serverUrl)
  const name = `${prefix}_${Date.now()}_${process.pid}`
  await asking(serverUrl, `create database ${name}`)
  const url = new URL(serverUrl)
  url.pathname = `/${name}`
  return url.href
}

async function dropDatabase(): Promise<void> {
  if (!ofThisFile) return
  const name = new URL(await ofThisFile).pathname.slice(1)
  await asking(serverUrl!, `drop database if exists ${name} with (force)`)
}

async function dropStale(server: string): Promise<void> {
  const rows = await asking(server, 'select datname as name from pg_database where datname like $1', [`${prefix}\\_%`])
  for (const { name } of rows as { name: string }[]) {
    const madeMs = Number(name.split('_')[2])
    if (Date.now() - madeMs > staleMs)
      await asking(server, `drop database if exists ${name} with (force)`).catch(() => {})
  }
}
