/**
 * The public names of the operations, and their binding to a context. Each operation is declared once, in its slice.
 * `npm run reference` writes the types of these tables, with the operations' docstrings, to the files `api-types.ts`.
 */
import type {
  AttributeSettingsApi,
  AuditLogApi,
  ClientsApi,
  ClientTokensApi,
  IdentitiesApi,
  ListsApi,
  SegmentsApi,
  StatsApi,
  TagsApi,
  TokensApi,
  TopicsApi,
} from './api-types.ts'
import * as attributes from './attributes/operations.ts'
import * as audit from './audit/operations.ts'
import * as clientTokens from './clients/client-tokens.ts'
import * as clients from './clients/operations.ts'
import type { ContactsApi } from './contacts/api-types.ts'
import * as batching from './contacts/batch.ts'
import * as bulk from './contacts/bulk.ts'
import * as changing from './contacts/changing.ts'
import * as counts from './contacts/group-counts.ts'
import * as iterating from './contacts/iterate.ts'
import * as listing from './contacts/listing.ts'
import * as merging from './contacts/merging.ts'
import * as contacts from './contacts/operations.ts'
import * as exporting from './contacts/transfer/export.ts'
import * as importing from './contacts/transfer/import.ts'
import { type Context, sources } from './context.ts'
import { invalid } from './errors.ts'
import * as idempotency from './idempotency/operations.ts'
import type { IdempotentResult } from './idempotency/schema.ts'
import * as identities from './identities/operations.ts'
import * as lists from './lists/operations.ts'
import { requireFunction, requireId } from './parse.ts'
import * as segments from './segments/operations.ts'
import * as statistics from './statistics/operations.ts'
import * as tags from './tags/operations.ts'
import * as topics from './topics/operations.ts'
import type { EventsApi, WebhooksApi } from './webhooks/api-types.ts'
import * as deliveries from './webhooks/deliveries.ts'
import * as deliveryListing from './webhooks/delivery-listing.ts'
import * as webhooks from './webhooks/operations.ts'
import * as recovery from './webhooks/recovery.ts'

/** The tenants: `mailkeep.clients`. */
const clientsApi = {
  create: clients.createClient,
  list: clients.listClients,
  get: clients.getClient,
  rename: clients.renameClient,
  delete: clients.deleteClient,
  bootstrap: clients.bootstrap,
}

/** The bearer tokens of the HTTP API: `mailkeep.tokens`. */
const tokensApi = {
  create: clients.createToken,
  list: clients.listTokens,
  revoke: clients.revokeToken,
  authenticate: clients.authenticate,
}

/** The client's bearer tokens of the HTTP API: `mailkeep.forClient(id).tokens` */
const clientTokensApi = {
  list: clientTokens.listClientTokens,
  create: clientTokens.createClientToken,
  revoke: clientTokens.revokeClientToken,
}

/** `mailkeep.forClient(id).auditLog` */
const auditLogApi = { list: audit.listAuditLog }

/** `mailkeep.forClient(id).contacts` */
const contactsApi = {
  list: listing.listPageOfContacts,
  iterate: iterating.iterateContacts,
  get: contacts.getContact,
  count: listing.countContacts,
  listJson: listing.listContactsJson,
  getJson: contacts.getContactJson,
  addToList: contacts.addContactToList,
  addManyToList: bulk.addContactsToList,
  import: importing.importContacts,
  export: exporting.exportContacts,
  upsert: changing.upsertContact,
  update: contacts.updateContact,
  changeEmail: changing.changeEmail,
  tag: changing.tagContact,
  untag: changing.untagContact,
  merge: merging.mergeContact,
  batch: batching.runBatch,
  unsubscribe: contacts.unsubscribeContact,
  resubscribe: contacts.resubscribeContact,
  removeFromList: contacts.removeContactFromList,
  subscribeToTopic: contacts.subscribeToTopic,
  unsubscribeFromTopic: contacts.unsubscribeFromTopic,
  delete: contacts.deleteContact,
}

/** `mailkeep.forClient(id).lists` */
const listsApi = {
  list: counts.listCountedLists,
  create: lists.createList,
  get: lists.getList,
  update: lists.updateList,
  delete: lists.deleteList,
}

/** `mailkeep.forClient(id).tags` */
const tagsApi = {
  list: counts.listCountedTags,
  create: tags.createTag,
  update: tags.updateTag,
  delete: tags.deleteTag,
}

/** `mailkeep.forClient(id).topics` */
const topicsApi = {
  list: topics.listTopics,
  create: topics.createTopic,
  update: topics.updateTopic,
  delete: topics.deleteTopic,
}

/** Named filters of contacts: `mailkeep.forClient(id).segments` */
const segmentsApi = {
  list: segments.listSegments,
  create: segments.createSegment,
  get: segments.getSegment,
  update: segments.updateSegment,
  delete: segments.deleteSegment,
}

