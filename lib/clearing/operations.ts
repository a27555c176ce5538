import { type Context, now, type Tx } from '../context.ts'
import { transact } from '../storage/transaction.ts'
import * as queries from './queries.ts'

/** Rows of one transaction: more would hold up every other write. */
const chunkRows = 500

/** What is cleared when a record goes, in order. */
const steps = {
  tag: [queries.deleteContactTags],
  list: [queries.deleteContactLists],
  topic: [queries.deleteContactTopics],
  contact: [eraseContactEvents],
  endpoint: [queries.deleteEndpointDeliveries],
  client: queries.deleteClientRows,
} satisfies Record<string, readonly queries.ClearRows[]>

export type Cleared = keyof typeof steps

/**
 * Clears what hung on a record just deleted: as much as one transaction should at once, the rest as a stored job.
 * Nothing shows it meanwhile, since every query joins through the record.
 *
 * @param limit How many rows this transaction may still clear.
 * @returns how many are left of that.
 */
export async function clear(tx: Tx, kind: Cleared, targetId: number, limit = chunkRows): Promise<number> {
  const left = limit > 0 ? await clearChunk(tx, kind, targetId, limit) : 0
  if (left > 0) return left
  await queries.insertJob(tx, {
    client_id: tx.clientId,
    kind,
    target_id: targetId,
    state: '{}',
    created_at: now(tx),
  })
  tx.transaction.afterCommit(tx.wakeHousekeeping)
  return 0
}

/** Does one chunk of the oldest clearing under way. @returns whether there was one. */
export function continueClearing(ctx: Context): Promise<boolean> {
  return transact(ctx, async (tx) => {
    const job = await queries.findJob(tx, { kinds: Object.keys(steps) })
    if (!job) return false
    if ((await clearChunk(tx, job.kind as Cleared, job.target_id, chunkRows)) > 0) await queries.deleteJob(tx, { id: job.id })
    return true
  })
}

/** @returns how much of the limit is left: 0 means that there may be more to clear. */
async function clearChunk(tx: Tx, kind: Cleared, target: number, limit: number): Promise<number> {
  let left = limit
  for (const step of steps[kind]) {
    left -= await step(tx, { target, limit: left })
    if (left <= 0) return 0
  }
  return left
}

/** An erased contact's events lose their bodies; what was still to be sent is given up, visibly. */
async function eraseContactEvents(tx: Parameters<queries.ClearRows>[0], chunk: Parameters<queries.ClearRows>[1]) {
  await queries.failErasedDeliveries(tx, chunk)
  await queries.eraseAnswers(tx, chunk)
  return await queries.eraseEvents(tx, chunk)
}
