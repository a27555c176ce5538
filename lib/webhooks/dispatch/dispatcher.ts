import PQueue from 'p-queue'
import type { Context } from '../../context.ts'
import { transact } from '../../storage/transaction.ts'
import { nextTurn } from '../../time.ts'
import { Handlers } from '../handlers/handlers.ts'
import type { Outcome, Sender, Sending } from '../http/send.ts'
import { type ClaimedDelivery, claimDeliveries, type DueWork, findDue } from './claim.ts'
import { type Allowance, atLeastOne, FairScheduler } from './fairness.ts'
import { releaseExpiredLeases, releaseStaleSchedules, watchClock } from './leases.ts'
import { DeliveryCounter, type DeliveryFigures, endingOf } from './metrics.ts'
import { type FinishedAttempt, recordAttempts } from './record.ts'
import { nextStep } from './retry.ts'
import { Signal } from './signal.ts'

/** Maximum poll interval. Also covers changes of the system clock. */
const maxPollIntervalMs = 1000
const pauseAfterErrorMs = 1000
/** An attempt that takes longer than this share of the timeout marks its endpoint as slow. */
const slowShareOfTimeout = 1 / 3
/** After a long poll, the pause before the next poll is this many times as long. It leaves the thread to other work. */
const pausePerPollDuration = 4
/** Polls up to this duration need no pause. */
const shortPollMs = 5

interface InFlight {
  readonly delivery: ClaimedDelivery
  sending?: Sending
}

/** The result of one turn of the loop. */
interface Turn {
  readonly claimed: number
  /** When the next turn has work, in milliseconds since 1970; undefined when nothing waits. */
  readonly nextMs: number | undefined
}

const noWork: DueWork = { endpoints: [], nextDueMs: undefined, nextLeaseEndMs: undefined }

/**
 * Sends the deliveries that are due. Each turn of its loop is one transaction, which records finished attempts and
 * claims new deliveries. A queue then sends the claimed deliveries. No transaction is open during a request. Attempts
 * that finish while a turn commits are recorded by the next turn.
 */
export class Dispatcher {
  /** The event handlers of this process. */
  readonly handlers: Handlers
  readonly #ctx: Context
  readonly #sender: Sender
  readonly #scheduler: FairScheduler
  /** Runs one task per attempt, and limits how many run at the same time. */
  readonly #queue: PQueue
  readonly #signal = new Signal()
  readonly #clockWasSet: () => boolean
  /** Claimed deliveries whose attempt is not recorded yet, by id. */
  readonly #inFlight = new Map<number, InFlight>()
  readonly #counter = new DeliveryCounter()
  #finished: FinishedAttempt[] = []
  #lastTurn: Promise<unknown> = Promise.resolve()
  #lastTurnMs = 0
  #nextPollMs = 0
  /** True when the clock may have been set back since due times were stored. Always true at the start. */
  #mayHaveStaleTimes = true
  #running: Promise<void> | undefined
  #isStopping = false

