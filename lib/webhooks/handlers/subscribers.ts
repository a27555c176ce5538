import { randomUUID } from 'node:crypto'
import { sql } from 'kysely'
import * as v from 'valibot'
import { type Context, now, type Tx } from '../../context.ts'
import { deleteDependents } from '../../deletion/operations.ts'
import { invalid } from '../../errors.ts'
import type * as inputs from '../../inputs.ts'
import type { Page } from '../../page.ts'
import { atMost, closedObject, parse, Text } from '../../parse.ts'
import { bool, int, statement, text, time, word } from '../../storage/statement.ts'
import { transact } from '../../storage/transaction.ts'
import { detailOf, listOf, queueOne } from '../deliveries.ts'
import { type Delivery, type DeliveryDetail, type EndpointKind, type EventType, EventTypes } from '../schema.ts'
import type { EventHandler, Handlers } from './handlers.ts'

/** A handler of events in the host's process: `mailkeep.on` makes it. */
export interface Subscriber {
  readonly name: string
  /** One page of its deliveries, newest first. @throws MailkeepError `validation_failed` */
  listDeliveries(query?: inputs.PageInput): Promise<Page<Delivery>>
  /** One delivery with its payload and the log of its attempts. @throws MailkeepError `not_found` */
  getDelivery(id: number): Promise<DeliveryDetail>
  /**
   * Handles a delivery again: one attempt now, then the schedule from its start.
   *
   * @throws MailkeepError `not_found`; `validation_failed`: the payload was erased.
   */
  redeliver(id: number): Promise<Delivery>
  /** This process handles no more of its events; they wait for one that does. */
  stop(): void
  /** Deletes it, in all processes, with its deliveries; what is being handled is aborted. */
  remove(): Promise<void>
}

/** What `mailkeep.on` asks for: a name of the subscriber's own, and event types. */
const Subscription = closedObject({
  name: v.pipe(Text, v.trim(), v.minLength(1, 'A subscriber needs a name.'), atMost(255)),
  events: EventTypes,
})

const findSubscriber = statement({ subscriber: text }, (db, p) =>
  db.selectFrom('mailkeep_endpoint').select(['id', 'events']).where('subscriber', '=', p.subscriber),
)

/** Inserts nothing where another process was faster. */
const insertSubscriber = statement(
  {
    uuid: text,
    created_at: time,
    subscriber: text,
    events: text,
    active: bool,
    kind: word<EndpointKind>(),
    none: text,
    zero: int,
  },
  (_, p) => sql`insert into mailkeep_endpoint
    (uuid, created_at, subscriber, events, active, kind, url, description, secret, consecutive_failures)
    values (${p.uuid}, ${p.created_at}, ${p.subscriber}, ${p.events}, ${p.active}, ${p.kind},
      ${p.none}, ${p.none}, ${p.none}, ${p.zero})
    on conflict do nothing`,
)

const changeEvents = statement({ id: int, events: text }, (db, p) =>
  db.updateTable('mailkeep_endpoint').set({ events: p.events }).where('id', '=', p.id),
)

const deleteSubscriber = statement.affected({ id: int }, (db, p) =>
  db.deleteFrom('mailkeep_endpoint').where('id', '=', p.id),
)

/**
 * Makes a subscriber, or finds the one of this name, and handles its events from now on.
 *
 * @throws MailkeepError `validation_failed`: also when this process handles that name already.
 */
export async function subscribe(
  ctx: Context,
  handlers: Handlers,
  input: { name: unknown; events: readonly EventType[] },
  handler: EventHandler,
): Promise<Subscriber> {
  const { name, events } = parse(Subscription, input)
  if (typeof handler !== 'function') throw invalid('handler', 'This must be a function.')
  const id = await register(ctx, handlers, { name, events: JSON.stringify(events) }, handler)
  let stopped = false
  const stop = () => {
    if (!stopped) handlers.delete(id)
    stopped = true // there may be another handler since
  }
  ctx.wakeDispatcher()
  return {
    name,
    listDeliveries: (query) => listOf(ctx, id, query, true),
    getDelivery: (deliveryId) => detailOf(ctx, id, deliveryId, true),
    redeliver: (deliveryId) => transact(ctx, (tx) => queueOne(tx, id, deliveryId)),
    stop,
    async remove() {
      stop()
      await removeSubscriber(ctx, id)
    },
  }
}

interface Wanted {
  readonly name: string
  /** JSON */
  readonly events: string
}

/** @returns the id of its endpoint. */
async function register(ctx: Context, handlers: Handlers, wanted: Wanted, handler: EventHandler): Promise<number> {
  const { name } = wanted
  if (handlers.registering.has(name)) throw nameTaken()
  handlers.registering.add(name)
  try {
    const id = await ensureSubscriber(ctx, handlers, wanted)
    handlers.set(id, handler)
    return id
  } finally {
    handlers.registering.delete(name)
  }
}

function nameTaken(): Error {
  return invalid('name', 'This process has a handler of that name already.')
}

async function ensureSubscriber(ctx: Context, handlers: Handlers, wanted: Wanted): Promise<number> {
  for (;;) {
    const found = await transact(ctx, async (tx) => (await findIt(tx, handlers, wanted)) ?? (await makeIt(tx, wanted)))
    if (found) return found
  }
}

/** Before its events are changed: those of a handler that is there already stay. */
async function findIt(tx: Tx, handlers: Handlers, { name, events }: Wanted): Promise<number | undefined> {
  const found = await findSubscriber(tx, { subscriber: name })
  if (found && handlers.has(found.id)) throw nameTaken()
  if (found && found.events !== events) await changeEvents(tx, { id: found.id, events })
  return found?.id
}

async function makeIt(tx: Tx, { name: subscriber, events }: Wanted): Promise<number | undefined> {
  await insertSubscriber(tx, {
    uuid: randomUUID(),
    created_at: now(tx),
    subscriber,
    events,
    active: true,
    kind: 'handler',
    none: '',
    zero: 0,
  })
  return (await findSubscriber(tx, { subscriber }))?.id // nothing: it was made and removed meanwhile
}

async function removeSubscriber(ctx: Context, id: number): Promise<void> {
  return transact(ctx, async (tx) => {
    if ((await deleteSubscriber(tx, { id })) === 0) return
    tx.transaction.afterCommit(() => tx.abortDeliveries(({ endpointId }) => endpointId === id))
    await deleteDependents(tx, 'endpoint', id)
  })
}
