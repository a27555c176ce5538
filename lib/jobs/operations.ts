import { type Context, now, type Tx } from '../context.ts'
import { transact } from '../storage/transaction.ts'
import { timestamp } from '../time.ts'
import * as queries from './queries.ts'

/** Maximum rows that one transaction may change. More would delay all other writes. */
export const maxRowsPerBatch = 500

/**
 * Delay of a delayed job. It is longer than any transaction, so transactions older than the deletion have ended by
 * then.
 */
export const delayedJobMs = 120_000

/**
 * Processes one batch of a job's rows.
 *
 * @param limit Maximum number of rows to change.
 * @returns the unused part of the limit. 0 means that there may be more to do.
 */
export type Step = (tx: Tx, targetId: number, limit: number) => Promise<number>

/** A stored job, for kinds that need more than the target. */
export interface StoredJob {
  readonly id: number
  readonly kind: string
  readonly target_id: number
  /** JSON */
  readonly state: string
}

/** As `Step`, with the stored job. Returns `kept` if the step has updated the job's row itself. */
export type JobStep = (tx: Tx, job: StoredJob, limit: number) => Promise<number | 'kept'>

/** The step of each kind of stored job. */
export type JobSteps = Readonly<Record<string, JobStep>>

/** Adapts a step that needs only the target. */
export function onTarget(step: Step): JobStep {
  return (tx, job, limit) => step(tx, job.target_id, limit)
}

/**
 * Processes the first batch of rows in this transaction, and stores a job for the rest. The job survives a crash of the
 * process.
 *
 * @returns the unused part of the limit.
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
 * Stores a job that repeats the work later. If the database has concurrent writers, another transaction may still add
 * rows to a record that is being deleted. Locking the record instead would make the deletion wait for those
 * transactions.
 */
export async function enqueueDelayed(tx: Tx, kind: string, targetId: number): Promise<void> {
  if (tx.storage.dialect.concurrentWriters) await enqueue(tx, delayedKind(kind), targetId, {})
}

/** Returns the kind of a delayed job. Stored jobs and queries rely on the suffix. */
export function delayedKind(kind: string): string {
  return `${kind} again`
}

/** Stores a job, which starts after the commit. @returns its id. */
export async function enqueue(tx: Tx, kind: string, targetId: number, state: object): Promise<number> {
  const row = await queries.insertJob(tx, {
    client_id: tx.clientId,
    kind,
    target_id: targetId,
    state: JSON.stringify(state),
    created_at: now(tx),
  })
  tx.transaction.afterCommit(tx.local.wakeJobs)
  return row!.id
}

/** Processes one batch of the oldest stored job. @returns whether there was a job. */
export async function continueJob(ctx: Context, steps: JobSteps): Promise<boolean> {
  return transact(ctx, async (tx) => {
    const delayed_before = timestamp(tx.clock() - delayedJobMs)
    const job = await queries.claimOldestJob(tx, { kinds: Object.keys(steps), delayed_before })
    if (!job) return false
    const left = await steps[job.kind]!({ ...tx, clientId: job.client_id }, job, maxRowsPerBatch)
    if (left !== 'kept' && left > 0) await queries.deleteJob(tx, { id: job.id })
    return true
  })
}
