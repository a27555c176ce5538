import { readFile } from 'node:fs/promises'
import { encryptionKeyId } from '../lib/internal.ts'
import type { Config } from './config.ts'

/** Whether a text is the base64 of 32 bytes. */
export function isKey(text: string): boolean {
  return /^[\w+/-]{43}=?$/.test(text)
}

/** Where the key of a database was found. */
export type KeyLocation =
  | { readonly in: 'setting' }
  | { readonly in: 'file'; readonly path: string; readonly key: string }

/**
 * Finds the key of a database. Searches the settings first, then the files.
 *
 * @param keyId The key id stored in the database; null if it has none yet.
 * @param paths Files that may contain the key, in search order.
 * @returns Undefined when no key has this id.
 */
export async function findKey(
  keyId: string | null,
  { encryptionKey, previousEncryptionKey }: Partial<Pick<Config, 'encryptionKey' | 'previousEncryptionKey'>>,
  paths: readonly string[],
): Promise<KeyLocation | undefined> {
  if (keyId === null) return undefined
  for (const key of [encryptionKey, previousEncryptionKey]) {
    if (key !== undefined && encryptionKeyId(key) === keyId) return { in: 'setting' }
  }
  for (const path of paths) {
    const key = await readFile(path, 'utf8').catch(() => '')
    if (isKey(key.trim()) && encryptionKeyId(key.trim()) === keyId) return { in: 'file', path, key }
  }
  return undefined
}
