/**
 * The PostgreSQL of a test run: the server that MAILKEEP_TEST_POSTGRES names, else the one at 127.0.0.1:5432 if it lets
 * the tests make a database of their own, else one that is started for them. `own` asks for that one at once, `none`
 * for a run without.
 */
import pg from 'pg'
import { startServer } from './postgres-server.ts'

const usual = 'postgres://postgres@127.0.0.1:5432/postgres'

/** What it need not survive costs nothing; connections as on a large server. */
const quick = ['fsync=off', 'max_connections=200']

export interface FoundPostgres {
  /** With a database to connect to; undefined when there is none. */
  readonly url?: string
  /** Why there is none. */
  readonly reason?: string
  /** Ends what was started. */
  close(): Promise<void>
}

/** @throws when a server is named that cannot be used: whoever names one wants it tested. */
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

export async function asking(url: string, text: string, values: unknown[] = []): Promise<Record<string, unknown>[]> {
  const client = new pg.Client({ connectionString: url, connectionTimeoutMillis: 5000 })
  await client.connect()
  try {
    return (await client.query(text, values)).rows
  } finally {
    await client.end()
  }
}

/** Why we cannot make a database there; undefined when we can. */
async function refusalOf(url: string): Promise<string | undefined> {
  try {
    const rights = 'select rolcreatedb or rolsuper as creates from pg_roles where rolname = current_user'
    const [role] = await asking(url, rights)
    return role?.creates ? undefined : 'the role may not create databases'
  } catch (error) {
    const { message, code } = error as { message?: string; code?: string }
    return message || code || String(error)
  }
}

async function nothing(): Promise<void> {}
