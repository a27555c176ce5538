/** The operations of `mailkeep.forClient(id)`. */
import type {
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
import type { ClientTokensApi, PortalApi } from './clients/api-types.ts'
import type { ContactsApi } from './contacts/api-types.ts'
import type { IdempotencyApi } from './idempotency/schema.ts'
import type { NewslettersApi, SequencesApi } from './sending/api-types.ts'
import type { EventsApi, WebhooksApi } from './webhooks/api-types.ts'

/** The client's settings: `mailkeep.forClient(id).settings` */
export interface SettingsApi {
  readonly attributes: AttributeSettingsApi
  readonly pages: PageSettingsApi
}

/** The operations on one client's records. An id of another client's record is `not_found`. */
export interface ClientOperations {
  readonly contacts: ContactsApi
  readonly lists: ListsApi
  readonly tags: TagsApi
  readonly topics: TopicsApi
  readonly segments: SegmentsApi
  readonly newsletters: NewslettersApi
  readonly sequences: SequencesApi
  readonly suppressions: SuppressionsApi
  readonly settings: SettingsApi
  readonly webhooks: WebhooksApi
  readonly events: EventsApi
  readonly identities: IdentitiesApi
  readonly imports: ImportsApi
  readonly tokens: ClientTokensApi
  readonly auditLog: AuditLogApi
  readonly stats: StatsApi
  readonly portal: PortalApi
}

/** `mailkeep.forClient(id)`: a client's operations, and `withIdempotencyKey` to run several of them at most once. */
export interface ClientMailkeep extends ClientOperations, IdempotencyApi {}
