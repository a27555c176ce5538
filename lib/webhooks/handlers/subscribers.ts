import { randomUUID } from 'node:crypto'
import * as v from 'valibot'
import { type Context, now, type Tx } from '../../context.ts'
import { invalid } from '../../errors.ts'
import { runInTwoPasses } from '../../jobs/operations.ts'
import type { Page } from '../../page.ts'
import { atMost, closedObject, parse, Text } from '../../parse.ts'
import { transact } from '../../storage/transaction.ts'
import { clearEndpoint } from '../deletion.ts'
import { detailOf, queueOne } from '../deliveries.ts'
import { type DeliveryQueryInput, listDeliveriesOf } from '../delivery-listing.ts'
import { type Delivery, type DeliveryDetail, type EventType, HandlerEventTypes } from '../schema.ts'
import { type EventHandler, type Handlers, nameTaken } from './handlers.ts'
import { changeEvents, deleteSubscriber, findSubscriber, insertSubscriber } from './queries.ts'

/** A named subscription to events, handled in the host's process. `mailkeep.on` creates it. */
export interface Subscriber {
  readonly name: string
  /** Returns one page of its deliveries, newest first. @throws MailkeepError `validation_failed` */
  listDeliveries(query?: DeliveryQueryInput): Promise<Page<Delivery>>
  /** Returns one delivery with its payload and attempt log. @throws MailkeepError `not_found` */
  getDelivery(id: number): Promise<DeliveryDetail>
  /**
   * Handles a delivery again: one attempt now, then the retry schedule from its start.
   *
   * @throws MailkeepError `not_found`; `validation_failed`: the payload was erased.
   */
  redeliver(id: number): Promise<Delivery>
  /** Stops handling its events in this process. The events wait until a process registers the name again. */
  stop(): void
  /** Deletes the subscriber and its deliveries, in all processes. Aborts running handlers. */
  remove(): Promise<void>
}

/** Options of `mailkeep.on`: the subscriber's unique name, and event types. */
const Subscription = closedObject({
  name: v.pipe(Text, v.trim(), v.minLength(1, 'A subscriber must have a name.'), atMost(255)),
  events: HandlerEventTypes,
})

/**
 * Creates the subscriber, or finds the existing one of this name, and handles its events from now on.
 *
 * @throws MailkeepError `validation_failed`: also when this process already has a handler of that name.
 */
export async function subscribe(
  ctx: Context,
  handlers: Handlers,
  input: { name: unknown; events: readonly (EventType | '*')[] },
  handler: EventHandler,
): Promise<Subscriber> {
  const { name, events } = parse(Subscription, input)
  if (typeof handler !== 'function') throw invalid('handler', 'This must be a function.')
  const fields = { name, events: JSON.stringify(events) }
  const id = await handlers.register(name, handler, () => ensureSubscriber(ctx, handlers, fields))
  let stopped = false
  const stop = () => {
    if (!stopped) handlers.remove(id)
    stopped = true // a second call must not remove a handler that was registered later
  }
  ctx.local.webhooks.wake()
  return {
    name,
    listDeliveries: (query) => listDeliveriesOf(ctx, { id, active: true, events: null }, query),
    getDelivery: (deliveryId) => detailOf(ctx, id, deliveryId, true),
    redeliver: (deliveryId) => transact(ctx, (tx) => queueOne(tx, id, deliveryId)),
    stop,
    async remove() {
      stop()
      await removeSubscriber(ctx, id)
    },
  }
}

interface SubscriberFields {
  readonly name: string
  /** JSON */
  readonly events: string
}

/** @returns The id of the subscriber's endpoint. */
async function ensureSubscriber(ctx: Context, handlers: Handlers, fields: SubscriberFields): Promise<number> {
  for (;;) {
    const found = await transact(
      ctx,
      async (tx) => (await findAndUpdate(tx, handlers, fields)) ?? (await create(tx, fields)),
    )
    if (found) return found
  }
}

/** Finds the subscriber and updates its event types. Throws before the update if the name already has a handler. */
async function findAndUpdate(
  tx: Tx,
  handlers: Handlers,
  { name, events }: SubscriberFields,
): Promise<number | undefined> {
  const found = await findSubscriber(tx, { subscriber: name })
  if (found && handlers.has(found.id)) throw nameTaken()
  if (found && found.events !== events) await changeEvents(tx, { id: found.id, events })
  return found?.id
}

/** Creates a subscriber of mailkeep's own, unless it exists. Its handler is called in each process that has it. */
export async function ensureOwnSubscriber(tx: Tx, name: string, events: readonly EventType[]): Promise<void> {
  if (!(await findSubscriber(tx, { subscriber: name }))) await create(tx, { name, events: JSON.stringify(events) })
}

async function create(tx: Tx, { name: subscriber, events }: SubscriberFields): Promise<number | undefined> {
  await insertSubscriber(tx, { uuid: randomUUID(), created_at: now(tx), subscriber, events })
  return (await findSubscriber(tx, { subscriber }))?.id // undefined when another process has already removed it
}

async function removeSubscriber(ctx: Context, id: number): Promise<void> {
  return transact(ctx, async (tx) => {
    if ((await deleteSubscriber(tx, { id })) === 0) return
    tx.transaction.afterCommit(() => tx.local.webhooks.abort(({ endpointId }) => endpointId === id))
    await runInTwoPasses(tx, clearEndpoint, { targetId: id })
  })
}
