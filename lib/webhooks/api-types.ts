import type * as inputs from '../inputs.ts'
import type { Page } from '../page.ts'
import type { Recovery } from './recovery.ts'
import type { Delivery, DeliveryDetail, Endpoint } from './schema.ts'

/** `mailkeep.forClient(id).webhooks` */
export interface WebhooksApi {
  /**
   * One page of the client's webhook endpoints, by ascending id, without their secrets.
   *
   * @throws MailkeepError `validation_failed`
   */
  listEndpoints(query?: inputs.PageInput): Promise<Page<Endpoint>>
  /** @throws MailkeepError `not_found` */
  getEndpoint(id: number): Promise<Endpoint>
  /**
   * Makes an endpoint that the client's events are delivered to.
   *
   * @returns The endpoint with its signing secret, shown this once.
   * @throws MailkeepError `validation_failed`
   */
  createEndpoint(input: inputs.EndpointInput): Promise<Endpoint & { secret: string }>
  /**
   * Switches an endpoint on or off, or describes it anew. Switched off, its pending deliveries are held; switched on,
   * its failures are forgotten, and nothing is sent by that.
   *
   * @throws MailkeepError `not_found`, `validation_failed`
   */
  updateEndpoint(id: number, input: inputs.EndpointChangeInput): Promise<Endpoint>
  /**
   * Deletes an endpoint with its deliveries; one in flight is aborted.
   *
   * @throws MailkeepError `not_found`
   */
  deleteEndpoint(id: number): Promise<void>
  /**
   * Gives an endpoint a new signing secret, shown this once; attempts from now on are signed with it.
   *
   * @throws MailkeepError `not_found`
   */
  rotateSecret(id: number): Promise<{ id: number; secret: string }>
  /**
   * Queues a sample delivery of the type `webhook.test`, whatever the endpoint subscribed to.
   *
   * @throws MailkeepError `not_found`; `validation_failed`: the endpoint is inactive; `rate_limited`.
   */
  testEndpoint(id: number): Promise<Delivery>
  /**
   * One page of an endpoint's deliveries, newest first.
   *
   * @throws MailkeepError `not_found`: no such endpoint; `validation_failed`.
   */
  listDeliveries(endpointId: number, query?: inputs.PageInput): Promise<Page<Delivery>>
  /**
   * One delivery with its payload and the log of its attempts.
   *
   * @throws MailkeepError `not_found`
   */
  getDelivery(endpointId: number, id: number): Promise<DeliveryDetail>
  /**
   * Sends a delivery again: one attempt now, then the schedule from its start. One that is pending becomes due now.
   *
   * @throws MailkeepError `not_found`; `validation_failed`: the endpoint is inactive, or the payload was erased.
   */
  redeliver(endpointId: number, id: number): Promise<Delivery>
  /**
   * Queues again all deliveries of an endpoint that failed or were held since a time: a stored job, which survives the
   * process.
   *
   * @throws MailkeepError `not_found`; `validation_failed`: also when the endpoint is inactive.
   */
  recover(endpointId: number, input: inputs.RecoverInput): Promise<Recovery>
  /**
   * How far a recovery has come.
   *
   * @throws MailkeepError `not_found`
   */
  getRecovery(endpointId: number, id: number): Promise<Recovery>
}

/** `mailkeep.forClient(id).events` */
export interface EventsApi {
  /**
   * Raises an event that only the host app can know of.
   *
   * @throws MailkeepError `validation_failed`: also when its body would have more than 64 KiB.
   */
  raise(input: inputs.EventInput): Promise<void>
}
