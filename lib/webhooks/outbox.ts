import { randomUUID } from 'node:crypto'
import { distinct, groupBy } from '../collections.ts'
import { type Context, now, type RaisedEvent, type Tx } from '../context.ts'
import { isRecord } from '../parse.ts'
import type { Timestamp } from '../time.ts'
import { bodyOf, bodyWithoutContact } from './event-body.ts'
import * as queries from './outbox-queries.ts'
import { allEvents, type EndpointKind, type EventType } from './schema.ts'
import { SharedContacts } from './shared-contacts.ts'

/** An endpoint that gets an event. */
interface Addressee {
  readonly id: number
  readonly kind: EndpointKind
  readonly active: boolean
}

/** The endpoints, also those of handlers, that may ask for an event of a client. `events` is JSON text. */
export type EventEndpoints = readonly (Addressee & { readonly events: string })[]

/** Finds the endpoints once, for a change that may raise several events. */
export function findEventEndpoints(ctx: Context): Promise<EventEndpoints> {
  return queries.listEventEndpoints(ctx, { client_id: ctx.clientId })
}

/** @returns Whether an endpoint subscribes to this type, or the host's `onEvent` observes it. */
export function isWanted(ctx: Context, endpoints: EventEndpoints, type: EventType): boolean {
  return ctx.local.webhooks.onEvent !== undefined || subscribedTo(endpoints, type).length > 0
}

/** The quotes around the type prevent a match inside a longer name. */
function subscribedTo(endpoints: EventEndpoints, type: EventType): EventEndpoints {
  const quoted = `"${type}"`
  return endpoints.filter(({ events }) => events.includes(quoted) || events.includes(quotedAll))
}

const quotedAll = `"${allEvents}"`

/** @returns How many deliveries an event of this type creates: one for each endpoint that subscribes to it. */
export function countSubscribed(endpoints: EventEndpoints, type: EventType): number {
  return subscribedTo(endpoints, type).length
}

const maxRowsPerInsert = 1000

/** A statement inserts events up to this size. Larger ones would block the process for seconds. */
const maxCharactersPerInsert = 2 ** 19

/**
 * Raises an event in the transaction of the change that it reports (transactional outbox). Inserts one event row and one
 * delivery for each endpoint that subscribes to its type. If none does, it inserts no row.
 *
 * @param contactId The contact whose personal data the event contains; null when it contains no contact's data. An event
 *   with null is not erased with a contact.
 * @throws MailkeepError `validation_failed` on `data`: too large, or nested too deeply.
 */
export async function raise(tx: Tx, type: EventType, data: object, contactId: number | null): Promise<void> {
  const occurrence = { data, contactId }
  if (!tx.storage.dialect.writesSeveralTables) return await raiseTo(tx, await findEventEndpoints(tx), type, occurrence)
  const created_at = now(tx)
  report(tx, type, created_at, data)
  storeForSubscribed(tx, type, occurrence, created_at)
}

/** Same as `raise`, with endpoints that are already known. */
export async function raiseTo(
  tx: Tx,
  endpoints: EventEndpoints,
  type: EventType,
  occurrence: Occurrence,
): Promise<void> {
  const created_at = now(tx)
  report(tx, type, created_at, occurrence.data)
  const subscribed = subscribedTo(endpoints, type)
  if (subscribed.length === 0) return
  if (tx.storage.dialect.writesSeveralTables) storeForSubscribed(tx, type, occurrence, created_at)
  else await storeEvent(tx, type, occurrence, created_at, subscribed)
}

/** Same as `raise`. @returns The id of the event; undefined if no endpoint subscribes to it. */
export async function raiseWithId(tx: Tx, type: EventType, occurrence: Occurrence): Promise<number | undefined> {
  const created_at = now(tx)
  report(tx, type, created_at, occurrence.data)
  const subscribed = subscribedTo(await findEventEndpoints(tx), type)
  return subscribed.length === 0 ? undefined : (await storeEvent(tx, type, occurrence, created_at, subscribed)).eventId
}

/** Inserts an event and its deliveries. @returns Their ids; `deliveryId` only if there is one delivery. */
async function storeEvent(
  tx: Tx,
  type: EventType,
  { data, contactId }: Occurrence,
  created_at: Timestamp,
  subscribed: readonly Addressee[],
): Promise<{ eventId: number; deliveryId?: number }> {
  const uuid = randomUUID()
  const body = bodyOf(uuid, type, created_at, data)
  const event = { client_id: tx.clientId, uuid, type, contact_id: contactId, body, created_at }
  const eventId = (await queries.insertEvent(tx, event))!
  if (subscribed.length > 1) {
    await insertDeliveries(tx, type, created_at, [eventId], subscribed)
    return { eventId }
  }
  const { id: endpoint_id, kind, active } = subscribed[0]!
  const deliveryId = (await queries.insertDelivery(tx, {
    client_id: tx.clientId,
    uuid: randomUUID(),
    endpoint_id,
    kind,
    event_id: eventId,
    event_type: type,
    status: active ? 'pending' : 'held',
    due_at: created_at,
    scheduled_at: active ? created_at : null,
    ended_at: active ? null : created_at,
    created_at,
  }))!
  tx.transaction.afterCommit(tx.local.webhooks.wake)
  return { eventId, deliveryId }
}

/** Inserts the event and its deliveries by one statement, which the commit follows at once. */
function storeForSubscribed(tx: Tx, type: EventType, { data, contactId }: Occurrence, created_at: Timestamp): void {
  const uuid = randomUUID()
  const body = bodyOf(uuid, type, created_at, data)
  const event = { client_id: tx.clientId, uuid, type, contact_id: contactId, body, created_at }
  let deliveries = 0
  const inserted = queries.insertForSubscribed(tx, { ...event, quoted: `"${type}"`, quoted_all: quotedAll })
  tx.transaction.defer(inserted.then((count) => (deliveries = count)))
  tx.transaction.afterCommit(() => {
    if (deliveries > 0) tx.local.webhooks.wake()
  })
}

