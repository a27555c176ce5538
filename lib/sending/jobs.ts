/** The stored jobs of newsletters. */
import type { Context, Tx } from '../context.ts'
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
import { triggerJobs } from './triggers.ts'
import { uncertainJobs } from './uncertain.ts'

export const startNewsletter = 'start newsletter'
export const skipMessages = 'skip messages'

export const newsletterJobs: JobHandlers = {
  [startNewsletter]: startScheduled,
  [prepareNewsletter]: prepareBatch,
  [skipMessages]: skipBatch,
  ...uncertainJobs,
  ...triggerJobs,
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
