import type { FileReport } from '../../lib/storage/sqlite.ts'
import type { Config } from '../config.ts'
import { findKey } from '../database-key.ts'
import { type Finding, fault, ok, warning } from './finding.ts'

/** What binds a database to a version and to a key, be it a file or on a server. */
export type Belonging = Pick<FileReport, 'unknown' | 'unapplied' | 'keyId'>

/** Whether the tables are this version's. */
export function checkSchema({ unknown, unapplied }: Belonging): Finding {
  if (unknown.length > 0) {
    return fault('schema', `a newer mailkeep was here (${unknown.join(', ')})`, 'run that version or a later one')
  }
  if (unapplied.length === 0) return ok('schema', 'up to date')
  return warning('schema', `${unapplied.join(', ')} is still to come`, 'start the daemon, or mailkeep migrate')
}

/**
 * Whether the encryption key at hand is the database's.
 *
 * @param path Of the file beside the database that may hold it, where there is a beside.
 */
export async function checkKey({ keyId }: Belonging, config: Config, path?: string): Promise<Finding> {
  const paths = path === undefined ? [] : [path]
  const found =
    keyId === null ? undefined : await findKey(keyId, config, config.encryptionKey === undefined ? paths : [])
  if (keyId === null) return ok('key', 'the database has not been sealed with any yet')
  if (found)
    return ok('key', found.in === 'setting' ? 'the one that is set is the database’s' : `${path} is the database’s`)
  const restored = path === undefined ? '' : `, or restore ${path} from where backups are kept`
  const remedy = `set MAILKEEP_ENCRYPTION_KEY to the database's${restored}`
  return fault('key', 'the database’s encryption key is missing, or another is set', remedy)
}
