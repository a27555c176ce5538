import type { Context, Tx } from '../context.ts'
import { transact } from '../storage/transaction.ts'
import { saveEncryptionKeyId } from './encryption-key.ts'
import { resealStoredKeys } from './stored-key.ts'

/** A kind of rows with a sealed text. */
export interface SealedRows {
  /** Reads a batch by ascending id, and locks it so that a concurrent change is not overwritten. */
  lock(
    tx: Tx,
    batch: { after: number; limit: number },
  ): Promise<readonly { id: number; sealed: string; owner: string }[]>
  save(tx: Tx, row: { id: number; sealed: string }): Promise<unknown>
  /** Whether to skip a row that no key can open. If false, such a row is an error. */
  readonly mayBeLost: boolean
  /** Maximum rows per transaction. */
  readonly atOnce: number
}

/**
 * Re-encrypts rows with the current key, in batches. It skips rows that already use the current key, so it can be
 * repeated.
 *
 * @param kinds All kinds of sealed rows. Afterwards, the previous keys are no longer needed.
 * @returns the number of re-encrypted rows.
 */
export async function reseal(ctx: Context, kinds: readonly SealedRows[], signal?: AbortSignal): Promise<number> {
  let resealed = 0
  for (const kind of kinds) {
    for (let after: number | undefined = 0; after !== undefined; ) {
      signal?.throwIfAborted()
      const batch = await resealBatch(ctx, kind, after)
      resealed += batch.resealed
      after = batch.next
    }
  }
  await transact(ctx, async (tx) => {
    await resealStoredKeys(tx)
    await saveEncryptionKeyId(tx)
  })
  return resealed
}

function resealBatch(
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
