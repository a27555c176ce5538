import * as v from 'valibot'
import { type Source, sources, sourcesText } from '../context.ts'
import { closedObject, EmailAddress } from '../parse.ts'
import { described, Email, Id, type RecordFields, recordFrom, Time } from '../record.ts'
import type { Timestamp } from '../time.ts'

/** What can change the memberships of a contact, or its right to mail. */
export const historyTypes = [
  'list_joined',
  'list_left',
  'topic_subscribed',
  'topic_unsubscribed',
  'unsubscribed',
  'resubscribed',
  'confirmation_requested',
  'confirmed',
  'bounced',
  'complained',
] as const
export type HistoryType = (typeof historyTypes)[number]

/** One change of a contact's memberships, and where it came from: the proof of consent. */
export interface HistoryEntry {
  id: number
  /** `confirmed`: the contact confirmed a list with double opt-in, and joined it by that. */
  type: HistoryType
  source: Source
  /** The list, which may be deleted; null if the change concerns none. */
  list_id: number | null
  /** The topic, which may be deleted; null if the change concerns none. */
  topic_id: number | null
  /** The token of the request; null for a change without one. */
  token_id: number | null
  /** Address of the contact's device. Null for what others did. */
  ip: string | null
  /** `User-Agent` of the contact's browser. Null for what others did. */
  user_agent: string | null
  created_at: Timestamp
}

export const historyFields: RecordFields<HistoryEntry> = {
  id: Id,
  type: described(
    v.picklist(historyTypes),
    '`confirmed`: the contact confirmed a list with double opt-in, and joined it by that.',
  ),
  source: described(v.picklist(sources), sourcesText),
  list_id: described(v.nullable(Id), 'The list, which may be deleted; null if the change concerns none.'),
  topic_id: described(v.nullable(Id), 'The topic, which may be deleted; null if the change concerns none.'),
  token_id: described(v.nullable(Id), 'The token of the request; null for a change without one.'),
  ip: described(v.nullable(v.string()), 'Of the contact, for what it did itself; else null.'),
  user_agent: described(v.nullable(v.string()), 'Of the contact’s browser, for what it did itself; else null.'),
  created_at: Time,
}

export const historyEntryFrom = recordFrom(historyFields)

export const suppressionReasons = ['hard_bounce', 'complaint', 'manual', 'erased'] as const
export type SuppressionReason = (typeof suppressionReasons)[number]

/** An address that must not be mailed. */
export interface Suppression {
  id: number
  /** Null for the address of an erased contact, of which only a keyed hash is stored. */
  email: string | null
  /** `manual`: added by a request. `erased`: its contact was erased, and the address cannot be stored again. */
  reason: SuppressionReason
  created_at: Timestamp
}

export const suppressionFields: RecordFields<Suppression> = {
  id: Id,
  email: described(v.nullable(Email), 'null for an erased contact, of whose address only a keyed hash is stored.'),
  reason: described(
    v.picklist(suppressionReasons),
    '`manual`: added by a request. `erased`: its contact was erased, and the address cannot be stored again.',
  ),
  created_at: Time,
}

export const suppressionFrom = recordFrom(suppressionFields)

export interface SuppressionInput {
  /** At most 254 characters. */
  readonly email: string
}

export const NewSuppression = closedObject({ email: EmailAddress })
