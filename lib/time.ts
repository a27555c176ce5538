import { setImmediate } from 'node:timers'

/** A moment in UTC as the contract renders it: `2026-01-02T03:04:05.678901Z`. Sorts as text. */
export type Timestamp = string

/** Milliseconds since 1970, with a fraction where the clock is that fine; injected, so that tests can move it. */
export type Clock = () => number

let lastSecond = Number.NaN
let lastText = ''

/** @param ms Milliseconds since 1970. */
export function timestamp(ms: number): Timestamp {
  const second = Math.floor(ms / 1000)
  // Many moments share their second: rendering it once is enough.
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

/** Settles when the event loop has been around: what waited meanwhile comes first. */
export function nextTurn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve))
}

/** Ends long computations every few milliseconds, so that they do not block the event loop. */
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

  /** Resolves in the next turn of the event loop, where the time begins again. */
  async next(): Promise<void> {
    await nextTurn()
    this.#endsMs = performance.now() + this.#maxMs
  }
}

/** The contract's second rendering, for webhook endpoints and deliveries: `2026-01-02T03:04:05+00:00`. */
export function withOffset(at: Timestamp): string
export function withOffset(at: Timestamp | null): string | null
export function withOffset(at: Timestamp | null): string | null {
  return at === null ? null : `${at.slice(0, 19)}+00:00`
}
