import { counts, created, deleted, listing, noContent, ok, paging, type Route } from './route.ts'

/** Beyond the contract, which has topics only inside contacts. */
export const topicExtensions: readonly Route[] = [
  {
    method: 'GET',
    path: '/lists/:listId/topics',
    role: 'viewer',
    name: 'listTopics',
    summary: 'List the topics of a list',
    query: { ...paging, ...counts },
    answers: { 200: { page: 'CountedTopic' } },
    large: 'counts',
    call: async ({ client, params, query }) => listing(await client.topics.list(params.listId, query)),
  },
  {
    method: 'POST',
    path: '/lists/:listId/topics',
    role: 'member',
    name: 'createTopic',
    summary: 'Create a topic',
    body: 'TopicInput',
    answers: { 201: { record: 'Topic', description: 'The topic was created.' } },
    call: async ({ client, params, body }) => created(await client.topics.create(params.listId, body)),
  },
  {
    method: 'PATCH',
    path: '/topics/:topicId',
    role: 'member',
    name: 'updateTopic',
    summary: 'Change the name or description of a topic',
    description: 'Absent fields stay unchanged.',
    body: 'TopicChange',
    answers: { 200: { record: 'Topic', description: 'The topic after the change.' } },
    call: async ({ client, params, body }) => ok(await client.topics.update(params.topicId, body)),
  },
  {
    method: 'DELETE',
    path: '/topics/:topicId',
    role: 'member',
    name: 'deleteTopic',
    summary: 'Delete a topic',
    description: 'Also removes the subscriptions to it.',
    answers: { 204: deleted },
    call: ({ client, params }) => noContent(client.topics.delete(params.topicId)),
  },
]
