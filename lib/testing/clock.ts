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

/** Milliseconds, or a text such as `'3 days'`, `'1 hour'`, `'90 seconds'`. */
export type Duration = number | `${number} ${DurationUnit}` | `${number} ${Exclude<DurationUnit, 'ms'>}s`

/** A clock that only `advance` moves. */
export class TestClock {
  #ms: number
  readonly #deliverDue: () => Promise<number | undefined>

  /**
   * @internal
   * @param deliverDue Attempts all due deliveries, and returns when the next one is due.
   */
  constructor(ms: number, deliverDue: () => Promise<number | undefined>) {
    this.#ms = ms
    this.#deliverDue = deliverDue
  }

  /** Returns milliseconds since 1970. It is bound, so that it can be passed as a function. */
  readonly now = (): number => this.#ms

  /**
   * Moves the clock forward, and stops at each time at which a delivery becomes due. When it resolves, every attempt that
   * became due has been made at its due time, and is recorded.
   *
   * @throws MailkeepError `validation_failed`: not a duration, negative, or too long for a Date.
   */
  async advance(duration: Duration): Promise<void> {
    const endsMs = this.#ms + msOf(duration)
    if (Number.isNaN(new Date(endsMs).getTime())) throw invalid('duration', 'This must end before the year 275760.')
    for (;;) {
      const nextMs = await this.#deliverDue()
      if (nextMs === undefined || nextMs > endsMs) break
      // A delivery that is due but cannot start yet must not stop the clock.
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
