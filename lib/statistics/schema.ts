import * as v from 'valibot'
import { QueryId } from '../page.ts'
import { closedObject, TimeMs } from '../parse.ts'
import { Count, described, OffsetTime, type RecordFields } from '../record.ts'

export const steps = ['minute', 'hour', 'day'] as const satisfies Step[]
export type Step = 'minute' | 'hour' | 'day'

export const stepMs: Readonly<Record<Step, number>> = { minute: 60_000, hour: 3_600_000, day: 86_400_000 }

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

const rangeFields = {
  from: v.optional(TimeMs),
  to: v.optional(TimeMs),
  step: v.optional(v.picklist(steps, `This must be one of ${steps.join(', ')}.`), 'hour'),
}
export const SeriesQuery = closedObject(rangeFields)
export type SeriesQuery = v.InferOutput<typeof SeriesQuery>
export const DeliverySeriesQuery = closedObject({ ...rangeFields, endpoint_id: v.optional(QueryId) })

/** Counts for each step of a range. A step without any is there with zeros. */
export interface Series<Point> {
  from: string
  to: string
  step: Step
  series: Point[]
}

/** The attempts that ended in one step. */
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
}

/** How many contacts were gained and lost in one step. */
export interface ContactPoint {
  /** The beginning of the step. */
  at: string
  /** Contacts that were created then, and still exist. */
  created: number
  /** Contacts that unsubscribed then, and are still unsubscribed. */
  unsubscribed: number
  /** Contacts that were erased one by one. */
  deleted: number
}

export type ContactSeries = Series<ContactPoint>

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

export const contactPointFields: RecordFields<ContactPoint> = {
  at: described(OffsetTime, 'The beginning of the step.'),
  created: described(Count, 'Contacts that were created then, and still exist.'),
  unsubscribed: described(Count, 'Contacts that unsubscribed then, and are still unsubscribed.'),
  deleted: described(Count, 'Contacts that were erased one by one.'),
}
