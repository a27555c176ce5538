import { randomUUID } from 'node:crypto'
import { audit, auditUpdate } from '../audit/operations.ts'
import { lockClient } from '../clients/operations.ts'
import { type Context, now, type Tx } from '../context.ts'
import { invalid, MailkeepError, notFound } from '../errors.ts'
import { maxRowsPerBatch, runInTwoPasses } from '../jobs/operations.ts'
import { listPage, mapPage, type Page, type PageInput } from '../page.ts'
import { parse, requireId } from '../parse.ts'
import { transact } from '../storage/transaction.ts'
import { msOf, timestamp } from '../time.ts'
import { clearEndpoint } from './deletion.ts'
import { holdDeliveries, switchOff } from './dispatch/pause.ts'
import { checkBody } from './event-body.ts'
import { newSecret } from './http/signature.ts'
import { urlProblem } from './http/url-rule.ts'
import { raise, storeEventFor, withContacts } from './outbox.ts'
import * as queries from './queries.ts'
import {
  type Delivery,
  deliveryFrom,
  type Endpoint,
  EndpointChange,
  type EndpointChangeInput,
  type EndpointInput,
  type EventInput,
  endpointFrom,
  HostEvent,
  NewEndpoint,
  Rotation,
  type RotationInput,
} from './schema.ts'

/**
 * Returns one page of the client's webhook endpoints, by ascending id, without their secrets.
 *
 * @throws MailkeepError `validation_failed`
 */
export async function listEndpoints(ctx: Context, query?: PageInput): Promise<Page<Endpoint>> {
  const page = await listPage(query, (range) =>
    queries.listEndpoints(ctx, { client_id: ctx.clientId, ...range }, range),
  )
  return mapPage(page, endpointFrom)
}

/** @throws MailkeepError `not_found` */
export async function getEndpoint(ctx: Context, id: number): Promise<Endpoint> {
  return endpointFrom(await requireEndpoint(ctx, id))
}

/**
 * Creates an endpoint that receives the client's events.
 *
 * @returns The endpoint with its signing secret. The secret is shown only here.
 * @throws MailkeepError `validation_failed`: also when the client already has the maximum number of endpoints.
 */
export async function createEndpoint(ctx: Context, input: EndpointInput): Promise<Endpoint & { secret: string }> {
  const { url, events, description } = parse(NewEndpoint, input)
  const problem = urlProblem(url, ctx.local.webhooks.settings)
  if (problem) throw invalid('url', problem)
  const secret = newSecret()
  return transact(ctx, async (tx) => {
    await checkEndpointCount(tx)
    const uuid = randomUUID()
    const row = await queries.insertEndpoint(tx, {
      client_id: tx.clientId,
      uuid,
      url,
      description,
      events: JSON.stringify(events),
      secret: tx.sealer.seal(secret, uuid),
      created_at: now(tx),
    })
    audit(tx, 'endpoint.created', row!.id)
    return { ...endpointFrom(row!), secret }
  })
}

/** Locks the client first, so that two parallel creations cannot exceed the limit together. */
async function checkEndpointCount(tx: Tx): Promise<void> {
  await lockClient(tx)
  const limit = tx.local.webhooks.settings.endpointsPerClient
  const { count } = (await queries.countEndpoints(tx, { client_id: tx.clientId }))!
  if (count < limit) return
  throw invalid('body', `A client may have at most ${limit} webhook endpoints. Delete one to create another.`)
}

/**
 * Switches an endpoint on or off, or changes its description. Switching off holds its pending deliveries. Switching on
 * resets its failure count; held deliveries stay held until they are redelivered or recovered.
 *
 * @throws MailkeepError `not_found`, `validation_failed`
 */
export async function updateEndpoint(ctx: Context, id: number, input: EndpointChangeInput): Promise<Endpoint> {
  const change = parse(EndpointChange, input)
  for (;;) {
    const changed = await transact(ctx, (tx) => changeEndpoint(tx, id, change))
    if (changed) return changed
  }
}

/** @returns undefined when more deliveries must be held first. Switching on before that would send them. */
async function changeEndpoint(tx: Tx, id: number, change: EndpointChange) {
  const { active, description } = change
  const key = { client_id: tx.clientId, id }
  // The row lock lasts until the commit, so a parallel switch-off runs completely before or after this change.
  requireId('endpointId', id)
  const endpoint = await queries.lockEndpoint(tx, key)
  if (!endpoint) throw notFound('endpoint')
  const isSwitchedOn = active === true && !endpoint.active
  if (isSwitchedOn && (await holdDeliveries(tx, id, true)) === maxRowsPerBatch) return undefined
  if (description !== undefined) await queries.describeEndpoint(tx, { ...key, description })
  if (active === false) await switchOff(tx, id, 'manual')
  if (active === true) await queries.activateEndpoint(tx, key)
  auditUpdate(tx, 'endpoint.updated', id, change)
  return await getEndpoint(tx, id)
}

