import type { Context, Tx } from '../../context.ts'
import { leaseMs } from '../../dispatch/claims.ts'
import { invalid, type MailkeepError } from '../../errors.ts'
import { readJson } from '../../json.ts'
import { earliest } from '../../time.ts'
import { type ClaimedDelivery, renewLease } from '../dispatch/claim.ts'
import type { Allowance, DueEndpoint } from '../dispatch/fairness.ts'
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
   * Aborted when the subscriber is removed in this process, when mailkeep closes and the time limit of `close()` ends,
   * when the signal of `deliverDue()` is aborted, or when the claim was lost: another process may handle the event then.
   */
  readonly signal: AbortSignal
}

/** Handles an event. When it throws, mailkeep calls it again on the retry schedule of webhooks. */
export type EventHandler<Type extends EventType | '*' = EventType> = (
  event: HandledEvent<Type>,
  handling: Handling,
) => unknown

/** Limits the rate of events for a handler. */
interface HandlerPace {
  /** Returns how many of the due events may be claimed now, and in how many milliseconds there may be more. */
  allow(due: number): { readonly allowed: number; readonly waitMs: number }
  /** Counts the events that a transaction claims. @returns How many it may claim. */
  claim(tx: Tx, limit: number): Promise<number>
}

const maxErrorCharacters = 2000

/** Returns the text of anything that a handler throws, even if it cannot be converted. */
function textOf(error: unknown): string {
  try {
    return String((error instanceof Error && error.stack) || error)
  } catch {
    return 'The error cannot be converted to text.'
  }
}

export function nameTaken(): MailkeepError {
  return invalid('name', 'This process already has a handler of that name.')
}

/** The event handlers of this process, by subscriber id. */
export class Handlers {
  readonly #ctx: Context
  readonly #byId = new Map<number, EventHandler>()
  /** Names whose registration is in progress. */
  readonly #registering = new Set<string>()

  /** Handlers of mailkeep's own. Their subscribers may be created later, by any process. */
  readonly #own = new Map<string, { readonly handler: EventHandler; readonly pace: HandlerPace }>()
  readonly #paces = new Map<number, HandlerPace>()

  constructor(ctx: Context) {
    this.#ctx = ctx
  }

  /** Returns the ids of the subscribers whose events this process handles. */
  ids(): number[] {
    return [...this.#byId.keys()]
  }

  has(id: number): boolean {
    return this.#byId.has(id)
  }

  /**
   * Registers a handler of the host.
   *
   * @param ensure Finds or creates the subscriber, and returns its id.
   * @throws MailkeepError `validation_failed` on `name`: a registration of this name is in progress.
   */
  async register(name: string, handler: EventHandler, ensure: () => Promise<number>): Promise<number> {
    if (this.#registering.has(name)) throw nameTaken()
    this.#registering.add(name)
    try {
      const id = await ensure()
      this.#byId.set(id, handler)
      return id
    } finally {
      this.#registering.delete(name)
    }
  }

  remove(id: number): void {
    this.#byId.delete(id)
  }

  /** Registers a handler of mailkeep. It gets events once its subscriber is stored. */
  addOwn(subscriber: string, handler: EventHandler, pace: HandlerPace): void {
    this.#own.set(subscriber, { handler, pace })
  }

  /** Finds the subscribers of mailkeep's own handlers. Costs nothing once all are found. @returns Whether it found one. */
  async findOwn(): Promise<boolean> {
    let hasFound = false
    for (const [subscriber, { handler, pace }] of this.#own) {
      const found = await findSubscriber(this.#ctx, { subscriber })
      if (!found) continue
      this.#byId.set(found.id, handler)
      this.#paces.set(found.id, pace)
      this.#own.delete(subscriber)
      hasFound = true
    }
    return hasFound
  }

  /** Limits the due events of handlers that have a pace. `nextDueMs`: when more of them may be claimed. */
  limitDue(endpoints: readonly DueEndpoint[]): { due: readonly DueEndpoint[]; nextDueMs: number | undefined } {
    let due = endpoints
    let nextDueMs: number | undefined
    for (const [id, pace] of this.#paces) {
      const found = endpoints.find((endpoint) => endpoint.id === id)
      const { allowed, waitMs } = pace.allow(found?.due ?? 0)
      if (!found || allowed === found.due) continue
      due = due.flatMap((one) => (one !== found ? [one] : allowed > 0 ? [{ ...one, due: allowed }] : []))
      nextDueMs = earliest([nextDueMs, this.#ctx.clock() + waitMs])
    }
    return { due, nextDueMs }
  }

  /** Counts what a transaction claims of handlers that have a pace, and lowers their limits. */
  async limitClaims(tx: Tx, allowances: readonly Allowance[]): Promise<readonly Allowance[]> {
    if (this.#paces.size === 0) return allowances
    const limited: Allowance[] = []
    for (const { endpointId, limit } of allowances) {
      const pace = this.#paces.get(endpointId)
      limited.push({ endpointId, limit: pace ? await pace.claim(tx, limit) : limit })
    }
    return limited
  }

  /** Calls the handler, and renews the lease until it returns. */
  handle(claimed: ClaimedDelivery): Sending {
    const aborting = new AbortController()
    const aborted = new Promise<Outcome>((resolve) => {
      aborting.signal.addEventListener('abort', () => resolve({ kind: 'interrupted' }))
    })
    const outcome = Promise.race([this.#call(claimed, aborting.signal), aborted])
    const renewal = setInterval(
      () => this.#renew(claimed, aborting),
      leaseMs(this.#ctx.local.webhooks.settings.timeoutSeconds) / 3,
    )
    return { outcome: outcome.finally(() => clearInterval(renewal)), abort: () => aborting.abort() }
  }

  async #call(claimed: ClaimedDelivery, signal: AbortSignal): Promise<Outcome> {
    const { clientId, endpointId, uuid, attempt, body } = claimed
    const handler = this.#byId.get(endpointId)
    if (!handler) return { kind: 'interrupted' } // the handler was removed after the claim
    try {
      await handler({ ...readJson(body), clientId }, { deliveryId: uuid, attempt, signal })
      return { kind: 'handled' }
    } catch (error) {
      // The error may contain personal data. It goes to the attempt log, which is erased with the contact.
      this.#ctx.logger.warn({ delivery: uuid, attempt }, 'an event handler failed: see the attempt log')
      const excerpt = textOf(error).replaceAll('\0', '\ufffd').slice(0, maxErrorCharacters).toWellFormed()
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
