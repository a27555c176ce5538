import type { Context, Tx } from '../../context.ts'
import { Loop } from '../../dispatch/loop.ts'
import type { DueWork, InFlight, LoopWork, TasksInFlight } from '../../dispatch/work.ts'
import { earliest } from '../../time.ts'
import { Handlers } from '../handlers/handlers.ts'
import type { Outcome, Sender, Sending } from '../http/send.ts'
import { type ClaimedDelivery, claimDeliveries, claims, type ExpiredLease, findDue } from './claim.ts'
import { type Allowance, FairScheduler } from './fairness.ts'
import { releaseExpiredLeases, releaseStaleSchedules } from './leases.ts'
import { DeliveryCounter, type DeliveryFigures } from './metrics.ts'
import { type FinishedAttempt, recordAttempts } from './record.ts'
import { endingOf, nextStep } from './retry.ts'

/** An attempt that takes longer than this share of the timeout marks its endpoint as slow. */
const slowShareOfTimeout = 1 / 3

type Plan = readonly Allowance[]

/** The work of the loop that sends the deliveries that are due. */
export class Dispatcher implements LoopWork<Plan, ClaimedDelivery, FinishedAttempt, ExpiredLease> {
  readonly what = 'deliveries'
  readonly claims = claims
  readonly releaseExpiredLeases = releaseExpiredLeases
  readonly releaseStaleSchedules = releaseStaleSchedules
  readonly concurrency: number
  readonly loop: Loop<Plan, ClaimedDelivery, FinishedAttempt, ExpiredLease>
  /** The event handlers of this process. */
  readonly handlers: Handlers
  readonly #ctx: Context
  readonly #sender: Sender
  readonly #scheduler: FairScheduler
  readonly #counter = new DeliveryCounter()

  constructor(ctx: Context, sender: Sender) {
    const { concurrency, endpointConcurrency, timeoutSeconds } = ctx.local.webhooks.settings
    this.concurrency = concurrency
    this.#ctx = ctx
    this.#sender = sender
    this.#scheduler = new FairScheduler({
      total: concurrency,
      endpoint: endpointConcurrency,
      slowMs: timeoutSeconds * 1000 * slowShareOfTimeout,
    })
    this.handlers = new Handlers(ctx)
    this.loop = new Loop(ctx, this)
  }

  figures(): DeliveryFigures & { readonly inFlight: number } {
    return { ...this.#counter.figures(), inFlight: this.loop.inFlight }
  }

  freeSlots(): number {
    return this.concurrency - this.#scheduler.inFlight
  }

  async poll(freeSlots: number): Promise<DueWork<Plan>> {
    const { endpointConcurrency } = this.#ctx.local.webhooks.settings
    const maxDue = Math.min(endpointConcurrency, freeSlots)
    const [found, hasNewHandler] = await Promise.all([
      findDue(this.#ctx, maxDue, this.handlers.ids()),
      this.handlers.findOwn(),
    ])
    const { due, nextDueMs } = this.handlers.limitDue(found.endpoints)
    const allowances = this.#scheduler.allow(due)
    return {
      plan: allowances.length > 0 ? allowances : undefined,
      // The next poll finds the events of a handler that is new here.
      nextDueMs: earliest([found.nextDueMs, nextDueMs, hasNewHandler ? this.#ctx.clock() : undefined]),
      backlogs: found.backlogs,
    }
  }

  async claim(tx: Tx, plan: Plan, inFlight: TasksInFlight): Promise<ClaimedDelivery[]> {
    const claimed = await claimDeliveries(tx, await this.handlers.limitClaims(tx, plan), inFlight)
    tx.transaction.afterCommit(() => {
      for (const { endpointId, quotaClientId } of claimed) this.#scheduler.started(endpointId, quotaClientId)
    })
    return claimed
  }

  async record(tx: Tx, finished: readonly FinishedAttempt[]): Promise<number | undefined> {
    const recorded = await recordAttempts(tx, finished)
    tx.transaction.afterCommit(() => this.#counter.count(recorded))
    const retries = recorded.map(({ endedMs, disposition }) =>
      disposition.status === 'pending' ? endedMs + disposition.delayMs : undefined,
    )
    return earliest(retries)
  }

  async attempt(entry: InFlight<ClaimedDelivery>): Promise<FinishedAttempt> {
    const { task } = entry
    const { clock, local } = this.#ctx
    const startedMs = clock()
    const startedAtMs = performance.now()
    const outcome = await this.#send(entry)
    const ending = endingOf(outcome)
    const pace = { timedOut: ending === 'timeout', durationMs: performance.now() - startedAtMs }
    this.#scheduler.ended(
      task.endpointId,
      task.quotaClientId,
      ending === 'interrupted' || ending === 'fault' ? undefined : pace,
    )
    const disposition = nextStep(outcome, task.scheduleAttempt, local.webhooks.settings, Math.random())
    return { task, outcome, disposition, startedMs, endedMs: clock() }
  }

  close(): Promise<void> {
    return this.#sender.close()
  }

  async #send(entry: InFlight<ClaimedDelivery>): Promise<Outcome> {
    const { task } = entry
    try {
      const sending = task.kind === 'handler' ? this.handlers.handle(task) : this.#request(task)
      entry.abort = () => sending.abort()
      const outcome = await sending.outcome
      if (outcome.kind === 'fault') this.#logFault(task, outcome.cause)
      return outcome
    } catch (cause) {
      this.#logFault(task, cause)
      return { kind: 'fault', cause }
    }
  }

  #logFault({ clientId, endpointId, uuid, attempt }: ClaimedDelivery, cause: unknown): void {
    this.#ctx.logger.error(
      { err: cause, client_id: clientId, endpoint_id: endpointId, delivery: uuid, attempt },
      'internal error while sending a delivery: it will be retried',
    )
  }

  #request({ uuid, url, eventType, body, endpointUuid, ...sealed }: ClaimedDelivery): Sending {
    const { sealer } = this.#ctx
    const secret = sealer.open(sealed.sealedSecret, endpointUuid)
    const previous = sealed.sealedPreviousSecret
    const previousSecret = previous === null ? null : sealer.open(previous, endpointUuid)
    return this.#sender.send({ url, secret, previousSecret, deliveryId: uuid, eventType, body })
  }
}
