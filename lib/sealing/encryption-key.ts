import type { Context } from '../context.ts'
import { MailkeepError } from '../errors.ts'
import { statement, text } from '../storage/statement.ts'
import { transact } from '../storage/transaction.ts'

const findSetting = statement({ name: text }, (db, p) =>
  db.selectFrom('mailkeep_setting').select('value').where('name', '=', p.name),
)

/** The first of several processes that start at once decides. */
const insertSetting = statement({ name: text, value: text }, (db, row) =>
  db
    .insertInto('mailkeep_setting')
    .values(row)
    .onConflict((c) => c.doNothing()),
)

const saveSetting = statement({ name: text, value: text }, (db, row) =>
  db
    .insertInto('mailkeep_setting')
    .values(row)
    .onConflict((c) => c.column('name').doUpdateSet({ value: row.value })),
)

const name = 'encryption_key_id'

/**
 * Remembers which encryption key this database belongs to.
 *
 * @throws MailkeepError `conflict` when it is none of those given: its secrets could not be read.
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
        "The encryption key is not this database's: give the one it was made with, or that one as a previous key.",
      )
    }
  })
}

/** Once everything is sealed with the current key. */
export async function rememberEncryptionKey(ctx: Context): Promise<void> {
  await saveSetting(ctx, { name, value: ctx.sealer.keyId })
}
