/** Sums of counts. */
import { type Timestamp, timestamp } from '../time.ts'
import { type Counted, summed } from './queries.ts'
import { type Step, stepMs } from './schema.ts'

/** The id under which the deliveries to all endpoints of a client are counted, so that a sum reads few rows. */
export const allEndpoints = 0

type Key = Pick<Counted, 'client_id' | 'endpoint_id' | 'step' | 'at'>
export type Counts = { -readonly [Name in (typeof summed)[number]]: number }

export const noCounts: Readonly<Counts> = Object.fromEntries(summed.map((name) => [name, 0])) as Counts

export function addTo(counts: Counts, more: Readonly<Counts>): void {
  for (const name of summed) counts[name] += more[name]
}

/** Returns the beginning of the step in which a time lies. */
export function startOf(step: Step, ms: number): Timestamp {
  return timestamp(Math.floor(ms / stepMs[step]) * stepMs[step])
}

/** Rows of counts, one for each key. */
export class Sums {
  readonly #rows = new Map<string, Key & Counts>()

  /** Returns the counts of the key, to be changed. */
  of(key: Key): Counts {
    const name = `${key.client_id} ${key.endpoint_id} ${key.step} ${key.at}`
    const row = this.#rows.get(name) ?? { ...key, ...noCounts }
    this.#rows.set(name, row)
    return row
  }

  rows(): Counted[] {
    return [...this.#rows.values()]
  }
}
