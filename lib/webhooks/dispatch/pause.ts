import { now, type Tx } from '../../context.ts'
import { doOrStore } from '../../jobs/operations.ts'
import * as queries from '../queries.ts'

export const holdKind = 'hold deliveries'

/** Switches the endpoint off and holds what was still to be sent to it. */
export async function deactivate(tx: Tx, id: number, reason: 'manual' | 'auto_failures'): Promise<void> {
  if (!(await queries.deactivateEndpoint(tx, { client_id: tx.clientId, id, active: false, reason }))) return
  await doOrStore(tx, holdKind, holdDeliveries, id)
}

/** Holds some; none once the endpoint is active again. */
export function holdDeliveries(tx: Tx, endpointId: number, limit: number): Promise<number> {
  return holdSome(tx, endpointId, limit, false)
}

/** As `holdDeliveries`, also what another transaction has in hand at this moment: it may yet be undone. */
export function holdBeforeActivating(tx: Tx, endpointId: number, limit: number): Promise<number> {
  return holdSome(tx, endpointId, limit, true)
}

async function holdSome(tx: Tx, endpoint_id: number, limit: number, waiting: boolean): Promise<number> {
  const chunk = { endpoint_id, limit, now: now(tx), first: false, again: true }
  return limit - (await queries.holdPending(tx, chunk, { waiting }))
}
