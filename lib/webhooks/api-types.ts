/**
 * Types of the operations, with the documentation that editors show. Written by `npm run reference` from lib/bind.ts and
 * the docstrings of the operations: change them, not this file.
 */
import type { AbortInput } from '../abort.ts'
import type { Page, PageInput } from '../page.ts'
import type { DeliveryQueryInput } from './delivery-listing.ts'
import type { EventBatchInput, EventBatchResult } from './event-batch.ts'
import type { RecoverInput, Recovery } from './recovery.ts'
import type {
  Delivery,
  DeliveryDetail,
  Endpoint,
  EndpointChangeInput,
  EndpointDelivery,
  EndpointInput,
  EventInput,
  RotationInput,
} from './schema.ts'

/** `mailkeep.forClient(id).webhooks` */
export interface WebhooksApi {
  /**
   * Returns one page of the client's webhook endpoints, by ascending id, without their secrets.
   *
   * @throws MailkeepError `validation_failed`
   */
  listEndpoints(query?: PageInput): Promise<Page<Endpoint>>
  /** @throws MailkeepError `not_found` */
  getEndpoint(id: number): Promise<Endpoint>
  /**
   * Creates an endpoint that receives the client's events.
   *
   * @returns The endpoint with its signing secret. The secret is shown only here.
   * @throws MailkeepError `validation_failed`: also when the client already has the maximum number of endpoints.
   */
  createEndpoint(input: EndpointInput): Promise<Endpoint & { secret: string }>
  /**
   * Switches an endpoint on or off, or changes its description. Switching off holds its pending deliveries. Switching on
   * resets its failure count; held deliveries stay held until they are redelivered or recovered.
   *
   * @throws MailkeepError `not_found`, `validation_failed`
   */
  updateEndpoint(id: number, input: EndpointChangeInput): Promise<Endpoint>
  /**
   * Deletes an endpoint and its deliveries. Aborts attempts in flight.
   *
   * @throws MailkeepError `not_found`
   */
  deleteEndpoint(id: number): Promise<void>
  /**
   * Replaces an endpoint's signing secret. The new secret is shown only here and signs all later attempts. With
   * `overlap_hours`, `webhook-signature` has a signature of the previous secret too, for that time.
   *
   * @throws MailkeepError `not_found`, `validation_failed`
   */
  rotateSecret(id: number, input?: RotationInput): Promise<{ id: number; secret: string }>
  /**
   * Queues a sample delivery of the type `webhook.test`, even if the endpoint has not subscribed to that type.
   *
   * @throws MailkeepError `not_found`; `validation_failed`: the endpoint is switched off; `rate_limited`.
   */
  testEndpoint(id: number): Promise<Delivery>
  /**
   * Returns one page of an endpoint's deliveries, newest first.
   *
   * @throws MailkeepError `not_found`: no such endpoint; `validation_failed`.
   */
  listDeliveries(endpointId: number, query?: DeliveryQueryInput): Promise<Page<Delivery>>
  /**
   * Returns one page of the deliveries to all webhook endpoints of the client, newest first.
   *
   * @throws MailkeepError `validation_failed`
   */
  listAllDeliveries(query?: DeliveryQueryInput): Promise<Page<EndpointDelivery>>
  /**
   * Returns one delivery with its payload and attempt log.
   *
   * @throws MailkeepError `not_found`
   */
  getDelivery(endpointId: number, id: number): Promise<DeliveryDetail>
  /**
   * Sends a delivery again: one attempt now, then the retry schedule from its start. A pending delivery becomes due now. If
   * an attempt is running, the next one follows it, unless the running one succeeds, gets a 410 or is refused.
   *
   * @throws MailkeepError `not_found`; `validation_failed`: the endpoint is switched off, or the payload was erased.
   */
  redeliver(endpointId: number, id: number): Promise<Delivery>
  /**
   * Starts a stored job that queues again all deliveries of an endpoint that failed or were held since a time. The job
   * continues after a restart.
   *
   * @throws MailkeepError `not_found`; `validation_failed`: also when the endpoint is switched off.
   */
  recover(endpointId: number, input: RecoverInput): Promise<Recovery>
  /**
   * Returns the progress of a recovery.
   *
   * @throws MailkeepError `not_found`
   */
  getRecovery(endpointId: number, id: number): Promise<Recovery>
}

/** `mailkeep.forClient(id).events` */
export interface EventsApi {
  /**
   * Raises an event about mail that the host app sends by itself. If `data.contact.id` is a contact of the client, the event is
   * erased with it.
   *
   * @throws MailkeepError `validation_failed`: also when its body would be larger than 64 KiB.
   */
  raise(input: EventInput): Promise<void>
  /**
   * Raises up to 1,000 events about mail that the host app sends by itself, at a fraction of the cost of one by one. An
   * event that is refused does not stop the others. As with `raise`, an event that shows a contact is erased with it.
   * Each transaction stores some hundreds of events. After an error the events before it stay raised; repeat the call with an
   * idempotency key to raise each once.
   *
   * @param input The events, or an object with them.
   * @param options `signal` stops the call between two transactions. It then throws the signal's reason.
   * @returns The result of each event, in their order.
   * @throws MailkeepError `validation_failed` on `events`: not an array, or too many events.
   * @example
   * await acme.events.raiseMany(sent.map((mail) => ({ type: 'newsletter.sent', data: { mail } })))
   */
  raiseMany(input: EventBatchInput | readonly EventInput[], options?: AbortInput): Promise<EventBatchResult[]>
}
