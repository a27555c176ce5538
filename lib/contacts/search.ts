/** The text that searches of contacts match, and the removal of erased texts from the search index. */
import type { Context, Tx } from '../context.ts'
import {
  continueJob,
  done,
  enqueue,
  findPendingJob,
  type Job,
  type JobHandlers,
  type JobResult,
  replaceState,
} from '../jobs/operations.ts'
import { fold } from '../spelling.ts'
import { transact } from '../storage/transaction.ts'

/** Separates name and e-mail, so that no search matches across both. `searchTerm` removes it from both of them. */
const separator = '\u001f'

/** Returns the text that searches match: the folded name and e-mail address. */
export function searchText(name: string, email: string): string {
  return `${searchTerm(name)}${separator}${searchTerm(email)}`
}

/** Folds a search in the same way as the text that it is compared with. */
export function searchTerm(text: string): string {
  return fold(text).replaceAll(separator, ' ')
}

const purgeKind = 'purge searches'

/** Pause after a purge, per step of a few milliseconds. Purges thus take about 1 % of the time. */
const pausePerStepMs = 1000
const maxPauseMs = 3_600_000

/** State of the purge job. A purge removes everything that was erased before it began. */
interface Purge {
  /** Whether texts were erased since the last purge began. */
  readonly isWanted: boolean
  /** Number of steps so far; undefined while no purge has begun. */
  readonly steps?: number | undefined
  /** Result of the storage's last step. */
  readonly progress?: number | undefined
}

const newPurge: Purge = { isWanted: true }

/**
 * Requests a purge, which removes the texts that this transaction erases from the search index soon after the commit.
 */
export async function purgeSearches(tx: Tx): Promise<void> {
  if (!tx.storage.search.keepsErasedTexts) return
  const forAll = { ...tx, clientId: 0 }
  const job = await findPendingJob(forAll, purgeKind)
  const purge = job?.state as Purge | undefined
  if (!job) await enqueue(forAll, purgeKind, { state: newPurge })
  else if (!purge!.isWanted) await replaceState(tx, job.id, { ...purge, isWanted: true })
}

/** Requests a purge if the search index is fragmented, because a purge merges it into one segment. */
export async function tidySearches(ctx: Context): Promise<void> {
  if (!(await ctx.storage.search.isScattered())) return
  await transact({ ...ctx, clientId: 0 }, async (tx) => {
    if (!(await findPendingJob(tx, purgeKind))) await enqueue(tx, purgeKind, { state: newPurge })
  })
}

export const searchPurgeJobs: JobHandlers = { [purgeKind]: runStep }

/** Keeps the job pending after a purge, so that a pause follows each purge. */
async function runStep(tx: Tx, { state }: Job): Promise<JobResult> {
  const { search } = tx.storage
  const { isWanted, steps, progress }: Purge = state as Purge
  if (!search.keepsErasedTexts) return done() // the rows were copied from another kind of database
  if (steps === undefined) {
    // Only mark the purge as begun. Its first step runs in the next transaction, because the index is written at the end of
    // a group commit: texts that this group erases are still in the index now.
    const begun: Purge = { isWanted: false, steps: 0 }
    return isWanted ? continueJob(begun) : done()
  }
  const next = await search.purge(tx.transaction, progress)
  if (next !== undefined) return continueJob({ isWanted, steps: steps + 1, progress: next } satisfies Purge)
  const ended: Purge = { isWanted }
  if (steps > 0) return continueJob(ended, tx.clock() + Math.min(steps * pausePerStepMs, maxPauseMs))
  return isWanted ? continueJob(ended) : done(ended)
}
