import { type Context, now, type Tx } from '../context.ts'
import { transact } from '../storage/transaction.ts'
import * as queries from './queries.ts'

/** Rows one transaction may touch: more would hold up every other write. */
export const chunkRows = 500

/**
 * Does a chunk of a kind of work on a record.
 *
 * @param limit How many rows it may touch.
 * @returns how much of the limit is left: 0 means that there may be more to do.
 */
export type Step = (tx: Tx, targetId: number, limit: number) => Promise<number>

/** What each kind of stored job does. */
export type Steps = Readonly<Record<string, Step>>

/**
 * Does work on many rows: as much as one transaction should at once, the rest as a stored job, which survives the
 * process.
 *
 * @returns how much of the limit is left.
 */
export async function doOrStore(
  tx: Tx,
  kind: string,
  step: Step,
  targetId: number,
  limit: number = chunkRows,
): Promise<number> {
  const left = limit > 0 ? await step(tx, targetId, limit) : 0
  if (left > 0) return left
  const job = { client_id: tx.clientId, kind, target_id: targetId, state: '{}', created_at: now(tx) }
  await queries.insertJob(tx, job)
  tx.transaction.afterCommit(tx.wakeHousekeeping)
  return 0
}

/** Does one chunk of the oldest stored job. @returns whether there was one. */
export function continueJob(ctx: Context, steps: Steps): Promise<boolean> {
  return transact(ctx, async (tx) => {
    const job = await queries.findOldestJob(tx, { kinds: Object.keys(steps) })
    if (!job) return false
    const left = await steps[job.kind]!({ ...tx, clientId: job.client_id }, job.target_id, chunkRows)
    if (left > 0) await queries.deleteJob(tx, { id: job.id })
    return true
  })
}
