import { existsSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import type { FileReport } from '../../lib/storage/sqlite.ts'
import { reasonOf } from '../cli-error.ts'
import type { Config } from '../config.ts'
import { findKey, isKey } from '../database-key.ts'
import { type Finding, fault, ok, warning } from './finding.ts'

/** The parts of a database report that depend on mailkeep's version and on the key. */
type Compatibility = Pick<FileReport, 'unknown' | 'unapplied' | 'keyId'>

/** Checks that the tables are there and belong to this version. */
export function checkSchema({
  unknown,
  unapplied,
  missingTables: missing,
}: Compatibility & { readonly missingTables: readonly string[] }): Finding {
  if (unknown.length > 0) {
    return fault('schema', `a newer mailkeep was here (${unknown.join(', ')})`, 'run that version or a later one')
  }
  if (missing.length > 0) {
    const what = missing.length === 1 ? 'the table' : 'the tables'
    return fault(
      'schema',
      `${what} ${missing.join(', ')} ${missing.length === 1 ? 'is' : 'are'} missing`,
      'restore a backup',
    )
  }
  if (unapplied.length === 0) return ok('schema', 'up to date')
  return warning('schema', `${unapplied.join(', ')} is not applied yet`, 'start the daemon, or mailkeep migrate')
}

/**
 * Checks that the available encryption key is the database's.
 *
 * @param path Key file beside the database. Undefined with PostgreSQL.
 */
export async function checkKey({ keyId }: Compatibility, config: Config, path?: string): Promise<Finding> {
  if (keyId === null) return ok('key', 'the database has no key yet')
  const isSet = config.encryptionKey !== undefined
  const found = await findKey(keyId, config, path === undefined || isSet ? [] : [path])
  if (found?.in === 'setting') return ok('key', "the configured key is the database's")
  if (found) return ok('key', `${path} is the database's`)
  if (isSet) {
    const remedy = `set MAILKEEP_ENCRYPTION_KEY to the database's${await hintOfFile(keyId, path)}`
    return fault('key', "MAILKEEP_ENCRYPTION_KEY is not the database's key", remedy)
  }
  if (path !== undefined && existsSync(path)) return await faultOfFile(path)
  const restored = path === undefined ? '' : `, or restore ${path} from where backups are kept`
  return fault('key', "the database's encryption key is missing", `set MAILKEEP_ENCRYPTION_KEY to it${restored}`)
}

/** Says why a key file does not give the database's key. */
async function faultOfFile(path: string): Promise<Finding> {
  const text = await readFile(path, 'utf8').catch((error: unknown) => ({ reason: reasonOf(error) }))
  if (typeof text !== 'string') {
    return fault('key', `${path} cannot be read: ${text.reason}`, 'let the user mailkeep runs as read it')
  }
  if (!isKey(text.trim())) {
    const remedy = `restore ${path} from where backups are kept, or set MAILKEEP_ENCRYPTION_KEY to the database's key`
    return fault('key', `${path} does not hold the base64 of 32 bytes`, remedy)
  }
  const remedy = `set MAILKEEP_ENCRYPTION_KEY to the database's current key, or write that key to ${path}`
  return fault('key', `${path} holds another key than the database's, such as one from before a rotation`, remedy)
}

/** Returns a hint when the key file contains the right key but a wrong setting overrides it. */
async function hintOfFile(keyId: string, path: string | undefined): Promise<string> {
  const found = path === undefined ? undefined : await findKey(keyId, {}, [path])
  return found ? `, or unset it: ${path} holds the right one` : ''
}