/** The attributes by which contacts can be filtered: `mailkeep.forClient(id).settings.attributes` */
const attributeSettingsApi = {
  get: attributes.getAttributeSettings,
  update: attributes.updateAttributeSettings,
}

/** The client's sender addresses: `mailkeep.forClient(id).identities` */
const identitiesApi = {
  list: identities.listIdentities,
  get: identities.getIdentity,
  add: identities.addIdentity,
  remove: identities.removeIdentity,
}

/** `mailkeep.forClient(id).webhooks` */
const webhooksApi = {
  listEndpoints: webhooks.listEndpoints,
  getEndpoint: webhooks.getEndpoint,
  createEndpoint: webhooks.createEndpoint,
  updateEndpoint: webhooks.updateEndpoint,
  deleteEndpoint: webhooks.deleteEndpoint,
  rotateSecret: webhooks.rotateSecret,
  testEndpoint: webhooks.testEndpoint,
  listDeliveries: deliveries.listDeliveries,
  listAllDeliveries: deliveryListing.listAllDeliveries,
  getDelivery: deliveries.getDelivery,
  redeliver: deliveries.redeliver,
  recover: recovery.recoverEndpoint,
  getRecovery: recovery.getRecovery,
}

/** `mailkeep.forClient(id).events` */
const eventsApi = { raise: webhooks.raiseEvent }

/** `mailkeep.forClient(id).stats` */
const statsApi = { deliveries: statistics.getDeliverySeries, contacts: statistics.getContactSeries }

/** The client's settings: `mailkeep.forClient(id).settings` */
export interface SettingsApi {
  readonly attributes: AttributeSettingsApi
}

/** The operations on one client's records. An id of another client's record is `not_found`. */
export interface ClientOperations {
  readonly contacts: ContactsApi
  readonly lists: ListsApi
  readonly tags: TagsApi
  readonly topics: TopicsApi
  readonly segments: SegmentsApi
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

export function bindClients(ctx: Context): ClientsApi {
  return bind(ctx, clientsApi)
}

export function bindTokens(ctx: Context): TokensApi {
  return bind(ctx, tokensApi)
}

/** @throws MailkeepError `validation_failed` on `clientId`, `source` or `tokenId` */
export function bindClient(ctx: Context): ClientMailkeep {
  requireId('clientId', ctx.clientId)
  const { source, tokenId } = ctx.caller
  if (!sources.includes(source)) throw invalid('source', `source must be one of ${sources.join(', ')}.`)
  if (tokenId !== undefined) requireId('tokenId', tokenId)
  return {
    ...bindOperations(ctx),
    async withIdempotencyKey(key, request, work) {
      requireFunction('work', work)
      return await idempotency.withIdempotencyKey(ctx, key, request, (tx) => work(bindOperations(tx)))
    },
  }
}

function bindOperations(ctx: Context): ClientOperations {
  return {
    contacts: bind(ctx, contactsApi),
    lists: bind(ctx, listsApi),
    tags: bind(ctx, tagsApi),
    topics: bind(ctx, topicsApi),
    segments: bind(ctx, segmentsApi),
    settings: { attributes: bind(ctx, attributeSettingsApi) },
    webhooks: bind(ctx, webhooksApi),
    events: bind(ctx, eventsApi),
    identities: bind(ctx, identitiesApi),
    tokens: bind(ctx, clientTokensApi),
    auditLog: bind(ctx, auditLogApi),
    stats: bind(ctx, statsApi),
  }
}

/** The operations without their first parameter. */
type Bound<Table> = {
  readonly [Name in keyof Table]: Table[Name] extends (ctx: Context, ...args: infer Args) => infer Result
    ? (...args: Args) => Result
    : never
}

function bind<Table extends Readonly<Record<string, (ctx: Context, ...args: never[]) => unknown>>>(
  ctx: Context,
  table: Table,
): Bound<Table> {
  return Object.fromEntries(
    Object.entries(table).map(([name, operation]) => [name, operation.bind(undefined, ctx)]),
  ) as Bound<Table>
}

/** An API whose inputs have the type `unknown`, except ids. Every operation validates its input. */
export type Unchecked<Api> = {
  readonly [Name in keyof Api]: Api[Name] extends (...args: infer Args) => infer Result
    ? (...args: { [At in keyof Args]: number extends NonNullable<Args[At]> ? Args[At] : unknown }) => Result
    : Unchecked<Api[Name]>
}

/** Returns the same client, typed for input that is not validated yet, such as decoded JSON and query strings. */
export function unchecked(client: ClientOperations): Unchecked<ClientOperations> {
  return client as Unchecked<ClientOperations>
}
