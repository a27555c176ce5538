import type { Generated } from 'kysely'
import type {
  EnrolmentStatus,
  MessageStatus,
  NewsletterStatus,
  SequenceStatus,
  SkipReason,
  StopReason,
} from '../sending/statuses.ts'
import type { Owned, StoredBoolean } from './tables.ts'

/** The columns of the tables of newsletters, sequences and messages. */
export interface SendingTables {
  /** The counts are of its messages. The messages that are pending are the rest of `recipients`. */
  mailkeep_newsletter: Owned & {
    name: string
    subject: string
    preheader: string | null
    from_identity_id: number | null
    reply_to: string | null
    html: string
    text: string | null
    /** JSON */
    audience: string
    status: NewsletterStatus
    /** Why it could not start. */
    error: string | null
    scheduled_at: string | null
    updated_at: string
    started_at: string | null
    finished_at: string | null
    recipients: Generated<number>
    sent: Generated<number>
    failed: Generated<number>
    skipped: Generated<number>
    uncertain: Generated<number>
    /** Whether every recipient has a message. */
    is_prepared: Generated<StoredBoolean>
    /** Whether `newsletter.sent` was raised. */
    is_announced: Generated<StoredBoolean>
    /** JSON: the filters of the segment when the newsletter started. */
    segment_filters: Generated<string | null>
  }
  mailkeep_sequence: Owned & {
    name: string
    list_id: number | null
    /** Increases when it gets another list, or none. Enrolments of this version stop when their contacts leave the list. */
    list_version: Generated<number>
    from_identity_id: number | null
    reply_to: string | null
    status: SequenceStatus
    updated_at: string
  }
  mailkeep_step: {
    id: Generated<number>
    sequence_id: number
    /** From 1. A removed step has the position of the last step before it; 0 if there is none. */
    position: number
    is_removed: Generated<StoredBoolean>
    /** Increases with each change of the content. */
    version: Generated<number>
    /** Its rank when steps were moved past each other for the first time since it exists; null if none were. */
    moved_rank: number | null
    delay_seconds: number
    subject: string
    preheader: string | null
    html: string
    text: string | null
  }
  mailkeep_enrolment: {
    id: Generated<number>
    client_id: number
    sequence_id: number
    contact_id: number
    status: EnrolmentStatus
    reason: StopReason | null
    /** The sequence's `list_version` when it began, if the contact was on the list; otherwise null. */
    list_version: number | null
    /** The last step that is done; null before the first. */
    last_step_id: number | null
    /** JSON ids of the steps that are done or left out; null if steps were not moved before the last one was done. */
    passed_ids: string | null
    /** When that step was done, or the enrolment began. The delay of the next step counts from here. */
    since: string
    /** When the next step is due; null while its message is under way, and when there is no next step. */
    due_at: string | null
    created_at: string
  }
  /** One mail to one recipient. */
  mailkeep_message: Owned & {
    /** null once the contact is erased */
    contact_id: number | null
    newsletter_id: number | null
    sequence_id: number | null
    step_id: number | null
    status: MessageStatus
    /** Why it was skipped. */
    reason: SkipReason | null
    attempts: number
    due_at: string
    /** Identifies the claim of the current attempt; null when no attempt is running. */
    claim: string | null
    claimed_at: string | null
    /** Time at which the claim expires if its process dies. */
    lease_until: string | null
    error: string | null
    provider_message_id: string | null
    sent_at: string | null
  }
}
