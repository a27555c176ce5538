/** Stored jobs that delete what belongs to deleted records, and the retention of messages. */
import type { Context } from '../context.ts'
import { deleteRows, inBatches } from '../jobs/batches.ts'
import { type JobHandlers, maxRowsPerBatch } from '../jobs/operations.ts'
import { transact } from '../storage/transaction.ts'
import { nextTurn, timestamp } from '../time.ts'
import * as messages from './message-queries.ts'
import { deleteNewslettersOfClient } from './newsletter-queries.ts'
import * as sequences from './sequence-queries.ts'

export { eraseMessagesOfContact, moveMessagesOfContact } from './message-queries.ts'
export { moveEnrolmentsOfContact, stopEnrolmentsOfErased } from './sequence-queries.ts'

export const clearNewsletter = 'clear newsletter'
export const clearSequence = 'clear sequence'

export const deletionJobs: JobHandlers = {
  [clearNewsletter]: inBatches(messages.deleteMessagesOfNewsletter),
  [clearSequence]: inBatches(deleteRows('mailkeep_enrolment', 'sequence_id'), messages.deleteMessagesOfSequence),
}

/** The steps that delete what a deleted client has sent, in this order. */
export const deleteSendingOfClient = [
  ...messages.deleteMessagesOfClient,
  sequences.deleteEnrolmentsOfClient,
  deleteNewslettersOfClient,
  sequences.deleteSequencesOfClient,
]

const dayMs = 86_400_000

/** Deletes final messages older than the retention time, in batches. The counts of their newsletters stay. */
export async function deleteExpiredMessages(ctx: Context): Promise<void> {
  const before = timestamp(ctx.clock() - ctx.local.mail.settings.retentionDays * dayMs)
  for (let after: number | undefined = 0; after !== undefined; ) {
    const from: number = after
    after = await transact(ctx, async (tx) => {
      const rows = await messages.listOldest(tx, { after: from, before, limit: maxRowsPerBatch })
      const ids = rows.filter(({ expired }) => expired).map(({ id }) => id)
      if (ids.length > 0) await messages.deleteMessages(tx, { ids })
      return rows.at(-1)?.old ? rows.at(-1)!.id : undefined
    })
    await nextTurn()
  }
}
