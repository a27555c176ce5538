import { type Context, now, type Tx } from '../context.ts'
import { transact } from '../storage/transaction.ts'
import { dayMs, dueMsOf, nextTurn, type Timestamp, timestamp } from '../time.ts'
import * as queries from './queries.ts'

/** Maximum rows that one transaction may change. More would delay all other writes. */
export const maxRowsPerBatch = 500

/** Delay of a second pass. It is longer than any transaction, so transactions older than the first pass have ended. */
export const secondPassDelayMs = 120_000

const firstRetryMs = 1000
const maxRetryMs = 3_600_000

/** The work of a job. */
export interface Job {
  /** The record whose rows are changed; 0 when there is none. */
  readonly targetId: number
  /** JSON: parameters and progress. */
  readonly state: unknown
}

interface NewJob {
  readonly targetId?: number
  readonly state?: object
}

/** The result of a handler. */
export interface JobResult {
  readonly status: 'pending' | 'done'
  /** Replaces the stored state; undefined keeps it. */
  readonly state?: object | undefined
  /** When to run a pending job again. Default: immediately. */
  readonly runAtMs?: number | undefined
}

/**
 * Runs one batch of a job. The batch, its result and the lock on the job share one transaction. So no other process runs
 * the job at the same time, and no batch is lost or counted twice. When it throws, the job is retried later.
 *
 * It may change at most `maxRowsPerBatch` rows, and may await only statements.
 */
export type JobHandler = (tx: Tx, job: Job) => Promise<JobResult>

/** The handler of each kind of job. The kind is stored, so a released name must not change. */
export type JobHandlers = Readonly<Record<string, JobHandler>>

export function done(state?: object): JobResult {
  return { status: 'done', state }
}

/** Continues the job later with this state. @param runAtMs Milliseconds since 1970. Default: immediately. */
export function continueJob(state?: object, runAtMs?: number): JobResult {
  return { status: 'pending', state, runAtMs }
}

/**
 * Stores a job. A worker runs it after the commit, in this process or in another.
 *
 * @param runAtMs Milliseconds since 1970. Default: immediately.
 * @returns its id.
 */
export async function enqueue(
  tx: Tx,
  kind: string,
  { targetId = 0, state = {} }: NewJob,
  runAtMs?: number,
): Promise<number> {
  handlerOf(tx, kind)
  const created_at = now(tx)
  const row = await queries.insertJob(tx, {
    client_id: tx.clientId,
    kind,
    target_id: targetId,
    state: JSON.stringify(state),
    created_at,
    run_at: runAtMs === undefined ? created_at : timestamp(runAtMs),
  })
  tx.transaction.afterCommit(tx.local.jobs.wake)
  return row!.id
}

/** Runs the first batch in this transaction, and stores a job only if there is more to do. */
export async function runOrEnqueue(tx: Tx, kind: string, { targetId = 0, state = {} }: NewJob): Promise<void> {
  const result = await handlerOf(tx, kind)(tx, { targetId, state })
  if (result.status === 'done') return
  await enqueue(tx, kind, { targetId, state: result.state ?? state }, result.runAtMs)
}

/**
 * Changes the rows of a record as `runOrEnqueue` does. If the database has concurrent writers, a job repeats it later,
 * because a transaction that began before the change may still add rows. Locking the record instead would make the change
 * wait for those transactions.
 */
export async function runInTwoPasses(tx: Tx, kind: string, job: NewJob): Promise<void> {
  await runOrEnqueue(tx, kind, job)
  if (tx.storage.dialect.concurrentWriters) await enqueue(tx, kind, job, tx.clock() + secondPassDelayMs)
}

/**
 * Runs one batch of the job that has been due longest. Jobs with several batches take turns. A job whose batch throws is
 * logged and retried, after 1 s at first and after at most an hour.
 *
 * @returns Whether a job was due.
 * @throws MailkeepError `unavailable`: the database cannot be used now.
 */
