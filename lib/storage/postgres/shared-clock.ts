/** The server's own clock, not the transaction's; whole microseconds survive a JS number until the year 2255. */
const askTime = `select cast(extract(epoch from clock_timestamp()) * 1000000 as bigint) as micros`

/** Two clocks part by less than this. */
const drift = 1e-4

/**
 * The database's clock, which all its processes share: leases and due times of one machine mean the same on another,
 * however wrong its own clock is. Between comparisons it runs by the processor's clock, which nobody sets.
 */
export class SharedClock {
  /** What to add to `performance.now()`. */
  #offsetMs: number | undefined
  /** How wrong that may be: half of the time the answer took. */
  #toleranceMs = 0
  #comparedMs = 0

  /** Milliseconds since 1970, with a fraction. */
  readonly now = (): number => performance.now() + (this.#offsetMs ?? performance.timeOrigin)

  /** Asks the database for its time. */
  async compare(ask: (text: string) => Promise<unknown[]>): Promise<void> {
    const askedMs = performance.now()
    const [row] = (await ask(askTime)) as { micros: number }[]
    const answeredMs = performance.now()
    const toleranceMs = (answeredMs - askedMs) / 2
    const offsetMs = row!.micros / 1000 - (askedMs + answeredMs) / 2
    if (!this.#isBetter(offsetMs, toleranceMs, answeredMs)) return
    this.#offsetMs = offsetMs
    this.#toleranceMs = toleranceMs
    this.#comparedMs = answeredMs
  }

  /** A slow answer tells nothing new, unless what is known cannot be true any more: the machine may have slept. */
  #isBetter(offsetMs: number, toleranceMs: number, nowMs: number): boolean {
    if (this.#offsetMs === undefined) return true
    const knownToleranceMs = this.#toleranceMs + (nowMs - this.#comparedMs) * drift
    return toleranceMs <= knownToleranceMs || Math.abs(offsetMs - this.#offsetMs) > toleranceMs + knownToleranceMs
  }
}
