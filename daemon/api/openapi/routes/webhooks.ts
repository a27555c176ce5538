import { body, noContent, optionalBody, page, paging, single } from '../answers.ts'
import type { DescribedRoutes } from '../operation.ts'

export const webhooks: DescribedRoutes = {
  'GET /webhook-endpoints': {
    name: 'listEndpoints',
    summary: 'List webhook endpoints',
    description: 'Never with their secrets.',
    query: paging,
    answers: { 200: page('Endpoint', '/webhook-endpoints') },
  },
  'POST /webhook-endpoints': {
    name: 'createEndpoint',
    summary: 'Register a webhook endpoint',
    description: 'The answer has the signing secret, this once.',
    body: body('EndpointInput'),
    answers: { 201: single('NewEndpoint', 'Registered.') },
  },
  'PATCH /webhook-endpoints/:endpointId': {
    name: 'updateEndpoint',
    summary: 'Switch an endpoint on or off, or change its description',
    description:
      'Switched off, its pending deliveries are held; switched on, its failures are forgotten, and nothing is sent by that. URL and events stay: delete the endpoint and create another.',
    body: optionalBody('EndpointChange'),
    answers: { 200: single('ChangedEndpoint', 'As it is now.') },
  },
  'DELETE /webhook-endpoints/:endpointId': {
    name: 'deleteEndpoint',
    summary: 'Delete an endpoint with its deliveries',
    description: 'One in flight is aborted.',
    answers: { 204: noContent },
  },
  'GET /webhook-endpoints/:endpointId/deliveries': {
    name: 'listDeliveries',
    summary: 'What was sent to an endpoint, newest first',
    query: paging,
    answers: { 200: page('Delivery', undefined) },
  },
  'POST /webhook-endpoints/:endpointId/test': {
    name: 'testEndpoint',
    summary: 'Send a sample delivery',
    description: 'So many in a minute for each client. An inactive endpoint is 422.',
    answers: { 202: single('QueuedTest', 'Queued.') },
    errors: ['rate_limited'],
    refused: { active: ['The endpoint is inactive: switch it on before testing it.'] },
  },
  'POST /webhook-endpoints/:endpointId/secret': {
    name: 'rotateSecret',
    summary: 'Give an endpoint a new signing secret',
    description: 'The answer has it, this once; attempts from now on are signed with it.',
    answers: { 200: single('NewSecret', 'Rotated.') },
  },
}

export const webhookExtensions: DescribedRoutes = {
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
      'One attempt now, then the schedule from its start; one that is pending becomes due now. An inactive endpoint, and a payload that was erased, are 422.',
    answers: { 202: single('Delivery', 'Queued.') },
    refused: { active: ['The endpoint is inactive: switch it on before redelivering.'] },
  },
  'POST /webhook-endpoints/:endpointId/recover': {
    name: 'recoverEndpoint',
    summary: 'Queue again all that failed or was held since a time',
    description: 'A stored job does it. An inactive endpoint is 422.',
    body: body('RecoverInput'),
    answers: { 202: single('Recovery', 'Begun.') },
  },
  'GET /webhook-endpoints/:endpointId/recoveries/:recoveryId': {
    name: 'getRecovery',
    summary: 'How far a recovery is',
    answers: { 200: single('Recovery', 'Its progress.') },
  },
}
