import type { Context } from '../context.ts'
import { MailkeepError } from '../errors.ts'
import { ensureSetting, saveSetting } from '../storage/settings.ts'
import { transact } from '../storage/transaction.ts'

const name = 'encryption_key_id'

/**
 * Checks that one of the given encryption keys belongs to this database. A new database stores the id of the current
 * key.
 *
 * @throws MailkeepError `conflict`: none of the keys is the database's, so its secrets could not be decrypted.
 */
export async function checkEncryptionKey(ctx: Pick<Context, 'storage' | 'transaction' | 'sealer'>): Promise<void> {
  return transact(ctx, async (tx) => {
    const keyId = await ensureSetting(tx, name, () => tx.sealer.keyId)
    if (tx.sealer.keyIds.includes(keyId)) return
    throw new MailkeepError(
      'conflict',
      "The encryption key is not this database's: use the key that it was created with, or add that key as a previous key.",
    )
  })
}

/** Stores the id of the current key. Call it only when everything is sealed with that key. */
export async function saveEncryptionKeyId(ctx: Context): Promise<void> {
  await saveSetting(ctx, { name, value: ctx.sealer.keyId })
}
