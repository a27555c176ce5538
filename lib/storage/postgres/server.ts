import { MailkeepError } from '../../errors.ts'
import type { SignalClient } from './driver.ts'
import { rowTypes } from './values.ts'

type Row = Record<string, string | number | boolean | null>

/** A setting that mailkeep turns on for its connections, to find out whether a pooler drops their settings. */
export const settingsMark = 'mailkeep.has_settings'

const poolerRemedy = 'set MAILKEEP_DATABASE_POOLER=true, or the option pooler'

/**
 * Checks that the connection has mailkeep's settings. A pooler may drop them, and the schema is one of them.
 *
 * @throws MailkeepError `conflict`
 */
export async function requireSettings(client: SignalClient): Promise<void> {
  const { mark } = await ask(client, `select current_setting('${settingsMark}', true) as mark`)
  if (mark === 'on') return
  const message = `A pooler in front of the server drops the settings of mailkeep's connections: ${poolerRemedy}.`
  throw new MailkeepError('conflict', message)
}

/**
 * Checks the server's version and encoding and the format of dates, and creates the schema if it is missing.
 *
 * @returns the schema of the tables.
 * @throws MailkeepError `conflict`, `unavailable`
 */
export async function prepareServer(client: SignalClient, schema: string | undefined): Promise<string> {
  await checkServer(client)
  if (schema !== undefined) await ensureSchema(client, schema)
  const { current } = await ask(client, 'select current_schema() as current')
  if (current === null) throw new MailkeepError('conflict', 'The search path names no schema that exists.')
  return String(current)
}

async function checkServer(client: SignalClient): Promise<void> {
  const server = await ask(
    client,
    `select cast(current_setting('server_version_num') as integer) as number,
      current_setting('server_version') as version, current_setting('server_encoding') as encoding,
      current_setting('DateStyle') as dates, pg_is_in_recovery() as replica`,
  )
  if (Number(server.number) < 130_000) {
    throw new MailkeepError('conflict', `mailkeep needs PostgreSQL 13 or later; this is ${server.version}.`)
  }
  if (server.encoding !== 'UTF8') {
    throw new MailkeepError('conflict', `mailkeep needs a database in UTF8; this one is in ${server.encoding}.`)
  }
  if (server.replica) {
    throw new MailkeepError('unavailable', 'This server is a replica, which takes no writes: name the primary server.')
  }
  // Only a host's pool and a pooler have other settings than mailkeep's.
  if (!String(server.dates).startsWith('ISO')) {
    const remedy = "set it in the pool's options, or alter role … set DateStyle = 'ISO'"
    throw new MailkeepError('conflict', `mailkeep needs DateStyle ISO; this connection has ${server.dates}: ${remedy}.`)
  }
}

async function ensureSchema(client: SignalClient, schema: string): Promise<void> {
  // Check first. A role that may not create schemas can still use an existing one.
  const { there } = await ask(client, 'select to_regnamespace($1) is not null as there', [`"${schema}"`])
  if (there) return
  try {
    // Both statements are one transaction. The server or the role may have read-only transactions as the default.
    await client.query({ text: `set transaction read write; create schema if not exists "${schema}"` })
  } catch (error) {
    // Another process created it concurrently. "if not exists" does not wait for that transaction.
    if ((error as { code?: string }).code !== '23505') throw error
  }
}

async function ask(client: SignalClient, text: string, values: unknown[] = []): Promise<Row> {
  return (await client.query({ text, values, types: rowTypes })).rows[0] as Row
}

/** Returns an error with the reason of the driver or the server, for the operator who starts mailkeep. */
export function cannotOpen(error: unknown): unknown {
  if (error instanceof MailkeepError) return error
  const { message, code } = error as { message?: string; code?: string }
  const reason = message || code
  const isRefusal = /unsupported startup parameter|command-line options/.test(String(reason)) // of PgBouncer, RDS Proxy
  const remedy = isRefusal ? ` (a pooler refused it: ${poolerRemedy})` : ''
  return new MailkeepError('unavailable', `The database cannot be opened: ${reason}${remedy}`, { cause: error })
}
