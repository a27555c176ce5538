/** Counts the outcomes of deliveries, in the transaction that records them. */
import type { Tx } from '../context.ts'
import { msOf, timestamp } from '../time.ts'
import type { FinishedAttempt } from '../webhooks/dispatch/record.ts'
import { bucketColumns, bucketOf } from './durations.ts'
import { addCounts, type Counted, summed } from './queries.ts'
import { type Step, stepMs } from './schema.ts'

/** The id under which the deliveries to all endpoints of a client are counted, so that a sum reads few rows. */
export const allEndpoints = 0

const zeros = Object.fromEntries(summed.map((name) => [name, 0])) as Record<(typeof summed)[number], number>

type Sums = { -readonly [Name in keyof Counted]: Counted[Name] }

/**
 * Adds the attempts to the counts of this minute, hour and day. The calls of event handlers are not counted: they belong
 * to no client.
 */
export function countAttempts(tx: Tx, recorded: readonly FinishedAttempt[]): void {
  const nowMs = tx.clock()
  const startOf = (step: Step) => timestamp(Math.floor(nowMs / stepMs[step]) * stepMs[step])
  const times = { minute: startOf('minute'), hour: startOf('hour'), day: startOf('day') }
  const counts = new Map<string, Sums>()
  for (const attempt of recorded) {
    const { clientId: client_id, endpointId, kind } = attempt.task
    if (kind === 'handler' || attempt.outcome.kind === 'refused') continue
    const columns = columnsOf(attempt)
    for (const endpoint_id of [allEndpoints, endpointId]) {
      const key = `${client_id} ${endpoint_id}`
      const sums = counts.get(key) ?? { client_id, endpoint_id, ...times, ...zeros }
      counts.set(key, sums)
      for (const name of columns) sums[name] += 1
    }
  }
  if (counts.size > 0) tx.transaction.defer(addCounts(tx, [...counts.values()]))
}

/** Returns the columns that count an attempt. */
function columnsOf({ task, disposition, endedMs }: FinishedAttempt): readonly (typeof summed)[number][] {
  if (disposition.status === 'pending') return ['retried']
  if (disposition.status === 'failed') return ['failed']
  return ['delivered', bucketColumns[bucketOf(endedMs - msOf(task.raisedAt))]!]
}
