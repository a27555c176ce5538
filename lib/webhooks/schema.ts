import * as v from 'valibot'
import { distinct } from '../collections.ts'
import { readJson } from '../json.ts'
import { inputLimits } from '../limits.ts'
import { closedObject, Description, isRecord, noRecordMessage, Text, wholeNumber } from '../parse.ts'
import { Count, described, Id, OffsetTime, type RecordFields, recordFrom, Uuid } from '../record.ts'
import { type Timestamp, withOffset } from '../time.ts'
import { type EventType, eventTypes, hostEventTypes } from './event-types.ts'

export { type EventType, eventTypes, extensionEventTypes } from './event-types.ts'

/** A webhook endpoint as listings show it, without its secret. */
export interface Endpoint {
  id: number
  uuid: string
  url: string
  description: string
  events: EventType[]
  /** Whether the endpoint receives deliveries. */
  active: boolean
  /** `auto_failures`: switched off after failures. Null while active. */
  disabled_reason: 'manual' | 'auto_failures' | null
  /** Failed attempts since the last success. */
  consecutive_failures: number
  /** Time of the last attempt, as in `2026-01-02T03:04:05+00:00`; null before the first attempt. */
  last_triggered_at: string | null
}

export const endpointFields: RecordFields<Endpoint> = {
  id: Id,
  uuid: Uuid,
  url: v.string(),
  description: v.string(),
  events: v.array(v.picklist(eventTypes)),
  active: described(v.boolean(), 'Whether the endpoint receives deliveries.'),
  disabled_reason: described(v.nullable(v.picklist(['manual', 'auto_failures'])), 'null while active.'),
  consecutive_failures: described(Count, 'Failed attempts since the last success.'),
  last_triggered_at: described(v.nullable(OffsetTime), 'null before the first attempt.'),
}

/** How deliveries reach the endpoint: a request to a URL, or a call of a handler in the host's process. */
export type EndpointKind = 'http' | 'handler'

export type DeliveryStatus = 'pending' | 'success' | 'failed' | 'held'
export const deliveryStatuses = ['pending', 'success', 'failed', 'held'] as const satisfies DeliveryStatus[]

/** One event on its way to one endpoint. Times are written as in `2026-01-02T03:04:05+00:00`. */
export interface Delivery {
  id: number
  /** The `X-Service-Delivery` of all its attempts. */
  uuid: string
  event_type: EventType
  /** `pending`: waits for an attempt. `failed`: no further attempts. `held`: the endpoint was switched off. */
  status: DeliveryStatus
  /** Requests made, including interrupted ones. */
  attempts: number
  /** HTTP status of the last answer; null before the first answer. */
  response_status: number | null
  /** When an attempt succeeded; null before. */
  delivered_at: string | null
}

/** A delivery, with the endpoint that it is for. */
export interface EndpointDelivery extends Delivery {
  endpoint_id: number
  created_at: string
}

const HttpStatus = v.pipe(v.number(), v.safeInteger(), v.minValue(100), v.maxValue(999))

export const deliveryFields: RecordFields<Delivery> = {
  id: Id,
  uuid: described(Uuid, 'The `X-Service-Delivery` of all its attempts.'),
  event_type: v.picklist(eventTypes),
  status: described(
    v.picklist(deliveryStatuses),
    '`pending`: queued or waiting for the next attempt. `failed`: no further attempts. `held`: the endpoint was switched off.',
  ),
  attempts: described(Count, 'Requests made, including interrupted ones.'),
  response_status: described(v.nullable(HttpStatus), 'HTTP status of the last answer; null before the first answer.'),
  delivered_at: described(v.nullable(OffsetTime), 'When an attempt succeeded.'),
}

export const endpointDeliveryFields: RecordFields<EndpointDelivery> = {
  ...deliveryFields,
  endpoint_id: Id,
  created_at: OffsetTime,
}

/** Every event type, for handlers. Endpoints name their types, so that a new type does not surprise a receiver. */
export const allEvents = '*'

/** Returns the schema of a subscription's event types. Duplicates are removed. */
function typesAmong<const Types extends readonly string[]>(types: Types) {
  return v.pipe(
    v.array(v.unknown(), 'This must be an array of event types.'),
    v.minLength(1, 'At least one event type is needed.'),
    v.maxLength(inputLimits.values, `At most ${inputLimits.values} values.`), // duplicates count
    v.array(v.picklist(types, `This must be one of ${types.join(', ')}.`)),
    v.transform(distinct),
  )
}

const EventTypes = typesAmong(eventTypes)

export const HandlerEventTypes = typesAmong([...eventTypes, allEvents])

export interface EndpointInput {
  /** `https`, a public host, port 443 or 8443, at most 2,048 characters. */
  readonly url: string
  /** At least one. Duplicates are removed. */
  readonly events: readonly EventType[]
  /** At most 1,000 characters; default `''`. */
  readonly description?: string | undefined
}

export const NewEndpoint = closedObject({
  url: Text,
  events: EventTypes,
  description: v.optional(Description, ''),
})

/** Absent fields stay unchanged. URL and events cannot be changed: delete the endpoint and create another. */
export interface EndpointChangeInput {
  readonly active?: boolean | undefined
  readonly description?: string | undefined
}

const immutable = v.optional(v.never('This cannot be changed: delete the endpoint and create another.'))

