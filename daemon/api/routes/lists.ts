import { counts, created, deleted, listing, noContent, ok, paging, type Route } from './route.ts'

/** Beyond the contract, which has lists only inside contacts. */
export const listExtensions: readonly Route[] = [
  {
    method: 'GET',
    path: '/lists',
    role: 'viewer',
    name: 'listLists',
    summary: 'List lists',
    query: { ...paging, ...counts },
    answers: { 200: { page: 'CountedList' } },
    large: 'counts',
    call: async ({ client, query }) => listing(await client.lists.list(query)),
  },
  {
    method: 'POST',
    path: '/lists',
    role: 'member',
    name: 'createList',
    summary: 'Create a list',
    body: 'ListInput',
    answers: { 201: { record: 'ManagedList', description: 'The list was created.' } },
    call: async ({ client, body }) => created(await client.lists.create(body)),
  },
  {
    method: 'GET',
    path: '/lists/:listId',
    role: 'viewer',
    name: 'getList',
    summary: 'One list',
    answers: { 200: { record: 'ManagedList', description: 'The list.' } },
    call: async ({ client, params }) => ok(await client.lists.get(params.listId)),
  },
  {
    method: 'PATCH',
    path: '/lists/:listId',
    role: 'member',
    name: 'updateList',
    summary: 'Change a list',
    description: 'Absent fields stay unchanged. Members and requests to join stay as they are.',
    body: 'ListChange',
    answers: { 200: { record: 'ManagedList', description: 'The list after the change.' } },
    call: async ({ client, params, body }) => ok(await client.lists.update(params.listId, body)),
  },
  {
    method: 'DELETE',
    path: '/lists/:listId',
    role: 'member',
    name: 'deleteList',
    summary: 'Delete a list',
    description:
      'Also deletes its memberships and topics. The contacts stay. Refused with `conflict` while the recipients of a newsletter that excludes the list are chosen.',
    answers: { 204: deleted },
    errors: ['conflict'],
    call: ({ client, params }) => noContent(client.lists.delete(params.listId)),
  },
]
