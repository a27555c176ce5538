import type { Scenario } from '../support/scenarios.ts'

/** Settings, tokens, statistics and the audit log. */
export const settings: readonly Scenario[] = [
  {
    name: 'declares attributes to filter by',
    request: 'PUT /settings/attributes',
    body: { indexed: ['company'] },
    status: 200,
    data: { indexed: ['company'] },
  },
  {
    name: 'shows the declared attributes',
    request: 'GET /settings/attributes',
    status: 200,
    data: { indexed: ['company'] },
  },
  {
    name: 'refuses an attribute that every contact has',
    request: 'PUT /settings/attributes',
    body: { indexed: ['email'] },
    status: 422,
    refused: ['indexed.0'],
  },
  {
    name: 'changes how pages for contacts look',
    request: 'PUT /settings/pages',
    body: { name: 'Acme' },
    status: 200,
    data: { name: 'Acme' },
  },
  { name: 'shows how pages look', request: 'GET /settings/pages', status: 200, data: { name: 'Acme' } },
  {
    name: 'creates a token, and shows it once',
    request: 'POST /tokens',
    body: { name: 'CRM', role: 'member' },
    status: 201,
    data: { token: /^mk_/, role: 'member' },
    keep: 'crmId',
  },
  {
    name: 'lists tokens without their secret',
    request: 'GET /tokens',
    status: 200,
    data: [{}, {}, {}, { id: ':tokenId' }, { id: ':crmId', token: undefined }],
  },
  { name: 'shows the token of the request', request: 'GET /tokens/current', status: 200, data: { role: 'admin' } },
  { name: 'revokes a token', request: 'DELETE /tokens/:tokenId', status: 204 },
  { name: 'knows no revoked token', request: 'DELETE /tokens/:tokenId', status: 404 },
  { name: 'counts the contacts gained and lost', request: 'GET /stats/contacts', status: 200 },
  { name: 'counts the outcomes of deliveries', request: 'GET /stats/deliveries', query: 'step=day', status: 200 },
  {
    name: 'refuses a step that does not exist',
    request: 'GET /stats/contacts',
    query: 'step=year',
    status: 422,
    refused: ['step'],
  },
  {
    name: 'shows who changed what, newest first',
    request: 'GET /audit-log',
    query: 'per_page=2',
    status: 200,
    data: [{ type: 'token.revoked' }, { type: 'token.created' }],
  },
]
