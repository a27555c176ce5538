/**
 * The public names of the operations, and their binding to a context. Each operation is declared once, in its slice.
 * `npm run reference` writes the types of these tables, with the operations' docstrings, to the files `api-types.ts`.
 */
import * as v from 'valibot'
import * as attributes from './attributes/operations.ts'
import * as audit from './audit/operations.ts'
import { bind } from './bind-context.ts'
import { newslettersApi, sequencesApi } from './bind-sending.ts'
import type { ClientMailkeep, ClientOperations } from './client-api.ts'
import * as clientTokens from './clients/client-tokens.ts'
import * as clients from './clients/operations.ts'
import * as portal from './clients/portal.ts'
import { roles } from './clients/schema.ts'
import * as suppressions from './consent/suppressions.ts'
import * as batching from './contacts/batch.ts'
import * as bounces from './contacts/bounces.ts'
import * as bulk from './contacts/bulk.ts'
import * as changing from './contacts/changing.ts'
import * as confirming from './contacts/confirming.ts'
import * as counting from './contacts/counting.ts'
import * as counts from './contacts/group-counts.ts'
import * as iterating from './contacts/iterate.ts'
import * as links from './contacts/links.ts'
import * as listing from './contacts/listing.ts'
import * as merging from './contacts/merging.ts'
import * as contacts from './contacts/operations.ts'
import * as preferences from './contacts/preferences.ts'
import * as reading from './contacts/reading.ts'
import * as series from './contacts/series.ts'
import * as exporting from './contacts/transfer/export.ts'
import * as importing from './contacts/transfer/import.ts'
import { type Caller, type Context, sources } from './context.ts'
import { invalid } from './errors.ts'
import * as idempotency from './idempotency/operations.ts'
import * as identities from './identities/operations.ts'
import * as imports from './imports/operations.ts'
import * as lists from './lists/operations.ts'
import * as pages from './pages/operations.ts'
import { requireId, Text } from './parse.ts'
import * as segments from './segments/operations.ts'
import * as messages from './sending/messages.ts'
import * as personalData from './sending/personal-data.ts'
import * as statistics from './statistics/operations.ts'
import * as tags from './tags/operations.ts'
import * as topics from './topics/operations.ts'
import { refuseUnknownNames } from './unknown-names.ts'
import * as deliveries from './webhooks/deliveries.ts'
import * as deliveryListing from './webhooks/delivery-listing.ts'
import * as eventBatch from './webhooks/event-batch.ts'
import * as webhooks from './webhooks/operations.ts'
import * as recovery from './webhooks/recovery.ts'

/** The tenants: `mailkeep.clients`. */
export const clientsApi = {
  create: clients.createClient,
  list: clients.listClients,
  get: clients.getClient,
  rename: clients.renameClient,
  delete: clients.deleteClient,
  bootstrap: clients.bootstrap,
}

/** The bearer tokens of the HTTP API: `mailkeep.tokens`. */
export const tokensApi = {
  create: clients.createToken,
  list: clients.listTokens,
  revoke: clients.revokeToken,
  authenticate: clients.authenticate,
}

/** The client's bearer tokens of the HTTP API: `mailkeep.forClient(id).tokens` */
const clientTokensApi = {
  list: clientTokens.listClientTokens,
  current: clientTokens.getCurrentToken,
  create: clientTokens.createClientToken,
  revoke: clientTokens.revokeClientToken,
}

/** Links to the pages for contacts: `mailkeep.links` */
export const linksApi = { open: links.openLink }

/** `mailkeep.forClient(id).auditLog` */
const auditLogApi = { list: audit.listAuditLog }

