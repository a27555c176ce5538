/** mailkeep: contacts, consent, newsletters, sequences and signed webhooks for many clients, in your own process. */

export type { AbortInput } from './abort.ts'
export type {
  AttributeSettingsApi,
  AuditLogApi,
  IdentitiesApi,
  ImportsApi,
  ListsApi,
  PageSettingsApi,
  SegmentsApi,
  StatsApi,
  SuppressionsApi,
  TagsApi,
  TopicsApi,
} from './api-types.ts'
export type { AttributeSettings, AttributeSettingsInput } from './attributes/schema.ts'
export { type AuditEntry, type AuditQueryInput, type ChangeType, changeTypes } from './audit/schema.ts'
export { type Unchecked, unchecked } from './bind-context.ts'
export type { ClientMailkeep, ClientOperations, SettingsApi } from './client-api.ts'
export type { ClientsApi, ClientTokensApi, PortalApi, TokensApi } from './clients/api-types.ts'
export type { PortalLink, PortalLinkInput } from './clients/portal.ts'
export type {
  Client,
  ClientInput,
  ClientToken,
  ClientTokenInput,
  CurrentToken,
  NewClientToken,
  NewToken,
  Principal,
  Role,
  Token,
  TokenInput,
} from './clients/schema.ts'
export { roles } from './clients/schema.ts'
export type { Optional } from './collections.ts'
export type { LinkPurpose } from './consent/links.ts'
export {
  type HistoryEntry,
  type HistoryType,
  historyTypes,
  type Suppression,
  type SuppressionInput,
  type SuppressionReason,
  suppressionReasons,
} from './consent/schema.ts'
export type { ContactsApi, LinksApi } from './contacts/api-types.ts'
export type {
  BatchInput,
  BatchOperationInput,
  BatchOperationName,
  BatchOperationResult,
} from './contacts/batch-schema.ts'
export type { BulkResult } from './contacts/bulk-merge.ts'
export type { EmailInput, TagsInput } from './contacts/changing.ts'
export type { ContactKey } from './contacts/contact-key.ts'
export type { Counted, GroupQueryInput } from './contacts/group-counts.ts'
export type { IterateInput } from './contacts/iterate.ts'
export type { ContactLinks, OpenedLink } from './contacts/links.ts'
export type { MergeInput } from './contacts/merging.ts'
export type { ListPreferences, Preferences, PreferencesInput, TopicPreference } from './contacts/preferences.ts'
export type {
  AddedContact,
  Contact,
  ContactChangeInput,
  ContactFieldsInput,
  ContactFiltersInput,
  ContactInput,
  ContactQueryInput,
  EraseInput,
  UnsubscribeInput,
} from './contacts/schema.ts'
export type { ContactPoint, ContactSeries, ContactSeriesQueryInput } from './contacts/series.ts'
export type { ColumnMap } from './contacts/transfer/columns.ts'
export type { ExportInput } from './contacts/transfer/export.ts'
export type {
  Chunks,
  ImportCounts,
  ImportInput,
  ImportReport,
  ImportRowResult,
  RefusedRow,
} from './contacts/transfer/import-schema.ts'
export type { Format } from './contacts/transfer/row.ts'
export type { ImportMode } from './contacts/transfer/steps.ts'
export type { Caller, RaisedEvent, Source } from './context.ts'
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
export type { IdempotencyApi, IdempotentResult } from './idempotency/schema.ts'
export {
  type Identity,
  type IdentityInput,
  type IdentityProvider,
  type IdentityQueryInput,
  type IdentityStatus,
  identityStatuses,
} from './identities/schema.ts'
export type { Import } from './imports/schema.ts'
export { inputLimits } from './limits.ts'
export type { List, ListChangeInput, ListInput } from './lists/schema.ts'
export type { Logger } from './logger.ts'
export { createMailkeep, type Mailkeep } from './mailkeep.ts'
export type { CloseOptions, MailkeepOptions, StartOptions, SubscriberOptions } from './options.ts'
export type { Page, PageInput } from './page.ts'
export {
  type PageLanguage,
  type PageSettings,
  type PageSettingsInput,
  type PageTextName,
  pageLanguages,
  pageTextNames,
} from './pages/schema.ts'
export type { EncryptionKey } from './sealing/seal.ts'
export type { IdsInput, SegmentFiltersInput } from './segments/filters.ts'
export type { Segment, SegmentChangeInput, SegmentInput } from './segments/schema.ts'
export type { NewslettersApi, SequencesApi } from './sending/api-types.ts'
export type { Content } from './sending/content.ts'
export type { MailFigures } from './sending/dispatch/mailer.ts'
export type { MessageOutcome } from './sending/dispatch/record.ts'
export { type MailHeadersInput, mailHeaders } from './sending/headers.ts'
export type { Message, MessageQueryInput } from './sending/message-schema.ts'
export type { PersonalData } from './sending/personal-data.ts'
export type {
  Audience,
  AudienceInput,
  ContentInput,
  CurrentAudience,
  MessageCounts,
  Newsletter,
  NewsletterChangeInput,
  NewsletterInput,
  NewsletterOptionsInput,
  NewsletterQueryInput,
  NewsletterSummary,
  NewsletterWithAudience,
  Preview,
  PreviewInput,
  ResumeInput,
  SendInput,
  TestInput,
  TestResult,
} from './sending/schema.ts'
export type {
  Enrolment,
  EnrolmentInput,
  Sequence,
  SequenceChangeInput,
  SequenceInput,
  SequenceStep,
  SequenceSummary,
  StepInput,
  StepPreviewInput,
  StepsInput,
} from './sending/sequence-schema.ts'
export { defaultMailSettings, type MailSettings } from './sending/settings.ts'
export {
  type EnrolmentStatus,
  type MessageStatus,
  messageStatuses,
  type NewsletterStatus,
  newsletterStatuses,
  type SequenceStatus,
  type SkipReason,
  type StopReason,
  sequenceStatuses,
} from './sending/statuses.ts'
export { type MailMessage, type MailOutcome, type MailTransport, UncertainError } from './sending/transport.ts'
export { folder } from './sending/transports/folder.ts'
export type {
  DeliveryPoint,
  DeliverySeries,
  DeliverySeriesQueryInput,
  EndpointStates,
  FailingEndpoint,
  Series,
  SeriesQueryInput,
  Step,
} from './statistics/schema.ts'
export type { DatabaseSource, StorageFigures } from './storage/database.ts'
export { type KyselyOptions, kysely } from './storage/kysely.ts'
export type { Tag, TagInput } from './tags/schema.ts'
export type { Clock, Timestamp } from './time.ts'
export type { Topic, TopicChangeInput, TopicInput } from './topics/schema.ts'
export { version } from './version.ts'
export type { EventsApi, WebhooksApi } from './webhooks/api-types.ts'
export type { ContactDelivery } from './webhooks/contact-deliveries.ts'
export type { DeliveryQueryInput } from './webhooks/delivery-listing.ts'
export type { DeliveryFigures } from './webhooks/dispatch/metrics.ts'
export type { AttemptEnding } from './webhooks/dispatch/retry.ts'
export type { EventBatchInput, EventBatchResult } from './webhooks/event-batch.ts'
export type { EventHandler, HandledEvent, Handling } from './webhooks/handlers/handlers.ts'
export type { Subscriber } from './webhooks/handlers/subscribers.ts'
export type { Readiness, Stats } from './webhooks/health.ts'
export type { LookupSettings, NameResolver } from './webhooks/http/resolve.ts'
export type { Outcome as SendOutcome, Request as SendRequest, Sender, Sending } from './webhooks/http/send.ts'
export type {
  ContactConfirmationRequestedEvent,
  ContactCreatedEvent,
  ContactData,
  ContactDeletedEvent,
  ContactListRemovedEvent,
  ContactResubscribedEvent,
  ContactSubscribedEvent,
  ContactTaggedEvent,
  ContactTopicSubscribedEvent,
  ContactTopicUnsubscribedEvent,
  ContactUnsubscribedEvent,
  ContactUntaggedEvent,
  ContactUpdatedEvent,
  EventEnvelope,
  NewsletterSentEvent,
  SequenceCompletedEvent,
  SequenceStepSentEvent,
  WebhookEvent,
  WebhookTestEvent,
} from './webhooks/receiver.ts'
export type { RecoverInput, Recovery } from './webhooks/recovery.ts'
export type {
  Attempt,
  Delivery,
  DeliveryDetail,
  DeliveryStatus,
  Endpoint,
  EndpointChangeInput,
  EndpointDelivery,
  EndpointInput,
  EventInput,
  EventType,
  RotationInput,
} from './webhooks/schema.ts'
export { eventTypes } from './webhooks/schema.ts'
export { defaultWebhookSettings, type WebhookSettings } from './webhooks/settings.ts'
