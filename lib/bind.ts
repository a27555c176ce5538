/** Binds operations to a context. It contains no logic. */

import type { ClientMailkeep, ClientOperations, ClientsApi, TokensApi } from './api-types.ts'
import * as clients from './clients/operations.ts'
import * as bulk from './contacts/bulk.ts'
import * as listing from './contacts/listing.ts'
import * as contacts from './contacts/operations.ts'
import { exportContacts } from './contacts/transfer/export.ts'
import { type Chunks, importContacts } from './contacts/transfer/import.ts'
import type { Context } from './context.ts'
import * as idempotency from './idempotency/operations.ts'
import * as identities from './identities/operations.ts'
import * as lists from './lists/operations.ts'
import { requireFunction, requireId } from './parse.ts'
import * as tags from './tags/operations.ts'
import * as topics from './topics/operations.ts'
import * as deliveries from './webhooks/deliveries.ts'
import * as webhooks from './webhooks/operations.ts'
import * as recovery from './webhooks/recovery.ts'

export function bindClients(ctx: Context): ClientsApi {
  return {
    create: (input: unknown) => clients.createClient(ctx, input),
    list: () => clients.listClients(ctx),
    get: (id: number) => clients.getClient(ctx, id),
    rename: (id: number, input: unknown) => clients.renameClient(ctx, id, input),
    delete: (id: number) => clients.deleteClient(ctx, id),
    bootstrap: (input?: unknown) => clients.bootstrap(ctx, input),
  }
}

export function bindTokens(ctx: Context): TokensApi {
  return {
    create: (input: unknown) => clients.createToken(ctx, input),
    list: (filter?: unknown) => clients.listTokens(ctx, filter),
    revoke: (id: number) => clients.revokeToken(ctx, id),
    authenticate: (token: string) => clients.authenticate(ctx, token),
  }
}

/** @throws MailkeepError `validation_failed` on `clientId` */
export function bindClient(ctx: Context): ClientMailkeep {
  requireId('clientId', ctx.clientId)
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
    tags: {
      list: (query?: unknown) => tags.listTags(ctx, query),
      create: (input: unknown) => tags.createTag(ctx, input),
      update: (id: number, input: unknown) => tags.updateTag(ctx, id, input),
      delete: (id: number) => tags.deleteTag(ctx, id),
    },
    contacts: {
      list: (query?: unknown) => listing.listPageOfContacts(ctx, query),
      get: (id: number) => contacts.getContact(ctx, id),
      count: () => listing.countContacts(ctx),
      listJson: (query?: unknown) => listing.listDocuments(ctx, query),
      getJson: (id: number) => contacts.getContactJson(ctx, id),
      addToList: (listId: number, input: unknown) => contacts.addContactToList(ctx, listId, input),
      addManyToList: (listId: number, inputs: unknown) => bulk.addContactsToList(ctx, listId, inputs),
      import: (listId: number, source: Chunks, options: unknown) => importContacts(ctx, listId, source, options),
      export: (query: unknown) => exportContacts(ctx, query),
      update: (id: number, input: unknown) => contacts.updateContact(ctx, id, input),
      unsubscribe: (id: number, options?: unknown) => contacts.unsubscribeContact(ctx, id, options),
      resubscribe: (id: number) => contacts.resubscribeContact(ctx, id),
      removeFromList: (listId: number, contactId: number) => contacts.removeContactFromList(ctx, listId, contactId),
      subscribeToTopic: (contactId: number, topicId: number) => contacts.subscribeToTopic(ctx, contactId, topicId),
      unsubscribeFromTopic: (contactId: number, topicId: number) =>
        contacts.unsubscribeFromTopic(ctx, contactId, topicId),
      delete: (id: number) => contacts.deleteContact(ctx, id),
    },
    lists: {
      list: (query?: unknown) => lists.listLists(ctx, query),
      create: (input: unknown) => lists.createList(ctx, input),
      get: (id: number) => lists.getList(ctx, id),
      update: (id: number, input: unknown) => lists.updateList(ctx, id, input),
      delete: (id: number) => lists.deleteList(ctx, id),
    },
    topics: {
      list: (listId: number, query?: unknown) => topics.listTopics(ctx, listId, query),
      create: (listId: number, input: unknown) => topics.createTopic(ctx, listId, input),
      update: (id: number, input: unknown) => topics.updateTopic(ctx, id, input),
      delete: (id: number) => topics.deleteTopic(ctx, id),
    },
    identities: {
      list: (query?: unknown) => identities.listIdentities(ctx, query),
      get: (id: number) => identities.getIdentity(ctx, id),
      add: (input: unknown) => identities.addIdentity(ctx, input),
      remove: (id: number) => identities.removeIdentity(ctx, id),
    },
    webhooks: {
      listEndpoints: (query?: unknown) => webhooks.listEndpoints(ctx, query),
      getEndpoint: (id: number) => webhooks.getEndpoint(ctx, id),
      createEndpoint: (input: unknown) => webhooks.createEndpoint(ctx, input),
      updateEndpoint: (id: number, input: unknown) => webhooks.updateEndpoint(ctx, id, input),
      deleteEndpoint: (id: number) => webhooks.deleteEndpoint(ctx, id),
      rotateSecret: (id: number) => webhooks.rotateSecret(ctx, id),
      testEndpoint: (id: number) => webhooks.testEndpoint(ctx, id),
      listDeliveries: (endpointId: number, query?: unknown) => deliveries.listDeliveries(ctx, endpointId, query),
      getDelivery: (endpointId: number, id: number) => deliveries.getDelivery(ctx, endpointId, id),
      redeliver: (endpointId: number, id: number) => deliveries.redeliver(ctx, endpointId, id),
      recover: (endpointId: number, input: unknown) => recovery.recoverEndpoint(ctx, endpointId, input),
      getRecovery: (endpointId: number, id: number) => recovery.getRecovery(ctx, endpointId, id),
    },
    events: {
      raise: (input: unknown) => webhooks.raiseEvent(ctx, input),
    },
  }
}