/**
 * Deletes an endpoint and its deliveries. Aborts attempts in flight.
 *
 * @throws MailkeepError `not_found`
 */
export async function deleteEndpoint(ctx: Context, id: number): Promise<void> {
  return transact(ctx, async (tx) => {
    requireId('endpointId', id)
    if (!(await queries.deleteEndpoint(tx, { client_id: tx.clientId, id }))) throw notFound('endpoint')
    audit(tx, 'endpoint.deleted', id)
    tx.transaction.afterCommit(() => tx.local.webhooks.abort(({ endpointId }) => endpointId === id))
    await runInTwoPasses(tx, clearEndpoint, { targetId: id })
  })
}

/**
 * Replaces an endpoint's signing secret. The new secret is shown only here and signs all later attempts. With
 * `overlap_hours`, `webhook-signature` has a signature of the previous secret too, for that time.
 *
 * @throws MailkeepError `not_found`, `validation_failed`
 */
export async function rotateSecret(
  ctx: Context,
  id: number,
  input: RotationInput = {},
): Promise<{ id: number; secret: string }> {
  const { overlap_hours: hours = 0 } = parse(Rotation, input)
  const secret = newSecret()
  return transact(ctx, async (tx) => {
    const { uuid } = await requireEndpoint(tx, id)
    const overlaps_until = hours > 0 ? timestamp(tx.clock() + hours * 3_600_000) : null
    const sealed = tx.sealer.seal(secret, uuid)
    const replaced = await queries.replaceSecret(tx, { client_id: tx.clientId, id, secret: sealed, overlaps_until })
    if (replaced === 0) throw notFound('endpoint') // another transaction has just deleted it
    audit(tx, 'endpoint.secret_rotated', id)
    return { id, secret }
  })
}

/**
 * Queues a sample delivery of the type `webhook.test`, even if the endpoint has not subscribed to that type.
 *
 * @throws MailkeepError `not_found`; `validation_failed`: the endpoint is switched off; `rate_limited`.
 */
export async function testEndpoint(ctx: Context, id: number): Promise<Delivery> {
  return transact(ctx, async (tx) => {
    const endpoint = await requireEndpoint(tx, id)
    if (!endpoint.active) throw invalid('active', 'The endpoint is switched off: switch it on before testing it.')
    await countTest(tx)
    const data = { message: 'This is a test delivery from mailkeep.' }
    const deliveryId = await storeEventFor(tx, id, 'webhook.test', data)
    return deliveryFrom((await queries.findDelivery(tx, { endpoint_id: id, id: deliveryId }))!, true)
  })
}

/** Enforces the rate limit of tests. Counts in the database, so that all processes share the limit. */
async function countTest(tx: Tx): Promise<void> {
  await lockClient(tx)
  const limit = tx.local.webhooks.settings.testDeliveriesPerMinute
  const nowMs = tx.clock()
  const window = { client_id: tx.clientId, from: timestamp(nowMs - 60_000), to: timestamp(nowMs + 60_000) }
  const recent = await queries.listRecentTests(tx, window)
  if (recent.length >= limit) {
    const oldest = recent.at(-limit)
    const resetSeconds = oldest ? Math.max(1, Math.ceil((msOf(oldest.created_at) + 60_000 - nowMs) / 1000)) : 60
    throw new MailkeepError('rate_limited', `At most ${limit} test deliveries in a minute: try again later.`, {
      rateLimit: { limit, remaining: 0, resetSeconds },
    })
  }
  await queries.deleteOtherTests(tx, window)
  await queries.insertTest(tx, { client_id: tx.clientId, created_at: now(tx) })
}

/**
 * Raises an event about mail that the host app sends by itself. If `data.contact.id` is a contact of the client, the event is
 * erased with it.
 *
 * @throws MailkeepError `validation_failed`: also when its body would be larger than 64 KiB.
 */
export async function raiseEvent(ctx: Context, input: EventInput): Promise<void> {
  const { type, data: given } = parse(HostEvent, input)
  const { data } = checkBody(type, given) // even if no endpoint subscribes to it
  return transact(ctx, async (tx) => {
    const [event] = await withContacts(tx, [{ data }])
    await raise(tx, type, data, event!.contactId)
  })
}

/** Returns the endpoint's row, with its sealed secret. */
export async function requireEndpoint(ctx: Context, id: number) {
  requireId('endpointId', id)
  const row = await queries.findEndpoint(ctx, { client_id: ctx.clientId, id })
  if (!row) throw notFound('endpoint')
  return row
}
