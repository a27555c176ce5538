/** Samples the resources that a daemon uses over time. */
import { execFileSync } from 'node:child_process'
import { readdirSync, statSync } from 'node:fs'

export interface Sample {
  readonly seconds: number
  readonly residentMb: number
  /** Open files and connections; NaN where the system does not report them. */
  readonly descriptors: number
  readonly walMb: number
  readonly databaseMb: number
  readonly requests: number
  readonly p50: number
  readonly p99: number
}

export function residentMb(pid: number): number {
  return Number(execFileSync('ps', ['-o', 'rss=', '-p', String(pid)])) / 1024
}

export function descriptors(pid: number): number {
  try {
    return readdirSync(`/proc/${pid}/fd`).length
  } catch {
    return Number.NaN
  }
}

export function megabytes(path: string): number {
  return (statSync(path, { throwIfNoEntry: false })?.size ?? 0) / 2 ** 20
}

/** @param at From 0 to 1. */
export function quantile(values: readonly number[], at: number): number {
  const sorted = values.toSorted((a, b) => a - b)
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * at))] ?? Number.NaN
}

/** Growth limits: how much the last quarter may exceed the second, in which everything is warm. */
export const bounds = {
  residentMb: { name: 'memory', unit: 'MB', factor: 1.2, more: 20 },
  descriptors: { name: 'handles', unit: '', factor: 1.1, more: 30 },
  walMb: { name: 'WAL', unit: 'MB', factor: 1.2, more: 64 }, // it may grow to journal_size_limit at any time
  p99: { name: 'p99', unit: 'ms', factor: 2, more: 20 },
} as const

export interface Verdict {
  readonly name: string
  readonly second: number
  readonly last: number
  readonly most: number
  readonly flat: boolean
}

export function verdicts(samples: readonly Sample[]): Verdict[] {
  const quarter = (number: number) =>
    samples.slice(Math.floor((samples.length * number) / 4), Math.floor((samples.length * (number + 1)) / 4))
  return (Object.keys(bounds) as (keyof typeof bounds)[]).map((key) => {
    const { name, unit, factor, more } = bounds[key]
    const median = (of: readonly Sample[]) =>
      quantile(
        of.map((sample) => sample[key]),
        0.5,
      )
    const [second, last] = [median(quarter(1)), median(quarter(3))]
    const most = second * factor + more
    return { name: `${name}${unit && ` (${unit})`}`, second, last, most, flat: Number.isNaN(second) || last <= most }
  })
}
