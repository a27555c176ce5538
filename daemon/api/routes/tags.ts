import { created, listing, noContent, ok, type Route } from './route.ts'

export const tags: readonly Route[] = [
  {
    method: 'GET',
    path: '/tags',
    role: 'member',
    hasQuery: true,
    call: async ({ client, query }) => listing(await client.tags.list(query)),
  },
  {
    method: 'POST',
    path: '/tags',
    role: 'member',
    call: async ({ client, body }) => created(await client.tags.create(body)),
  },
  {
    method: 'PATCH',
    path: '/tags/:tagId',
    role: 'member',
    call: async ({ client, params, body }) => ok(await client.tags.update(params.tagId, body)),
  },
  {
    method: 'DELETE',
    path: '/tags/:tagId',
    role: 'member',
    call: async ({ client, params }) => {
      await client.tags.delete(params.tagId)
      return noContent
    },
  },
]
