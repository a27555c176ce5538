import { body, noContent, optionalBody, page, paging, single } from '../answers.ts'
import type { RouteDocs } from '../operation.ts'

export const topicExtensions: RouteDocs = {
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
    answers: { 201: single('Topic', 'The topic was created.') },
  },
  'PATCH /topics/:topicId': {
    name: 'updateTopic',
    summary: 'Change the name or description of a topic',
    description: 'Absent fields stay unchanged.',
    body: optionalBody('TopicChange'),
    answers: { 200: single('Topic', 'The topic after the change.') },
  },
  'DELETE /topics/:topicId': {
    name: 'deleteTopic',
    summary: 'Delete a topic',
    description: 'Also removes the subscriptions to it.',
    answers: { 204: noContent },
  },
}
