import { body, noContent, optionalBody, page, paging, single } from '../answers.ts'
import type { RouteDocs } from '../operation.ts'

export const webhooks: RouteDocs = {
  'GET /webhook-endpoints': {
    name: 'listEndpoints',
    summary: 'List webhook endpoints',
    description: 'Secrets are never included.',
    query: paging,
    answers: { 200: page('Endpoint', '/webhook-endpoints') },
  },
  'POST /webhook-endpoints': {
    name: 'createEndpoint',
    summary: 'Register a webhook endpoint',
    description: 'Only this answer contains the signing secret.',
    body: body('EndpointInput'),
    answers: { 201: single('NewEndpoint', 'The endpoint was registered.') },
  },
  'PATCH /webhook-endpoints/:endpointId': {
    name: 'updateEndpoint',
    summary: 'Switch an endpoint on or off, or change its description',
    description:
      'Switching off puts pending deliveries on hold. Switching on resets the count of failures; it sends nothing. The URL and events cannot be changed: delete the endpoint and create another.',
    body: optionalBody('EndpointChange'),
    answers: { 200: single('ChangedEndpoint', 'The endpoint after the change.') },
  },
  'DELETE /webhook-endpoints/:endpointId': {
    name: 'deleteEndpoint',
    summary: 'Delete an endpoint with its deliveries',
    description: 'A delivery in flight is aborted.',
    answers: { 204: noContent },
  },
  'GET /webhook-endpoints/:endpointId/deliveries': {
    name: 'listDeliveries',
    summary: 'List the deliveries of an endpoint, newest first',
    query: paging,
    answers: { 200: page('Delivery', undefined) },
  },
  'POST /webhook-endpoints/:endpointId/test': {
    name: 'testEndpoint',
    summary: 'Send a sample delivery',
    description: 'The number per minute is limited for each client. Answers 422 for an inactive endpoint.',
    answers: { 202: single('QueuedTest', 'The delivery was queued.') },
    errors: ['rate_limited'],
    refused: { active: ['The endpoint is inactive: switch it on before testing it.'] },
  },
  'POST /webhook-endpoints/:endpointId/secret': {
    name: 'rotateSecret',
    summary: 'Replace the signing secret of an endpoint',
    description: 'Only this answer contains the new secret. All later attempts are signed with it.',
    answers: { 200: single('NewSecret', 'The new secret.') },
  },
}

export const webhookExtensions: RouteDocs = {
  'GET /webhook-endpoints/:endpointId': {
    name: 'getEndpoint',
    summary: 'One endpoint',
    answers: { 200: single('Endpoint', 'The endpoint.') },
  },
  'GET /webhook-endpoints/:endpointId/deliveries/:deliveryId': {
    name: 'getDelivery',
    summary: 'One delivery, with its payload and the log of its attempts',
    answers: { 200: single('DeliveryDetail', 'The delivery.') },
  },
  'POST /webhook-endpoints/:endpointId/deliveries/:deliveryId/redeliver': {
    name: 'redeliver',
    summary: 'Send a delivery again',
    description:
      'Makes one attempt now. If it fails, the retry schedule starts again. A pending delivery becomes due now. Answers 422 for an inactive endpoint or an erased payload.',
    answers: { 202: single('Delivery', 'The delivery was queued.') },
    refused: { active: ['The endpoint is inactive: switch it on before redelivering.'] },
  },
  'POST /webhook-endpoints/:endpointId/recover': {
    name: 'recoverEndpoint',
    summary: 'Queue all failed and held deliveries since a time again',
    description: 'Runs as a background job. Answers 422 for an inactive endpoint.',
    body: body('RecoverInput'),
    answers: { 202: single('Recovery', 'The recovery has started.') },
  },
  'GET /webhook-endpoints/:endpointId/recoveries/:recoveryId': {
    name: 'getRecovery',
    summary: 'Progress of a recovery',
    answers: { 200: single('Recovery', 'The recovery.') },
  },
}
