/** The stored jobs of newsletters, and what sending does in the transactions of other slices. */
import type { Context, Local, Tx } from '../context.ts'
import {
  continueJob,
  done,
  type Job,
  type JobHandlers,
  type JobResult,
  maxRowsPerBatch,
  nextJobMs,
} from '../jobs/operations.ts'
import { refuseWhileChoosing } from './audience.ts'
import { awaitConfirmationMail } from './confirming.ts'
import { deletionJobs } from './deletion.ts'
import { followMemberships } from './enrolments.ts'
import * as messages from './message-queries.ts'
import { prepareNewsletter } from './newsletter-queries.ts'
import { addCounts, prepareBatch, prepareMerged, startScheduled } from './preparing.ts'
import { releaseList, triggerJobs } from './triggers.ts'
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

export const sendingHooks = {
  onMemberships: followMemberships,
  onListDeleted: releaseList,
  onTagDeleted: (tx: Tx, tagId: number) => refuseWhileChoosing(tx, 'tag', tagId),
  onAttributeRemoved: (tx: Tx, name: string) => refuseWhileChoosing(tx, 'attribute', name),
  onMerge: prepareMerged,
  onConfirmationRequests: awaitConfirmationMail,
} satisfies Partial<Local>

/** @returns When this process starts the next newsletter, in milliseconds since 1970; undefined when none is scheduled. */
export async function nextStartMs(ctx: Context): Promise<number | undefined> {
  return startNewsletter in ctx.local.jobs.handlers ? await nextJobMs(ctx, [startNewsletter]) : undefined
}

/** Skips the pending messages of a cancelled newsletter. */
async function skipBatch(tx: Tx, { targetId: newsletter_id }: Job): Promise<JobResult> {
  const skipped = await messages.skipPending(tx, { newsletter_id, limit: maxRowsPerBatch })
  if (skipped > 0) await addCounts(tx, newsletter_id, { skipped })
  return skipped < maxRowsPerBatch ? done() : continueJob()
}
