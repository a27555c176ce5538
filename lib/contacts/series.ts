/** Statistics of contacts: how many were gained and lost over time. */
import * as v from 'valibot'
import type { Context } from '../context.ts'
import { closedObject, parse, QueryBoolean } from '../parse.ts'
import { Count, described, type RecordFields, Time } from '../record.ts'
import { stepsOf } from '../statistics/operations.ts'
import { rangeFields, type Series, type SeriesQueryInput, stepMs } from '../statistics/schema.ts'
import { timestamp } from '../time.ts'
import { countContacts } from './counting.ts'
import { countContactChanges } from './queries.ts'

export interface ContactSeriesQueryInput extends SeriesQueryInput {
  /** Whether to count the contacts that are subscribed now; default false. */
  readonly count?: boolean | '1' | '0' | 'true' | 'false' | undefined
}

const ContactSeriesQuery = closedObject({ ...rangeFields, count: v.optional(QueryBoolean, false) })

/** How many contacts were gained and lost in one step. */
export interface ContactPoint {
  /** The beginning of the step. */
  at: string
  /** Contacts that were created then; of the last 90 days also those that were erased since. */
  created: number
  /** Contacts that unsubscribed then; of the last 90 days also those that are subscribed again. */
  unsubscribed: number
  /** Contacts that were erased one by one. */
  deleted: number
}

export interface ContactSeries extends Series<ContactPoint> {
  /** Contacts that are subscribed now. Only with `count`. */
  subscribed?: number
}

export const contactPointFields: RecordFields<ContactPoint> = {
  at: described(Time, 'The beginning of the step.'),
  created: described(Count, 'Contacts that were created then; of the last 90 days also those that were erased since.'),
  unsubscribed: described(
    Count,
    'Contacts that unsubscribed then; of the last 90 days also those that are subscribed again.',
  ),
  deleted: described(Count, 'Contacts that were erased one by one.'),
}

/**
 * Returns how many contacts were created, unsubscribed and erased in each step of a range.
 *
 * @throws MailkeepError `validation_failed`: also when the range has more than 1,500 steps.
 */
export async function getContactSeries(ctx: Context, query: ContactSeriesQueryInput = {}): Promise<ContactSeries> {
  const { count, ...range } = parse(ContactSeriesQuery, query)
  const { startsMs, fromMs, toMs, step } = stepsOf(ctx, range)
  const ranges = startsMs.map((ms) => ({ at: timestamp(ms), until: timestamp(ms + stepMs[step]) }))
  const counts = await countContactChanges(ctx, { client_id: ctx.clientId, steps: ranges })
  const series = ranges.map(({ at }, n) => ({ at, ...counts[n]! }))
  return {
    from: timestamp(fromMs),
    to: timestamp(toMs),
    step,
    ...(count && { subscribed: await countContacts(ctx, {}) }),
    series,
  }
}
