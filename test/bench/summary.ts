/** Statistics of times, in milliseconds. */
export interface Summary {
  readonly count: number
  readonly perSecond: number
  readonly p50: number
  readonly p95: number
  readonly p99: number
  readonly max: number
}

/** @param times In milliseconds. */
export function summaryOf(times: readonly number[], elapsedMs: number): Summary {
  const count = times.length
  const [p50, p95, p99, max] = [0.5, 0.95, 0.99, 1].map((q) => quantile(times, q)) as [number, number, number, number]
  return { count, perSecond: (count / elapsedMs) * 1000, p50, p95, p99, max }
}

/** NaN for an empty array. */
export function quantile(values: readonly number[], q: number): number {
  const sorted = Float64Array.from(values).sort()
  return sorted[Math.min(Math.floor(sorted.length * q), sorted.length - 1)] ?? Number.NaN
}

export function median(values: readonly number[]): number {
  return quantile(values, 0.5)
}
