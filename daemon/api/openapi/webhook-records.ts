import { eventTypes } from '../../../lib/index.ts'
import * as schemas from '../../../lib/schemas.ts'
import { eventSchemaName } from './events.ts'
import { recordOf, schemasOf } from './fields.ts'
import { id, record, ref, type Schema, text } from './schema.ts'

const secret: Schema = {
  type: 'string',
  pattern: '^whsec_[A-Za-z0-9+/]{43}=$',
  description: 'The signing secret, shown only in this answer.',
}

const { id: endpointId, uuid, url, events, active } = schemas.endpointFields

/** Schemas of webhook records in answers. */
export const webhookSchemas = {
  Endpoint: recordOf(schemas.endpointFields),
  NewEndpoint: record({ ...schemasOf({ id: endpointId, uuid, url, events, active }), secret }),
  ChangedEndpoint: record({ id, active: { type: 'boolean' } }),
  NewSecret: record({ id, secret }),
  Delivery: recordOf(schemas.deliveryFields),
  EndpointDelivery: recordOf(schemas.endpointDeliveryFields),
  QueuedTest: record({
    id,
    event_type: { type: 'string', const: 'webhook.test' },
    status: { type: 'string', const: 'pending' },
  }),
  Attempt: recordOf(schemas.attemptFields),
  DeliveryDetail: record({
    ...schemasOf({ ...schemas.deliveryFields, ...schemas.detailFields }),
    payload: {
      description: 'The body of the delivery; null after erasure.',
      anyOf: [...eventTypes.map((type) => ref(eventSchemaName(type))), { type: 'null' }],
    },
  }),
  Recovery: recordOf(schemas.recoveryFields),
  RaisedEvent: record({ type: text }),
} satisfies Readonly<Record<string, Schema>>
