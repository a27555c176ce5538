import type { Clock } from '../time.ts'

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
