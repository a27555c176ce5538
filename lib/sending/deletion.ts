/** What follows when a record is deleted or a contact is merged, and the retention of messages. */
import type { Context } from '../context.ts'
import { deleteRows, inBatches } from '../jobs/batches.ts'
import type { JobHandlers } from '../jobs/operations.ts'
import { deleteFinal, deleteOldest } from '../jobs/retention.ts'
import * as messages from './message-queries.ts'
import { deleteNewslettersOfClient } from './newsletter-queries.ts'
import * as sequences from './sequence-queries.ts'

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

/** The steps that erase what an erased contact was sent. */
export const eraseSendingOfContact = [messages.eraseMessagesOfContact, sequences.stopEnrolmentsOfErased]

/**
 * The steps of a merge, in this order. Enrolments that are not moved stop, because the other contact has one that continues.
 * The person gets each newsletter once.
 */
export const moveSendingOfContact = [
  sequences.moveEnrolments,
  sequences.stopEnrolmentsOfErased,
  messages.releaseRepeated,
  messages.moveMessages,
]

const deleteOldestMessages = deleteOldest('mailkeep_message', deleteFinal('mailkeep_message'))

/** Deletes final messages older than the retention time, in batches. The counts of their newsletters stay. */
export async function deleteExpiredMessages(ctx: Context): Promise<void> {
  await deleteOldestMessages(ctx, ctx.local.mail.settings.retentionDays)
}
