import { accepted, created, listing, noContent, ok, type Route } from './route.ts'

/** All webhook routes require the role admin. */
export const webhooks: readonly Route[] = [
  {
    method: 'GET',
    path: '/webhook-endpoints',
    role: 'admin',
    hasQuery: true,
    call: async ({ client, query }) => listing(await client.webhooks.listEndpoints(query)),
  },
  {
    method: 'POST',
    path: '/webhook-endpoints',
    role: 'admin',
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
    call: async ({ client, params, body }) => {
      const { id, active } = await client.webhooks.updateEndpoint(params.endpointId, body)
      return ok({ id, active })
    },
  },
  {
    method: 'DELETE',
    path: '/webhook-endpoints/:endpointId',
    role: 'admin',
    call: async ({ client, params }) => {
      await client.webhooks.deleteEndpoint(params.endpointId)
      return noContent
    },
  },
  {
    method: 'GET',
    path: '/webhook-endpoints/:endpointId/deliveries',
    role: 'admin',
    metaPath: 'none',
    hasQuery: true,
    call: async ({ client, params, query }) => listing(await client.webhooks.listDeliveries(params.endpointId, query)),
  },
  {
    method: 'POST',
    path: '/webhook-endpoints/:endpointId/test',
    role: 'admin',
    fields: 'none',
    call: async ({ client, params }) => {
      const { id, event_type, status } = await client.webhooks.testEndpoint(params.endpointId)
      return accepted({ id, event_type, status })
    },
  },
  {
    method: 'POST',
    path: '/webhook-endpoints/:endpointId/secret',
    role: 'admin',
    key: 'none',
    fields: 'none',
    call: async ({ client, params }) => {
      const { id, secret } = await client.webhooks.rotateSecret(params.endpointId)
      return ok({ id, secret })
    },
  },
]

/** Beyond the contract. */
export const webhookExtensions: readonly Route[] = [
  {
    method: 'GET',
    path: '/webhook-endpoints/:endpointId',
    role: 'admin',
    call: async ({ client, params }) => ok(await client.webhooks.getEndpoint(params.endpointId)),
  },
  {
    method: 'GET',
    path: '/webhook-endpoints/:endpointId/deliveries/:deliveryId',
    role: 'admin',
    call: async ({ client, params }) => ok(await client.webhooks.getDelivery(params.endpointId, params.deliveryId)),
  },
  {
    method: 'POST',
    path: '/webhook-endpoints/:endpointId/deliveries/:deliveryId/redeliver',
    role: 'admin',
    fields: 'none',
    call: async ({ client, params }) => accepted(await client.webhooks.redeliver(params.endpointId, params.deliveryId)),
  },
  {
    method: 'POST',
    path: '/webhook-endpoints/:endpointId/recover',
    role: 'admin',
    call: async ({ client, params, body }) => accepted(await client.webhooks.recover(params.endpointId, body)),
  },
  {
    method: 'GET',
    path: '/webhook-endpoints/:endpointId/recoveries/:recoveryId',
    role: 'admin',
    call: async ({ client, params }) => ok(await client.webhooks.getRecovery(params.endpointId, params.recoveryId)),
  },
]
