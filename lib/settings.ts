import type { Context } from './context.ts'
import { MailkeepError } from './errors.ts'
import { statement, text } from './storage/statement.ts'
import { transact } from './storage/transaction.ts'

const findSetting = statement({ name: text }, (db, p) =>
  db.selectFrom('mailkeep_setting').select('value').where('name', '=', p.name),
)

const insertSetting = statement({ name: text, value: text }, (db, row) => db.insertInto('mailkeep_setting').values(row))

/**
 * Remembers which encryption key this database belongs to.
 *
 * @throws MailkeepError `conflict` when it is another one: its secrets could not be read.
 */
export function checkEncryptionKey(ctx: Context): Promise<void> {
  return transact(ctx, async (tx) => {
    const name = 'encryption_key_id'
    const stored = await findSetting(tx, { name })
    if (!stored) await insertSetting(tx, { name, value: ctx.sealer.keyId })
    else if (stored.value !== ctx.sealer.keyId) {
      throw new MailkeepError('conflict', 'The encryption key is not the one this database was made with.')
    }
  })
}
