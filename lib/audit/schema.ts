import * as v from 'valibot'
import { type Source, sources, sourcesText } from '../context.ts'
import { type PageInput, pageFields, WholeNumber } from '../page.ts'
import { closedObject } from '../parse.ts'
import { described, Id, type RecordFields, recordFrom, Time } from '../record.ts'
import type { Timestamp } from '../time.ts'

/** Every type of change that the audit log records. The first word is the kind of the record that `target_id` names. */
export const changeTypes = [
  'client.created',
  'client.updated',
  'token.created',
  'token.revoked',
  'list.created',
  'list.updated',
  'list.deleted',
  'list.imported',
  'topic.created',
  'topic.updated',
  'topic.deleted',
  'tag.created',
  'tag.updated',
  'tag.deleted',
  'segment.created',
  'segment.updated',
  'segment.deleted',
  'import.created',
  'attributes.declared',
  'pages.updated',
  'contact.created',
  'contact.updated',
  'contact.deleted',
  'contact.unsubscribed',
  'contact.resubscribed',
  'contact.list_added',
  'contact.list_removed',
  'contact.topic_subscribed',
  'contact.topic_unsubscribed',
  'suppression.created',
  'suppression.deleted',
  'identity.created',
  'identity.deleted',
  'newsletter.created',
  'newsletter.updated',
  'newsletter.deleted',
  'newsletter.started',
  'newsletter.paused',
  'newsletter.resumed',
  'newsletter.cancelled',
  'sequence.created',
  'sequence.updated',
  'sequence.resumed',
  'sequence.deleted',
  'sequence.enrolled',
  'sequence.stopped',
  'endpoint.created',
  'endpoint.updated',
  'endpoint.deleted',
  'endpoint.secret_rotated',
  'endpoint.recovered',
  'delivery.redelivered',
] as const
export type ChangeType = (typeof changeTypes)[number]

/** One change, and who made it. It has ids only, no personal data. */
export interface AuditEntry {
  id: number
  type: ChangeType
  /** The record that was changed. It may be deleted. */
  target_id: number
  /** The token of the request; null for a change by the library, by the command line or by a host's own login. */
  token_id: number | null
  source: Source
  created_at: Timestamp
}

export const auditFields: RecordFields<AuditEntry> = {
  id: Id,
  type: v.picklist(changeTypes),
  target_id: described(Id, 'The record that was changed. The first word of the type is its kind. It may be deleted.'),
  token_id: described(v.nullable(Id), 'The token of the request; null for a change without one.'),
  source: described(v.picklist(sources), sourcesText),
  created_at: Time,
}

export const entryFrom = recordFrom(auditFields)

/** Filters and page of the audit log. */
export interface AuditQueryInput extends PageInput {
  /** Id of a token: only changes that were made with it. */
  readonly token?: number | string | undefined
  /** Only changes of this type. */
  readonly type?: ChangeType | undefined
}

export const AuditQuery = closedObject({
  ...pageFields,
  token: v.optional(v.pipe(WholeNumber, v.minValue(1, 'This must be the id of a token.'))),
  type: v.optional(v.picklist(changeTypes, `This must be one of ${changeTypes.join(', ')}.`)),
})
