/** The stored jobs of newsletters. */
import { type Context, now, type Tx } from '../context.ts'
import {
  again,
  done,
  type Job,
  type JobHandlers,
  type JobResult,
  maxRowsPerBatch,
  nextJobMs,
} from '../jobs/operations.ts'
import { deletionJobs } from './deletion.ts'
import * as messages from './message-queries.ts'
import { addCounts, prepareBatch, prepareNewsletter, startScheduled } from './preparing.ts'

export const startNewsletter = 'start newsletter'
export const skipMessages = 'skip messages'
export const settleUncertain = 'settle uncertain'

export const newsletterJobs: JobHandlers = {
  [startNewsletter]: startScheduled,
  [prepareNewsletter]: prepareBatch,
  [skipMessages]: skipBatch,
  [settleUncertain]: settleBatch,
  ...deletionJobs,
}

/** @returns When the next newsletter is scheduled, in milliseconds since 1970; undefined when none is. */
export function nextStartMs(ctx: Context): Promise<number | undefined> {
  return nextJobMs(ctx, [startNewsletter])
}

/** Skips the pending messages of a cancelled newsletter. */
async function skipBatch(tx: Tx, { targetId: newsletter_id }: Job): Promise<JobResult> {
  const skipped = await messages.skipPending(tx, { newsletter_id, limit: maxRowsPerBatch })
  if (skipped > 0) await addCounts(tx, newsletter_id, { skipped })
  return skipped < maxRowsPerBatch ? done() : again()
}

interface Settling {
  readonly after: number
  readonly uncertain: 'skip' | 'resend'
}

/** Skips or sends again the messages whose outcome is not known, each once. */
async function settleBatch(tx: Tx, { targetId: newsletter_id, state }: Job): Promise<JobResult> {
  const { after, uncertain } = state as Settling
  const ids = (await messages.listUncertain(tx, { newsletter_id, after, limit: maxRowsPerBatch })).map(({ id }) => id)
  const isSkipped = uncertain === 'skip'
  const change = isSkipped
    ? ({ status: 'skipped', reason: 'uncertain' } as const)
    : ({ status: 'pending', reason: null } as const)
  if (ids.length > 0) await messages.settleUncertain(tx, { ids, ...change, now: now(tx) })
  await addCounts(tx, newsletter_id, { uncertain: -ids.length, skipped: isSkipped ? ids.length : 0 })
  tx.transaction.afterCommit(tx.local.mail.wake)
  return ids.length < maxRowsPerBatch ? done() : again({ after: ids.at(-1)!, uncertain })
}
