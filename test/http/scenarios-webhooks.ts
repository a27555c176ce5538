import type { Scenario } from '../support/scenarios.ts'

const endpoint = { url: 'http://127.0.0.1:9/hook', events: ['newsletter.sent', 'newsletter.sent'] }
const sent = { type: 'newsletter.sent', data: { subject: 'News' } }

/** Webhook endpoints, deliveries and events. */
export const webhooks: readonly Scenario[] = [
  {
    name: 'creates an endpoint with a secret, and drops repeated events',
    request: 'POST /webhook-endpoints',
    body: endpoint,
    status: 201,
    data: { events: ['newsletter.sent'], secret: /^whsec_/ },
    keep: 'hookId',
  },
  {
    name: 'refuses an address that is none',
    request: 'POST /webhook-endpoints',
    body: { ...endpoint, url: 'ftp://example.org/' },
    status: 422,
    refused: ['url'],
  },
  {
    name: 'refuses an endpoint without events',
    request: 'POST /webhook-endpoints',
    body: { url: endpoint.url, events: [] },
    status: 422,
    refused: ['events'],
  },
  {
    name: 'shows an endpoint without its secret',
    request: 'GET /webhook-endpoints/:hookId',
    status: 200,
    data: { active: true, secret: undefined, disabled_reason: null, consecutive_failures: 0 },
  },
  {
    name: 'lists the endpoints',
    request: 'GET /webhook-endpoints',
    status: 200,
    data: [{ id: ':endpointId', disabled_reason: 'manual' }, {}, { id: ':hookId' }],
  },
  { name: 'raises an event', request: 'POST /events', body: sent, status: 202, events: ['newsletter.sent'] },
  {
    name: 'refuses the events of contacts',
    request: 'POST /events',
    body: { type: 'contact.subscribed', data: {} },
    status: 422,
    refused: ['type'],
  },
  {
    name: 'raises several events',
    request: 'POST /events/batch',
    body: { events: [sent, { type: 'sequence.completed', data: {} }] },
    status: 202,
    events: ['newsletter.sent', 'sequence.completed'],
  },
  {
    name: 'sends a test to its endpoint only',
    request: 'POST /webhook-endpoints/:hookId/test',
    status: 202,
    data: { event_type: 'webhook.test', status: 'pending' },
    keep: 'testId',
  },
  {
    name: 'lists the deliveries of an endpoint, newest first',
    request: 'GET /webhook-endpoints/:hookId/deliveries',
    status: 200,
    data: [{ id: ':testId' }, { event_type: 'newsletter.sent', status: 'pending' }, { event_type: 'newsletter.sent' }],
  },
  {
    name: 'shows a delivery with its payload',
    request: 'GET /webhook-endpoints/:hookId/deliveries/:testId',
    status: 200,
    data: { status: 'pending', attempts: 0, payload: { type: 'webhook.test' } },
  },
  {
    name: 'makes a pending delivery due now',
    request: 'POST /webhook-endpoints/:hookId/deliveries/:testId/redeliver',
    status: 202,
    data: { id: ':testId', status: 'pending' },
  },
  {
    name: 'lists the deliveries of all endpoints',
    request: 'GET /deliveries',
    query: 'status=pending',
    status: 200,
    data: [{ id: ':testId' }, {}, {}],
  },
  {
    name: 'replaces the secret',
    request: 'POST /webhook-endpoints/:hookId/secret',
    status: 200,
    data: { id: ':hookId', secret: /^whsec_/ },
  },
  {
    name: 'switches an endpoint off',
    request: 'PATCH /webhook-endpoints/:hookId',
    body: { active: false },
    status: 200,
    data: { active: false },
  },
  {
    name: 'shows its deliveries as held',
    request: 'GET /webhook-endpoints/:hookId/deliveries/:testId',
    status: 200,
    data: { status: 'held' },
  },
  { name: 'tests no inactive endpoint', request: 'POST /webhook-endpoints/:hookId/test', status: 422 },
  {
    name: 'delivers nothing again to an inactive endpoint',
    request: 'POST /webhook-endpoints/:hookId/deliveries/:testId/redeliver',
    status: 422,
  },
  {
    name: 'recovers nothing of an inactive endpoint',
    request: 'POST /webhook-endpoints/:hookId/recover',
    body: { since: '2020-01-01T00:00:00Z' },
    status: 422,
  },
  {
    name: 'switches it on, which sends nothing by itself',
    request: 'PATCH /webhook-endpoints/:hookId',
    body: { active: true },
    status: 200,
    data: { active: true },
  },
  {
    name: 'queues again what was held',
    request: 'POST /webhook-endpoints/:hookId/recover',
    body: { since: '2020-01-01T00:00:00Z' },
    status: 202,
    data: { total: 3 },
    keep: 'newRecoveryId',
  },
  {
    name: 'shows the progress of a recovery',
    request: 'GET /webhook-endpoints/:endpointId/recoveries/:recoveryId',
    status: 200,
    data: { id: ':recoveryId', total: 0, done: 0 },
  },
  { name: 'counts outcomes', request: 'GET /stats/deliveries', status: 200 },
  { name: 'deletes an endpoint with its deliveries', request: 'DELETE /webhook-endpoints/:hookId', status: 204 },
  { name: 'knows no deleted endpoint', request: 'GET /webhook-endpoints/:hookId', status: 404 },
]
