import type { Context } from './context.ts'
import { deletionJobs } from './deletion/operations.ts'
import { isMailkeepError } from './errors.ts'
import { deleteExpiredAnswers } from './idempotency/operations.ts'
import { continueJob, type JobSteps, onTarget } from './jobs/operations.ts'
import { searchPurgeSteps, tidySearches } from './jobs/search-purge.ts'
import { nextTurn } from './time.ts'
import { holdDeliveries, holdKind } from './webhooks/dispatch/pause.ts'
import { recoverBatch, recoverKind } from './webhooks/recovery.ts'
import { deleteExpired } from './webhooks/retention.ts'

const steps: JobSteps = {
  ...deletionJobs,
  ...searchPurgeSteps,
  [holdKind]: onTarget(holdDeliveries),
  [recoverKind]: recoverBatch,
}
const minuteMs = 60_000
const minutesBetweenSweeps = 60
const retryDelayMs = 1000

/** Runs background work: stored jobs, in batches between other writes, and the deletion of expired rows. */
export class Housekeeping {
  readonly #ctx: Context
  #working: Promise<void> | undefined
  #hasNewJobs = false
  #timer: NodeJS.Timeout | undefined
  #minutes = 0
  #stopped = false

  constructor(ctx: Context) {
    this.#ctx = ctx
  }

  /** Starts the timer. It deletes expired rows every hour, and continues jobs of dead processes every minute. */
  start(): void {
    if (this.#timer || this.#stopped) return
    this.#timer = setInterval(() => this.#runEveryMinute(), minuteMs)
    this.#timer.unref()
    this.#runEveryMinute()
  }

  /** Runs stored jobs now, because there may be a new one. */
  wake(): void {
    if (this.#stopped) return
    this.#hasNewJobs = true
    this.#working ??= this.#work()
  }

  /** Runs all stored jobs, including jobs of dead processes, and resolves when none is left. */
  async finish(): Promise<void> {
    this.wake()
    while (this.#working) await this.#working
  }

  async stop(): Promise<void> {
    this.#stopped = true
    clearInterval(this.#timer)
    await this.#working
  }

  async #work(): Promise<void> {
    while (this.#hasNewJobs && !this.#stopped) {
      this.#hasNewJobs = false
      await this.#logAndRetry(async () => {
        await tidySearches(this.#ctx)
        while (!this.#stopped && (await continueJob(this.#ctx, steps))) {
          await nextTurn()
        }
        await this.#ctx.storage.search.compact(this.#ctx.clock())
      })
    }
    this.#working = undefined
  }

  #runEveryMinute(): void {
    this.wake() // a process that stored a job may have died
    if (this.#minutes++ % minutesBetweenSweeps > 0) return
    void this.#logAndRetry(async () => {
      await deleteExpired(this.#ctx)
      await deleteExpiredAnswers(this.#ctx)
    })
  }

  async #logAndRetry(work: () => Promise<void>): Promise<void> {
    try {
      await work()
    } catch (error) {
      if (this.#stopped && isMailkeepError(error, 'unavailable')) return
      this.#ctx.logger.error({ err: error }, 'housekeeping failed: will try again')
      setTimeout(() => this.wake(), retryDelayMs).unref()
    }
  }
}
