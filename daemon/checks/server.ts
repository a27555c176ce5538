import type { ServerReport } from '../../lib/storage/postgres.ts'
import { CliError } from '../cli-error.ts'
import type { Config } from '../config.ts'
import { shownDatabase } from '../database-setting.ts'
import { loadPostgres } from '../drivers.ts'
import { checkKey, checkSchema } from './compatibility.ts'
import { type Finding, fault, ok, warning } from './finding.ts'

/** Checks a PostgreSQL database without changing it. */
export async function checkServer(config: Config): Promise<Finding[]> {
  let report: ServerReport
  try {
    const { inspectServer } = await loadPostgres()
    report = await inspectServer(config.database, config.postgres)
  } catch (error) {
    if (error instanceof CliError) return [{ check: 'database', state: 'fault', message: error.message }]
    const message = error instanceof Error ? error.message : String(error)
    return [fault('database', message, remedyFor(message))]
  }
  return [
    checkVersion(config, report),
    checkRights(config, report),
    report.mailkeep ? checkSchema(report) : ok('schema', 'does not exist yet: the first start creates it'),
    checkCopy(report),
    await checkServerKey(config, report),
    checkSearches(report),
    checkClocks(report),
    checkEncryption(config, report),
    checkConnections(config, report),
  ].filter((found) => found !== undefined)
}

function remedyFor(message: string): string {
  if (/too many|connection slots/.test(message)) return moreConnections
  if (/POOLER/.test(message)) return 'behind a pooler, give the schema to the role: alter role … set search_path = …'
  return 'check that the server runs, and that MAILKEEP_DATABASE is right'
}

const moreConnections =
  'raise max_connections or the limit of the role, lower MAILKEEP_DATABASE_CONNECTIONS, or put a pooler before the server'

const minVersionNumber = 130_000

function checkVersion({ database }: Config, report: ServerReport): Finding {
  const { version, versionNumber, encoding, isReplica, isReadOnlyByDefault } = report
  const what = `PostgreSQL ${version} at ${shownDatabase(database)}`
  if (versionNumber < minVersionNumber) return fault('database', what, 'mailkeep needs PostgreSQL 13 or later')
  if (encoding !== 'UTF8') return fault('database', `${what} is in ${encoding}`, "create database … encoding 'UTF8'")
  if (isReplica) return fault('database', `${what} takes no writes`, 'name the primary server, not a replica')
  if (isReadOnlyByDefault) {
    const message = `${what} has default_transaction_read_only on, but mailkeep writes`
    return warning('database', message, "check the server's disk: hosted servers become read-only when it is full")
  }
  return ok('database', what)
}

function checkRights({ postgres: { schema: wanted } }: Config, report: ServerReport): Finding {
  const { schema, mayCreateSchema, mayCreateTables, closedTables, otherOwners, mailkeep, unapplied } = report
  if (schema === null) {
    if (wanted !== undefined && mayCreateSchema) return ok('rights', `the first start creates the schema ${wanted}`)
    const remedy = `create schema ${wanted ?? 'mailkeep'} authorization … (as an owner of the database), or another MAILKEEP_DATABASE_SCHEMA`
    return fault('rights', 'the search path names no schema that exists, and this role may not create one', remedy)
  }
  if (closedTables.length > 0) {
    const remedy = `grant select, insert, update, delete on all tables in schema ${schema} to …`
    return fault('rights', `this role may not read and write ${closedTables.join(', ')}`, remedy)
  }
  if (!mayCreateTables && (!mailkeep || unapplied.length > 0)) {
    const remedy = `grant create on schema ${schema} to …, or run mailkeep migrate as a role that may`
    return fault('rights', `this role may not create tables in the schema ${schema}`, remedy)
  }
  if (otherOwners.length > 0 && unapplied.length > 0) {
    const owners = otherOwners.join(', ')
    const message = `only their owner may migrate the tables, and they belong to ${owners}`
    return fault('rights', message, `run mailkeep migrate as ${owners}`)
  }
  return ok('rights', `this role may do what is needed in the schema ${schema}`)
}

function checkCopy({ hasUnfinishedCopy }: ServerReport): Finding | undefined {
  if (!hasUnfinishedCopy) return undefined
  return fault('copy', 'a copy into this database is not finished', 'run mailkeep copy again')
}

async function checkServerKey(config: Config, report: ServerReport): Promise<Finding> {
  if (config.encryptionKey !== undefined) return await checkKey(report, config)
  const remedy =
    report.keyId === null
      ? 'set MAILKEEP_ENCRYPTION_KEY to what openssl rand -base64 32 gives'
      : "set MAILKEEP_ENCRYPTION_KEY to the database's"
  return fault('key', 'MAILKEEP_ENCRYPTION_KEY is needed with PostgreSQL', remedy)
}

function checkSearches({ trigrams, searchIndex, mailkeep }: ServerReport): Finding {
  if (searchIndex) return ok('search', 'has its index')
  if (trigrams === 'missing') {
    const remedy = "install PostgreSQL's contrib package (postgresql-contrib) on the server"
    return warning('search', 'reads every contact: the extension pg_trgm is not installed', remedy)
  }
  if (trigrams === 'available' && mailkeep) {
    const remedy = 'create extension pg_trgm (as an owner of the database), then restart the daemon'
    return warning('search', 'reads every contact: the extension pg_trgm is not in this database', remedy)
  }
  if (!mailkeep) return ok('search', 'the first start creates its index')
  return warning(
    'search',
    'reads every contact: its index is missing',
    'see the line that the daemon logs at its start',
  )
}

const maxClockDifferenceMs = 2000

/**
 * Compares the clocks. All times come from the server's clock. Receivers of webhooks compare them with their own clock
 * and accept a difference of five minutes.
 */
function checkClocks({ clockAheadMs, clockToleranceMs }: ServerReport): Finding {
  const apart = Math.abs(clockAheadMs)
  const message = `the server's is ${seconds(apart)} ${clockAheadMs < 0 ? 'behind' : 'ahead of'} this machine's`
  if (apart <= maxClockDifferenceMs + clockToleranceMs) return ok('clock', message)
  const remedy = 'keep both clocks in sync with NTP: mailkeep uses the server’s clock, also to sign webhooks'
  return apart > 60_000 ? fault('clock', message, remedy) : warning('clock', message, remedy)
}

function checkEncryption({ database }: Config, { encrypted }: ServerReport): Finding | undefined {
  const host = URL.canParse(database) ? new URL(database).hostname : ''
  if (encrypted || /^(?:localhost|127\..*|\[::1\]|)$/.test(host)) return undefined
  const message = `the connection to ${host} is not encrypted`
  return warning('exposure', message, 'add ?sslmode=verify-full to MAILKEEP_DATABASE, unless the network is private')
}

/** Default size of a pool, without the connection for notifications. */
const defaultPoolConnections = 10

function checkConnections({ postgres, processes }: Config, { connections: { used, most } }: ServerReport): Finding {
  const pool = postgres.connections ?? defaultPoolConnections
  const message = `${used} of ${most} are in use; each process takes up to ${pool + 1}`
  if (most - used >= (pool + 1) * processes) return ok('connections', message)
  return warning('connections', message, moreConnections)
}

function seconds(ms: number): string {
  return ms < 1000 ? `${Math.round(ms)} ms` : `${Math.round(ms / 1000)} s`
}
