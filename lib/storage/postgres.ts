import pg from 'pg'
import { invalid } from '../errors.ts'
import type { Logger } from '../logger.ts'
import { checkOptions } from '../option-schemas.ts'
import { type Database, type DatabaseSource, noLiveness } from './database.ts'
import { migrate } from './migrate.ts'
import { postgresMigrations } from './migrations/postgres.ts'
import { Connections, connectionLimits } from './postgres/connections.ts'
import { copyRows } from './postgres/copy.ts'
import { databaseOn } from './postgres/database.ts'
import type { DriverPool, PostgresPool, SignalClient } from './postgres/driver.ts'
import { inspect, type ServerReport } from './postgres/inspect.ts'
import { Notifications } from './postgres/notifications.ts'
import { cannotOpen, prepareServer, requireSettings, settingsMark } from './postgres/server.ts'
import type { CopyProgress, RowSource } from './row-source.ts'

export type { PostgresPool } from './postgres/driver.ts'
export type { ServerReport } from './postgres/inspect.ts'

export interface PostgresOptions {
  /** Schema of the tables. It is created if it is missing. Default: the first schema of the search path. */
  readonly schema?: string | undefined
  /**
   * Maximum connections of the pool, default 10, of which one client uses at most nine of ten at a time. Notifications use
   * one more. A host's pool keeps its own maximum.
   */
  readonly connections?: number | undefined
  /**
   * Whether a pooler (PgBouncer, Supavisor, RDS Proxy) is between mailkeep and the server. Then mailkeep uses no prepared
   * statements and no session settings, and sees the commits of other processes only by polling. A pooler in session
   * mode needs this too if it refuses or drops the settings of connections.
   */
  readonly pooler?: boolean | undefined
}

/**
 * A PostgreSQL database, 13 or later.
 *
 * @param source A URL `postgres://…`, or the host's `pg.Pool`. Mailkeep uses the pool but does not end it. With a
 *   `schema`, mailkeep only copies the pool's settings to its own pool, because the host sets the search path of its
 *   connections.
 * @throws MailkeepError `validation_failed`: `source` is wrong, or an option is wrong or unknown.
 */
export function postgres(source: string | PostgresPool, options: PostgresOptions = {}): DatabaseSource {
  checkSource(source)
  checkPostgresOptions(options)
  return {
    kind: 'postgres',
    migrations: postgresMigrations,
    open: (logger) => open(source, options, logger),
  }
}

/**
 * Inspects a server and one of its databases without changing anything.
 *
 * @param url `postgres://…`
 * @throws MailkeepError `unavailable`, `validation_failed`
 */
export async function inspectServer(url: string, options: PostgresOptions): Promise<ServerReport> {
  checkPostgresOptions(options)
  try {
    const client = new pg.Client(settingsFor(url, options) as pg.ClientConfig)
    client.on('error', () => {}) // the running statement reports it
    await client.connect()
    try {
      if (!options.pooler) await requireSettings(client as unknown as SignalClient)
      return await inspect(client as unknown as SignalClient, postgresMigrations)
    } finally {
      await client.end()
    }
  } catch (error) {
    throw cannotOpen(error)
  }
}

/**
 * Copies the rows of another database, including their ids, into an empty one. An interrupted copy continues where it
 * stopped. Mailkeep refuses to open the database until the copy is complete.
 *
 * @param url `postgres://…`
 * @param report Receives the progress.
 * @returns the number of rows of each table, counted in both databases.
 * @throws MailkeepError `conflict`: the database is not empty, or has an incomplete copy of other data; `unavailable`,
 *   `validation_failed`
 */
export async function copyInto(
  url: string,
  rows: RowSource,
  options: PostgresOptions & { logger: Logger; report?: (progress: CopyProgress) => void },
): Promise<Record<string, number>> {
  const { logger, report = () => {}, ...rest } = options
  checkPostgresOptions(rest)
  const database = await open(url, rest, logger)
  try {
    await migrate(database, postgresMigrations, database.clock)
    return await copyRows(rows, database, report)
  } finally {
    await database.close()
  }
}

