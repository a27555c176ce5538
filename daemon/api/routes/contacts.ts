import type { Contact } from '../../../lib/index.ts'
import { exported, mediaTypes } from './export.ts'
import { filters } from './filters.ts'
import { created, deleted, listingJson, noContent, ok, okJson, paging, type Route } from './route.ts'

export const contacts: readonly Route[] = [
  {
    method: 'GET',
    path: '/contacts',
    role: 'viewer',
    name: 'listContacts',
    summary: 'List contacts',
    description: 'A contact must match every filter. For a filter with several values, one match is enough.',
    query: { ...filters, ...paging },
    answers: { 200: { page: 'Contact' } },
    errors: ['not_found'],
    large: true,
    call: async ({ client, query }) => listingJson(await client.contacts.listJson(query)),
  },
  {
    method: 'GET',
    path: '/contacts/:contactId',
    role: 'viewer',
    name: 'getContact',
    summary: 'One contact, with tags, lists and topics',
    answers: { 200: { record: 'Contact', description: 'The contact.' } },
    call: async ({ client, params }) => okJson(await client.contacts.getJson(params.contactId)),
  },
  {
    method: 'POST',
    path: '/lists/:listId/contacts',
    role: 'member',
    name: 'addContactToList',
    summary: 'Create or match a contact, and add it to a list',
    description:
      'Tags are added, and attributes are merged by key. An unsubscribed contact stays unsubscribed. A list with double opt-in asks the contact to confirm, at most once in 10 minutes, and the answer has `pending_lists`.',
    body: 'ContactInput',
    answers: {
      200: {
        record: 'AddedContact',
        description: 'The contact existed already. The answer shows it after the change.',
      },
      201: { record: 'AddedContact', description: 'The contact was created.' },
    },
    call: async ({ client, params, body }) => {
      const { contact, created: isNew, ...pending } = await client.contacts.addToList(params.listId, body)
      const shown = { ...withoutTopics(contact), ...pending }
      return isNew ? created(shown) : ok(shown)
    },
  },
  {
    method: 'PUT',
    path: '/contacts/:contactId',
    role: 'member',
    name: 'updateContact',
    summary: 'Update a contact',
    description: 'Absent fields stay unchanged. `tags` replaces all tags, and attributes are merged by key.',
    body: 'ContactChange',
    answers: { 200: { record: 'ContactWithoutTopics', description: 'The contact after the change.' } },
    call: async ({ client, params, body }) => ok(withoutTopics(await client.contacts.update(params.contactId, body))),
  },
  {
    method: 'POST',
    path: '/contacts/:contactId/unsubscribe',
    role: 'member',
    name: 'unsubscribeContact',
    summary: 'Unsubscribe a contact',
    description:
      'The contact receives no further mails. Repeating the request keeps the first time and raises no event.',
    answers: { 200: { record: 'Contact', description: 'The contact after the change.' } },
    call: async ({ client, params }) => ok(await client.contacts.unsubscribe(params.contactId)),
  },
  {
    method: 'DELETE',
    path: '/lists/:listId/contacts/:contactId',
    role: 'member',
    name: 'removeContactFromList',
    summary: 'Remove a contact from a list',
    description:
      'Also removes the contact from the list’s topics. The contact itself stays. It is no error if it was not on the list.',
    answers: { 200: { record: 'ContactWithoutTopics', description: 'The contact, with its remaining lists.' } },
    call: async ({ client, params: { listId, contactId } }) =>
      ok(withoutTopics(await client.contacts.removeFromList(listId, contactId))),
  },
]

/** Beyond the contract. */
export const contactExtensions: readonly Route[] = [
  {
    method: 'GET',
    path: '/contacts/count',
    role: 'viewer',
    name: 'countContacts',
    summary: 'Count contacts',
    description: 'Counts the contacts of the listing with the same filters.',
    query: filters,
    answers: { 200: { record: 'ContactCount', description: 'The number of contacts.' } },
    errors: ['not_found'],
    large: true,
    call: async ({ client, query }) => ok({ count: await client.contacts.count(query) }),
  },
  {
    method: 'GET',
    path: '/contacts/export',
    role: 'viewer',
    name: 'exportContacts',
    summary: 'Export contacts as a file',
    description:
      'Has the same contacts as the listing with the same filters. An error during the export cuts the file off. In CSV, attributes are JSON, and tags, lists and topics are names.',
    query: {
      ...filters,
      format: {
        description: 'Default: CSV if `Accept` names it and not NDJSON, otherwise NDJSON.',
        schema: { type: 'string', enum: Object.keys(mediaTypes) },
      },
      raw: {
        description:
          'Whether cells of CSV that begin with `=`, `+`, `-`, `@` or a tab stay as they are. Otherwise they get a leading apostrophe, which the import removes.',
        schema: { type: 'boolean', default: false },
      },
    },
    answers: { 200: { isFile: true, description: 'One contact per line.' } },
    errors: ['not_found'],
    large: true,
    call: async ({ client, query, accept }) => exported(client.contacts, query, accept),
  },
  {
    method: 'DELETE',
    path: '/contacts/:contactId',
    role: 'member',
    name: 'eraseContact',
    summary: 'Erase a contact and every stored copy of its data',
    query: {
      suppress: {
        description:
          'Whether to leave a keyed hash of the address, so that it cannot be stored again. `1` and `0` are accepted too.',
        schema: { type: 'boolean', default: false },
      },
    },
    answers: { 204: deleted },
    call: ({ client, params, query }) => noContent(client.contacts.delete(params.contactId, query)),
  },
  {
    method: 'POST',
    path: '/contacts/:contactId/resubscribe',
    role: 'member',
    name: 'resubscribeContact',
    summary: 'Subscribe a contact again',
    answers: { 200: { record: 'Contact', description: 'The contact after the change.' } },
    call: async ({ client, params }) => ok(await client.contacts.resubscribe(params.contactId)),
  },
  {
    method: 'PUT',
    path: '/contacts/:contactId/topics/:topicId',
    role: 'member',
    name: 'subscribeContactToTopic',
    summary: 'Subscribe a contact to a topic',
    description: 'The contact must be on the topic’s list.',
    refused: { topic_id: ["The contact is not on this topic's list."] },
    answers: { 200: { record: 'Contact', description: 'The contact after the change.' } },
    call: async ({ client, params: { contactId, topicId } }) =>
      ok(await client.contacts.subscribeToTopic(contactId, topicId)),
  },
  {
    method: 'DELETE',
    path: '/contacts/:contactId/topics/:topicId',
    role: 'member',
    name: 'unsubscribeContactFromTopic',
    summary: 'Unsubscribe a contact from a topic',
    answers: { 200: { record: 'Contact', description: 'The contact after the change.' } },
    call: async ({ client, params: { contactId, topicId } }) =>
      ok(await client.contacts.unsubscribeFromTopic(contactId, topicId)),
  },
]

/** Removes `topics`. The answers to create, update and remove-from-list do not have it. */
function withoutTopics({ topics: _, ...contact }: Contact): Omit<Contact, 'topics'> {
  return contact
}