/**
 * Calls the host's `onEvent` after the commit. Its errors are logged, because the change is already committed, also those
 * of an async function, which would end the process.
 */
function report(tx: Tx, type: EventType, created_at: Timestamp, data: object): void {
  const { clientId, logger, local, transaction } = tx
  const { onEvent } = local.webhooks
  if (!onEvent) return
  const call = async () => onEvent({ clientId, type, created_at, data } as RaisedEvent)
  transaction.afterCommit(() => {
    call().catch((error) => logger.error({ err: error, type }, 'onEvent failed'))
  })
}

/** The data of one event. */
interface Occurrence {
  readonly data: object
  /** The contact whose personal data the event contains. */
  readonly contactId: number | null
}

/** The data of one event, with its type. */
export interface TypedOccurrence extends Occurrence {
  readonly type: EventType
}

/**
 * Returns events of the host with the contact that each one shows: `data.contact.id`, if the client has this contact. So
 * they are erased with it. The contacts are not locked, because the second pass of an erasure finds these events.
 */
export async function withContacts<E extends { readonly data: object }>(
  tx: Tx,
  events: readonly E[],
): Promise<(E & Occurrence)[]> {
  const ids = distinct(events.flatMap(({ data }) => shownContact(data) ?? []))
  const found = ids.length === 0 ? [] : await queries.findContacts(tx, { client_id: tx.clientId, ids })
  const known = new Set(found.map(({ id }) => id))
  return events.map((event) => {
    const id = shownContact(event.data)
    return { ...event, contactId: id !== undefined && known.has(id) ? id : null }
  })
}

function shownContact(data: object): number | undefined {
  const { contact } = data as { contact?: unknown }
  const id = isRecord(contact) ? contact.id : undefined
  return Number.isSafeInteger(id) ? (id as number) : undefined
}

/** Same as `raiseTo`, for many events in a few statements for each type. They share the contacts that many of them show. */
export async function raiseAllTo(
  tx: Tx,
  endpoints: EventEndpoints,
  occurrences: readonly TypedOccurrence[],
): Promise<void> {
  const shared = new SharedContacts(occurrences)
  for (const [type, ofType] of groupBy(occurrences, (occurrence) => occurrence.type)) {
    await raiseAllOfType(tx, endpoints, type, ofType, shared)
  }
}

async function raiseAllOfType(
  tx: Tx,
  endpoints: EventEndpoints,
  type: EventType,
  occurrences: readonly Occurrence[],
  shared: SharedContacts,
): Promise<void> {
  const created_at = now(tx)
  for (const { data } of occurrences) report(tx, type, created_at, data)
  const subscribed = subscribedTo(endpoints, type)
  if (subscribed.length === 0) return
  for (let at = 0; at < occurrences.length; ) {
    if (at > 0) await tx.transaction.pause()
    const events: queries.NewEvent[] = []
    for (let characters = 0; at < occurrences.length && characters < maxCharactersPerInsert; at++) {
      const { data, contactId } = occurrences[at]!
      const event = await eventOf(tx, type, created_at, data, shared)
      events.push({ ...event, contact_id: contactId })
      characters += event.body.length
    }
    const recorded = await queries.insertEvents(tx, { client_id: tx.clientId, type, created_at, events })
    const eventIds = recorded.map(({ id }) => id)
    await insertDeliveries(tx, type, created_at, eventIds, subscribed)
  }
}

/** Returns the columns of an event that its data determine. */
async function eventOf(tx: Tx, type: EventType, created_at: Timestamp, data: object, shared: SharedContacts) {
  const uuid = randomUUID()
  const texts = shared.textsOf(data)
  if (!texts) return { uuid, body: bodyOf(uuid, type, created_at, data), shared_contact_id: null }
  const { body, contact } = bodyWithoutContact(uuid, type, created_at, data, texts)
  return { uuid, body, shared_contact_id: await shared.idOf(tx, contact) }
}

/**
 * Stores an event for one active endpoint, without a check of its event types.
 *
 * @param data Must contain no contact's data, because this event is not erased with a contact.
 * @returns The id of its delivery.
 */
export async function storeEventFor(tx: Tx, endpointId: number, type: EventType, data: object): Promise<number> {
  const endpoint: Addressee = { id: endpointId, kind: 'http', active: true }
  return (await storeEvent(tx, type, { data, contactId: null }, now(tx), [endpoint])).deliveryId!
}

/** Inserts one delivery for each pair of event and endpoint. */
async function insertDeliveries(
  tx: Tx,
  event_type: EventType,
  created_at: Timestamp,
  eventIds: readonly number[],
  subscribed: readonly Addressee[],
): Promise<void> {
  const fixed = { client_id: tx.clientId, event_type, created_at }
  let deliveries: queries.NewDelivery[] = []
  for (const event_id of eventIds) {
    for (const { id: endpoint_id, kind, active } of subscribed) {
      deliveries.push({ uuid: randomUUID(), event_id, endpoint_id, kind, status: active ? 'pending' : 'held' })
      if (deliveries.length < maxRowsPerInsert) continue
      await queries.insertDeliveries(tx, { ...fixed, deliveries })
      await tx.transaction.pause()
      deliveries = []
    }
  }
  if (deliveries.length > 0) await queries.insertDeliveries(tx, { ...fixed, deliveries })
  tx.transaction.afterCommit(tx.local.webhooks.wake)
}
