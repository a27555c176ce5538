/**
 * Durations depend on the machine and on what else it runs, so `npm test` does not assert them. `npm run test:timing`
 * does, one file at a time.
 */
import assert from 'node:assert/strict'

export const isTimed = process.env.MAILKEEP_TEST_TIMING === 'yes'

/** Options of `test` for tests of nothing but a duration. */
export const onDemand = isTimed ? {} : { skip: 'asserts a duration: npm run test:timing' }

/** Asserts an upper bound in `npm run test:timing`; elsewhere does nothing. */
export function assertFaster(tookMs: number, maxMs: number, what: string): void {
  if (isTimed) assert.ok(tookMs < maxMs, `${what} took ${Math.round(tookMs)} ms, not less than ${maxMs} ms`)
}
