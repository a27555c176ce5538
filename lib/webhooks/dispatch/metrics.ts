import type { Outcome } from '../http/send.ts'
import type { WebhookSettings } from '../settings.ts'
import type { Ending } from './fairness.ts'
import type { Ended } from './record.ts'
import { decide } from './retry.ts'

/** How attempts end: `refused` never went out, `interrupted` was cut from our side. */
export type AttemptEnding = Ending | 'refused' | 'interrupted'

/** What this process has sent since it started. */
export interface DeliveryFigures {
  readonly attempts: Readonly<Record<AttemptEnding, number>>
  /** Deliveries that came to their end here. */
  readonly deliveries: Readonly<Record<'success' | 'failed', number>>
  /** How many attempts took at most so many milliseconds, of those that made a request; the last has no bound. */
  readonly attemptMs: readonly { readonly upTo: number; readonly count: number }[]
  readonly attemptMsSum: number
}

const boundsMs = [10, 25, 50, 100, 250, 500, 1000, 2500, 5000, 10_000, 15_000, Number.POSITIVE_INFINITY]

/** Counts outcomes that have been recorded. */
export class DeliveryCounter {
  readonly #attempts: Record<AttemptEnding, number> = { success: 0, failure: 0, timeout: 0, refused: 0, interrupted: 0 }
  readonly #deliveries = { success: 0, failed: 0 }
  readonly #durations = boundsMs.map(() => 0)
  #durationSum = 0

  count(batch: readonly Ended[], settings: WebhookSettings): void {
    for (const { outcome, claimed, startedMs, endedMs, random } of batch) {
      const ending = endingOf(outcome)
      this.#attempts[ending] += 1
      const { status } = decide(outcome, claimed.attemptOfRound, settings, random)
      if (status !== 'pending') this.#deliveries[status] += 1
      if (ending === 'refused' || ending === 'interrupted') continue
      const ms = Math.max(0, endedMs - startedMs) // the clock may have been set
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

export function endingOf(outcome: Outcome): AttemptEnding {
  if (outcome.kind === 'answered') return outcome.status >= 200 && outcome.status < 300 ? 'success' : 'failure'
  if (outcome.kind === 'failed') return outcome.timedOut ? 'timeout' : 'failure'
  if (outcome.kind === 'handled') return 'success'
  return outcome.kind === 'threw' ? 'failure' : outcome.kind
}
