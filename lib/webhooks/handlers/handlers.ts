import type { Context } from '../../context.ts'
import { type ClaimedDelivery, leaseMs, renewLease } from '../dispatch/claim.ts'
import type { Outcome, Sending } from '../http/send.ts'
import type { WebhookEvent } from '../receiver.ts'
import type { EventType } from '../schema.ts'

/** An event, and whose. */
export type HandledEvent<Type extends EventType = EventType> = Extract<WebhookEvent, { type: Type }> & {
  readonly clientId: number
}

/** One attempt to handle an event. */
export interface Handling {
  /** The delivery's uuid: the same over retries, so that a handler can tell repeats. */
  readonly deliveryId: string
  /** From 1, over all rounds. */
  readonly attempt: number
  /** Aborted when mailkeep is closed and will not wait longer, or the subscriber is removed. */
  readonly signal: AbortSignal
}

/** Handles an event; when it throws it is called again, on the schedule of webhooks. */
export type EventHandler<Type extends EventType = EventType> = (
  event: HandledEvent<Type>,
  handling: Handling,
) => unknown

const keptCharacters = 2000

/** The handlers of this process, by the ids of their subscribers. */
export class Handlers {
  readonly #ctx: Context
  readonly #handlers = new Map<number, EventHandler>()
  /** Names whose subscribers are being looked for. */
  readonly registering = new Set<string>()

  constructor(ctx: Context) {
    this.#ctx = ctx
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

  /** Calls the handler; the claim is renewed for as long as it takes. */
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
    if (!handler) return { kind: 'interrupted' } // it was taken away since
    try {
      await handler({ ...JSON.parse(body), clientId }, { deliveryId: uuid, attempt, signal })
      return { kind: 'handled' }
    } catch (error) {
      // What was thrown may hold personal data: it goes to the attempt's log, which is erased with its contact.
      this.#ctx.logger.warn({ delivery: uuid, attempt }, 'a handler failed: the attempt log says how')
      const text = error instanceof Error ? (error.stack ?? String(error)) : String(error)
      const kept = text.replaceAll('\0', '\ufffd').slice(0, keptCharacters).toWellFormed()
      return { kind: 'threw', error: 'The handler threw an error.', body: kept }
    }
  }

  /** A claim that is lost is somebody else's to handle. */
  async #renew(claimed: ClaimedDelivery, aborting: AbortController): Promise<void> {
    try {
      if (!(await renewLease(this.#ctx, claimed))) aborting.abort()
    } catch (error) {
      this.#ctx.logger.warn({ err: error, delivery: claimed.uuid }, 'a claim could not be renewed yet')
    }
  }
}
