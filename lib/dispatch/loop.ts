import PQueue from 'p-queue'
import type { Context, Tx } from '../context.ts'
import { RepeatedErrors } from '../repeated-errors.ts'
import { transact } from '../storage/transaction.ts'
import { earliest, nextTurn, watchClock } from '../time.ts'
import { findOrphans } from './claims.ts'
import { Signal } from './signal.ts'
import type { DueWork, InFlight, LoopWork } from './work.ts'

/** Maximum poll interval. Also covers changes of the system clock. */
const maxPollIntervalMs = 1000
const pauseAfterErrorMs = 1000
/** A poll of more backlogs is followed by a pause. On SQLite the query blocks this thread, so others get their turn. */
const maxBacklogsWithoutPause = 500
/** Pause per backlog. With 10,000 due endpoints a poll takes 2.7 µs for each; the pause is seven times that. */
const pausePerBacklogMs = 0.02
/** How often the loop looks for the claims of dead processes. */
const orphanCheckIntervalMs = 500
/** Maximum event-loop turns to wait for further finished attempts, so that they share a commit. */
const maxGatheringTurns = 4

/** The result of one turn of the loop. */
interface Turn {
  readonly claimed: number
  /** Attempts that ended before it. */
  readonly recorded: number
  /** Whether it claimed nothing because every slot was taken. */
  readonly wasFull: boolean
  /** When the next turn has work, in milliseconds since 1970; undefined when nothing waits. */
  readonly nextMs: number | undefined
}

const noWork = { plan: undefined, nextDueMs: undefined, nextLeaseEndMs: undefined, backlogs: 0 }

/**
 * Does tasks that are stored in the database. Each turn is one transaction, which records finished attempts and claims
 * new tasks. A queue then runs the claimed tasks. No transaction is open during an attempt. Attempts that finish while a
 * turn commits are recorded by the next turn.
 */
export class Loop<
  Plan,
  Task extends { readonly id: number },
  Finished extends { readonly task: Task },
  Expired extends { readonly id: number },