  constructor(ctx: Context, sender: Sender) {
    const { concurrency, endpointConcurrency, timeoutSeconds } = ctx.local.webhooks.settings
    this.#ctx = ctx
    this.#sender = sender
    this.#scheduler = new FairScheduler({
      total: concurrency,
      endpoint: endpointConcurrency,
      slowMs: timeoutSeconds * 1000 * slowShareOfTimeout,
    })
    this.#queue = new PQueue({ concurrency })
    this.handlers = new Handlers(ctx)
    this.#clockWasSet = watchClock(ctx.clock)
  }

  start(): void {
    this.#lastTurnMs = performance.now()
    this.#running ??= this.#run()
  }

  /**
   * Sends all deliveries that are due now, and resolves when the outcomes are recorded. Works without `start`.
   *
   * @returns When the next delivery is due, in milliseconds since 1970; undefined when none waits, or after `stop`.
   * @param signal When aborted, nothing more is claimed, and the attempts in flight are recorded first.
   * @throws MailkeepError `unavailable`: the database cannot be used; the signal's reason once it is aborted.
   */
  async deliverDue(signal?: AbortSignal): Promise<number | undefined> {
    const wake = () => this.wake()
    signal?.addEventListener('abort', wake)
    try {
      while (!this.#isStopping) {
        const { seen } = this.#signal
        const mayClaim = !signal?.aborted
        const { claimed, nextMs } = await this.#takeTurn({ mustPoll: true, mayClaim })
        // The attempts in flight are recorded first, unless the running loop does that.
        if (!mayClaim && (this.#running || this.#inFlight.size === 0)) throw signal!.reason
        if (mayClaim && (claimed > 0 || (nextMs !== undefined && nextMs <= this.#ctx.clock()))) continue
        if (mayClaim && this.#inFlight.size === 0) return nextMs
        await this.#signal.wait(seen, maxPollIntervalMs)
      }
      return undefined
    } finally {
      signal?.removeEventListener('abort', wake)
    }
  }

  /** Starts the next turn now, because a delivery may be due. */
  wake(): void {
    this.#signal.wake()
  }

  /** Milliseconds since the last turn that succeeded; undefined when not running. */
  sinceLastTurnMs(): number | undefined {
    return this.#running && !this.#isStopping ? performance.now() - this.#lastTurnMs : undefined
  }

  figures(): DeliveryFigures & { readonly inFlight: number } {
    return { ...this.#counter.figures(), inFlight: this.#inFlight.size }
  }

  /** Aborts the attempts in flight for which `matches` returns true. */
  abort(matches: (delivery: ClaimedDelivery) => boolean): void {
    for (const { delivery, sending } of this.#inFlight.values()) if (matches(delivery)) sending?.abort()
  }

  /** Stops claiming and waits for the attempts in flight. Aborts them after `timeoutMs`. Records all of them. */
  async stop(timeoutMs: number): Promise<void> {
    this.#isStopping = true
    this.#signal.wake()
    const timer = setTimeout(() => {
      for (const { sending } of this.#inFlight.values()) sending?.abort()
    }, timeoutMs)
    await this.#lastTurn // may still claim
    await (this.#running ?? this.#run())
    clearTimeout(timer)
    await this.#sender.close()
  }

  async #run(): Promise<void> {
    while (!this.#isStopping || this.#inFlight.size > 0) {
      const { seen } = this.#signal
      const sleepMs = await this.#takeTurn({ mustPoll: false }).then(
        (turn) => this.#sleepMs(turn),
        (error: unknown) => this.#sleepAfter(error),
      )
      await this.#signal.wait(seen, sleepMs)
    }
  }

  /** Runs turns one after another. Two parallel turns would find the same deliveries and allow them twice. */
  #takeTurn({ mustPoll, mayClaim = true }: { mustPoll: boolean; mayClaim?: boolean }): Promise<Turn> {
    const turn = this.#lastTurn.then(() => this.#turn(mustPoll, mayClaim))
    this.#lastTurn = turn.catch(() => {})
    return turn
  }

  async #turn(mustPoll: boolean, mayClaim: boolean): Promise<Turn> {
    await nextTurn() // so that attempts which end in the same turn of the event loop are recorded together
    const { endpoints, nextDueMs, nextLeaseEndMs } = mayClaim ? await this.#poll(mustPoll) : noWork
    this.#mayHaveStaleTimes ||= this.#clockWasSet()
    const mustRelease = this.#mayHaveStaleTimes || (nextLeaseEndMs ?? Infinity) <= this.#ctx.clock()
    const allowances = this.#scheduler.allow(endpoints)
    const finished = this.#finished.splice(0)
    const turn =
      finished.length + allowances.length > 0 || mustRelease
        ? await this.#recordAndClaim(finished, allowances, mustRelease)
        : { claimed: [], nextDueMs: undefined }
    this.#lastTurnMs = performance.now()
    for (const delivery of turn.claimed) this.#begin(delivery)
    const times = [nextDueMs, turn.nextDueMs, mustRelease ? undefined : nextLeaseEndMs]
    return { claimed: turn.claimed.length, nextMs: earliest(times) }
  }

  async #recordAndClaim(finished: FinishedAttempt[], allowances: readonly Allowance[], mustRelease: boolean) {
    try {
      const done = await transact(this.#ctx, async (tx) => {
        const recorded = await recordAttempts(tx, finished)
        const released = mustRelease ? await releaseExpiredLeases(tx, this.#inFlight) : 0
        const rescheduled = this.#mayHaveStaleTimes ? await releaseStaleSchedules(tx) : 0
        const claimed = await claimDeliveries(tx, allowances, this.#inFlight)
        return { recorded, claimed, released: released + rescheduled > 0 }
      })
      if (!done.released) this.#mayHaveStaleTimes = false
      for (const { delivery } of finished) this.#inFlight.delete(delivery.id)
      this.#counter.count(done.recorded)
      const retries = done.recorded.map(({ endedMs, disposition }) =>
        disposition.status === 'pending' ? endedMs + disposition.delayMs : undefined,
      )
      return { claimed: done.claimed, nextDueMs: done.released ? this.#ctx.clock() : earliest(retries) }
    } catch (error) {
      this.#finished.unshift(...finished)
      throw error
    }
  }

  /** Finds due deliveries, unless nothing may be claimed now or the previous poll took long. */
  async #poll(mustPoll: boolean): Promise<DueWork> {
    const { concurrency, endpointConcurrency } = this.#ctx.local.webhooks.settings
    const startedMs = performance.now()
    const freeSlots = concurrency - this.#scheduler.inFlight
    if (this.#isStopping || freeSlots <= 0) return noWork
    if (startedMs < this.#nextPollMs && !mustPoll) {
      const nextDueMs = this.#ctx.clock() + this.#nextPollMs - startedMs
      return { endpoints: [], nextDueMs, nextLeaseEndMs: undefined }
    }
    const due = await findDue(this.#ctx, atLeastOne(Math.min(endpointConcurrency, freeSlots)), this.handlers.ids)
    const pollMs = performance.now() - startedMs
    // A database server runs the query in another process, so only SQLite blocks this thread.
    const mustPause = pollMs > shortPollMs && !this.#ctx.storage.dialect.concurrentWriters
    this.#nextPollMs = mustPause ? startedMs + pollMs * (1 + pausePerPollDuration) : 0
    return due
  }

  #sleepMs({ claimed, nextMs }: Turn): number {
    if (claimed > 0) return 0
    return nextMs === undefined ? maxPollIntervalMs : Math.min(nextMs - this.#ctx.clock(), maxPollIntervalMs)
  }

  /** Logs the error. While stopping, drops attempts that could not be recorded: after their lease ends they are resent. */
  #sleepAfter(error: unknown): number {
    this.#ctx.logger.error({ err: error, attempts: this.#finished.length }, 'could not claim or record deliveries')
    if (!this.#isStopping) return pauseAfterErrorMs
    for (const { delivery } of this.#finished.splice(0)) this.#inFlight.delete(delivery.id)
    return maxPollIntervalMs
  }

  #begin(delivery: ClaimedDelivery): void {
    const entry: InFlight = { delivery }
    this.#inFlight.set(delivery.id, entry)
    this.#scheduler.started(delivery.endpointId, quotaKeyOf(delivery))
    void this.#queue.add(() => this.#attempt(entry))
  }

  async #attempt(entry: InFlight): Promise<void> {
    const { delivery } = entry
    const { clock, local } = this.#ctx
    const startedMs = clock()
    const startedAtMs = performance.now()
    const outcome = await this.#send(entry)
    const ending = endingOf(outcome)
    const pace = { timedOut: ending === 'timeout', durationMs: performance.now() - startedAtMs }
    this.#scheduler.ended(
      delivery.endpointId,
      quotaKeyOf(delivery),
      ending === 'interrupted' || ending === 'fault' ? undefined : pace,
    )
    const disposition = nextStep(outcome, delivery.scheduleAttempt, local.webhooks.settings, Math.random())
    this.#finished.push({ delivery, outcome, disposition, startedMs, endedMs: clock() })
    this.#signal.wake()
  }

  async #send(entry: InFlight): Promise<Outcome> {
    const { delivery } = entry
    try {
      entry.sending = delivery.kind === 'handler' ? this.handlers.handle(delivery) : this.#request(delivery)
      const outcome = await entry.sending.outcome
      if (outcome.kind === 'fault') this.#logFault(delivery, outcome.cause)
      return outcome
    } catch (cause) {
      this.#logFault(delivery, cause)
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
    const rotated = previous === undefined ? {} : { previousSecret: sealer.open(previous, endpointUuid) }
    return this.#sender.send({ url, secret, ...rotated, deliveryId: uuid, eventType, body })
  }
}

function earliest(times: readonly (number | undefined)[]): number | undefined {
  const known = times.filter((ms) => ms !== undefined)
  return known.length > 0 ? known.reduce((first, ms) => Math.min(first, ms)) : undefined
}

/** Returns the client whose quota of requests in flight the delivery counts against; 0 for all event handlers. */
function quotaKeyOf({ kind, clientId }: ClaimedDelivery): number {
  return kind === 'handler' ? 0 : clientId
}
