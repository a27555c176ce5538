import { body, noContent, page, paging, single } from '../answers.ts'
import type { DescribedRoutes } from '../operation.ts'

export const tags: DescribedRoutes = {
  'GET /tags': { name: 'listTags', summary: 'List tags', query: paging, answers: { 200: page('Tag', '/tags') } },
  'POST /tags': {
    name: 'createTag',
    summary: 'Create a tag',
    body: body('TagInput'),
    answers: { 201: single('Tag', 'Created.') },
  },
  'PATCH /tags/:tagId': {
    name: 'updateTag',
    summary: 'Rename a tag',
    body: body('TagInput'),
    answers: { 200: single('Tag', 'Renamed.') },
  },
  'DELETE /tags/:tagId': {
    name: 'deleteTag',
    summary: 'Delete a tag',
    description: 'Its contacts lose it at once.',
    answers: { 204: noContent },
  },
}
