import { type Context, now, type Tx } from '../context.ts'
import { transact } from '../storage/transaction.ts'
import { timestamp } from '../time.ts'
import { delayedJobMs, delayedKind, enqueue, type JobSteps, type StoredJob } from './operations.ts'
import * as queries from './queries.ts'

const kind = 'purge searches'
const kinds = [kind, delayedKind(kind)]

/** Pause after a purge, per step of a few milliseconds. Purges thus take about 1 % of the time. */
const pausePerStepMs = 1000
const maxPauseMs = 3_600_000

/** State of the purge job. One purge removes everything that was erased before it began, for all clients. */
interface Purge {
  /** Whether texts were erased since the last purge began. */
  readonly wanted: boolean
  /** Whether a purge has begun. */
  readonly begun: boolean
  /** Number of steps of the purge so far. */
  readonly slices: number
  /** Result of the storage's last step. */
  readonly progress?: number | undefined
}

const newPurge: Purge = { wanted: true, begun: false, slices: 0 }

/**
 * Requests a purge, which removes the texts that this transaction erases from the search index soon after the commit.
 */
export async function purgeSearches(tx: Tx): Promise<void> {
  if (!tx.storage.search.keepsErasedTexts) return
  const job = await queries.findJobOfKinds(tx, { client_id: 0, kinds })
  if (!job) {
    await enqueue({ ...tx, clientId: 0 }, kind, 0, newPurge)
    return
  }
  const purge: Purge = JSON.parse(job.state)
  if (!purge.wanted) await updateState(tx, job, { ...purge, wanted: true })
}

/** Requests a purge if the search index is fragmented, because a purge merges it into one segment. */
export async function tidySearches(ctx: Context): Promise<void> {
  if (!(await ctx.storage.search.isScattered())) return
  await transact({ ...ctx, clientId: 0 }, async (tx) => {
    if (!(await queries.findJobOfKinds(tx, { client_id: 0, kinds }))) await enqueue(tx, kind, 0, newPurge)
  })
}

/** The job of all purges. While it pauses, it has the delayed kind. */
export const searchPurgeSteps: JobSteps = { [kind]: runStep, [delayedKind(kind)]: resume }

async function runStep(tx: Tx, job: StoredJob): Promise<number | 'kept'> {
  const { search } = tx.storage
  if (!search.keepsErasedTexts) return 1 // the rows were copied from another kind of database
  const purge: Purge = JSON.parse(job.state)
  // Begin in the next transaction, because erasures of this one may reach the index after this step.
  if (!purge.begun) return await updateState(tx, job, { wanted: false, begun: true, slices: 0 })
  const progress = await search.purge(tx.transaction, purge.progress)
  if (progress !== undefined) return await updateState(tx, job, { ...purge, slices: purge.slices + 1, progress })
  if (purge.slices > 0) return await pause(tx, job, purge)
  return purge.wanted ? await updateState(tx, job, newPurge) : 1
}

async function pause(tx: Tx, job: { id: number }, { wanted, slices }: Purge): Promise<'kept'> {
  await queries.postponeJob(tx, {
    id: job.id,
    kind: delayedKind(kind),
    state: JSON.stringify({ ...newPurge, wanted }),
    created_at: timestamp(tx.clock() + Math.min(slices * pausePerStepMs, maxPauseMs) - delayedJobMs),
  })
  return 'kept'
}

async function resume(tx: Tx, job: StoredJob): Promise<number | 'kept'> {
  const { wanted }: Purge = JSON.parse(job.state)
  if (!wanted) return 1
  await queries.postponeJob(tx, { id: job.id, kind, state: JSON.stringify(newPurge), created_at: now(tx) })
  return 'kept'
}

async function updateState(tx: Tx, { id, kind }: { id: number; kind: string }, purge: Purge): Promise<'kept'> {
  await queries.updateJob(tx, { id, kind, state: JSON.stringify(purge) })
  return 'kept'
}
