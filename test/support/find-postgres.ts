/**
 * Finds the PostgreSQL server of a test run. The first choice is the server of MAILKEEP_TEST_POSTGRES, then
 * 127.0.0.1:5432 if it lets the tests create a database. Otherwise starts a server. The value `own` always starts one;
 * `none` runs without one.
 */
import pg from 'pg'
import { startServer } from './postgres-server.ts'

const usual = 'postgres://postgres@127.0.0.1:5432/postgres'

/** Durability is off for speed; the connection limit is that of a large server. */
const quick = ['fsync=off', 'max_connections=200']

interface FoundPostgres {
  /** URL with a database to connect to; undefined without a server. */
  readonly url?: string
  /** Why there is no server. */
  readonly reason?: string
  /** Stops the server if this process started it. */
  close(): Promise<void>
}

/** @throws When the named server cannot be used, because its tests were explicitly requested. */
export async function findPostgres(named = process.env.MAILKEEP_TEST_POSTGRES): Promise<FoundPostgres> {
  if (named === 'none') return { reason: 'MAILKEEP_TEST_POSTGRES=none', close: nothing }
  if (named === 'own') return await startServer(quick)
  const refused = await refusalOf(named ?? usual)
  if (refused === undefined) return { url: named ?? usual, close: nothing }
  if (named !== undefined) throw new Error(`MAILKEEP_TEST_POSTGRES cannot be used: ${refused}`)
  try {
    return await startServer(quick)
  } catch (error) {
    const reason = `127.0.0.1:5432: ${refused}; none could be started: ${(error as Error).message}`
    return { reason, close: nothing }
  }
}

export async function queryOnce(url: string, text: string, values: unknown[] = []): Promise<Record<string, unknown>[]> {
  const client = new pg.Client({ connectionString: url, connectionTimeoutMillis: 30_000 })
  await client.connect()
  try {
    return (await client.query(text, values)).rows
  } finally {
    await client.end()
  }
}

/** Returns why the tests cannot create a database there; undefined when they can. */
async function refusalOf(url: string): Promise<string | undefined> {
  try {
    const rights = 'select rolcreatedb or rolsuper as creates from pg_roles where rolname = current_user'
    const [role] = await queryOnce(url, rights)
    return role?.creates ? undefined : 'the role may not create databases'
  } catch (error) {
    const { message, code } = error as { message?: string; code?: string }
    return message || code || String(error)
  }
}

async function nothing(): Promise<void> {}
