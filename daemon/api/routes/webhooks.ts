import { eventTypes } from '../../../lib/index.ts'
import { deliveryStatuses } from '../../../lib/internal.ts'
import { accepted, created, deleted, listing, noContent, ok, paging, type QueryDoc, type Route } from './route.ts'

/** Filters of the listings of deliveries. */
const deliveryFilters: QueryDoc = {
  status: { description: 'Only deliveries in this state.', schema: { type: 'string', enum: deliveryStatuses } },
  event_type: { description: 'Only deliveries of this event type.', schema: { type: 'string', enum: eventTypes } },
  since: {
    description: 'Only deliveries that were created then or later. ISO 8601 with an offset.',
    schema: { type: 'string' },
    example: '2026-01-02T03:04:05Z',
  },
}

/** All webhook routes require the role admin. */
export const webhooks: readonly Route[] = [
  {
    method: 'GET',
    path: '/webhook-endpoints',
    role: 'admin',
    inPortal: true,
    name: 'listEndpoints',
    summary: 'List webhook endpoints',
    description: 'Secrets are never included.',
    query: paging,
    answers: { 200: { page: 'Endpoint' } },
    call: async ({ client, query }) => listing(await client.webhooks.listEndpoints(query)),
  },
  {
    method: 'POST',
    path: '/webhook-endpoints',
    role: 'admin',
    inPortal: true,
    name: 'createEndpoint',
    summary: 'Register a webhook endpoint',
    description: 'Only this answer contains the signing secret.',
    body: 'EndpointInput',
    answers: { 201: { record: 'NewEndpoint', description: 'The endpoint was registered.' } },
    key: 'none',
    call: async ({ client, body }) => {
      const { id, uuid, url, events, active, secret } = await client.webhooks.createEndpoint(body)
      return created({ id, uuid, url, events, active, secret })
    },
  },
  {
    method: 'PATCH',
    path: '/webhook-endpoints/:endpointId',
    role: 'admin',
    inPortal: true,
    name: 'updateEndpoint',
    summary: 'Switch an endpoint on or off, or change its description',
    description:
      'Switching off puts pending deliveries on hold. Switching on resets the count of failures; it sends nothing. The URL and events cannot be changed: delete the endpoint and create another.',
    body: 'EndpointChange',
    answers: { 200: { record: 'ChangedEndpoint', description: 'The endpoint after the change.' } },
    call: async ({ client, params, body }) => {
      const { id, active } = await client.webhooks.updateEndpoint(params.endpointId, body)
      return ok({ id, active })
    },
  },
  {
    method: 'DELETE',
    path: '/webhook-endpoints/:endpointId',
    role: 'admin',
    inPortal: true,
    name: 'deleteEndpoint',
    summary: 'Delete an endpoint with its deliveries',
    description: 'A delivery in flight is aborted.',
    answers: { 204: deleted },
    call: ({ client, params }) => noContent(client.webhooks.deleteEndpoint(params.endpointId)),
  },
  {
    method: 'GET',
    path: '/webhook-endpoints/:endpointId/deliveries',
    role: 'admin',
    inPortal: true,
    name: 'listDeliveries',
    summary: 'List the deliveries of an endpoint, newest first',
    query: { ...paging, ...deliveryFilters },
    answers: { 200: { page: 'Delivery' } },
    metaPath: 'none',
    call: async ({ client, params, query }) => listing(await client.webhooks.listDeliveries(params.endpointId, query)),
  },
  {
    method: 'POST',
    path: '/webhook-endpoints/:endpointId/test',
    role: 'admin',
    inPortal: true,
    name: 'testEndpoint',
    summary: 'Send a sample delivery',
    description: 'The number per minute is limited for each client. Answers 422 for an endpoint that is switched off.',
    answers: { 202: { record: 'QueuedTest', description: 'The delivery was queued.' } },
    errors: ['rate_limited'],
    refused: { active: ['The endpoint is switched off: switch it on before testing it.'] },
    call: async ({ client, params }) => {
      const { id, event_type, status } = await client.webhooks.testEndpoint(params.endpointId)
      return accepted({ id, event_type, status })
    },
  },
  {
    method: 'POST',
    path: '/webhook-endpoints/:endpointId/secret',
    role: 'admin',
    inPortal: true,
    name: 'rotateSecret',
    summary: 'Replace the signing secret of an endpoint',
    description:
      'Only this answer contains the new secret. All later attempts are signed with it. With `overlap_hours`, `webhook-signature` also has a signature of the previous secret for that time.',
    body: 'RotationInput',
    answers: { 200: { record: 'NewSecret', description: 'The new secret.' } },
    key: 'none',
    call: async ({ client, params, body }) => {
      const { id, secret } = await client.webhooks.rotateSecret(params.endpointId, body)
      return ok({ id, secret })
    },
  },
]

