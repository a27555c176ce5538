/** Messages whose outcome is not known: they are sent again, or skipped, when a person says so. */
import { now, type Tx } from '../context.ts'
import { continueJob, done, type Job, type JobHandlers, type JobResult, maxRowsPerBatch } from '../jobs/operations.ts'
import * as messages from './message-queries.ts'
import { newsletters, skipOrResend, updateState } from './newsletter-queries.ts'
import { addCounts, unchangedState } from './preparing.ts'

/** The stored name of the job of a sequence. */
export const skipOrResendSteps = 'settle uncertain steps'

export const uncertainJobs: JobHandlers = {
  [skipOrResend]: changeMessages,
  [skipOrResendSteps]: changeSteps,
}

interface Decision {
  readonly after: number
  readonly uncertain: 'skip' | 'resend'
}

async function changeMessages(tx: Tx, job: Job): Promise<JobResult> {
  const newsletter = await newsletters.lock(tx, { client_id: tx.clientId, id: job.targetId })
  const isResent = (job.state as Decision).uncertain === 'resend'
  if (!newsletter || (isResent && newsletter.status === 'cancelled')) return done()
  const { count, isSkipped, result } = await changeBatch(tx, job, false)
  // Another job of the same kind may have ended it.
  if (isResent && count > 0 && newsletter.status === 'sent') {
    await updateState(tx, { ...unchangedState(tx, newsletter.id), status: 'sending' })
  }
  const change = { uncertain: -count, skipped: isSkipped ? count : 0 }
  await addCounts(tx, newsletter.id, change, { isChanging: result.status === 'pending' })
  return result
}

async function changeSteps(tx: Tx, job: Job): Promise<JobResult> {
  return (await changeBatch(tx, job, true)).result
}

/** Skips or sends again some messages of a newsletter or sequence, each once. */
async function changeBatch(tx: Tx, { targetId: campaign_id, state }: Job, ofSequence: boolean) {
  const { after, uncertain } = state as Decision
  const rows = await messages.listUncertain(tx, { campaign_id, after, limit: maxRowsPerBatch }, { ofSequence })
  const ids = rows.map(({ id }) => id)
  const isSkipped = uncertain === 'skip'
  const change = isSkipped
    ? ({ status: 'skipped', reason: 'uncertain' } as const)
    : ({ status: 'pending', reason: null } as const)
  if (ids.length > 0) await messages.changeUncertain(tx, { ids, ...change, now: now(tx) })
  tx.transaction.afterCommit(tx.local.mail.wake)
  const result = ids.length < maxRowsPerBatch ? done() : continueJob({ after: ids.at(-1)!, uncertain })
  return { count: ids.length, isSkipped, result }
}
