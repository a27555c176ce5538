import PQueue from 'p-queue'
import type { Context } from '../context.ts'
import { nextTurn } from '../time.ts'
import { type Claimed, claimDue, lookForDue } from './claim.ts'
import { makeImpossibleWaitsDue, watchClock } from './clock-jump.ts'
import { DeliveryCounter, type DeliveryFigures, endingOf, saysOfReceiver } from './figures.ts'
import { Handlers } from './handlers.ts'
import { atLeastOne, Shares } from './plan.ts'
import { PollRest } from './poll-rest.ts'
import type { Outcome, Sender, Sending } from './send.ts'
import { type Ended, settle } from './settle.ts'

/** However quiet it seems, it looks again after this long: the clock may have been set. */
const longestSleepMs = 1000
const afterFaultMs = 1000

interface InFlight {
  readonly claimed: Claimed
  sending: Sending | undefined
}

/**
 * Delivers what is due: claims it in batches, sends it through one queue, records the outcomes in batches. No
 * transaction is open while a request is under way.
 */
export class Dispatcher {
  readonly #ctx: Context
  readonly #sender: Sender
  readonly #shares: Shares
  readonly #queue: PQueue
  readonly #clockWasSet: () => boolean
  /** Endpoints where waits may be impossible; undefined: nowhere. */
  #suspects: 'all' | readonly number[] | undefined
  /** What handles events in this process. */
  readonly handlers: Handlers
  readonly #inFlight = new Map<number, InFlight>()
  readonly #counter = new DeliveryCounter()
  #counted = 1
  #lastRoundMs = 0
  readonly #rest = new PollRest()
  #ended: Ended[] = []
  #settling: Promise<void> | undefined
  #running: Promise<void> | undefined
  #looking: Promise<unknown> = Promise.resolve()
  #stopping = false
  #woken = false
  #wakeUp: (() => void) | undefined
  /** What waits for the next look around. */
  #afterLook: (() => void)[] = []

  constructor(ctx: Context, sender: Sender) {
    const { concurrency, endpointConcurrency } = ctx.webhooks
    this.#ctx = ctx
    this.#sender = sender
    this.#shares = new Shares({ total: concurrency, endpoint: endpointConcurrency })
    this.#queue = new PQueue({ concurrency })
    this.handlers = new Handlers(ctx)
    this.#clockWasSet = watchClock(ctx.clock)
  }

  start(): void {
    this.#lastRoundMs = performance.now()
    this.#running ??= this.#run()
  }

