import * as v from 'valibot'
import { type PageInput, pageFields } from '../page.ts'
import { closedObject } from '../parse.ts'
import { Count, described, Email, Id, type RecordFields, recordFrom, Time, Uuid } from '../record.ts'
import type { Timestamp } from '../time.ts'
import { type MessageStatus, messageStatuses, type SkipReason, skipReasons } from './statuses.ts'

/** One mail to one recipient. */
export interface Message {
  id: number
  /** The left part of the `Message-ID`. */
  uuid: string
  /** Null once the contact is erased. */
  contact_id: number | null
  /** The address of the contact as it is now. Null once the contact is erased. */
  contact_email: string | null
  newsletter_id: number | null
  sequence_id: number | null
  step_id: number | null
  /** `uncertain`: the process or the connection was lost while it was handed over. It is not sent again by itself. */
  status: MessageStatus
  /** Why it was skipped; null otherwise. */
  reason: SkipReason | null
  attempts: number
  /** The last error; null once it is sent. */
  error: string | null
  provider_message_id: string | null
  created_at: Timestamp
  sent_at: Timestamp | null
}

export const messageFields: RecordFields<Message> = {
  id: Id,
  uuid: described(Uuid, 'The left part of the `Message-ID`.'),
  contact_id: described(v.nullable(Id), 'null once the contact is erased.'),
  contact_email: described(v.nullable(Email), 'The address of the contact as it is now. null once it is erased.'),
  newsletter_id: v.nullable(Id),
  sequence_id: v.nullable(Id),
  step_id: v.nullable(Id),
  status: described(
    v.picklist(messageStatuses),
    '`uncertain`: the process or the connection was lost while it was handed over. It is not sent again by itself.',
  ),
  reason: described(v.nullable(v.picklist(skipReasons)), 'Why it was skipped.'),
  attempts: Count,
  error: v.nullable(v.string()),
  provider_message_id: v.nullable(v.string()),
  created_at: Time,
  sent_at: v.nullable(Time),
}

export const messageFrom = recordFrom(messageFields)

export interface MessageQueryInput extends PageInput {
  readonly status?: MessageStatus | undefined
}

export const MessageQuery = closedObject({
  ...pageFields,
  status: v.optional(v.picklist(messageStatuses, `This must be one of ${messageStatuses.join(', ')}.`)),
})
