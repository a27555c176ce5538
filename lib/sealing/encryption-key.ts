import type { Context } from '../context.ts'
import { MailkeepError } from '../errors.ts'
import { statement, text } from '../storage/statement.ts'
import { transact } from '../storage/transaction.ts'

export const findSetting = statement({ name: text }, (db, p) =>
  db.selectFrom('mailkeep_setting').select('value').where('name', '=', p.name),
)

/** Inserts the setting unless it exists. If several processes start at the same time, the first one wins. */
export const insertSetting = statement({ name: text, value: text }, (db, row) =>
  db
    .insertInto('mailkeep_setting')
    .values(row)
    .onConflict((c) => c.doNothing()),
)

export const saveSetting = statement({ name: text, value: text }, (db, row) =>
  db
    .insertInto('mailkeep_setting')
    .values(row)
    .onConflict((c) => c.column('name').doUpdateSet({ value: row.value })),
)

const name = 'encryption_key_id'

/**
 * Checks that one of the given encryption keys belongs to this database. A new database stores the id of the current
 * key.
 *
 * @throws MailkeepError `conflict`: none of the keys is the database's, so its secrets could not be decrypted.
 */
export async function checkEncryptionKey(ctx: Context): Promise<void> {
  return transact(ctx, async (tx) => {
    let stored = await findSetting(tx, { name })
    if (!stored) {
      await insertSetting(tx, { name, value: ctx.sealer.keyId })
      stored = await findSetting(tx, { name })
    }
    if (!ctx.sealer.keyIds.includes(stored!.value)) {
      throw new MailkeepError(
        'conflict',
        "The encryption key is not this database's: use the key that it was created with, or add that key as a previous key.",
      )
    }
  })
}

/** Stores the id of the current key. Call it only when everything is sealed with that key. */
export async function saveEncryptionKeyId(ctx: Context): Promise<void> {
  await saveSetting(ctx, { name, value: ctx.sealer.keyId })
}
