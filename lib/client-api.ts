/** What `mailkeep.forClient(id)` offers. */
import type {
  AttributeSettingsApi,
  AuditLogApi,
  ClientTokensApi,
  IdentitiesApi,
  ListsApi,
  SegmentsApi,
  StatsApi,
  TagsApi,
  TopicsApi,
} from './api-types.ts'
import type { SuppressionsApi } from './consent/api-types.ts'
import type { ContactsApi } from './contacts/api-types.ts'
import type { IdempotentResult } from './idempotency/schema.ts'
import type { PageSettingsApi } from './pages/api-types.ts'
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
  readonly suppressions: SuppressionsApi
  readonly settings: SettingsApi
  readonly webhooks: WebhooksApi
  readonly events: EventsApi
  readonly identities: IdentitiesApi
  readonly tokens: ClientTokensApi
  readonly auditLog: AuditLogApi
  readonly stats: StatsApi
}

/** Operations that are safe to repeat, on `mailkeep.forClient(id)`. */
export interface IdempotencyApi {
  /**
   * Runs `work` at most once for an idempotency key of the client. The key is committed in the same transaction as the
   * work's changes. For 24 hours, a repeated call returns the first result and does nothing. If `work` throws, its
   * changes and the key are rolled back. Stored results are encrypted, and are deleted with the contacts that they
   * contain.
   *
   * @param key 1–255 characters. Use a random key for each task.
   * @param request The parameters of the request, as JSON. They distinguish a repeat from another request.
   * @param work Receives the client's operations, which run in one transaction. It may await only these, one after
   *   another, and no operation of an outer client. It may run twice; then the first run is rolled back. On SQLite,
   *   other writes wait for it, so it should change at most some hundreds of rows.
   * @throws MailkeepError `idempotency_mismatch`: the key was used for another request; `conflict`: the first request
   *   with this key is still running, or its result was encrypted with a key that is no longer configured;
   *   `validation_failed`; and the errors that `work` throws.
   * @example
   * const { answer } = await acme.withIdempotencyKey(order.id, order, (client) => client.contacts.addToList(1, order.buyer))
   */
  withIdempotencyKey<T>(
    key: string,
    request: unknown,
    work: (client: ClientOperations) => Promise<T>,
  ): Promise<IdempotentResult<T>>
}

/** `mailkeep.forClient(id)`: a client's operations, and `withIdempotencyKey` to run several of them at most once. */
export interface ClientMailkeep extends ClientOperations, IdempotencyApi {}
