import {
  type Attempt,
  type Delivery,
  type DeliveryDetail,
  type DeliveryStatus,
  type Endpoint,
  eventTypes,
  type Recovery,
} from '../../../lib/index.ts'
import { eventSchemaName } from './events.ts'
import { arrayOf, count, flag, id, nullable, offset, record, ref, type Schema, text, uuid } from './schema.ts'

const deliveryStatuses = Object.keys({
  pending: true,
  success: true,
  failed: true,
  held: true,
} satisfies Record<DeliveryStatus, true>)

const recoveryStatuses = Object.keys({
  pending: true,
  running: true,
  done: true,
  stopped: true,
} satisfies Record<Recovery['status'], true>)

const eventType: Schema = { type: 'string', enum: eventTypes }

const endpoint = {
  id,
  uuid,
  url: text,
  events: arrayOf(eventType),
  active: { ...flag, description: 'Whether the endpoint receives deliveries.' },
} as const

const secret: Schema = {
  type: 'string',
  pattern: '^whsec_[A-Za-z0-9+/]{43}=$',
  description: 'The signing secret, shown only in this answer.',
}

const httpStatus = { type: 'integer', minimum: 100, maximum: 999 } as const

const delivery = {
  id,
  uuid: { ...uuid, description: 'The `X-Service-Delivery` of all its attempts.' },
  event_type: eventType,
  status: {
    type: 'string',
    enum: deliveryStatuses,
    description:
      '`pending`: queued or waiting for the next attempt. `failed`: no further attempts. `held`: the endpoint was inactive.',
  },
  attempts: { ...count, description: 'Requests made, including interrupted ones.' },
  response_status: {
    ...nullable(httpStatus),
    description: 'HTTP status of the last answer; null before the first answer.',
  },
  delivered_at: { ...nullable(offset), description: 'When an attempt succeeded.' },
} as const

const attempt: Schema = record<Attempt>({
  number: { type: 'integer', minimum: 1 },
  started_at: offset,
  duration_ms: {
    ...nullable({ type: 'number', minimum: 0 }),
    description: 'null if the attempt was interrupted and its outcome is unknown.',
  },
  response_status: nullable(httpStatus),
  error: { ...nullable(text), description: 'Reason, as a sentence. null after an answer of 2xx.' },
  response_body: { ...nullable(text), description: 'The first 4 KiB of the answer.' },
})

/** Schemas of webhook records in answers. */
export const webhookSchemas = {
  Endpoint: record<Endpoint>({
    ...endpoint,
    description: text,
    disabled_reason: {
      type: ['string', 'null'],
      enum: ['manual', 'auto_failures', null],
      description: 'null while active.',
    },
    consecutive_failures: { ...count, description: 'Failed attempts since the last success.' },
    last_triggered_at: { ...nullable(offset), description: 'null before the first attempt.' },
  }),
  NewEndpoint: record<Pick<Endpoint, keyof typeof endpoint> & { secret: string }>({ ...endpoint, secret }),
  ChangedEndpoint: record<Pick<Endpoint, 'id' | 'active'>>({ id, active: flag }),
  NewSecret: record<{ id: number; secret: string }>({ id, secret }),
  Delivery: record<Delivery>(delivery),
  QueuedTest: record<Pick<Delivery, 'id' | 'event_type' | 'status'>>({
    id,
    event_type: { type: 'string', const: 'webhook.test' },
    status: { type: 'string', const: 'pending' },
  }),
  Attempt: attempt,
  DeliveryDetail: record<DeliveryDetail>({
    ...delivery,
    payload: {
      description: 'The body of the delivery; null after erasure.',
      anyOf: [...eventTypes.map((type) => ref(eventSchemaName(type))), { type: 'null' }],
    },
    error: { ...nullable(text), description: 'Why the last attempt failed, or why there will be no attempt.' },
    created_at: offset,
    next_attempt_at: { ...nullable(offset), description: 'null unless pending.' },
    attempt_log: arrayOf(ref('Attempt')),
  }),
  Recovery: record<Recovery>({
    id,
    status: {
      type: 'string',
      enum: recoveryStatuses,
      description: '`stopped`: the endpoint was switched off or deleted during the recovery.',
    },
    total: { ...count, description: 'Deliveries found when the recovery started.' },
    done: { ...count, description: 'Deliveries queued again so far.' },
  }),
  RaisedEvent: record<{ type: string }>({ type: { type: 'string' } }),
} satisfies Readonly<Record<string, Schema>>