> {
  readonly #ctx: Context
  readonly #work: LoopWork<Plan, Task, Finished, Expired>
  /** Runs one function for each attempt, and limits how many run at the same time. */
  readonly #queue: PQueue
  readonly #signal = new Signal()
  readonly #clockWasSet: () => boolean
  readonly #errors: RepeatedErrors
  /** Claimed tasks whose attempt is not recorded yet, by id. */
  readonly #inFlight = new Map<number, InFlight<Task>>()
  #finished: Finished[] = []
  #lastTurn: Promise<unknown> = Promise.resolve()
  #lastTurnMs = 0
  #nextPollMs = 0
  #nextOrphanCheckMs = 0
  /** True when the clock may have been set back since due times were stored. Always true at the start. */
  #isClockSuspect = true
  #running: Promise<void> | undefined
  #isStopping = false

  constructor(ctx: Context, work: LoopWork<Plan, Task, Finished, Expired>) {
    this.#ctx = ctx
    this.#work = work
    this.#queue = new PQueue({ concurrency: work.concurrency })
    this.#clockWasSet = watchClock(ctx.clock)
    this.#errors = new RepeatedErrors(ctx.logger, `could not claim or record ${work.what}`)
  }

  get inFlight(): number {
    return this.#inFlight.size
  }

  start(): void {
    this.#ctx.storage.liveness.id() // others can tell from now on that a process sends
    this.#lastTurnMs = performance.now()
    this.#running ??= this.#run()
  }

  /**
   * Does all tasks that are due now, and resolves when the outcomes are recorded. Works without `start`.
   *
   * @returns When the next task is due, in milliseconds since 1970; undefined when none waits, or after `stop`.
   * @param signal When aborted, nothing more is claimed, and the attempts in flight are recorded first.
   * @param mustAbort Whether an attempt in flight is aborted with the signal, instead of waited for.
   * @throws MailkeepError `unavailable`: the database cannot be used; the signal's reason once it is aborted.
   */
  async finishDue(signal?: AbortSignal, mustAbort: (task: Task) => boolean = () => false): Promise<number | undefined> {
    const wake = () => this.wake()
    signal?.addEventListener('abort', wake)
    try {
      while (!this.#isStopping) {
        const { seen } = this.#signal
        const mayClaim = !signal?.aborted
        const { claimed, recorded, nextMs } = await this.#takeTurn({ mustPoll: true, mayClaim })
        // The attempts in flight are recorded first, unless the running loop does that.
        if (!mayClaim && (this.#running || this.#inFlight.size === 0)) throw signal!.reason
        if (!mayClaim) this.abort(mustAbort)
        // Recorded attempts have freed slots, which the poll before them did not have.
        const hasMore = claimed > 0 || recorded > 0 || (nextMs !== undefined && nextMs <= this.#ctx.clock())
        if (mayClaim && hasMore) continue
        if (mayClaim && this.#inFlight.size === 0) return nextMs
        await this.#signal.wait(seen, maxPollIntervalMs)
      }
      return undefined
    } finally {
      signal?.removeEventListener('abort', wake)
    }
  }

  /** Starts the next turn now, because a task may be due. */
  wake(): void {
    this.#signal.wake()
  }

  /** Milliseconds since the last turn that succeeded; undefined when not running. */
  sinceLastTurnMs(): number | undefined {
    return this.#running && !this.#isStopping ? performance.now() - this.#lastTurnMs : undefined
  }

  /** Aborts the attempts in flight for which `matches` returns true. */
  abort(matches: (task: Task) => boolean): void {
    for (const { task, abort } of this.#inFlight.values()) if (matches(task)) abort?.()
  }

  /** Stops claiming and waits for the attempts in flight. Aborts them after `timeoutMs`. Records all of them. */
  async stop(timeoutMs: number): Promise<void> {
    this.#isStopping = true
    this.#signal.wake()
    const endsMs = performance.now() + timeoutMs
    const abortAll = () => this.abort(() => true)
    const timer = setTimeout(abortAll, timeoutMs)
    await this.#lastTurn // may still claim
    if (performance.now() >= endsMs) abortAll()
    await (this.#running ?? this.#run())
    clearTimeout(timer)
    await this.#work.close()
  }

  async #run(): Promise<void> {
    while (!this.#isStopping || this.#inFlight.size > 0) {
      const { seen } = this.#signal
      const sleepMs = await this.#takeTurn({ mustPoll: false }).then(
        (turn) => this.#sleepMs(turn),
        (error: unknown) => this.#pauseAfter(error),
      )
      await this.#signal.wait(seen, sleepMs)
    }
  }

  /** Runs turns one after another. Two parallel turns would find the same tasks and plan them twice. */
  #takeTurn({ mustPoll, mayClaim = true }: { mustPoll: boolean; mayClaim?: boolean }): Promise<Turn> {
    const turn = this.#lastTurn.then(() => this.#turn(mustPoll, mayClaim))
    this.#lastTurn = turn.catch(() => {})
    return turn
  }

  async #turn(mustPoll: boolean, mayClaim: boolean): Promise<Turn> {
    await this.#gather()
    const freeSlots = this.#work.freeSlots()
    const due = mayClaim ? await this.#poll(mustPoll, freeSlots) : noWork
    const { plan, nextDueMs, nextLeaseEndMs } = due
    this.#isClockSuspect ||= this.#clockWasSet()
    const mayHaveOrphans = mayClaim && !this.#isStopping && (due === noWork || nextLeaseEndMs !== undefined)
    const orphans = mayHaveOrphans ? await this.#findOrphans() : []
    const mustRelease = this.#isClockSuspect || orphans.length > 0 || (nextLeaseEndMs ?? Infinity) <= this.#ctx.clock()
    const finished = this.#finished.splice(0)
    const turn =
      finished.length > 0 || plan !== undefined || mustRelease
        ? await this.#recordAndClaim(finished, plan, mustRelease ? orphans : undefined)
        : { claimed: [], nextDueMs: undefined }
    this.#lastTurnMs = performance.now()
    for (const task of turn.claimed) this.#begin(task)
    const times = [nextDueMs, turn.nextDueMs, mustRelease ? undefined : nextLeaseEndMs]
    return { claimed: turn.claimed.length, recorded: finished.length, wasFull: freeSlots <= 0, nextMs: earliest(times) }
  }

  /** Waits while each turn of the event loop ends more attempts, up to a limit. */
  async #gather(): Promise<void> {
    for (let turns = 0; turns < maxGatheringTurns; turns++) {
      const ended = this.#finished.length
      await nextTurn()
      if (this.#finished.length === ended) return
    }
  }

  /** @param orphans The claims of dead processes; undefined when nothing is to be released. */
  async #recordAndClaim(finished: Finished[], plan: Plan | undefined, orphans: readonly string[] | undefined) {
    try {
      const { useIndexes } = this.#ctx.storage.dialect
      const done = await transact(this.#ctx, async (tx) => {
        if (useIndexes) tx.transaction.defer(Promise.resolve(tx.transaction.run(useIndexes)))
        const nextDueMs = await this.#work.record(tx, finished)
        const released = orphans ? await this.#release(tx, orphans) : 0
        const claimed = plan === undefined ? [] : await this.#work.claim(tx, plan, this.#inFlight)
        return { nextDueMs, claimed, released: released > 0 }
      })
      if (!done.released) this.#isClockSuspect = false
      else this.#nextOrphanCheckMs = 0 // there may be more than one turn releases
      for (const { task } of finished) this.#inFlight.delete(task.id)
      return { claimed: done.claimed, nextDueMs: done.released ? this.#ctx.clock() : done.nextDueMs }
    } catch (error) {
      this.#finished.unshift(...finished)
      throw error
    }
  }

  /** Releases tasks of dead processes and expired leases. @returns Their number. There may be more. */
  async #release(tx: Tx, orphans: readonly string[]): Promise<number> {
    const expired = await this.#work.claims.listExpired(tx, this.#inFlight, orphans)
    if (expired.length > 0) await this.#work.releaseExpiredLeases(tx, expired)
    return expired.length + (this.#isClockSuspect ? await this.#work.releaseStaleSchedules(tx) : 0)
  }

  async #findOrphans(): Promise<string[]> {
    const startedMs = performance.now()
    if (startedMs < this.#nextOrphanCheckMs) return []
    this.#nextOrphanCheckMs = startedMs + orphanCheckIntervalMs
    return await findOrphans(this.#ctx, await this.#work.claims.list(this.#ctx))
  }

  /** Finds due tasks, unless nothing may be claimed now or the previous poll found many backlogs. */
  async #poll(
    mustPoll: boolean,
    freeSlots: number,
  ): Promise<DueWork<Plan> & { readonly nextLeaseEndMs: number | undefined }> {
    if (this.#isStopping || freeSlots <= 0) return noWork
    const pauseMs = this.#nextPollMs - performance.now()
    if (pauseMs > 0 && !mustPoll) return { ...noWork, nextDueMs: this.#ctx.clock() + pauseMs }
    const [due, nextLeaseEndMs] = await Promise.all([
      this.#work.poll(freeSlots),
      this.#work.claims.nextLeaseEndMs(this.#ctx),
    ])
    // A database server runs the query in another process, so only SQLite blocks this thread.
    const mustPause = due.backlogs > maxBacklogsWithoutPause && !this.#ctx.storage.dialect.concurrentWriters
    this.#nextPollMs = mustPause ? performance.now() + due.backlogs * pausePerBacklogMs : 0
    return { ...due, nextLeaseEndMs }
  }

  #sleepMs({ claimed, recorded, wasFull, nextMs }: Turn): number {
    if (claimed > 0 || (wasFull && recorded > 0)) return 0
    return nextMs === undefined ? maxPollIntervalMs : Math.min(nextMs - this.#ctx.clock(), maxPollIntervalMs)
  }

  /**
   * Logs the error, and pauses. Commits and finished attempts do not end the pause. While stopping, drops attempts that
   * could not be recorded: their lease ends.
   */
  async #pauseAfter(error: unknown): Promise<number> {
    this.#errors.add(error, { attempts: this.#finished.length }, this.#isStopping)
    if (this.#isStopping) {
      for (const { task } of this.#finished.splice(0)) this.#inFlight.delete(task.id)
      return maxPollIntervalMs
    }
    const endsMs = performance.now() + pauseAfterErrorMs
    while (!this.#isStopping && performance.now() < endsMs) {
      await this.#signal.wait(this.#signal.seen, endsMs - performance.now())
    }
    return 0
  }

  #begin(task: Task): void {
    const entry: InFlight<Task> = { task }
    this.#inFlight.set(task.id, entry)
    void this.#queue.add(async () => {
      this.#finished.push(await this.#work.attempt(entry))
      this.#signal.wake()
    })
  }
}
