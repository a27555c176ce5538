import { created, listing, noContent, ok, type Route } from './route.ts'

/** Beyond the contract, which has lists only inside contacts. */
export const listExtensions: readonly Route[] = [
  {
    method: 'GET',
    path: '/lists',
    role: 'member',
    hasQuery: true,
    call: async ({ client, query }) => listing(await client.lists.list(query)),
  },
  {
    method: 'POST',
    path: '/lists',
    role: 'member',
    call: async ({ client, body }) => created(await client.lists.create(body)),
  },
  {
    method: 'GET',
    path: '/lists/:listId',
    role: 'member',
    call: async ({ client, params }) => ok(await client.lists.get(params.listId)),
  },
  {
    method: 'PATCH',
    path: '/lists/:listId',
    role: 'member',
    call: async ({ client, params, body }) => ok(await client.lists.update(params.listId, body)),
  },
  {
    method: 'DELETE',
    path: '/lists/:listId',
    role: 'member',
    call: async ({ client, params }) => {
      await client.lists.delete(params.listId)
      return noContent
    },
  },
]
