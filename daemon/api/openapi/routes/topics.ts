import { body, noContent, optionalBody, page, paging, single } from '../answers.ts'
import type { DescribedRoutes } from '../operation.ts'

export const topicExtensions: DescribedRoutes = {
  'GET /lists/:listId/topics': {
    name: 'listTopics',
    summary: 'List the topics of a list',
    query: paging,
    answers: { 200: page('Topic', '/lists/1/topics') },
  },
  'POST /lists/:listId/topics': {
    name: 'createTopic',
    summary: 'Create a topic',
    body: body('TopicInput'),
    answers: { 201: single('Topic', 'Created.') },
  },
  'PATCH /topics/:topicId': {
    name: 'updateTopic',
    summary: 'Rename or redescribe a topic',
    description: 'What is absent stays.',
    body: optionalBody('TopicChange'),
    answers: { 200: single('Topic', 'As it is now.') },
  },
  'DELETE /topics/:topicId': {
    name: 'deleteTopic',
    summary: 'Delete a topic',
    description: 'Its subscribers lose it at once.',
    answers: { 204: noContent },
  },
}
