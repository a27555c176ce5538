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
import { listCampaigns } from './dispatch/claim-queries.ts'
import { followMemberships } from './enrolments.ts'
import * as messages from './message-queries.ts'
import { findScheduled, prepareNewsletter } from './newsletter-queries.ts'
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

/** Whether a newsletter is scheduled, or a newsletter or sequence has a message to send, now or later. */
export async function hasMailToSend(ctx: Context): Promise<boolean> {
  if (await findScheduled(ctx, { kind: startNewsletter })) return true
  return (await listCampaigns(ctx, {}, { verified: false, local: true, waiting: true })).length > 0
}

/** Skips the pending messages of a cancelled newsletter. */
async function skipBatch(tx: Tx, { targetId: newsletter_id }: Job): Promise<JobResult> {
  const skipped = await messages.skipPending(tx, { newsletter_id, limit: maxRowsPerBatch })
  if (skipped > 0) await addCounts(tx, newsletter_id, { skipped })
  return skipped < maxRowsPerBatch ? done() : continueJob()
}
