/** Keys that the database stores, sealed with the encryption key. Unlike derived keys they outlive its rotation. */
import { createSecretKey, type KeyObject, randomBytes } from 'node:crypto'
import type { Context, Tx } from '../context.ts'
import { ensureSetting, findSetting, saveSetting } from '../storage/settings.ts'
import { transact } from '../storage/transaction.ts'

/** The names of all stored keys. */
const names = ['address_hash_key', 'link_key'] as const
type StoredKeyName = (typeof names)[number]

/** A database, and the encryption key with which its keys are sealed. */
export type KeyStore = Pick<Context, 'storage' | 'sealer'>

/**
 * Returns the key. Creates it at the first use: if several processes do, the first one wins. It is a KeyObject because
 * createHmac takes five times as long with a Buffer (Node 24).
 */
export async function loadStoredKey(
  { storage, sealer }: KeyStore,
  name: StoredKeyName,
  create: () => Buffer = () => randomBytes(32),
): Promise<KeyObject> {
  return transact({ storage }, async (tx) => {
    const sealed = await ensureSetting(tx, name, () => sealer.seal(create().toString('base64'), name))
    return createSecretKey(sealer.openOnce(sealed, name), 'base64')
  })
}

/** Re-encrypts the keys with the current encryption key. */
export async function resealStoredKeys(tx: Tx): Promise<void> {
  for (const name of names) {
    const stored = await findSetting(tx, { name })
    if (!stored || tx.sealer.isCurrent(stored.value)) continue
    await saveSetting(tx, { name, value: tx.sealer.seal(tx.sealer.openOnce(stored.value, name), name) })
  }
}
