import { body, noContent, page, paging, single } from '../answers.ts'
import type { RouteDocs } from '../operation.ts'

export const tags: RouteDocs = {
  'GET /tags': { name: 'listTags', summary: 'List tags', query: paging, answers: { 200: page('Tag', '/tags') } },
  'POST /tags': {
    name: 'createTag',
    summary: 'Create a tag',
    body: body('TagInput'),
    answers: { 201: single('Tag', 'The tag was created.') },
  },
  'PATCH /tags/:tagId': {
    name: 'updateTag',
    summary: 'Rename a tag',
    body: body('TagInput'),
    answers: { 200: single('Tag', 'The tag was renamed.') },
  },
  'DELETE /tags/:tagId': {
    name: 'deleteTag',
    summary: 'Delete a tag',
    description: 'Also removes the tag from its contacts.',
    answers: { 204: noContent },
  },
}
