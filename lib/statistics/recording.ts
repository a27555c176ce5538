/** Counts the outcomes of deliveries, in the transaction that records them. */
import type { Tx } from '../context.ts'
import { msOf, timestamp } from '../time.ts'
import type { RecordedAttempt } from '../webhooks/dispatch/record.ts'
import { bucketColumns, bucketOf } from './durations.ts'
import { addCounts, type Counted, summed } from './queries.ts'
import { type Step, stepMs, steps } from './schema.ts'

/** The id under which the deliveries to all endpoints of a client are counted, so that a sum reads few rows. */
export const allEndpoints = 0

const zeros = Object.fromEntries(summed.map((name) => [name, 0])) as Pick<Sums, (typeof summed)[number]>

type Sums = { -readonly [Name in keyof Counted]: Counted[Name] }

/**
 * Adds the attempts to the counts of their minute, hour and day. The calls of event handlers are not counted: they belong
 * to no client.
 */
export function countAttempts(tx: Tx, recorded: readonly RecordedAttempt[]): void {
  const minutes = new Map<string, Sums>()
  for (const attempt of recorded) {
    const { task: delivery, outcome, endedMs } = attempt
    if (delivery.kind === 'handler' || outcome.kind === 'refused') continue
    add(sumsOf(minutes, delivery.clientId, delivery.endpointId, 'minute', endedMs), attempt)
  }
  if (minutes.size === 0) return
  const counts = new Map<string, Sums>()
  for (const minute of minutes.values()) {
    for (const endpointId of [allEndpoints, minute.endpoint_id]) {
      for (const step of steps) addAll(sumsOf(counts, minute.client_id, endpointId, step, msOf(minute.at)), minute)
    }
  }
  const sorted = [...counts].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, sums]) => sums)
  tx.transaction.defer(addCounts(tx, sorted))
}

function sumsOf(counts: Map<string, Sums>, clientId: number, endpointId: number, step: Step, ms: number): Sums {
  const length = stepMs[step]
  const startMs = Math.floor(ms / length) * length
  const key = `${clientId} ${endpointId} ${step} ${startMs}`
  let sums = counts.get(key)
  if (!sums) {
    sums = { client_id: clientId, endpoint_id: endpointId, step, at: timestamp(startMs), ...zeros }
    counts.set(key, sums)
  }
  return sums
}

function add(sums: Sums, { task, disposition, endedMs }: RecordedAttempt): void {
  if (disposition.status === 'pending') sums.retried += 1
  else if (disposition.status === 'failed') sums.failed += 1
  else {
    sums.delivered += 1
    sums[bucketColumns[bucketOf(endedMs - msOf(task.raisedAt))]!] += 1
  }
}

function addAll(sums: Sums, more: Sums): void {
  for (const name of summed) sums[name] += more[name]
}
