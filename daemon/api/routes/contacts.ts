import type { Contact } from '../../../lib/index.ts'
import { exported } from './export.ts'
import { created, listingJson, noContent, ok, okJson, type Route } from './route.ts'

export const contacts: readonly Route[] = [
  {
    method: 'GET',
    path: '/contacts',
    role: 'member',
    hasQuery: true,
    large: true,
    call: async ({ client, query }) => listingJson(await client.contacts.listJson(query)),
  },
  {
    method: 'GET',
    path: '/contacts/:contactId',
    role: 'member',
    call: async ({ client, params }) => okJson(await client.contacts.getJson(params.contactId)),
  },
  {
    method: 'POST',
    path: '/lists/:listId/contacts',
    role: 'member',
    call: async ({ client, params, body }) => {
      const added = await client.contacts.addToList(params.listId, body)
      const contact = withoutTopics(added.contact)
      return added.created ? created(contact) : ok(contact)
    },
  },
  {
    method: 'PUT',
    path: '/contacts/:contactId',
    role: 'member',
    call: async ({ client, params, body }) => ok(withoutTopics(await client.contacts.update(params.contactId, body))),
  },
  {
    method: 'POST',
    path: '/contacts/:contactId/unsubscribe',
    role: 'member',
    fields: 'none',
    call: async ({ client, params }) => ok(await client.contacts.unsubscribe(params.contactId)),
  },
  {
    method: 'DELETE',
    path: '/lists/:listId/contacts/:contactId',
    role: 'member',
    call: async ({ client, params: { listId, contactId } }) =>
      ok(withoutTopics(await client.contacts.removeFromList(listId, contactId))),
  },
]

/** Beyond the contract. */
export const contactExtensions: readonly Route[] = [
  {
    method: 'POST',
    path: '/lists/:listId/contacts/import',
    role: 'member',
    takes: 'file',
    key: 'none',
    call: async ({ client, params, upload }) =>
      ok(await client.contacts.import(params.listId, upload!.source, { format: upload!.format })),
  },
  {
    method: 'GET',
    path: '/contacts/export',
    role: 'member',
    hasQuery: true,
    large: true,
    call: async ({ client, query, accept }) => exported(client.contacts, query, accept),
  },
  {
    method: 'DELETE',
    path: '/contacts/:contactId',
    role: 'member',
    call: async ({ client, params }) => {
      await client.contacts.delete(params.contactId)
      return noContent
    },
  },
  {
    method: 'POST',
    path: '/contacts/:contactId/resubscribe',
    role: 'member',
    fields: 'none',
    call: async ({ client, params }) => ok(await client.contacts.resubscribe(params.contactId)),
  },
  {
    method: 'PUT',
    path: '/contacts/:contactId/topics/:topicId',
    role: 'member',
    fields: 'none',
    call: async ({ client, params: { contactId, topicId } }) =>
      ok(await client.contacts.subscribeToTopic(contactId, topicId)),
  },
  {
    method: 'DELETE',
    path: '/contacts/:contactId/topics/:topicId',
    role: 'member',
    call: async ({ client, params: { contactId, topicId } }) =>
      ok(await client.contacts.unsubscribeFromTopic(contactId, topicId)),
  },
]

/** Removes `topics`. The answers to create, update and remove-from-list do not have it. */
function withoutTopics({ topics: _, ...contact }: Contact): Omit<Contact, 'topics'> {
  return contact
}
