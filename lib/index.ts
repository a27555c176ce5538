/** mailkeep: contacts, tags, lists, topics and signed webhooks for many clients, in your own process. */

export {
  type ClientMailkeep,
  type ClientOperations,
  type ClientsApi,
  type ContactsApi,
  type IdentitiesApi,
  type ListsApi,
  type TagsApi,
  type TokensApi,
  type TopicsApi,
  type Unchecked,
  unchecked,
} from './api-types.ts'
export type { Client, NewToken, Principal, Role, Token } from './clients/schema.ts'
export { roles } from './clients/schema.ts'
export type { BulkResult } from './contacts/merge.ts'
export type { Contact } from './contacts/schema.ts'
export type { Format } from './contacts/transfer/format.ts'
export type { Chunks, ImportReport, RefusedRow } from './contacts/transfer/import.ts'
export type { RaisedEvent } from './context.ts'
export {
  type ErrorCode,
  type ErrorDetails,
  errorCodes,
  type FieldErrors,
  type Issue,
  isMailkeepError,
  MailkeepError,
  type RateLimit,
} from './errors.ts'
export type { IdempotencyApi } from './idempotency/api-types.ts'
export type { IdempotentResult } from './idempotency/schema.ts'
export type { IdentityProvider } from './identities/provider.ts'
export { type Identity, type IdentityStatus, identityStatuses } from './identities/schema.ts'
export type * from './inputs.ts'
export { inputLimits } from './limits.ts'
export type { List } from './lists/schema.ts'
export type { Logger } from './logger.ts'
export { createMailkeep, type Mailkeep, type MailkeepOptions } from './mailkeep.ts'
export type { CloseOptions, StartOptions, SubscriberOptions } from './options.ts'
export type { Page } from './page.ts'
export type { EncryptionKey } from './sealing/seal.ts'
export type { DatabaseSource, StorageFigures } from './storage/database.ts'
export { type KyselyOptions, kysely } from './storage/kysely.ts'
export type { Tag } from './tags/schema.ts'
export type { Clock, Timestamp } from './time.ts'
export type { Topic } from './topics/schema.ts'
export { version } from './version.ts'
export type { EventsApi, WebhooksApi } from './webhooks/api-types.ts'
export type { AttemptEnding, DeliveryFigures } from './webhooks/dispatch/metrics.ts'
export type { EventHandler, HandledEvent, Handling } from './webhooks/handlers/handlers.ts'
export type { Subscriber } from './webhooks/handlers/subscribers.ts'
export type { Readiness, Stats } from './webhooks/health.ts'
export type { LookupSettings, NameResolver } from './webhooks/http/resolve.ts'
export type { Outcome as SendOutcome, Request as SendRequest, Sender, Sending } from './webhooks/http/send.ts'
export type {
  ContactData,
  ContactResubscribedEvent,
  ContactSubscribedEvent,
  ContactUnsubscribedEvent,
  EventEnvelope,
  NewsletterSentEvent,
  SequenceCompletedEvent,
  SequenceStepSentEvent,
  WebhookEvent,
  WebhookTestEvent,
} from './webhooks/receiver.ts'
export type { Recovery } from './webhooks/recovery.ts'
export type { Attempt, Delivery, DeliveryDetail, DeliveryStatus, Endpoint, EventType } from './webhooks/schema.ts'
export { eventTypes } from './webhooks/schema.ts'
export { defaultWebhookSettings, type WebhookSettings } from './webhooks/settings.ts'