/** `mailkeep.forClient(id).contacts` */
const contactsApi = {
  list: listing.listPageOfContacts,
  iterate: iterating.iterateContacts,
  get: reading.getContact,
  count: counting.countContacts,
  listJson: listing.listContactsJson,
  getJson: reading.getContactJson,
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
  confirm: confirming.confirmContact,
  removeFromList: contacts.removeContactFromList,
  subscribeToTopic: contacts.subscribeToTopic,
  unsubscribeFromTopic: contacts.unsubscribeFromTopic,
  links: links.createLinks,
  messages: messages.listMessagesOfContact,
  preferences: preferences.getPreferences,
  updatePreferences: preferences.updatePreferences,
  delete: contacts.deleteContact,
  history: contacts.listContactHistory,
  data: personalData.exportContactData,
  recordBounce: bounces.recordBounce,
  recordComplaint: bounces.recordComplaint,
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
  list: counts.listCountedTopics,
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

/** Addresses that must not be mailed: `mailkeep.forClient(id).suppressions` */
const suppressionsApi = {
  list: suppressions.listSuppressions,
  create: suppressions.createSuppression,
  delete: suppressions.deleteSuppression,
}

/** The attributes by which contacts can be filtered: `mailkeep.forClient(id).settings.attributes` */
const attributeSettingsApi = {
  get: attributes.getAttributeSettings,
  update: attributes.updateAttributeSettings,
}

/** How the client's pages for contacts look: `mailkeep.forClient(id).settings.pages` */
const pageSettingsApi = {
  get: pages.getPageSettings,
  update: pages.updatePageSettings,
}

/** The client's sender addresses: `mailkeep.forClient(id).identities` */
const identitiesApi = {
  list: identities.listIdentities,
  get: identities.getIdentity,
  add: identities.addIdentity,
  refresh: identities.refreshIdentity,
  remove: identities.removeIdentity,
}

/** The progress of imports: `mailkeep.forClient(id).imports` */
const importsApi = { list: imports.listImports, get: imports.getImport }

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
const eventsApi = { raise: webhooks.raiseEvent, raiseMany: eventBatch.raiseEvents }

/** `mailkeep.forClient(id).portal` */
const portalApi = { createLink: portal.createPortalLink }

/** `mailkeep.forClient(id).stats` */
const statsApi = { deliveries: statistics.getDeliverySeries, contacts: series.getContactSeries }

/** Checks and copies a caller. @throws MailkeepError `validation_failed` on `caller` or one of its fields */
export function checkCaller(given: Caller): Caller {
  if (typeof given !== 'object' || given === null) throw invalid('caller', 'This must be an object.')
  refuseUnknownNames(given, ['source', 'tokenId', 'role', 'ip', 'userAgent'])
  const caller = { ...given }
  const { source, tokenId, role, ip, userAgent } = caller
  if (!sources.includes(source)) throw invalid('source', `source must be one of ${sources.join(', ')}.`)
  if (tokenId !== undefined) requireId('tokenId', tokenId)
  if (role !== undefined && !roles.includes(role)) throw invalid('role', `role must be one of ${roles.join(', ')}.`)
  for (const [name, text] of Object.entries({ ip, userAgent })) {
    if (text !== undefined && !v.is(Text, text)) throw invalid(name, `${name} must be a string.`)
  }
  return caller
}

/** @throws MailkeepError `validation_failed` on `clientId` */
export function bindClient(ctx: Context): ClientMailkeep {
  requireId('clientId', ctx.clientId)
  return {
    ...bindOperations(ctx),
    async withIdempotencyKey(key, request, work) {
      if (typeof work !== 'function') throw invalid('work', 'work must be a function.')
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
    suppressions: bind(ctx, suppressionsApi),
    settings: { attributes: bind(ctx, attributeSettingsApi), pages: bind(ctx, pageSettingsApi) },
    webhooks: bind(ctx, webhooksApi),
    events: bind(ctx, eventsApi),
    identities: bind(ctx, identitiesApi),
    imports: bind(ctx, importsApi),
    tokens: bind(ctx, clientTokensApi),
    auditLog: bind(ctx, auditLogApi),
    stats: bind(ctx, statsApi),
    portal: bind(ctx, portalApi),
  }
}
