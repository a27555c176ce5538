/** Reads the current time, not the transaction's start. A JS number is exact in microseconds until the year 2255. */
const askTime = `select cast(extract(epoch from clock_timestamp()) * 1000000 as bigint) as micros`

/** Maximum drift between two clocks, per unit of time. */
const maxDrift = 1e-4

/**
 * The database's clock, which all processes share. Leases and due times then mean the same on every machine, even if
 * its own clock is wrong. Between comparisons it uses the monotonic clock, which cannot be set.
 */
export class SharedClock {
  /** Milliseconds to add to `performance.now()`. */
  #offsetMs: number | undefined
  /** Maximum error of the offset: half of the query's round-trip time. */
  #toleranceMs = 0
  #comparedMs = 0

  /** Milliseconds since 1970, with a fraction. */
  readonly now = (): number => performance.now() + (this.#offsetMs ?? performance.timeOrigin)

  /** Queries the database's time and updates the offset. */
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

  /**
   * Whether a new offset is more accurate than the known one. A slow query's offset is used only if it contradicts the
   * known one, for example after the machine slept.
   */
  #isBetter(offsetMs: number, toleranceMs: number, nowMs: number): boolean {
    if (this.#offsetMs === undefined) return true
    const knownToleranceMs = this.#toleranceMs + (nowMs - this.#comparedMs) * maxDrift
    return toleranceMs <= knownToleranceMs || Math.abs(offsetMs - this.#offsetMs) > toleranceMs + knownToleranceMs
  }
}
