import type { Context, Tx } from '../context.ts'
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

/**
 * Seals rows with the current key, in chunks; those of the current key stay as they are, so that it may be done again.
 *
 * @param kinds All that there are: afterwards other keys are not needed any more.
 * @returns how many were sealed anew.
 */
export async function reseal(ctx: Context, kinds: readonly SealedRows[]): Promise<number> {
  let resealed = 0
  for (const kind of kinds) {
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
