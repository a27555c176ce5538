import type { Context, Tx } from '../context.ts'
import { sealedAnswers } from '../idempotency/operations.ts'
import { chunkRows } from '../jobs/operations.ts'
import { int, statement, text } from '../storage/statement.ts'
import { transact } from '../storage/transaction.ts'
import { rememberEncryptionKey } from './encryption-key.ts'

/** Rows with a sealed text. */
export interface SealedRows {
  /** Some by ascending id, to be sealed anew: what is replaced meanwhile must not be overwritten. */
  lock(
    tx: Tx,
    chunk: { after: number; limit: number },
  ): Promise<readonly { id: number; sealed: string; owner: string }[]>
  save(tx: Tx, row: { id: number; sealed: string }): Promise<unknown>
  /** Whether one that no key opens is left as it is; else it is an error. */
  readonly mayBeLost: boolean
  /** In one transaction. */
  readonly atOnce: number
}

const lockSecrets = statement.all({ after: int, limit: int }, (db, p, dialect) =>
  db
    .selectFrom('mailkeep_endpoint')
    .select(['id', 'uuid as owner', 'secret as sealed'])
    .where('id', '>', p.after)
    .orderBy('id')
    .limit(p.limit)
    .modifyEnd(dialect.lockForChange),
)

const saveSecret = statement({ id: int, sealed: text }, (db, p) =>
  db.updateTable('mailkeep_endpoint').set({ secret: p.sealed }).where('id', '=', p.id),
)

const secrets: SealedRows = { lock: lockSecrets, save: saveSecret, mayBeLost: false, atOnce: chunkRows }

/**
 * Seals every stored secret and kept answer with the current key, in chunks; those of the current key stay as they are,
 * so that it may be done again.
 *
 * @returns how many were sealed anew.
 */
export async function resealSecrets(ctx: Context): Promise<number> {
  let resealed = 0
  for (const kind of [secrets, sealedAnswers]) {
    for (let after: number | undefined = 0; after !== undefined; ) {
      const chunk = await resealSome(ctx, kind, after)
      resealed += chunk.resealed
      after = chunk.next
    }
  }
  await transact(ctx, rememberEncryptionKey)
  return resealed
}

function resealSome(
  ctx: Context,
  { lock, save, mayBeLost, atOnce }: SealedRows,
  after: number,
): Promise<{ resealed: number; next: number | undefined }> {
  return transact(ctx, async (tx) => {
    const { sealer } = tx
    const rows = await lock(tx, { after, limit: atOnce })
    const old = rows.filter(({ sealed }) => !sealer.isCurrent(sealed) && (sealer.canOpen(sealed) || !mayBeLost))
    for (const { id, owner, sealed } of old) {
      await save(tx, { id, sealed: sealer.seal(sealer.openOnce(sealed, owner), owner) })
    }
    return { resealed: old.length, next: rows.length < atOnce ? undefined : rows.at(-1)!.id }
  })
}
