import { DummyDriver, Kysely, PostgresAdapter, PostgresIntrospector, PostgresQueryCompiler } from 'kysely'
import pg from 'pg'
import { invalid, MailkeepError } from '../errors.ts'
import type { Logger } from '../logger.ts'
import type { DatabaseSource, Storage } from './connection.ts'
import { postgresMigrations } from './migrations/postgres.ts'
import { Connections, connectionLimits, Reader } from './postgres/connections.ts'
import { dialect } from './postgres/dialect.ts'
import type { SignalClient } from './postgres/driver.ts'
import { failure } from './postgres/faults.ts'
import { adopt } from './postgres/host.ts'
import { ensureSearchIndex } from './postgres/search-index.ts'
import { Signals } from './postgres/signals.ts'
import { rowTypes } from './postgres/values.ts'
import { Writes } from './postgres/writes.ts'
import type { Tables } from './tables.ts'

export interface PostgresOptions {
  /** The tables stand in this schema; it is made if it is missing. Default: the first of the search path. */
  readonly schema?: string
  /** Connections at most, besides one for notifications; default 10. A pool of the host's has its own number. */
  readonly connections?: number
  /**
   * A pooler in transaction mode stands before the server (PgBouncer, Supavisor, RDS Proxy): no statements are kept on
   * a connection, nothing is set on it, and other processes' commits are seen by polling alone.
   */
  readonly pooler?: boolean
}

/**
 * A PostgreSQL database, 13 or later.
 *
 * @param source A URL `postgres://…`, or a `pg.Pool` of the host's. The pool is used as it is, and not ended; with a
 *   `schema` it only lends its settings, since the search path of its connections is the host's.
 * @throws MailkeepError `validation_failed` on `schema`
 */
export function postgres(source: string | pg.Pool, options: PostgresOptions = {}): DatabaseSource {
  checkOptions(options)
  return {
    migrations: postgresMigrations,
    open: (logger) => open(source, options, logger),
  }
}

function checkOptions({ schema, pooler }: PostgresOptions): void {
  if (schema === undefined) return
  if (!/^[A-Za-z_][A-Za-z0-9_]{0,62}$/.test(schema)) {
    throw invalid('schema', 'This must be letters, digits and underscores, at most 63.')
  }
  if (pooler) {
    throw invalid('schema', 'Behind a pooler the search path belongs to the role: alter role … set search_path = ….')
  }
}

async function open(source: string | pg.Pool, options: PostgresOptions, logger: Logger): Promise<Storage> {
  const settings = settingsFor(source, options)
  const connect = () => new pg.Client(settings) as unknown as SignalClient
  const signals = new Signals(connect, logger, !options.pooler)
  try {
    await signals.open((client) => prepare(client, options.schema))
  } catch (error) {
    throw cannotOpen(error)
  }
  const own = typeof source === 'string' || options.schema !== undefined
  const pool = own ? new pg.Pool({ ...settings, max: options.connections ?? 10, allowExitOnIdle: true }) : source
  logger.debug({ database: settings.database, schema: options.schema }, 'database opened')
  return storageOn(new Connections(pool, logger, !options.pooler), signals, own, logger)
}

function storageOn(connections: Connections, signals: Signals, own: boolean, logger: Logger): Storage {
  const reader = new Reader(connections)
  const writes = new Writes(connections)
  return {
    dialect,
    builder: new Kysely<Tables>({
      dialect: {
        createAdapter: () => new PostgresAdapter(),
        createDriver: () => new DummyDriver(),
        createIntrospector: (db) => new PostgresIntrospector(db),
        createQueryCompiler: () => new PostgresQueryCompiler(),
      },
    }),
    reader,
    write: (work) => writes.write(work),
    writeAlone: (work) => writes.writeAlone(work),
    migrated: () => ensureSearchIndex(reader, writes, logger),
    version: async () => signals.version(),
    failure,
    adopt,
    shared: {
      clock: signals.clock.now,
      onChange: (listener) => signals.onChange(listener),
      announce: () => signals.announce(),
    },
    close: async () => {
      await connections.close(own)
      await signals.close()
    },
  }
}

/** What is set on a connection of ours, whatever the role's defaults are. */
function settingsFor(source: string | pg.Pool, { schema, pooler }: PostgresOptions): pg.ClientConfig {
  const common: pg.ClientConfig = {
    keepAlive: true,
    connectionTimeoutMillis: connectionLimits.waitMs,
    fallback_application_name: 'mailkeep',
  }
  const host: pg.ClientConfig & { password?: unknown } =
    typeof source === 'string' ? { connectionString: source } : { ...source.options, password: source.options.password }
  if (pooler || (typeof source !== 'string' && schema === undefined)) return { ...common, ...host }
  const session = `-c DateStyle=ISO -c TimeZone=UTC${schema === undefined ? '' : ` -c search_path="${schema}"`}`
  const limits = { statement_timeout: 30_000, lock_timeout: 10_000, idle_in_transaction_session_timeout: 30_000 }
  if (typeof source !== 'string') return { ...common, ...limits, ...host, options: `${host.options ?? ''} ${session}` }
  // The driver lets a URL's own options win over ours; the last of the same name wins among the URL's.
  const theirs = new URL(source).searchParams.get('options') ?? ''
  const query = `options=${encodeURIComponent(`${theirs} ${session}`.trim())}`
  return { ...common, ...limits, connectionString: `${source}${source.includes('?') ? '&' : '?'}${query}` }
}

/** @returns the schema the tables stand in. */
async function prepare(client: SignalClient, schema: string | undefined): Promise<string> {
  const ask = async (text: string, values: unknown[] = []) =>
    (await client.query({ text, values, types: rowTypes })).rows[0] as Record<string, string | number | boolean | null>
  const server = await ask(
    `select current_setting('server_version_num')::int as version, current_setting('server_encoding') as encoding,
      current_setting('server_version') as name`,
  )
  if (Number(server.version) < 130_000) {
    throw new MailkeepError('conflict', `mailkeep needs PostgreSQL 13 or later; this is ${server.name}.`)
  }
  if (server.encoding !== 'UTF8') {
    throw new MailkeepError('conflict', `mailkeep needs a database in UTF8; this one is in ${server.encoding}.`)
  }
  if (schema !== undefined && !(await ask('select to_regnamespace($1) is not null as there', [`"${schema}"`])).there) {
    await createSchema(client, schema)
  }
  const { current } = await ask('select current_schema() as current')
  if (current === null) throw new MailkeepError('conflict', 'The search path names no schema that exists.')
  return String(current)
}

async function createSchema(client: SignalClient, schema: string): Promise<void> {
  try {
    await client.query({ text: `create schema if not exists "${schema}"` })
  } catch (error) {
    // Another process was faster: "if not exists" does not wait for it.
    if ((error as { code?: string }).code !== '23505') throw error
  }
}

function cannotOpen(error: unknown): unknown {
  if (error instanceof MailkeepError) return error
  const reason = error instanceof Error ? error.message || String((error as { code?: string }).code) : String(error)
  return new MailkeepError('unavailable', `The database cannot be opened: ${reason}`, { cause: error })
}
