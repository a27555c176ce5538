import type { Context } from '../context.ts'
import { invalid } from '../errors.ts'
import { deleteOlder } from '../jobs/operations.ts'
import { inputLimits } from '../limits.ts'
import { parse } from '../parse.ts'
import { dayMs, msOf, type Timestamp, timestamp, withOffset } from '../time.ts'
import { addTo, allEndpoints, noCounts, startOf } from './counts.ts'
import { bucketColumns, quantileOf } from './durations.ts'
import * as queries from './queries.ts'
import {
  type DeliveryPoint,
  type DeliverySeries,
  DeliverySeriesQuery,
  type DeliverySeriesQueryInput,
  type EndpointStates,
  type SeriesQuery,
  stepMs,
} from './schema.ts'

export { deleteCountsOfClient } from './queries.ts'

/** Maximum failing endpoints that are named. */
const maxFailing = 5

/** Number of steps of the default range. */
const defaultSteps = { minute: 60, hour: 24, day: 30 } as const

/**
 * Returns how many deliveries succeeded and failed in each step of a range, since when the oldest due one waits, and the
 * endpoints by state. Counts are kept for 90 days, also after the deliveries are deleted.
 *
 * @throws MailkeepError `validation_failed`: also when the range has more than 1,500 steps.
 */
export async function getDeliverySeries(ctx: Context, query: DeliverySeriesQueryInput = {}): Promise<DeliverySeries> {
  const { endpoint_id = allEndpoints, ...range } = parse(DeliverySeriesQuery, query)
  const { startsMs, fromMs, toMs, step } = stepsOf(ctx, range)
  const times = { from: timestamp(fromMs), to: timestamp(toMs) }
  const of = { client_id: ctx.clientId, endpoint_id, step, ...times }
  const rows = await queries.listCounts(ctx, of, { byEndpoint: endpoint_id !== allEndpoints })
  const points = new Map(startsMs.map((startMs) => [startMs, { ...noCounts }]))
  for (const { at, ...counts } of rows) addTo(points.get(msOf(startOf(step, msOf(at))))!, counts)
  const series = [...points].map(
    ([startMs, { delivered, retried, failed, ...buckets }]): DeliveryPoint => ({
      at: withOffset(timestamp(startMs)),
      delivered,
      retried,
      failed,
      p95_ms: quantileOf(
        bucketColumns.map((name) => buckets[name]),
        0.95,
      ),
    }),
  )
  const oldest_due_at = await oldestDue(ctx, endpoint_id)
  const endpoints = await statesOfEndpoints(ctx, endpoint_id)
  return { from: withOffset(times.from), to: withOffset(times.to), step, oldest_due_at, endpoints, series }
}

async function statesOfEndpoints(ctx: Context, endpointId: number): Promise<EndpointStates> {
  const which = { client_id: ctx.clientId, endpoint_id: endpointId }
  const on = { byEndpoint: endpointId !== allEndpoints }
  const counts = await queries.countEndpointStates(ctx, which, on)
  const worst = await queries.listFailingEndpoints(ctx, { ...which, limit: maxFailing }, on)
  return {
    healthy: Number(counts!.healthy),
    failing: Number(counts!.failing),
    switched_off: Number(counts!.switched_off),
    first_failing: worst.map(({ active, ...endpoint }) => ({ ...endpoint, active: Boolean(active) })),
  }
}

/** Returns when the oldest delivery that waits became due; null when none is due. */
async function oldestDue(ctx: Context, endpointId: number): Promise<Timestamp | null> {
  const on = { byEndpoint: endpointId !== allEndpoints }
  const row = await queries.findOldestDue(ctx, { client_id: ctx.clientId, endpoint_id: endpointId }, on)
  const dueAt = row?.due_at ?? null
  return dueAt !== null && msOf(dueAt) <= ctx.clock() ? withOffset(dueAt) : null
}

/** Times before and after these cannot be written with a year of four digits. */
const firstStartMs = Date.parse('0001-01-01T00:00:00Z')
const lastEndMs = Date.parse('9999-12-31T00:00:00Z')

/** Divides the range into whole steps of UTC. The last step may end after `to`. */
export function stepsOf(ctx: Context, { from, to = ctx.clock(), step }: SeriesQuery) {
  const length = stepMs[step]
  const toMs = Math.ceil(to / length) * length
  const fromMs = Math.floor((from ?? toMs - defaultSteps[step] * length) / length) * length
  if (fromMs < firstStartMs) throw invalid('from', 'This must be in the year 1 or later.')
  if (toMs > lastEndMs) throw invalid('to', 'This must be before the last day of the year 9999.')
  if (fromMs >= toMs) throw invalid('from', 'This must be before the end of the range.')
  const count = (toMs - fromMs) / length
  if (count > inputLimits.seriesSteps) {
    throw invalid('step', `The range has ${count} steps of a ${step}. The maximum is ${inputLimits.seriesSteps}.`)
  }
  const startsMs = Array.from({ length: count }, (_, n) => fromMs + n * length)
  return { startsMs, fromMs, toMs, step }
}

/** Deletes counts older than 90 days. */
export async function deleteExpiredCounts(ctx: Context): Promise<void> {
  await deleteOlder(ctx, 90 * dayMs, queries.deleteOldCounts)
}
