import { created, listing, noContent, ok, type Route } from './route.ts'

/** Beyond the contract, which has topics only inside contacts. */
export const topicExtensions: readonly Route[] = [
  {
    method: 'GET',
    path: '/lists/:listId/topics',
    role: 'member',
    hasQuery: true,
    call: async ({ client, params, query }) => listing(await client.topics.list(params.listId, query)),
  },
  {
    method: 'POST',
    path: '/lists/:listId/topics',
    role: 'member',
    call: async ({ client, params, body }) => created(await client.topics.create(params.listId, body)),
  },
  {
    method: 'PATCH',
    path: '/topics/:topicId',
    role: 'member',
    call: async ({ client, params, body }) => ok(await client.topics.update(params.topicId, body)),
  },
  {
    method: 'DELETE',
    path: '/topics/:topicId',
    role: 'member',
    call: async ({ client, params }) => {
      await client.topics.delete(params.topicId)
      return noContent
    },
  },
]
