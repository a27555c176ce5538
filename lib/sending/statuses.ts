/** Statuses of newsletters, sequences and messages. Tables, records and the API use the same names. */

export const newsletterStatuses = ['draft', 'scheduled', 'sending', 'paused', 'sent', 'cancelled', 'failed'] as const
export type NewsletterStatus = (typeof newsletterStatuses)[number]

export const messageStatuses = ['pending', 'sent', 'failed', 'skipped', 'uncertain'] as const
export type MessageStatus = (typeof messageStatuses)[number]

/** Why a message was not sent. */
export const skipReasons = [
  'unsubscribed',
  'suppressed',
  'erased',
  'left_list',
  'left_topic',
  'stopped',
  'cancelled',
  'uncertain',
] as const satisfies SkipReason[]
export type SkipReason =
  | 'unsubscribed'
  | 'suppressed'
  | 'erased'
  | 'left_list'
  | 'left_topic'
  | 'stopped'
  | 'cancelled'
  | 'uncertain'

export const sequenceStatuses = ['active', 'paused'] as const
export type SequenceStatus = (typeof sequenceStatuses)[number]

export const enrolmentStatuses = ['active', 'completed', 'stopped'] as const satisfies EnrolmentStatus[]
export type EnrolmentStatus = 'active' | 'completed' | 'stopped'

/** Why an enrolment stopped. `manual`: by hand. */
export const stopReasons = ['unsubscribed', 'left_list', 'erased', 'manual'] as const satisfies StopReason[]
export type StopReason = 'unsubscribed' | 'left_list' | 'erased' | 'manual'
