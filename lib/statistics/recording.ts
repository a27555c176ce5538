/**
 * Counts the outcomes of deliveries, in the transaction that records them. That transaction writes one row for each
 * endpoint. Once its minute is over, `summarizeCounts` adds it to the series.
 */
import type { Context, Tx } from '../context.ts'
import { maxRowsPerBatch, runBatches } from '../jobs/operations.ts'
import { msOf, type Timestamp } from '../time.ts'
import type { FinishedAttempt } from '../webhooks/dispatch/record.ts'
import { addTo, allEndpoints, type Counts, Sums, startOf } from './counts.ts'
import { bucketColumns, bucketOf } from './durations.ts'
import { addCounts, takeRecentCounts } from './queries.ts'
import { steps } from './schema.ts'

/** Each row is deleted, and added to three steps of its endpoint and of all endpoints. */
const maxRecentPerBatch = Math.floor(maxRowsPerBatch / 7)

/** Adds the attempts to the counts of this minute. The calls of event handlers are not counted: they belong to no client. */
export function countAttempts(tx: Tx, attempts: readonly FinishedAttempt[]): void {
  const at = startOf('minute', tx.clock())
  const sums = new Sums()
  for (const attempt of attempts) {
    const { clientId: client_id, endpointId: endpoint_id, kind } = attempt.task
    if (kind === 'handler') continue
    const counts = sums.of({ client_id, endpoint_id, step: 'recent', at })
    for (const name of columnsOf(attempt)) counts[name] += 1
  }
  const rows = sums.rows()
  if (rows.length > 0) tx.transaction.defer(addCounts(tx, rows))
}

function columnsOf({ task, disposition, endedMs }: FinishedAttempt): readonly (keyof Counts)[] {
  if (disposition.status === 'pending') return ['retried']
  if (disposition.status === 'failed') return ['failed']
  return ['delivered', bucketColumns[bucketOf(endedMs - msOf(task.raisedAt))]!]
}

/** Moves the counts of past minutes to the series of minutes, hours and days. */
export async function summarizeCounts(ctx: Context): Promise<void> {
  const before = startOf('minute', ctx.clock())
  await runBatches(ctx, (tx) => summarizeBatch(tx, before))
}

/** @returns The number of rows that were moved. */
async function summarizeBatch(tx: Tx, before: Timestamp): Promise<number> {
  const recent = await takeRecentCounts(tx, { before, limit: maxRecentPerBatch })
  if (recent.length === 0) return 0
  const sums = new Sums()
  for (const { client_id, endpoint_id: own, at, ...counts } of recent) {
    const ms = msOf(at)
    for (const step of steps) {
      const key = { client_id, step, at: startOf(step, ms) }
      for (const endpoint_id of [allEndpoints, own]) addTo(sums.of({ ...key, endpoint_id }), counts)
    }
  }
  await addCounts(tx, sums.rows())
  return recent.length
}