export async function runDueJob(ctx: Context): Promise<boolean> {
  let job: queries.StoredJob | undefined
  try {
    return await transact(ctx, async (tx) => {
      const kinds = Object.keys(tx.local.jobs.handlers)
      job = await queries.lockDueJob(tx, { kinds, now: now(tx), latest_retry: timestamp(tx.clock() + maxRetryMs) })
      if (!job) return false
      const { client_id: clientId, target_id: targetId, state } = job
      const result = await handlerOf(tx, job.kind)({ ...tx, clientId }, { targetId, state: JSON.parse(state) })
      await saveResult(tx, job, result)
      return true
    })
  } catch (error) {
    if (!job) throw error
    await retryLater(ctx, job, error)
    return true
  }
}

/** @returns When the next job of these kinds is due, in milliseconds since 1970; undefined when none waits. */
export async function nextJobMs(
  ctx: Context,
  kinds: readonly string[] = Object.keys(ctx.local.jobs.handlers),
): Promise<number | undefined> {
  const next = await queries.findNextRun(ctx, { kinds })
  return next?.run_at ? dueMsOf(next.run_at) : undefined
}

/** Finds the client's pending job of a kind, for a target if the kind has targets. The caller keeps it to one. */
export async function findPendingJob(
  tx: Tx,
  kind: string,
  targetId = 0,
): Promise<{ id: number; state: unknown } | undefined> {
  const job = await queries.findPending(tx, { client_id: tx.clientId, kind, target_id: targetId })
  return job && { id: job.id, state: JSON.parse(job.state) }
}

/** Finds a job of the client, also after it finished. */
export async function findJob(
  ctx: Context,
  kind: string,
  targetId: number,
  id: number,
): Promise<{ id: number; state: unknown } | undefined> {
  const job = await queries.findJob(ctx, { client_id: ctx.clientId, kind, target_id: targetId, id })
  return job && { id, state: JSON.parse(job.state) }
}

/** Replaces the state of a pending job. */
export async function replaceState(tx: Tx, id: number, state: object): Promise<void> {
  await queries.updateState(tx, { id, state: JSON.stringify(state) })
}

/**
 * Runs batches until no row is left, each in a transaction. Other work runs between them.
 *
 * @param runBatch Deletes or moves rows, and returns their number.
 */
export async function runBatches(ctx: Context, runBatch: (tx: Tx) => Promise<number>): Promise<void> {
  while ((await transact(ctx, runBatch)) > 0) await nextTurn()
}

/**
 * Deletes rows that are older than this, in batches.
 *
 * @param deleteBatch Deletes at most `limit` rows from before a time, and returns their number.
 */
export async function deleteOlder(
  ctx: Context,
  ageMs: number,
  deleteBatch: (tx: Tx, batch: { before: Timestamp; now: Timestamp; limit: number }) => Promise<number>,
): Promise<void> {
  const batch = { before: timestamp(ctx.clock() - ageMs), now: now(ctx), limit: maxRowsPerBatch }
  await runBatches(ctx, (tx) => deleteBatch(tx, batch))
}

/** Deletes the jobs that finished before the retention time, in batches. */
export async function deleteFinishedJobs(ctx: Context): Promise<void> {
  await deleteOlder(ctx, ctx.local.webhooks.settings.retentionDays * dayMs, queries.deleteFinished)
}

function handlerOf(ctx: Context, kind: string): JobHandler {
  const handler = ctx.local.jobs.handlers[kind]
  if (!handler) throw new TypeError(`There is no handler for jobs of the kind ${kind}.`)
  return handler
}

async function saveResult(tx: Tx, job: queries.StoredJob, { status, state, runAtMs }: JobResult): Promise<void> {
  const at = now(tx)
  // The next batch queues behind the jobs that are due already, so that a long job does not delay them.
  const next = { created_at: at, run_at: runAtMs === undefined ? at : timestamp(runAtMs), finished_at: null }
  const times = status === 'pending' ? next : { finished_at: at }
  const newState = state === undefined ? job.state : JSON.stringify(state)
  await queries.updateJob(tx, { ...job, ...times, status, state: newState })
}

async function retryLater(ctx: Context, { id, kind, failures }: queries.StoredJob, error: unknown): Promise<void> {
  const delayMs = Math.min(firstRetryMs * 2 ** failures, maxRetryMs)
  const run_at = timestamp(ctx.clock() + delayMs)
  await transact(ctx, (tx) => queries.postponeJob(tx, { id, run_at, failures }))
  ctx.logger.error({ err: error, job_id: id, kind, failures: failures + 1, retry_at: run_at }, 'job failed: will retry')
}
