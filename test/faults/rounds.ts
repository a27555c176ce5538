/** How long the suite runs, and the chance it runs by. */
import type { TestContext } from 'node:test'

/** FAULT_ROUNDS=200 is the full form; FAULT_SEED repeats a run. */
export const rounds = Number(process.env.FAULT_ROUNDS ?? 12)

/** Everything is drawn from a seed, which is printed. */
export function picker(t: TestContext) {
  const seed = Number(process.env.FAULT_SEED ?? Math.floor(Math.random() * 2 ** 31))
  t.diagnostic(`FAULT_SEED=${seed} FAULT_ROUNDS=${rounds}`)
  return new Picker(seed)
}

export class Picker {
  #state: number

  constructor(seed: number) {
    this.#state = seed
  }

  /** From 0 to 1: mulberry32. */
  next(): number {
    this.#state = (this.#state + 0x6d2b79f5) | 0
    let mixed = Math.imul(this.#state ^ (this.#state >>> 15), 1 | this.#state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }

  /** A whole number from `from` to `to`, both included. */
  between(from: number, to: number): number {
    return from + Math.floor(this.next() * (to - from + 1))
  }

  of<T>(values: readonly T[]): T {
    return values[this.between(0, values.length - 1)]!
  }

  /** As many as there are rounds, in order; all when there are enough rounds. */
  some<T>(values: readonly T[]): T[] {
    const left = [...values.keys()]
    while (left.length > rounds) left.splice(this.between(0, left.length - 1), 1)
    return left.map((index) => values[index]!)
  }
}
