import { now, type Tx } from '../../context.ts'
import { again, done, type JobHandlers, maxRowsPerBatch, runOrEnqueue } from '../../jobs/operations.ts'
import * as queries from '../queries.ts'

const holdKind = 'hold deliveries'

export const pauseJobs: JobHandlers = {
  [holdKind]: async (tx, { targetId }) =>
    (await holdDeliveries(tx, targetId, maxRowsPerBatch)) > 0 ? done() : again(),
}

/** Switches the endpoint off and holds its pending deliveries. @returns false when it was already off. */
export async function deactivate(tx: Tx, id: number, reason: 'manual' | 'auto_failures'): Promise<boolean> {
  if (!(await queries.deactivateEndpoint(tx, { client_id: tx.clientId, id, active: false, reason }))) return false
  await queries.holdClaimed(tx, { endpoint_id: id, now: now(tx) })
  await runOrEnqueue(tx, holdKind, { targetId: id })
  return true
}

/**
 * Holds up to `limit` pending deliveries of an inactive endpoint. Does nothing for an active one. Skips rows that another
 * transaction has locked: if they stay pending, the next poll holds them.
 *
 * @returns `limit` minus the number of deliveries held. 0 means that more may be pending.
 */
export async function holdDeliveries(tx: Tx, endpoint_id: number, limit: number): Promise<number> {
  return await holdSome(tx, endpoint_id, limit, false)
}

/** Same as `holdDeliveries`, but waits for locked rows, because no poll holds them once the endpoint is active. */
export async function holdBeforeActivating(tx: Tx, endpoint_id: number, limit: number): Promise<number> {
  return await holdSome(tx, endpoint_id, limit, true)
}

/** Two statements: PostgreSQL may plan one statement for both as a scan of all deliveries. */
async function holdSome(tx: Tx, endpoint_id: number, limit: number, waiting: boolean): Promise<number> {
  const ids = (await queries.lockPending(tx, { endpoint_id, limit }, { waiting })).map(({ id }) => id)
  if (ids.length === 0) return limit
  return limit - (await queries.holdDeliveries(tx, { ids, endpoint_id, now: now(tx) }))
}
