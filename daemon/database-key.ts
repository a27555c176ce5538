import { readFile } from 'node:fs/promises'
import { encryptionKeyId } from '../lib/internal.ts'
import type { Config } from './config.ts'

/** Where a database's key was found. */
export type KeyPlace = { readonly in: 'setting' } | { readonly in: 'file'; readonly path: string; readonly key: string }

/**
 * Looks for the key that a database was made with: in the settings, then in files.
 *
 * @param keyId What the database remembers of its key.
 * @param paths Files that may hold it, in order.
 * @returns undefined when none of them is it.
 */
export async function findKey(
  keyId: string,
  { encryptionKey, previousEncryptionKey }: Pick<Config, 'encryptionKey' | 'previousEncryptionKey'>,
  paths: readonly string[],
): Promise<KeyPlace | undefined> {
  for (const key of [encryptionKey, previousEncryptionKey]) {
    if (key !== undefined && encryptionKeyId(key) === keyId) return { in: 'setting' }
  }
  for (const path of paths) {
    const key = await readFile(path, 'utf8').catch(() => '')
    if (/^[\w+/-]{43}=?$/.test(key.trim()) && encryptionKeyId(key.trim()) === keyId) return { in: 'file', path, key }
  }
  return undefined
}
