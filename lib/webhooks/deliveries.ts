import { audit } from '../audit/operations.ts'
import { type Context, now, type Tx } from '../context.ts'
import { invalid, notFound } from '../errors.ts'
import type { Page } from '../page.ts'
import { requireId } from '../parse.ts'
import { transact } from '../storage/transaction.ts'
import { erasedError } from './deletion.ts'
import { type DeliveryQueryInput, listDeliveriesOf } from './delivery-listing.ts'
import { requireEndpoint } from './operations.ts'
import * as queries from './queries.ts'
import { type Attempt, attemptFrom, type Delivery, type DeliveryDetail, deliveryFrom, detailFrom } from './schema.ts'

/**
 * Returns one page of an endpoint's deliveries, newest first.
 *
 * @throws MailkeepError `not_found`: no such endpoint; `validation_failed`.
 */
export async function listDeliveries(
  ctx: Context,
  endpointId: number,
  query?: DeliveryQueryInput,
): Promise<Page<Delivery>> {
  const { disabled_reason, events } = await requireEndpoint(ctx, endpointId)
  return await listDeliveriesOf(ctx, { id: endpointId, active: disabled_reason === null, events }, query)
}

/**
 * Returns one delivery with its payload and attempt log.
 *
 * @throws MailkeepError `not_found`
 */
export async function getDelivery(ctx: Context, endpointId: number, id: number): Promise<DeliveryDetail> {
  const endpoint = await requireEndpoint(ctx, endpointId)
  return await detailOf(ctx, endpointId, id, endpoint.disabled_reason === null)
}

/** @param active Whether the endpoint is active. */
export async function detailOf(ctx: Context, endpointId: number, id: number, active: boolean): Promise<DeliveryDetail> {
  requireId('deliveryId', id)
  const row = await queries.findDeliveryDetail(ctx, { endpoint_id: endpointId, id })
  if (!row) throw notFound('delivery')
  if (row.contact_id !== null) ctx.local.onContactRead?.(row.contact_id)
  const attempts: Attempt[] = JSON.parse(row.attempt_log)
  return detailFrom(row, active, attempts.map(attemptFrom))
}

/**
 * Sends a delivery again: one attempt now, then the retry schedule from its start. A pending delivery becomes due now. If
 * an attempt is running, the next one follows it, unless the running one succeeds, gets a 410 or is refused.
 *
 * @throws MailkeepError `not_found`; `validation_failed`: the endpoint is switched off, or the payload was erased.
 */
export async function redeliver(ctx: Context, endpointId: number, id: number): Promise<Delivery> {
  return transact(ctx, async (tx) => {
    const endpoint = await requireEndpoint(tx, endpointId)
    await requireDelivery(tx, endpointId, id)
    if (endpoint.disabled_reason !== null) {
      throw invalid('active', 'The endpoint is switched off: switch it on before redelivering.')
    }
    audit(tx, 'delivery.redelivered', id)
    return await queueOne(tx, endpointId, id)
  })
}

/** Makes one delivery of an active endpoint due now. */
export async function queueOne(tx: Tx, endpointId: number, id: number): Promise<Delivery> {
  const delivery = await requireDelivery(tx, endpointId, id)
  if (delivery.body === '') throw invalid('payload', erasedError)
  await queries.reschedule(tx, { id, now: now(tx) })
  const queued = await requireDelivery(tx, endpointId, id)
  if (queued.body === '') throw invalid('payload', erasedError) // by a transaction that `reschedule` waited for
  tx.transaction.afterCommit(tx.local.webhooks.wake)
  return deliveryFrom(queued, true)
}

async function requireDelivery(ctx: Context, endpoint_id: number, id: number) {
  requireId('deliveryId', id)
  const row = await queries.findDelivery(ctx, { endpoint_id, id })
  if (!row) throw notFound('delivery')
  return row
}