/** Beyond the contract. */
export const webhookExtensions: readonly Route[] = [
  {
    method: 'GET',
    path: '/deliveries',
    role: 'admin',
    inPortal: true,
    name: 'listAllDeliveries',
    summary: 'List the deliveries to all endpoints, newest first',
    query: { ...paging, ...deliveryFilters },
    answers: { 200: { page: 'EndpointDelivery' } },
    call: async ({ client, query }) => listing(await client.webhooks.listAllDeliveries(query)),
  },
  {
    method: 'GET',
    path: '/webhook-endpoints/:endpointId',
    role: 'admin',
    inPortal: true,
    name: 'getEndpoint',
    summary: 'One endpoint',
    answers: { 200: { record: 'Endpoint', description: 'The endpoint.' } },
    call: async ({ client, params }) => ok(await client.webhooks.getEndpoint(params.endpointId)),
  },
  {
    method: 'GET',
    path: '/webhook-endpoints/:endpointId/deliveries/:deliveryId',
    role: 'admin',
    inPortal: true,
    name: 'getDelivery',
    summary: 'One delivery, with its payload and the log of its attempts',
    answers: { 200: { record: 'DeliveryDetail', description: 'The delivery.' } },
    call: async ({ client, params }) => ok(await client.webhooks.getDelivery(params.endpointId, params.deliveryId)),
  },
  {
    method: 'POST',
    path: '/webhook-endpoints/:endpointId/deliveries/:deliveryId/redeliver',
    role: 'admin',
    inPortal: true,
    name: 'redeliver',
    summary: 'Send a delivery again',
    description:
      'Makes one attempt now. If it fails, the retry schedule starts again. A pending delivery becomes due now. If an attempt is running, the next one follows it, unless the running one succeeds, gets a 410 or is refused. Answers 422 for an endpoint that is switched off or an erased payload.',
    answers: { 202: { record: 'Delivery', description: 'The delivery was queued.' } },
    refused: { active: ['The endpoint is switched off: switch it on before redelivering.'] },
    call: async ({ client, params }) => accepted(await client.webhooks.redeliver(params.endpointId, params.deliveryId)),
  },
  {
    method: 'POST',
    path: '/webhook-endpoints/:endpointId/recover',
    role: 'admin',
    inPortal: true,
    name: 'recoverEndpoint',
    summary: 'Queue all failed and held deliveries since a time again',
    description: 'Runs as a background job. Answers 422 for an endpoint that is switched off.',
    body: 'RecoverInput',
    answers: { 202: { record: 'Recovery', description: 'The recovery has started.' } },
    call: async ({ client, params, body }) => accepted(await client.webhooks.recover(params.endpointId, body)),
  },
  {
    method: 'GET',
    path: '/webhook-endpoints/:endpointId/recoveries/:recoveryId',
    role: 'admin',
    inPortal: true,
    name: 'getRecovery',
    summary: 'Progress of a recovery',
    answers: { 200: { record: 'Recovery', description: 'The recovery.' } },
    call: async ({ client, params }) => ok(await client.webhooks.getRecovery(params.endpointId, params.recoveryId)),
  },
]
