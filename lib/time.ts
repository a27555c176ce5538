import { setImmediate } from 'node:timers'

/** UTC time as text, `2026-01-02T03:04:05.678901Z`. Its text order is its time order. */
export type Timestamp = string

export const dayMs = 86_400_000

/** The longest delay that Node's timers support. */
export const maxTimerMs = 2 ** 31 - 1

/** The last time that can be stored, in milliseconds since 1970. Later years have five digits, and sort wrongly as text. */
export const lastMs = Date.parse('9999-12-31T23:59:59.999Z')

/** No stored time is before this one, or after the last one. */
export const firstTime: Timestamp = '0001-01-01T00:00:00.000000Z'
export const lastTime: Timestamp = '9999-12-31T23:59:59.999999Z'

/** Returns milliseconds since 1970, with a fraction if the clock is precise enough. Injected, so that tests can set it. */
export type Clock = () => number

let lastSecond = Number.NaN
let lastText = ''

/** @param ms Milliseconds since 1970. */
export function timestamp(ms: number): Timestamp {
  const second = Math.floor(ms / 1000)
  // Cache the text of the second, because many calls share it.
  if (second !== lastSecond) {
    lastText = new Date(second * 1000).toISOString().slice(0, -'.000Z'.length)
    lastSecond = second
  }
  const micros = Math.floor((ms - second * 1000) * 1000)
  return `${lastText}.${String(micros).padStart(6, '0')}Z`
}

/** @returns Milliseconds since 1970. */
export function msOf(at: Timestamp): number {
  return Date.parse(at)
}

/**
 * Returns a due time in milliseconds since 1970, rounded up. Rounded down, it could be reached before queries, which compare
 * microseconds, find the work: a loop would poll until then.
 */
export function dueMsOf(at: Timestamp): number {
  const ms = msOf(at)
  return timestamp(ms) < at ? ms + 1 : ms
}

/** A larger drift between wall clock and monotonic clock means that the wall clock was set. */
export const toleratedDriftMs = 2000

/** Returns a function that reports whether the clock was set since its last call. */
export function watchClock(clock: Clock): () => boolean {
  let expectedDriftMs = clock() - performance.now()
  return () => {
    const driftMs = clock() - performance.now()
    const wasSet = Math.abs(driftMs - expectedDriftMs) > toleratedDriftMs
    expectedDriftMs = driftMs
    return wasSet
  }
}

/** Resolves in the next turn of the event loop, so that waiting callbacks run first. */
export function nextTurn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve))
}

/** A request is answered within a few turns of the event loop. */
const turnsBetween = 5

/**
 * A FIFO queue of work that blocks the process, such as parsing and templates. Other requests are answered between two
 * groups of work.
 */
export class BlockingQueue {
  #last: Promise<void> = Promise.resolve()
  #groupSize = 1

  /**
   * Resolves for one caller after the other. The work must begin at once.
   *
   * @param size A group has sizes of at most 1 in total. Work of a larger size is a group of its own.
   */
  turn(size = 1): Promise<void> {
    this.#groupSize += size
    if (this.#groupSize > 1) {
      this.#groupSize = size
      for (let turn = 0; turn < turnsBetween; turn++) this.#last = this.#last.then(nextTurn)
    }
    return this.#last
  }
}

/** Interrupts long computations every few milliseconds, so that they do not block the event loop. */
export class TurnLimit {
  readonly #maxMs: number
  #endsMs: number

  constructor(maxMs: number) {
    this.#maxMs = maxMs
    this.#endsMs = performance.now() + maxMs
  }

  isOver(): boolean {
    return performance.now() > this.#endsMs
  }

  /** Resolves in the next turn of the event loop, and restarts the time limit. */
  async next(): Promise<void> {
    await nextTurn()
    this.#endsMs = performance.now() + this.#maxMs
  }
}

/** Formats a time as the HTTP API shows it in webhook endpoints and deliveries: `2026-01-02T03:04:05+00:00`. */
export function withOffset(at: Timestamp): string
export function withOffset(at: Timestamp | null): string | null
export function withOffset(at: Timestamp | null): string | null {
  return at === null ? null : `${at.slice(0, 19)}+00:00`
}

/** Returns the first of these times; undefined if none is known. */
export function earliest(times: readonly (number | undefined)[]): number | undefined {
  const known = times.filter((ms) => ms !== undefined)
  return known.length > 0 ? known.reduce((first, ms) => Math.min(first, ms)) : undefined
}
