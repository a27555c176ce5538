/** Upper bounds of the histogram's buckets, in milliseconds. The last bucket has no bound. */
const boundsMs = [10, 50, 200, 1_000, 5_000, 30_000, 300_000]

/** The column of each bucket: deliveries that took at most this long, and longer than the bucket before. */
export const bucketColumns = ['ms_10', 'ms_50', 'ms_200', 's_1', 's_5', 's_30', 'min_5', 'longer'] as const

export function bucketOf(durationMs: number): number {
  const at = boundsMs.findIndex((bound) => durationMs <= bound)
  return at < 0 ? boundsMs.length : at
}

/**
 * Estimates a quantile by linear interpolation inside its bucket, as Prometheus does. The last bucket yields its lower
 * bound.
 *
 * @returns Milliseconds; null without any count.
 */
export function quantileOf(counts: readonly number[], share: number): number | null {
  const total = counts.reduce((sum, count) => sum + count, 0)
  let rank = share * total
  for (const [at, count] of counts.entries()) {
    const lower = boundsMs[at - 1] ?? 0
    if (count > 0 && rank <= count) return Math.round(lower + ((boundsMs[at] ?? lower) - lower) * (rank / count))
    rank -= count
  }
  return null
}
