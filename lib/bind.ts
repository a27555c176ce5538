/**
 * The public names of the operations, and their binding to a context. Each operation is declared once, in its slice.
 * `npm run reference` writes the types of these tables, with the operations' docstrings, to the files `api-types.ts`.
 */
import * as v from 'valibot'
import type {
  AttributeSettingsApi,
  AuditLogApi,
  ClientsApi,
  ClientTokensApi,
  IdentitiesApi,
  ListsApi,
  SegmentsApi,
  TagsApi,
  TokensApi,
  TopicsApi,
} from './api-types.ts'
import * as attributes from './attributes/operations.ts'
import * as audit from './audit/operations.ts'
import { bind, type IdempotencyApi } from './binding.ts'
import * as clientTokens from './clients/client-tokens.ts'
import * as clients from './clients/operations.ts'
import type { ContactsApi } from './contacts/api-types.ts'
import * as batching from './contacts/batch.ts'
import * as bulk from './contacts/bulk.ts'
import * as changing from './contacts/changing.ts'
import * as counts from './contacts/group-counts.ts'
import * as history from './contacts/history.ts'
import * as iterating from './contacts/iterate.ts'
import * as links from './contacts/links.ts'
import * as listing from './contacts/listing.ts'
import * as merging from './contacts/merging.ts'
import * as contacts from './contacts/operations.ts'
import * as exporting from './contacts/transfer/export.ts'
import * as importing from './contacts/transfer/import.ts'
import { type Context, sources } from './context.ts'
import { invalid } from './errors.ts'
import * as idempotency from './idempotency/operations.ts'
import * as identities from './identities/operations.ts'
import * as lists from './lists/operations.ts'
import { requireFunction, requireId, Text } from './parse.ts'
import * as segments from './segments/operations.ts'
import type { NewslettersApi, SequencesApi } from './sending/api-types.ts'
import * as enrolments from './sending/enrolments.ts'
import * as messages from './sending/messages.ts'
import * as newsletters from './sending/newsletters.ts'
import * as sending from './sending/sending.ts'
import * as sequences from './sending/sequences.ts'
import * as trying from './sending/trying.ts'
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
  links: links.createLinks,
  messages: messages.listMessagesOfContact,
  delete: contacts.deleteContact,
  history: history.listContactHistory,
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

/** Mail to many contacts: `mailkeep.forClient(id).newsletters` */
const newslettersApi = {
  list: newsletters.listNewsletters,
  create: newsletters.createNewsletter,
  get: newsletters.getNewsletter,
  update: newsletters.updateNewsletter,
  delete: newsletters.deleteNewsletter,
  audience: newsletters.countAudience,
  preview: trying.previewNewsletter,
  test: trying.testNewsletter,
  send: sending.sendNewsletter,
  pause: sending.pauseNewsletter,
  resume: sending.resumeNewsletter,
  cancel: sending.cancelNewsletter,
  messages: messages.listMessages,
}

/** Series of mail to each contact: `mailkeep.forClient(id).sequences` */
const sequencesApi = {
  list: sequences.listSequences,
  create: sequences.createSequence,
  get: sequences.getSequence,
  update: sequences.updateSequence,
  delete: sequences.deleteSequence,
  setSteps: sequences.setSteps,
  enrol: enrolments.enrolContact,
  stop: enrolments.stopEnrolment,
  enrolments: enrolments.listEnrolments,
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
  readonly newsletters: NewslettersApi
  readonly sequences: SequencesApi
  readonly settings: SettingsApi
  readonly webhooks: WebhooksApi
  readonly events: EventsApi
  readonly identities: IdentitiesApi
  readonly tokens: ClientTokensApi
  readonly auditLog: AuditLogApi
}

/** `mailkeep.forClient(id)`: a client's operations, and `withIdempotencyKey` to run several of them at most once. */
export interface ClientMailkeep extends ClientOperations, IdempotencyApi {}

export function bindClients(ctx: Context): ClientsApi {
  return bind(ctx, clientsApi)
}

export function bindTokens(ctx: Context): TokensApi {
  return bind(ctx, tokensApi)
}

/** @throws MailkeepError `validation_failed` on `clientId` or a field of the caller */
export function bindClient(ctx: Context): ClientMailkeep {
  requireId('clientId', ctx.clientId)
  const { source, tokenId, ip, userAgent } = ctx.caller
  if (!sources.includes(source)) throw invalid('source', `source must be one of ${sources.join(', ')}.`)
  if (tokenId !== undefined) requireId('tokenId', tokenId)
  for (const [name, text] of Object.entries({ ip, userAgent })) {
    if (text !== undefined && !v.is(Text, text)) throw invalid(name, `${name} must be a string.`)
  }
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
    newsletters: bind(ctx, newslettersApi),
    sequences: bind(ctx, sequencesApi),
    settings: { attributes: bind(ctx, attributeSettingsApi) },
    webhooks: bind(ctx, webhooksApi),
    events: bind(ctx, eventsApi),
    identities: bind(ctx, identitiesApi),
    tokens: bind(ctx, clientTokensApi),
    auditLog: bind(ctx, auditLogApi),
  }
}