  /**
   * Sends all that is due now, and resolves when it is recorded; also where nothing was started.
   *
   * @returns when more will be due, in milliseconds since 1970; undefined: nothing waits, or it is being stopped.
   * @throws the database's fault, when it cannot be looked for.
   */
  async deliverDue(): Promise<number | undefined> {
    while (!this.#stopping) {
      const { claimed, nextMs } = await this.#startDue()
      if (claimed === 0 && this.#inFlight.size === 0) return nextMs
      await this.#queue.onIdle()
      await this.#settling
    }
    return undefined
  }

  /** There may be something due. */
  wake(): void {
    this.#woken = true
    this.#wakeUp?.()
  }

  /** How long ago it last looked around in vain or not; undefined when it is not to. */
  silentMs(): number | undefined {
    return this.#running && !this.#stopping ? performance.now() - this.#lastRoundMs : undefined
  }

  figures(): DeliveryFigures & { readonly inFlight: number } {
    return { ...this.#counter.figures(), inFlight: this.#inFlight.size }
  }

  /** Aborts the attempts in flight that `matches` selects. */
  abort(matches: (claimed: Claimed) => boolean): void {
    for (const { claimed, sending } of this.#inFlight.values()) if (matches(claimed)) sending?.abort()
  }

  /** Claims no more, finishes what is under way, and aborts what is not done in time; all outcomes are recorded. */
  async stop(timeoutMs: number): Promise<void> {
    this.#stopping = true
    this.#rest.stop()
    this.wake()
    await this.#running
    await this.#looking
    const timer = setTimeout(() => {
      for (const { sending } of this.#inFlight.values()) sending?.abort()
    }, timeoutMs)
    await this.#queue.onIdle()
    await this.#settling
    clearTimeout(timer)
    await this.#sender.close()
  }

  async #run(): Promise<void> {
    while (!this.#stopping) {
      this.#woken = false
      const restMs = await this.#round()
      if (restMs !== undefined) this.#lastRoundMs = performance.now()
      if (!this.#stopping) await this.#rest.take()
      await this.#sleep(restMs ?? afterFaultMs)
    }
    this.#tellLooked()
  }

  /** Starts what may start now. @returns how long nothing more will be due, in ms; undefined when it did not work. */
  async #round(): Promise<number | undefined> {
    try {
      if (this.#shares.free <= 0 || this.#isBehind) return longestSleepMs
      const { claimed, nextMs } = await this.#startDue()
      if (claimed > 0) return 0
      return nextMs === undefined ? longestSleepMs : nextMs - this.#ctx.clock()
    } catch (error) {
      this.#ctx.logger.error({ err: error }, 'deliveries could not be claimed')
      return undefined
    } finally {
      this.#tellLooked()
    }
  }

  /** What is not recorded yet would be sent again if the process died: so many attempts at most. */
  get #isBehind(): boolean {
    return this.#inFlight.size >= 2 * this.#ctx.webhooks.concurrency
  }

  /** One look at a time: what two find would be granted twice. */
  #startDue(): Promise<{ claimed: number; nextMs: number | undefined }> {
    const look = this.#looking.then(() => this.#startSome())
    this.#looking = look.catch(() => {})
    return look
  }

  async #startSome() {
    const { concurrency, endpointConcurrency } = this.#ctx.webhooks
    await this.#lookForImpossibleWaits()
    const { endpoints, waitingEndpoints, nextMs } = await lookForDue(this.#ctx, this.#counted, this.handlers.ids)
    this.#tellLooked()
    // Enough to fill all, twice, when each has as many.
    this.#counted = atLeastOne(Math.min(endpointConcurrency, (2 * concurrency) / atLeastOne(endpoints.length)))
    // What may start is asked again in the transaction: outcomes have come in while it waited for its turn.
    const claimed =
      !this.#isBehind && this.#shares.any(endpoints)
        ? await claimDue(this.#ctx, () => this.#shares.plan(endpoints), this.#inFlight)
        : []
    // A database server looks in a process of its own.
    if (!this.#ctx.storage.dialect.manyWriters) this.#rest.after(waitingEndpoints, claimed.length)
    if (claimed.length > 0) void this.#queue.add(() => Promise.all(claimed.map((one) => this.#deliver(one))))
    return { claimed: claimed.length, nextMs }
  }

  /** A look that fails is made again. */
  async #lookForImpossibleWaits(): Promise<void> {
    const added = this.handlers.takeAdded()
    if (this.#clockWasSet()) this.#suspects = 'all'
    else if (added.length > 0 && this.#suspects !== 'all') this.#suspects = [...(this.#suspects ?? []), ...added]
    if (!this.#suspects) return
    await makeImpossibleWaitsDue(this.#ctx, this.#inFlight, this.handlers.ids, this.#suspects)
    this.#suspects = undefined
  }

  async #sleep(ms: number): Promise<void> {
    if (this.#woken || this.#stopping || ms <= 0) return
    await new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, Math.min(ms, longestSleepMs))
      this.#wakeUp = () => {
        clearTimeout(timer)
        resolve()
      }
    })
    this.#wakeUp = undefined
  }

  async #deliver(claimed: Claimed): Promise<void> {
    const entry: InFlight = { claimed, sending: undefined }
    this.#inFlight.set(claimed.id, entry)
    this.#shares.started(claimed.endpointId, claimed.account, claimed.retry)
    const { clock } = this.#ctx
    const startedMs = clock()
    const outcome = await this.#send(entry)
    const ending = endingOf(outcome)
    const learnt = saysOfReceiver(ending) ? ending : undefined
    this.#shares.ended(claimed.endpointId, claimed.account, claimed.retry, learnt)
    this.#ended.push({ claimed, outcome, startedMs, endedMs: clock(), random: Math.random() })
    this.#settling ??= this.#settleAll()
  }

  async #send(entry: InFlight): Promise<Outcome> {
    try {
      const { claimed } = entry
      const sending = claimed.endpointId < 0 ? this.handlers.handle(claimed) : this.#request(claimed)
      entry.sending = sending
      const outcome = await sending.outcome
      if (outcome.kind === 'fault') this.#logFault(entry, outcome.cause)
      return outcome
    } catch (cause) {
      this.#logFault(entry, cause)
      return { kind: 'fault', cause }
    }
  }

  #logFault({ claimed }: InFlight, cause: unknown): void {
    const { clientId, endpointId, uuid, attempt } = claimed
    this.#ctx.logger.error(
      { err: cause, client_id: clientId, endpoint_id: endpointId, delivery: uuid, attempt },
      "a delivery could not be sent by mailkeep's own fault: it will be retried",
    )
  }

  #request({ uuid, url, eventType, body, sealedSecret, endpointUuid }: Claimed): Sending {
    const secret = this.#ctx.sealer.open(sealedSecret, endpointUuid)
    return this.#sender.send({ url, secret, deliveryId: uuid, eventType, body })
  }

  /** Settles when it has been looked around, and what was found is about to be claimed. */
  async #nextLook(): Promise<void> {
    if (!this.#running || this.#stopping || this.#rest.isResting) return await nextTurn()
    const looked = new Promise<void>((resolve) => this.#afterLook.push(resolve))
    this.wake()
    // Where writes share no commit there is nothing to wait for.
    await (this.#ctx.storage.dialect.manyWriters ? nextTurn() : looked)
  }

  #tellLooked(): void {
    for (const go of this.#afterLook.splice(0)) go()
  }

  /** Outcomes that come while others are recorded make the next batch. */
  async #settleAll(): Promise<void> {
    while (this.#ended.length > 0) {
      // What has room now is claimed in the same commit as these outcomes.
      await this.#nextLook()
      const settled = await this.#settleSome()
      for (const { claimed } of settled) this.#inFlight.delete(claimed.id)
      this.wake()
    }
    this.#settling = undefined
  }

  /** Records what has ended until its turn to be written comes. */
  async #settleSome(): Promise<readonly Ended[]> {
    let batch: Ended[] = []
    const take = () => {
      batch = batch.concat(this.#ended)
      this.#ended = []
      return batch
    }
    for (;;) {
      try {
        this.#counter.count(await settle(this.#ctx, take), this.#ctx.webhooks)
        return batch
      } catch (error) {
        this.#ctx.logger.error({ err: error, deliveries: batch.length }, 'outcomes could not be recorded yet')
        // Unrecorded when the process stops: the leases run out, and the deliveries are sent again.
        if (this.#stopping) return take()
        await new Promise((resolve) => setTimeout(resolve, afterFaultMs))
      }
    }
  }
}
