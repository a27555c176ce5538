import { invalid } from '../errors.ts'

const unitsMs: Readonly<Record<DurationUnit, number>> = {
  ms: 1,
  second: 1000,
  minute: 60_000,
  hour: 3_600_000,
  day: 86_400_000,
  week: 604_800_000,
}

export type DurationUnit = 'ms' | 'second' | 'minute' | 'hour' | 'day' | 'week'

/** Milliseconds, or words: `'3 days'`, `'1 hour'`, `'90 seconds'`. */
export type Duration = number | `${number} ${DurationUnit}` | `${number} ${Exclude<DurationUnit, 'ms'>}s`

/** A clock that stands still unless moved. */
export class TestClock {
  #ms: number
  readonly #deliverDue: () => Promise<number | undefined>

  /** @param deliverDue Attempts what is due; gives when more will be. */
  /** @internal */
  constructor(ms: number, deliverDue: () => Promise<number | undefined>) {
    this.#ms = ms
    this.#deliverDue = deliverDue
  }

  /** Milliseconds since 1970; fit to be passed on as a function. */
  readonly now = (): number => this.#ms

  /**
   * Moves the clock on, stopping at each moment at which a delivery falls due, as time would: when it resolves, every
   * attempt that became due on the way has been made, at its time, and is recorded.
   *
   * @throws MailkeepError `validation_failed`: this is no duration, or leads back.
   */
  async advance(duration: Duration): Promise<void> {
    const endsMs = this.#ms + msOf(duration)
    for (;;) {
      const nextMs = await this.#deliverDue()
      if (nextMs === undefined || nextMs > endsMs) break
      // What is due already and cannot start yet must not hold the clock.
      this.#ms = Math.max(nextMs, this.#ms + 1)
    }
    this.#ms = Math.max(endsMs, this.#ms)
    await this.#deliverDue()
  }
}

function msOf(duration: Duration): number {
  if (typeof duration === 'number' && duration >= 0) return duration
  const [, count, unit] = /^(\d+(?:\.\d+)?) (ms|second|minute|hour|day|week)s?$/.exec(String(duration)) ?? []
  if (count === undefined) throw invalid('duration', "This must be milliseconds or words, such as '3 days'.")
  return Number(count) * unitsMs[unit as DurationUnit]
}
