import { now, type Tx } from '../context.ts'
import { doOrStore } from '../jobs/operations.ts'
import * as queries from './queries.ts'

export const holdKind = 'hold deliveries'

/** Switches the endpoint off and holds what was still to be sent to it. */
export async function deactivate(tx: Tx, id: number, reason: 'manual' | 'auto_failures'): Promise<void> {
  if (!(await queries.deactivateEndpoint(tx, { client_id: tx.clientId, id, active: false, reason }))) return
  await doOrStore(tx, holdKind, holdDeliveries, id)
}

/** Holds some; none once the endpoint is active again. */
export async function holdDeliveries(tx: Tx, endpointId: number, limit: number): Promise<number> {
  const chunk = { endpoint_id: endpointId, limit, now: now(tx), first: false, again: true }
  return limit - (await queries.holdPending(tx, chunk))
}
