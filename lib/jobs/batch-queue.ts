/** The order of the batches that callers save: many contacts, or many events. */
import type { Context, Tx } from '../context.ts'
import { statement, text } from '../storage/statement.ts'
import { BlockingQueue, TurnLimit } from '../time.ts'

/** Saves a batch when it is its turn. Inside a transaction of the caller it does not wait for other batches. */
export async function inTurn<T>(ctx: Context, signal: AbortSignal | undefined, save: () => Promise<T>): Promise<T> {
  signal?.throwIfAborted()
  if (ctx.transaction) {
    await ctx.transaction.pause()
    return await save()
  }
  const end = await ctx.local.batches.begin(ctx.clientId)
  return await save().finally(end)
}

/** Takes an advisory lock until the transaction ends. SQLite has none, because it allows one writer at a time. */
const lock = statement({ name: text }, (_, p, dialect) => dialect.lock!(p.name))

const checks = new BlockingQueue()

/** After this time a check lets other requests be answered. All of a batch may take a third of a second. */
const maxCheckMs = 10

/**
 * Calls `check` for each item of a batch, in order. Other requests are answered in between, if the items come from a request.
 * Those of the host are all checked before the first await, because the host may change them after the call.
 */
export async function checkInTurns<T>(
  { transaction, caller }: Context,
  items: readonly T[],
  check: (item: T, at: number) => void,
): Promise<void> {
  let limit = new TurnLimit(maxCheckMs)
  for (const [at, item] of items.entries()) {
    if (caller.source === 'api' && limit.isOver()) {
      await (transaction?.pause() ?? checks.turn())
      limit = new TurnLimit(maxCheckMs)
    }
    check(item, at)
  }
}

/**
 * Lets one batch of a client run at a time. Two batches of the same new contacts insert them in different orders and would
 * deadlock. A single save locks one contact, and needs no such lock.
 */
export async function lockBatches(tx: Tx): Promise<void> {
  if (tx.storage.dialect.lock) await lock(tx, { name: `batches ${tx.clientId}` })
}
