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
    data: { name: 'Acme', colour: null, logo_url: null, language: null, texts: {}, postal_address: null },
  },
  { name: 'shows how pages look', request: 'GET /settings/pages', status: 200, data: { name: 'Acme' } },
  {
    name: 'creates a token, and shows it once',
    request: 'POST /tokens',
    body: { name: 'CRM', role: 'member' },
    status: 201,
    data: { token: /^mk_[\w-]{40,}$/, name: 'CRM', role: 'member', expires_at: null, last_used_at: null },
    keep: 'crmId',
  },
  {
    name: 'lists tokens without their secret',
    request: 'GET /tokens',
    status: 200,
    data: [
      { role: 'admin' },
      { role: 'member' },
      { role: 'viewer' },
      { id: ':tokenId' },
      { id: ':crmId', name: 'CRM' },
    ],
  },
  {
    name: 'shows the token of the request',
    request: 'GET /tokens/current',
    status: 200,
    data: { role: 'viewer', client_id: 1 },
  },
  { name: 'revokes a token', request: 'DELETE /tokens/:tokenId', status: 204 },
  { name: 'knows no revoked token', request: 'DELETE /tokens/:tokenId', status: 404 },
  {
    name: 'counts the contacts gained and lost',
    request: 'GET /stats/contacts',
    query: 'from=2020-01-01T00:00:00Z&to=2020-01-01T02:00:00Z&step=hour',
    status: 200,
    data: {
      from: '2020-01-01T00:00:00.000000Z',
      to: '2020-01-01T02:00:00.000000Z',
      step: 'hour',
      series: [{ at: '2020-01-01T00:00:00.000000Z', created: 0 }, { at: '2020-01-01T01:00:00.000000Z' }],
    },
  },
  {
    name: 'counts the outcomes of deliveries',
    request: 'GET /stats/deliveries',
    query: 'from=2020-01-01T00:00:00Z&to=2020-01-02T00:00:00Z&step=day',
    status: 200,
    data: { step: 'day', series: [{ at: '2020-01-01T00:00:00+00:00', delivered: 0, failed: 0 }] },
  },
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
    data: [
      { type: 'token.revoked', target_id: ':tokenId', source: 'api' },
      { type: 'token.created', target_id: ':crmId', source: 'api' },
    ],
  },
]