export const EndpointChange = closedObject(
  {
    active: v.optional(v.boolean('This must be true or false.')),
    description: v.optional(Description),
    url: immutable,
    events: immutable,
  },
  ['active', 'description'],
)
export type EndpointChange = v.InferOutput<typeof EndpointChange>

export interface RotationInput {
  /** For how long the previous secret signs too: 0–72 hours, default 0. */
  readonly overlap_hours?: number | undefined
}

const maxOverlapHours = 72

export const Rotation = closedObject({ overlap_hours: v.optional(wholeNumber(0, maxOverlapHours)) })

export interface EventInput {
  /** A type of event about mail. mailkeep raises them for the mail that it sends. */
  readonly type: 'newsletter.sent' | 'sequence_step.sent' | 'sequence.completed'
  /** The event's content, written as JSON. The whole body may have at most 64 KiB. */
  readonly data: object
}

export const HostEvent = closedObject({
  type: v.picklist(hostEventTypes, `This must be one of ${hostEventTypes.join(', ')}.`),
  data: v.custom<Record<string, unknown>>(isRecord, ({ input }) => noRecordMessage(input)),
})

interface EndpointRow extends Omit<Endpoint, 'events'> {
  /** JSON */
  events: string
  last_triggered_at: Timestamp | null
}

const endpointRecord = recordFrom(endpointFields)

export function endpointFrom(row: EndpointRow): Endpoint {
  const events = JSON.parse(row.events)
  const last_triggered_at = withOffset(row.last_triggered_at)
  return endpointRecord({ ...row, events, active: Boolean(row.active), last_triggered_at })
}

/** One attempt of a delivery. */
export interface Attempt {
  number: number
  started_at: string
  /** Null when the attempt was interrupted, so that its outcome is not known. */
  duration_ms: number | null
  response_status: number | null
  /** Why it failed, as a sentence; null after an answer of 2xx. */
  error: string | null
  /** The first 4 KiB of the answer. */
  response_body: string | null
}

export const attemptFields: RecordFields<Attempt> = {
  number: v.pipe(v.number(), v.safeInteger(), v.minValue(1)),
  started_at: OffsetTime,
  duration_ms: described(
    v.nullable(v.pipe(v.number(), v.minValue(0))),
    'null if the attempt was interrupted and its outcome is unknown.',
  ),
  response_status: v.nullable(HttpStatus),
  error: described(v.nullable(v.string()), 'Reason, as a sentence. null after an answer of 2xx.'),
  response_body: described(v.nullable(v.string()), 'The first 4 KiB of the answer.'),
}

/** A delivery with its payload and attempt log. */
export interface DeliveryDetail extends Delivery {
  /** The event as sent; null once it is erased. */
  payload: unknown
  /** Why the last attempt failed, or why there will be no attempt. */
  error: string | null
  created_at: string
  /** Null unless pending. During an attempt: when the next one starts at the latest if its process dies. */
  next_attempt_at: string | null
  attempt_log: Attempt[]
}

/** The fields that `Delivery` does not have, except the payload. */
export const detailFields: RecordFields<Omit<DeliveryDetail, keyof Delivery | 'payload'>> = {
  error: described(v.nullable(v.string()), 'Why the last attempt failed, or why there will be no attempt.'),
  created_at: OffsetTime,
  next_attempt_at: described(v.nullable(OffsetTime), 'null unless pending.'),
  attempt_log: v.array(v.object(attemptFields)),
}

interface DeliveryRow extends Omit<Delivery, 'event_type'> {
  event_type: string
  delivered_at: Timestamp | null
}

const deliveryRecord = recordFrom(deliveryFields)

/** @param active Whether the endpoint is active. If not, a pending delivery is shown as held before its row changes. */
export function deliveryFrom(row: DeliveryRow, active: boolean): Delivery {
  const event_type = row.event_type as EventType
  const status = row.status === 'pending' && !active ? 'held' : row.status
  return deliveryRecord({ ...row, event_type, status, delivered_at: withOffset(row.delivered_at) })
}

interface EndpointDeliveryRow extends DeliveryRow {
  endpoint_id: number
  created_at: Timestamp
}

/** @param active Whether the endpoint is active. */
export function endpointDeliveryFrom(row: EndpointDeliveryRow, active: boolean): EndpointDelivery {
  return { ...deliveryFrom(row, active), endpoint_id: row.endpoint_id, created_at: withOffset(row.created_at) }
}

interface DetailRow extends DeliveryRow {
  body: string
  error: string | null
  created_at: Timestamp
  due_at: Timestamp
  lease_until: Timestamp | null
}

export function detailFrom(row: DetailRow, active: boolean, attempt_log: Attempt[]): DeliveryDetail {
  const delivery = deliveryFrom(row, active)
  return {
    ...delivery,
    payload: row.body === '' ? null : readJson(row.body),
    error: row.error,
    created_at: withOffset(row.created_at),
    next_attempt_at: delivery.status === 'pending' ? withOffset(row.lease_until ?? row.due_at) : null,
    attempt_log,
  }
}

const attemptRecord = recordFrom(attemptFields)

export function attemptFrom(row: Attempt): Attempt {
  return attemptRecord({ ...row, started_at: withOffset(row.started_at) })
}
