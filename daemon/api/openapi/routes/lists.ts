import { body, noContent, page, paging, single } from '../answers.ts'
import type { RouteDocs } from '../operation.ts'

export const listExtensions: RouteDocs = {
  'GET /lists': { name: 'listLists', summary: 'List lists', query: paging, answers: { 200: page('List', '/lists') } },
  'POST /lists': {
    name: 'createList',
    summary: 'Create a list',
    body: body('ListInput'),
    answers: { 201: single('List', 'The list was created.') },
  },
  'GET /lists/:listId': { name: 'getList', summary: 'One list', answers: { 200: single('List', 'The list.') } },
  'PATCH /lists/:listId': {
    name: 'updateList',
    summary: 'Rename a list',
    body: body('ListInput'),
    answers: { 200: single('List', 'The list was renamed.') },
  },
  'DELETE /lists/:listId': {
    name: 'deleteList',
    summary: 'Delete a list',
    description: 'Also deletes its memberships and topics. The contacts stay.',
    answers: { 204: noContent },
  },
}
