/**
 * Event types beyond the contract. A change raises them only if an endpoint or a handler asks for them, so they cost
 * nothing elsewhere.
 */
export const extensionEventTypes = [
  'contact.created',
  'contact.updated',
  'contact.deleted',
  'contact.list_removed',
  'contact.tagged',
  'contact.untagged',
  'contact.topic_subscribed',
  'contact.topic_unsubscribed',
  'contact.confirmation_requested',
] as const

/** Every event type that an endpoint can subscribe to. */
export const eventTypes = [
  'contact.subscribed',
  'contact.unsubscribed',
  'contact.resubscribed',
  'newsletter.sent',
  'sequence_step.sent',
  'sequence.completed',
  'webhook.test',
  ...extensionEventTypes,
] as const
export type EventType = (typeof eventTypes)[number]

/** Event types that a host may raise too, for mail that it sends by itself. */
export const hostEventTypes = ['newsletter.sent', 'sequence_step.sent', 'sequence.completed'] as const
