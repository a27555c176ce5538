/** The number of rounds, and the seeded random numbers of the suite. */
import type { TestContext } from 'node:test'

/** FAULT_ROUNDS=200 runs the full suite; FAULT_SEED repeats a run. */
export const rounds = Number(process.env.FAULT_ROUNDS ?? 12)

/** Whether the run is that of `npm test`, which leaves the rest to `npm run test:faults`. */
export const isShort = rounds < 12

/** Returns a random number generator; prints its seed. */
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

  /** Returns a number from 0 to 1, by mulberry32. */
  next(): number {
    this.#state = (this.#state + 0x6d2b79f5) | 0
    let mixed = Math.imul(this.#state ^ (this.#state >>> 15), 1 | this.#state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }

  /** Returns a whole number from `from` to `to`, both included. */
  between(from: number, to: number): number {
    return from + Math.floor(this.next() * (to - from + 1))
  }

  of<T>(values: readonly T[]): T {
    return values[this.between(0, values.length - 1)]!
  }

  /** Chooses as many values as there are rounds, in order; all if there are enough rounds. */
  some<T>(values: readonly T[]): T[] {
    const left = [...values.keys()]
    while (left.length > rounds) left.splice(this.between(0, left.length - 1), 1)
    return left.map((index) => values[index]!)
  }
}
