import { CompiledQuery, type QueryResult } from 'kysely'
import { invalid } from '../../errors.ts'
import { readJson } from '../../json.ts'
import { type Connection, plainQuery, type Query } from '../connection.ts'
import type { Database } from '../database.ts'
import { withinHostTransaction } from '../host-transaction.ts'
import { connectionOfTransaction } from '../kysely-connection.ts'
import { connectionLimits, Session } from './connections.ts'
import { DatabaseError, toMailkeepError } from './database-errors.ts'
import { dialect } from './dialect.ts'
import { ignoreErrorEvents, type PooledClient } from './driver.ts'
import { timeFromText } from './values.ts'

/** Fails outside a transaction, as every savepoint does, and changes nothing inside one. */
const requireTransaction = plainQuery('savepoint mailkeep_read; release savepoint mailkeep_read')

/** Returns the database inside a transaction that the host has open. */
export function within(database: Database, handle: unknown): Database {
  const connection = adopt(handle)
  return withinHostTransaction(database, {
    handle: handle as object,
    connection,
    dialect,
    // Kysely itself refuses statements after the end of its transaction.
    ...(connection instanceof Session && { requireTransaction }),
    toMailkeepError: (error) => toMailkeepError(error, true),
  })
}

/** Returns the connection of the host's transaction: Kysely's, or a `pg` client after BEGIN. */
function adopt(handle: unknown): Connection {
  const connection = connectionOfTransaction(handle)
  if (connection) return withPlainRows(connection)
  if (isClient(handle)) {
    if (isUnconnected(handle)) throw invalid('transaction', unconnected)
    ignoreErrorEvents(handle)
    return new Session(handle, () => undefined, connectionLimits.answerMs)
  }
  const message =
    "This must be Kysely's transaction or a pg client that has begun one; not a pool, nor a transaction object of another library such as Drizzle: pass the pg client it runs on."
  throw invalid('transaction', message)
}

/**
 * Checks the shape and not the class, because the host may use another copy of pg. Drizzle's transaction also has
 * `query`, but no events.
 */
function isClient(handle: unknown): handle is PooledClient {
  if (typeof handle !== 'object' || handle === null || 'totalCount' in handle) return false
  const { query, on } = handle as Partial<PooledClient>
  return typeof query === 'function' && typeof on === 'function'
}

const unconnected = 'This pg client is not connected: await its connect() and BEGIN first.'

/** Whether `pg` would queue statements until a call of `connect()`. Its fields are undocumented, and absent in other clients. */
function isUnconnected(client: object): boolean {
  const { _connected, _connecting } = client as { _connected?: unknown; _connecting?: unknown }
  return _connected === false && _connecting === false
}

/** Columns with JSON documents, which mailkeep reads as text. */
const jsonColumns: ReadonlySet<string> = new Set(['attributes', 'state'])

function withPlainRows(connection: Connection): Connection {
  return {
    async run<R>(query: Query): Promise<QueryResult<R>> {
      try {
        return await queryPlainRows(connection, query)
      } catch (error) {
        throw new DatabaseError(error)
      }
    },
  }
}

/**
 * Runs a query through the host's Kysely, and returns rows with mailkeep's own types. The host may have set other type
 * parsers, so each row is read as JSON text, which no parser changes.
 */
export async function queryPlainRows<R>(connection: Connection, query: Query): Promise<QueryResult<R>> {
  const { sql, parameters } = query
  if (!returnsRows(sql)) {
    const result = await connection.run<R>(CompiledQuery.raw(sql, [...parameters]))
    // Kysely returns the command of COMMIT and ROLLBACK as a row.
    if (result.rows.length > 0 && !/^(?:commit|rollback)\b/.test(sql)) {
      throw new TypeError(`The rows of this statement were not read as JSON text: ${sql}`)
    }
    return result
  }
  const asText = `with given as (${sql}) select row_to_json(given)::text as given from given`
  const { rows } = await connection.run<{ given: string }>(CompiledQuery.raw(asText, [...parameters]))
  return { rows: rows.map(({ given }) => plainRow(given) as R) }
}

/** A writing WITH, as the outbox has one, cannot be nested, and returns no rows. */
function returnsRows(sql: string): boolean {
  if (/^\s*with\s+\w+ as \(\s*insert\b/i.test(sql)) return false
  return /^\s*(?:\/\*.*?\*\/\s*)?[(\s]*(?:select|with)\b/i.test(sql) || /\breturning\b/i.test(sql)
}

function plainRow(text: string): Record<string, unknown> {
  const row = readJson(text) as Record<string, unknown>
  for (const [name, value] of Object.entries(row)) {
    if (name.endsWith('_at') && typeof value === 'string') row[name] = timeFromText(value.replace('T', ' '))
    else if (jsonColumns.has(name)) row[name] = JSON.stringify(value)
  }
  return row
}
