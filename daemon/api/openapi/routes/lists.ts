import { body, gone, one, page, place } from '../answers.ts'
import type { DescribedRoutes } from '../operation.ts'

export const listExtensions: DescribedRoutes = {
  'GET /lists': { name: 'listLists', summary: 'List lists', query: place, answers: { 200: page('List', '/lists') } },
  'POST /lists': {
    name: 'createList',
    summary: 'Create a list',
    body: body('ListInput'),
    answers: { 201: one('List', 'Created.') },
  },
  'GET /lists/:listId': { name: 'getList', summary: 'One list', answers: { 200: one('List', 'The list.') } },
  'PATCH /lists/:listId': {
    name: 'updateList',
    summary: 'Rename a list',
    body: body('ListInput'),
    answers: { 200: one('List', 'Renamed.') },
  },
  'DELETE /lists/:listId': {
    name: 'deleteList',
    summary: 'Delete a list',
    description: 'Memberships and topics go with it, contacts stay.',
    answers: { 204: gone },
  },
}
