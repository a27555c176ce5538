/** Messages whose outcome is not known: they are sent again, or skipped, when a person says so. */
import { now, type Tx } from '../context.ts'
import { again, done, type Job, type JobHandlers, type JobResult, maxRowsPerBatch } from '../jobs/operations.ts'
import * as messages from './message-queries.ts'
import { addCounts } from './preparing.ts'

export const settleUncertain = 'settle uncertain'
export const settleUncertainSteps = 'settle uncertain steps'

export const uncertainJobs: JobHandlers = {
  [settleUncertain]: settleNewsletter,
  [settleUncertainSteps]: settleSequence,
}

interface Settling {
  readonly after: number
  readonly uncertain: 'skip' | 'resend'
}

async function settleNewsletter(tx: Tx, job: Job): Promise<JobResult> {
  const { count, isSkipped, result } = await settleBatch(tx, job, false)
  await addCounts(tx, job.targetId, { uncertain: -count, skipped: isSkipped ? count : 0 })
  return result
}

async function settleSequence(tx: Tx, job: Job): Promise<JobResult> {
  return (await settleBatch(tx, job, true)).result
}

/** Skips or sends again some messages of a newsletter or sequence, each once. */
async function settleBatch(tx: Tx, { targetId: source_id, state }: Job, ofSequence: boolean) {
  const { after, uncertain } = state as Settling
  const rows = await messages.listUncertain(tx, { source_id, after, limit: maxRowsPerBatch }, { ofSequence })
  const ids = rows.map(({ id }) => id)
  const isSkipped = uncertain === 'skip'
  const change = isSkipped
    ? ({ status: 'skipped', reason: 'uncertain' } as const)
    : ({ status: 'pending', reason: null } as const)
  if (ids.length > 0) await messages.settleUncertain(tx, { ids, ...change, now: now(tx) })
  tx.transaction.afterCommit(tx.local.mail.wake)
  const result = ids.length < maxRowsPerBatch ? done() : again({ after: ids.at(-1)!, uncertain })
  return { count: ids.length, isSkipped, result }
}
