import * as v from 'valibot'
import { QueryId } from '../page.ts'
import { closedObject, TimeMs } from '../parse.ts'
import { Count, described, Id, OffsetTime, type RecordFields } from '../record.ts'
import { dayMs } from '../time.ts'

export const steps = ['minute', 'hour', 'day'] as const satisfies Step[]
export type Step = 'minute' | 'hour' | 'day'

/** `recent`: the counts of a minute that no series contains yet. */
export type StoredStep = Step | 'recent'

export const stepMs: Readonly<Record<Step, number>> = { minute: 60_000, hour: 3_600_000, day: dayMs }

/** A range of time, divided into steps. */
export interface SeriesQueryInput {
  /** ISO 8601 with an offset, as in `2026-01-02T03:04:05Z`. Default: 60 minutes, 24 hours or 30 days before `to`. */
  readonly from?: string | undefined
  /** The end of the range, exclusive. Default: now. */
  readonly to?: string | undefined
  /** Default `hour`. The steps begin at whole minutes, hours or days of UTC. */
  readonly step?: Step | undefined
}

export interface DeliverySeriesQueryInput extends SeriesQueryInput {
  /** Only deliveries to this endpoint. */
  readonly endpoint_id?: number | string | undefined
}

export const rangeFields = {
  from: v.optional(TimeMs),
  to: v.optional(TimeMs),
  step: v.optional(v.picklist(steps, `This must be one of ${steps.join(', ')}.`), 'hour'),
}
const SeriesQuery = closedObject(rangeFields)
export type SeriesQuery = v.InferOutput<typeof SeriesQuery>
export const DeliverySeriesQuery = closedObject({ ...rangeFields, endpoint_id: v.optional(QueryId) })

/** Counts for each step of a range. A step without any is there with zeros. */
export interface Series<Point> {
  from: string
  to: string
  step: Step
  series: Point[]
}

/** The attempts that were recorded in one step, milliseconds after they ended. */
export interface DeliveryPoint {
  /** The beginning of the step. */
  at: string
  delivered: number
  /** Failed attempts that are followed by another one. */
  retried: number
  /** Deliveries that failed and will not be retried. */
  failed: number
  /** Milliseconds from the event to its delivery: 95 % took at most about this long. null if none was delivered. */
  p95_ms: number | null
}

export interface DeliverySeries extends Series<DeliveryPoint> {
  /** When the oldest delivery that waits for an attempt became due; null when none is due. */
  oldest_due_at: string | null
  /** The endpoints as they are now. */
  endpoints: EndpointStates
}

/** Number of endpoints by state. */
export interface EndpointStates {
  /** Active, and the last attempt did not fail. */
  healthy: number
  /** The last attempt failed, or it was switched off after failures. */
  failing: number
  /** Switched off by hand. */
  switched_off: number
  /** The first five that fail, by id. */
  first_failing: FailingEndpoint[]
}

/** An endpoint that fails. */
export interface FailingEndpoint {
  id: number
  url: string
  active: boolean
  disabled_reason: 'auto_failures' | null
  /** Failed attempts since the last success. */
  consecutive_failures: number
}

export const deliveryPointFields: RecordFields<DeliveryPoint> = {
  at: described(OffsetTime, 'The beginning of the step.'),
  delivered: Count,
  retried: described(Count, 'Failed attempts that are followed by another one.'),
  failed: described(Count, 'Deliveries that failed and will not be retried.'),
  p95_ms: described(
    v.nullable(v.number()),
    'Milliseconds from the event to its delivery: 95 % took at most about this long. null if none was delivered.',
  ),
}

export const failingEndpointFields: RecordFields<FailingEndpoint> = {
  id: Id,
  url: v.pipe(v.string(), v.url()),
  active: v.boolean(),
  disabled_reason: v.nullable(v.picklist(['auto_failures'])),
  consecutive_failures: described(Count, 'Failed attempts since the last success.'),
}
