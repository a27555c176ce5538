import { constants } from 'node:fs'
import { access, rm, writeFile } from 'node:fs/promises'
import { dirname, resolve } from 'node:path'
import type { Mailkeep } from '../lib/index.ts'
import { CliError, reasonOf } from './cli-error.ts'
import type { Config } from './config.ts'
import { inMemory } from './database-file.ts'
import { isServer } from './database-url.ts'

/** Where the first admin token is to be found. */
export type FirstToken =
  | { readonly in: 'environment' }
  | { readonly in: 'file'; readonly path: string; readonly given: boolean }
  | { readonly in: 'output'; readonly token: string }

/**
 * On a database without clients, makes the first one with an admin token.
 *
 * @param terminal Whether a person is looking: then the token is shown, else it goes to a file beside the database, or
 *   in the working directory where the database is on a server. A database in memory has nothing beside it, and its token dies with the process: that is always shown.
 * @returns undefined when there is a client already.
 */
export async function makeFirstToken(
  mailkeep: Mailkeep,
  { adminToken, adminTokenFile, database }: Pick<Config, 'adminToken' | 'adminTokenFile' | 'database'>,
  terminal: boolean,
): Promise<FirstToken | undefined> {
  const path = resolve(isServer(database) ? 'mailkeep.admin-token' : `${database}.admin-token`)
  const toFile = adminToken === undefined && !terminal && database !== inMemory
  if (toFile) await refuseLosingIt(mailkeep, path)
  const made = await mailkeep.clients.bootstrap(adminToken === undefined ? {} : { token: adminToken })
  if (!made) return undefined
  if (adminTokenFile !== undefined) return { in: 'file', path: resolve(adminTokenFile), given: true }
  if (adminToken !== undefined) return { in: 'environment' }
  const { token } = made.token
  if (!toFile) return { in: 'output', token }
  await writeToken(path, token)
  return { in: 'file', path, given: false }
}

/** A token that nobody can be told is not made. */
async function refuseLosingIt(mailkeep: Mailkeep, path: string): Promise<void> {
  try {
    await access(dirname(path), constants.W_OK)
  } catch (error) {
    if ((await mailkeep.clients.list()).length > 0) return
    const remedy = 'set MAILKEEP_ADMIN_TOKEN_FILE to a file with a token of your own'
    throw new CliError(
      `The first token cannot be written to ${path}: ${reasonOf(error)}. Start elsewhere, or ${remedy}.`,
    )
  }
}

/** What lies there already belonged to an earlier database of this name: it opens nothing. */
async function writeToken(path: string, token: string): Promise<void> {
  try {
    await rm(path, { force: true })
    await writeFile(path, `${token}\n`, { flag: 'wx', mode: 0o600 })
  } catch (error) {
    const remedy = 'mailkeep token create --client 1 --role admin'
    throw new CliError(`The first token cannot be written to ${path}: ${reasonOf(error)}. Make another: ${remedy}`)
  }
}

/** A line of shell that tries the token out. */
export function curlLine(first: FirstToken, url: string): string {
  return `curl -H "Authorization: Bearer ${inShell(first)}" ${url}/api/v1/tags`
}

function inShell(first: FirstToken): string {
  if (first.in === 'environment') return '$MAILKEEP_ADMIN_TOKEN'
  return first.in === 'file' ? `$(cat ${quoted(first.path)})` : first.token
}

function quoted(path: string): string {
  return /^[\w./@%+,:-]+$/.test(path) ? path : `'${path.replaceAll("'", `'\\''`)}'`
}
