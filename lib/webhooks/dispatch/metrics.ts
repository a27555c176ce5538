import type { FinishedAttempt } from './record.ts'
import { type AttemptEnding, endingOf } from './retry.ts'

/** Endings of attempts whose duration is measured. */
const requestEndings: ReadonlySet<AttemptEnding> = new Set(['success', 'failure', 'timeout'])

/** Counts of the attempts and deliveries of this process since it started. */
export interface DeliveryFigures {
  readonly attempts: Readonly<Record<AttemptEnding, number>>
  /** Deliveries that reached their final status in this process. */
  readonly deliveries: Readonly<Record<'success' | 'failed', number>>
  /** Attempts that sent a request, by duration: `count` of them took at most `upTo` ms. The last bound is infinite. */
  readonly attemptMs: readonly { readonly upTo: number; readonly count: number }[]
  readonly attemptMsSum: number
}

const boundsMs = [10, 25, 50, 100, 250, 500, 1000, 2500, 5000, 10_000, 15_000, Number.POSITIVE_INFINITY]

/** Counts recorded attempts. An attempt that lost its claim is not recorded and does not count. */
export class DeliveryCounter {
  readonly #attempts: Record<AttemptEnding, number> = {
    success: 0,
    failure: 0,
    timeout: 0,
    refused: 0,
    interrupted: 0,
    fault: 0,
  }
  readonly #deliveries = { success: 0, failed: 0 }
  readonly #durations = boundsMs.map(() => 0)
  #durationSum = 0

  count(recorded: readonly FinishedAttempt[]): void {
    for (const { outcome, disposition, startedMs, endedMs } of recorded) {
      const ending = endingOf(outcome)
      this.#attempts[ending] += 1
      if (disposition.status !== 'pending') this.#deliveries[disposition.status] += 1
      if (!requestEndings.has(ending)) continue
      const ms = Math.max(0, endedMs - startedMs) // negative when the clock was set back
      this.#durationSum += ms
      this.#durations[boundsMs.findIndex((bound) => ms <= bound)]! += 1
    }
  }

  figures(): DeliveryFigures {
    const attemptMs = boundsMs.map((upTo, at) => ({ upTo, count: this.#durations[at]! }))
    return {
      attempts: { ...this.#attempts },
      deliveries: { ...this.#deliveries },
      attemptMs,
      attemptMsSum: this.#durationSum,
    }
  }
}
