import { type Context, now, type Tx } from '../context.ts'
import { transact } from '../storage/transaction.ts'
import { timestamp } from '../time.ts'
import * as queries from './queries.ts'

/** Rows one transaction may touch: more would hold up every other write. */
export const maxRowsPerBatch = 500

/** Longer than any transaction lasts: one that began before a record was deleted has ended by then. */
export const againAfterMs = 120_000

/**
 * Does a chunk of a kind of work on a record.
 *
 * @param limit How many rows it may touch.
 * @returns how much of the limit is left: 0 means that there may be more to do.
 */
export type Step = (tx: Tx, targetId: number, limit: number) => Promise<number>

/** A stored job as its kind sees it, where the kind keeps more than its target. */
export interface StoredJob {
  readonly id: number
  readonly kind: string
  readonly target_id: number
  /** JSON */
  readonly state: string
}

/** As `Step`, with the stored job; `kept`: the job has seen to its own row. */
export type JobStep = (tx: Tx, job: StoredJob, limit: number) => Promise<number | 'kept'>

/** What each kind of stored job does. */
export type JobSteps = Readonly<Record<string, JobStep>>

/** A step that needs nothing but its target. */
export function onTarget(step: Step): JobStep {
  return (tx, job, limit) => step(tx, job.target_id, limit)
}

/**
 * Does work on many rows: as much as one transaction should at once, the rest as a stored job, which survives the
 * process.
 *
 * @returns how much of the limit is left.
 */
export async function runOrEnqueue(
  tx: Tx,
  kind: string,
  step: Step,
  targetId: number,
  limit: number = maxRowsPerBatch,
): Promise<number> {
  const left = limit > 0 ? await step(tx, targetId, limit) : 0
  if (left > 0) return left
  await enqueue(tx, kind, targetId, {})
  return 0
}

/**
 * Stores a job that is done again later: where several transactions write at once, one may still attach rows to a record
 * that is being deleted. Locking the record would keep whoever deletes it waiting as long as others use it.
 */
export async function enqueueDelayed(tx: Tx, kind: string, targetId: number): Promise<void> {
  if (tx.storage.dialect.concurrentWriters) await enqueue(tx, againKind(kind), targetId, {})
}

export function againKind(kind: string): string {
  return `${kind} again`
}

/** Stores a job, to be begun after the commit. @returns its id. */
export async function enqueue(tx: Tx, kind: string, targetId: number, state: object): Promise<number> {
  const row = await queries.insertJob(tx, {
    client_id: tx.clientId,
    kind,
    target_id: targetId,
    state: JSON.stringify(state),
    created_at: now(tx),
  })
  tx.transaction.afterCommit(tx.wakeJobs)
  return row!.id
}

/** Does one chunk of the oldest stored job. @returns whether there was one. */
export async function continueJob(ctx: Context, steps: JobSteps): Promise<boolean> {
  return transact(ctx, async (tx) => {
    const again_before = timestamp(tx.clock() - againAfterMs)
    const job = await queries.claimOldestJob(tx, { kinds: Object.keys(steps), again_before })
    if (!job) return false
    const left = await steps[job.kind]!({ ...tx, clientId: job.client_id }, job, maxRowsPerBatch)
    if (left !== 'kept' && left > 0) await queries.deleteJob(tx, { id: job.id })
    return true
  })
}
