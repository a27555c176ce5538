import { constants } from 'node:fs'
import { access, rm, writeFile } from 'node:fs/promises'
import { dirname, resolve } from 'node:path'
import type { Mailkeep } from '../lib/index.ts'
import { CliError, reasonOf } from './cli-error.ts'
import type { Config } from './config.ts'
import { inMemory, isServer } from './database-setting.ts'

/** Where the user finds the first admin token. */
export type FirstToken =
  | { readonly in: 'environment' }
  | { readonly in: 'file'; readonly path: string; readonly given: boolean }
  | { readonly in: 'output'; readonly token: string }

/**
 * Creates the first client with an admin token if the database has no client.
 *
 * @param terminal Whether a person reads the output. If so, the token is printed. Otherwise it is written to a file
 *   beside the SQLite database, or in the working directory for PostgreSQL. The token of an in-memory database is always
 *   printed, because it is lost with the process.
 * @returns Undefined when the database has a client already.
 */
export async function makeFirstToken(
  mailkeep: Mailkeep,
  { adminToken, adminTokenFile, database }: Pick<Config, 'adminToken' | 'adminTokenFile' | 'database'>,
  terminal: boolean,
): Promise<FirstToken | undefined> {
  const path = resolve(isServer(database) ? 'mailkeep.admin-token' : `${database}.admin-token`)
  const toFile = adminToken === undefined && !terminal && database !== inMemory
  if (toFile) await requireWritableDirectory(mailkeep, path)
  const created = await mailkeep.clients.bootstrap({ token: adminToken })
  if (!created) return undefined
  if (adminTokenFile !== undefined) return { in: 'file', path: resolve(adminTokenFile), given: true }
  if (adminToken !== undefined) return { in: 'environment' }
  const { token } = created.token
  if (!toFile) return { in: 'output', token }
  await writeToken(path, token)
  return { in: 'file', path, given: false }
}

/** Fails before the token is created if it cannot be written. */
async function requireWritableDirectory(mailkeep: Mailkeep, path: string): Promise<void> {
  try {
    await access(dirname(path), constants.W_OK)
  } catch (error) {
    if ((await mailkeep.clients.list()).length > 0) return
    const remedy = 'set MAILKEEP_ADMIN_TOKEN_FILE to a file with your own token'
    throw new CliError(
      `The first token cannot be written to ${path}: ${reasonOf(error)}. Start elsewhere, or ${remedy}.`,
    )
  }
}

/** Replaces the file of an earlier database with the same name. The old token is no longer valid. */
async function writeToken(path: string, token: string): Promise<void> {
  try {
    await rm(path, { force: true })
    await writeFile(path, `${token}\n`, { flag: 'wx', mode: 0o600 })
  } catch (error) {
    const remedy = 'mailkeep token create --client 1 --role admin'
    throw new CliError(`The first token cannot be written to ${path}: ${reasonOf(error)}. Make another: ${remedy}`)
  }
}

/** Returns a shell command that tries the token. */
export function curlLine(first: FirstToken, url: string): string {
  return `curl -H "Authorization: Bearer ${shellExpression(first)}" ${url}/api/v1/tags`
}

function shellExpression(first: FirstToken): string {
  if (first.in === 'environment') return '$MAILKEEP_ADMIN_TOKEN'
  return first.in === 'file' ? `$(cat ${quoted(first.path)})` : first.token
}

function quoted(path: string): string {
  return /^[\w./@%+,:-]+$/.test(path) ? path : `'${path.replaceAll("'", `'\\''`)}'`
}
