import type { Context } from '../../context.ts'
import { type ClaimedDelivery, leaseMs, renewLease } from '../dispatch/claim.ts'
import type { Outcome, Sending } from '../http/send.ts'
import type { WebhookEvent } from '../receiver.ts'
import type { EventType } from '../schema.ts'
import { findSubscriber } from './queries.ts'

/** An event, with the id of its client. `*` stands for every type. */
export type HandledEvent<Type extends EventType | '*' = EventType> = Extract<
  WebhookEvent,
  { type: '*' extends Type ? EventType : Type }
> & { readonly clientId: number }

/** One attempt to handle an event. */
export interface Handling {
  /** The delivery's uuid. It is the same in each retry, so that a handler can detect repeats. */
  readonly deliveryId: string
  /** The attempt's number, from 1. Redeliveries continue the count. */
  readonly attempt: number
  /**
   * Aborted when the subscriber is removed in this process, when mailkeep closes and the time limit of `close()` ends, or
   * when the claim was lost: another process may handle the event then.
   */
  readonly signal: AbortSignal
}

/** Handles an event. When it throws, mailkeep calls it again on the retry schedule of webhooks. */
export type EventHandler<Type extends EventType | '*' = EventType> = (
  event: HandledEvent<Type>,
  handling: Handling,
) => unknown

const maxErrorCharacters = 2000

/** The event handlers of this process, by subscriber id. */
export class Handlers {
  readonly #ctx: Context
  readonly #handlers = new Map<number, EventHandler>()
  /** Names whose registration is in progress. */
  readonly registering = new Set<string>()

  /** Handlers of mailkeep's own. Their subscribers may be created later, by any process. */
  readonly #own = new Map<string, EventHandler>()

  constructor(ctx: Context) {
    this.#ctx = ctx
  }

  /** Adds a handler that is called from when its subscriber exists. */
  addOwn(subscriber: string, handler: EventHandler): void {
    this.#own.set(subscriber, handler)
  }

  /** Finds the subscribers that were created since. Costs nothing once all are found. */
  async findOwn(): Promise<void> {
    for (const [subscriber, handler] of this.#own) {
      const found = await findSubscriber(this.#ctx, { subscriber })
      if (!found) continue
      this.#handlers.set(found.id, handler)
      this.#own.delete(subscriber)
    }
  }

  get ids(): number[] {
    return [...this.#handlers.keys()]
  }

  has(subscriberId: number): boolean {
    return this.#handlers.has(subscriberId)
  }

  set(subscriberId: number, handler: EventHandler): void {
    this.#handlers.set(subscriberId, handler)
  }

  delete(subscriberId: number): void {
    this.#handlers.delete(subscriberId)
  }

  /** Calls the handler, and renews the lease until it returns. */
  handle(claimed: ClaimedDelivery): Sending {
    const aborting = new AbortController()
    const aborted = new Promise<Outcome>((resolve) => {
      aborting.signal.addEventListener('abort', () => resolve({ kind: 'interrupted' }))
    })
    const outcome = Promise.race([this.#call(claimed, aborting.signal), aborted])
    const renewal = setInterval(() => this.#renew(claimed, aborting), leaseMs(this.#ctx) / 3)
    return { outcome: outcome.finally(() => clearInterval(renewal)), abort: () => aborting.abort() }
  }

  async #call(claimed: ClaimedDelivery, signal: AbortSignal): Promise<Outcome> {
    const { clientId, endpointId, uuid, attempt, body } = claimed
    const handler = this.#handlers.get(endpointId)
    if (!handler) return { kind: 'interrupted' } // the handler was removed after the claim
    try {
      await handler({ ...JSON.parse(body), clientId }, { deliveryId: uuid, attempt, signal })
      return { kind: 'handled' }
    } catch (error) {
      // The error may contain personal data. It goes to the attempt log, which is erased with the contact.
      this.#ctx.logger.warn({ delivery: uuid, attempt }, 'an event handler failed: see the attempt log')
      const text = error instanceof Error ? (error.stack ?? String(error)) : String(error)
      const excerpt = text.replaceAll('\0', '\ufffd').slice(0, maxErrorCharacters).toWellFormed()
      return { kind: 'threw', error: 'The handler threw an error.', body: excerpt }
    }
  }

  /** Renews the lease. Aborts the handler if the claim was lost, because another process handles the event then. */
  async #renew(claimed: ClaimedDelivery, aborting: AbortController): Promise<void> {
    try {
      if (!(await renewLease(this.#ctx, claimed))) aborting.abort()
    } catch (error) {
      this.#ctx.logger.warn({ err: error, delivery: claimed.uuid }, 'could not renew a lease: will try again')
    }
  }
}
