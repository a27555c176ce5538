import { counts, created, deleted, listing, noContent, ok, paging, type Route } from './route.ts'

export const tags: readonly Route[] = [
  {
    method: 'GET',
    path: '/tags',
    role: 'viewer',
    name: 'listTags',
    summary: 'List tags',
    query: { ...paging, ...counts },
    answers: { 200: { page: 'CountedTag' } },
    large: 'counts',
    call: async ({ client, query }) => listing(await client.tags.list(query)),
  },
  {
    method: 'POST',
    path: '/tags',
    role: 'member',
    name: 'createTag',
    summary: 'Create a tag',
    body: 'TagInput',
    answers: { 201: { record: 'Tag', description: 'The tag was created.' } },
    call: async ({ client, body }) => created(await client.tags.create(body)),
  },
  {
    method: 'PATCH',
    path: '/tags/:tagId',
    role: 'member',
    name: 'updateTag',
    summary: 'Rename a tag',
    body: 'TagInput',
    answers: { 200: { record: 'Tag', description: 'The tag was renamed.' } },
    call: async ({ client, params, body }) => ok(await client.tags.update(params.tagId, body)),
  },
  {
    method: 'DELETE',
    path: '/tags/:tagId',
    role: 'member',
    name: 'deleteTag',
    summary: 'Delete a tag',
    description:
      'Also removes the tag from its contacts. Refused with `conflict` while the recipients of a newsletter with the tag in its audience are chosen.',
    answers: { 204: deleted },
    errors: ['conflict'],
    call: ({ client, params }) => noContent(client.tags.delete(params.tagId)),
  },
]