function checkSource(source: unknown): void {
  if (typeof source === 'string' && /^postgres(?:ql)?:/i.test(source)) return
  const { connect, options } = (source ?? {}) as { connect?: unknown; options?: unknown }
  if (typeof connect === 'function' && typeof options === 'object') return
  throw invalid('database', 'The argument of postgres() must be a URL, postgres://…, or a pg.Pool.')
}

function checkPostgresOptions(options: PostgresOptions): void {
  checkOptions('postgres', options)
  if (options.pooler && options.schema !== undefined) {
    throw invalid('schema', 'Behind a pooler the search path belongs to the role: alter role … set search_path = ….')
  }
}

async function open(source: string | PostgresPool, options: PostgresOptions, logger: Logger): Promise<Database> {
  const settings = settingsFor(source, options)
  const Client = (settings.Client ?? pg.Client) as typeof pg.Client // a host's pool may use another client class
  const connect = () => new Client(settings) as unknown as SignalClient
  const notifications = new Notifications(connect, logger, !options.pooler)
  const own = typeof source === 'string' || options.schema !== undefined
  try {
    await notifications.open(async (client) => {
      if (own && !options.pooler) await requireSettings(client)
      return await prepareServer(client, options.schema)
    })
  } catch (error) {
    throw cannotOpen(error)
  }
  logger.debug({ schema: options.schema }, 'database opened')
  const pool = own ? new pg.Pool(settings) : source
  const connections = new Connections(pool as unknown as DriverPool, logger, !options.pooler)
  return databaseOn(connections, logger, {
    clock: notifications.clock.now,
    changes: notifications,
    liveness: options.pooler ? noLiveness : notifications.locks,
    figures: () => ({ pool: { total: pool.totalCount, idle: pool.idleCount, waiting: connections.waiting } }),
    async close() {
      await connections.close(own)
      await notifications.close()
    },
  })
}

/** Settings of mailkeep's connections. They override the role's defaults. */
function settingsFor(source: string | PostgresPool, { schema, pooler, connections }: PostgresOptions): pg.PoolConfig {
  const common: pg.PoolConfig = {
    pipeline: !pooler,
    keepAlive: true,
    connectionTimeoutMillis: connectionLimits.waitMs,
    fallback_application_name: 'mailkeep',
    allowExitOnIdle: true,
  }
  const max = connections === undefined ? {} : { max: connections }
  const isUrl = typeof source === 'string'
  const given = isUrl ? { connectionString: source } : withPassword(source.options)
  const settings: pg.PoolConfig = { ...common, ...given, ...max } as pg.PoolConfig
  if (pooler || (!isUrl && schema === undefined)) return settings
  const session = `${sessionOptions}${schema === undefined ? '' : ` -c search_path="${schema}"`}`
  if (isUrl) return { ...limits, ...settings, connectionString: withOptions(source, session) }
  return { ...limits, ...settings, options: `${settings.options ?? ''} ${session}`.trim() }
}

/** Copies the password explicitly, because the pool makes that property non-enumerable. */
function withPassword(settings: pg.PoolConfig): pg.PoolConfig {
  return { ...settings, ...(settings.password !== undefined && { password: settings.password }) }
}

/** Turns parallel workers and JIT off. They cost more than they save, because mailkeep's statements are short. */
const sessionOptions = [
  'DateStyle=ISO',
  'TimeZone=UTC',
  'array_nulls=on',
  'max_parallel_workers_per_gather=0',
  'jit=off',
  `${settingsMark}=on`,
]
  .map((setting) => `-c ${setting}`)
  .join(' ')

/** Time limits that the server enforces, in milliseconds. */
const limits = { statement_timeout: 30_000, lock_timeout: 10_000, idle_in_transaction_session_timeout: 30_000 }

/** Appends `options` to the URL. The driver ignores other options if the URL has some, and uses the last in the URL. */
function withOptions(url: string, options: string): string {
  const given = /[?&]options=([^&#]*)/.exec(url)?.[1] ?? ''
  const both = `${decodeURIComponent(given.replaceAll('+', ' '))} ${options}`.trim()
  return `${url}${url.includes('?') ? '&' : '?'}options=${encodeURIComponent(both)}`
}
