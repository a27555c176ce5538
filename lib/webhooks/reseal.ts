import type { Context } from '../context.ts'
import { chunkRows } from '../jobs/operations.ts'
import { int, statement, text } from '../storage/statement.ts'
import { transact } from '../storage/transaction.ts'
import { rememberEncryptionKey } from './encryption-key.ts'

/** To be sealed anew: a secret that is rotated meanwhile must not be overwritten. */
const lockSealed = statement.all({ after: int, limit: int }, (db, p, dialect) =>
  db
    .selectFrom('mailkeep_endpoint')
    .select(['id', 'uuid', 'secret'])
    .where('id', '>', p.after)
    .orderBy('id')
    .limit(p.limit)
    .modifyEnd(dialect.lockForChange),
)

const saveSealed = statement({ id: int, secret: text }, (db, p) =>
  db.updateTable('mailkeep_endpoint').set({ secret: p.secret }).where('id', '=', p.id),
)

/**
 * Seals every stored secret with the current key, in chunks; those of the current key stay as they are, so that it
 * may be done again.
 *
 * @returns how many were sealed anew.
 */
export async function resealSecrets(ctx: Context): Promise<number> {
  let resealed = 0
  for (let after: number | undefined = 0; after !== undefined; ) {
    const chunk = await resealSome(ctx, after)
    resealed += chunk.resealed
    after = chunk.next
  }
  await transact(ctx, rememberEncryptionKey)
  return resealed
}

function resealSome(ctx: Context, after: number): Promise<{ resealed: number; next: number | undefined }> {
  return transact(ctx, async (tx) => {
    const rows = await lockSealed(tx, { after, limit: chunkRows })
    const old = rows.filter(({ secret }) => secret.split('.')[1] !== tx.sealer.keyId)
    for (const { id, uuid, secret } of old) {
      await saveSealed(tx, { id, secret: tx.sealer.seal(tx.sealer.open(secret, uuid), uuid) })
    }
    return { resealed: old.length, next: rows.length < chunkRows ? undefined : rows.at(-1)!.id }
  })
}
