import type { Context } from './context.ts'
import { deletionJobs } from './deletion/operations.ts'
import { isMailkeepError } from './errors.ts'
import { deleteExpiredAnswers } from './idempotency/operations.ts'
import { continueJob, type JobSteps, onTarget } from './jobs/operations.ts'
import { searchPurgeSteps, tidySearches } from './jobs/search-purge.ts'
import { nextTurn } from './time.ts'
import { holdDeliveries, holdKind } from './webhooks/dispatch/pause.ts'
import { recoverKind, recoverSome } from './webhooks/recovery.ts'
import { deleteExpired } from './webhooks/retention.ts'

const steps: JobSteps = {
  ...deletionJobs,
  ...searchPurgeSteps,
  [holdKind]: onTarget(holdDeliveries),
  [recoverKind]: recoverSome,
}
const minuteMs = 60_000
const minutesBetweenSweeps = 60
const afterFaultMs = 1000

/** Does what nobody waits for: stored jobs, in chunks between other writes, and what is past its time. */
export class Housekeeping {
  readonly #ctx: Context
  #working: Promise<void> | undefined
  #again = false
  #timer: NodeJS.Timeout | undefined
  #minutes = 0
  #stopped = false

  constructor(ctx: Context) {
    this.#ctx = ctx
  }

  /** From now on also what is past its time, every hour, and what another process has left. */
  start(): void {
    if (this.#timer || this.#stopped) return
    this.#timer = setInterval(() => this.#look(), minuteMs)
    this.#timer.unref()
    this.#look()
  }

  /** There may be a stored job. */
  wake(): void {
    if (this.#stopped) return
    this.#again = true
    this.#working ??= this.#work()
  }

  /** Does the stored jobs, a dead process's too, and resolves when none is left. */
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
    while (this.#again && !this.#stopped) {
      this.#again = false
      await this.#tolerating(async () => {
        await tidySearches(this.#ctx)
        while (!this.#stopped && (await continueJob(this.#ctx, steps))) {
          await nextTurn()
        }
        await this.#ctx.storage.compact?.(this.#ctx.clock())
      })
    }
    this.#working = undefined
  }

  #look(): void {
    this.wake() // a process that stored a job may have died
    if (this.#minutes++ % minutesBetweenSweeps > 0) return
    void this.#tolerating(async () => {
      await deleteExpired(this.#ctx)
      await deleteExpiredAnswers(this.#ctx)
    })
  }

  async #tolerating(work: () => Promise<void>): Promise<void> {
    try {
      await work()
    } catch (error) {
      if (this.#stopped && isMailkeepError(error, 'unavailable')) return
      this.#ctx.logger.error({ err: error }, 'house-keeping failed; it is tried again')
      setTimeout(() => this.wake(), afterFaultMs).unref()
    }
  }
}
