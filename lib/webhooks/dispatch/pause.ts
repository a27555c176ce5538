import { now, type Tx } from '../../context.ts'
import { continueJob, done, type JobHandlers, maxRowsPerBatch, runOrEnqueue } from '../../jobs/operations.ts'
import * as queries from '../queries.ts'

const holdKind = 'hold deliveries'

export const pauseJobs: JobHandlers = {
  [holdKind]: async (tx, { targetId }) =>
    (await holdDeliveries(tx, targetId)) < maxRowsPerBatch ? done() : continueJob(),
}

/** Switches the endpoint off and holds its pending deliveries. @returns false when it was already off. */
export async function switchOff(tx: Tx, id: number, reason: 'manual' | 'auto_failures'): Promise<boolean> {
  if (!(await queries.switchOffEndpoint(tx, { client_id: tx.clientId, id, reason }))) return false
  await queries.holdClaimed(tx, { endpoint_id: id, now: now(tx) })
  await runOrEnqueue(tx, holdKind, { targetId: id })
  return true
}

/**
 * Holds a batch of the pending deliveries of an endpoint that is switched off. Does nothing for an active one.
 *
 * @param waiting Whether to wait for rows that another transaction has locked. By default they are skipped, because the
 *   next poll holds them if they stay pending. No poll does once the endpoint is active.
 * @returns How many were held. `maxRowsPerBatch` means that more may be pending.
 */
export async function holdDeliveries(tx: Tx, endpoint_id: number, waiting = false): Promise<number> {
  // Two statements: PostgreSQL may plan one statement for both as a scan of all deliveries.
  const ids = (await queries.lockPending(tx, { endpoint_id, limit: maxRowsPerBatch }, { waiting })).map(({ id }) => id)
  return ids.length === 0 ? 0 : await queries.holdDeliveries(tx, { ids, endpoint_id, now: now(tx) })
}
