/** Checks a property with few or many runs, and prints how to reproduce a failure. */
import assert from 'node:assert/strict'
import fc from 'fast-check'

/** A property that is checked with random values. */
export interface Subject {
  check(parameters: { numRuns: number; seed: number; path?: string; endOnFailure?: boolean }): Promise<Outcome>
  /** Number of steps so far. */
  steps(): number
  close(): Promise<void>
}

export interface Outcome {
  readonly runs: number
  /** The smallest failing run and its path within the seed's runs; undefined without a failure. */
  readonly failure: { readonly report: string; readonly path: string } | undefined
}

/** Maximum time to shrink a failure. A request that hangs uses its whole time-out on each try. */
const shrinkingMs = 30_000

/** @param run Throws when the property fails for a value. */
export function checking<T>(values: fc.Arbitrary<T>, run: (value: T) => Promise<void>): Subject['check'] {
  let failedMs: number | undefined
  const property = fc.asyncProperty(values, async (value) => {
    if (failedMs !== undefined && performance.now() - failedMs > shrinkingMs) return
    try {
      await run(value)
    } catch (error) {
      failedMs ??= performance.now()
      throw error
    }
  })
  return async (parameters) => {
    const details = await fc.check(property, parameters)
    if (!details.failed) return { runs: details.numRuns, failure: undefined }
    const why = details.errorInstance instanceof Error ? details.errorInstance.message : details.errorInstance
    const report = `${why}\n${await fc.asyncDefaultReportMessage(details)}`
    return { runs: details.numRuns, failure: { report, path: details.counterexamplePath ?? '' } }
  }
}

interface Extent {
  /** Number of sessions. Each is a new client and some steps. */
  readonly runs: number
  /** Repeats a run; without it each run uses a new seed. */
  readonly seed?: number | undefined
  /** Path of a failing run within the seed's runs, as it was printed. */
  readonly path?: string | undefined
}

const progressMs = 5_000

/**
 * @param tell Called with the progress every few seconds and at the end.
 * @throws AssertionError with the smallest failing session, its seed and its path.
 */
export async function check(name: string, subject: Subject, extent: Extent, tell: (line: string) => void) {
  const { runs: numRuns, seed = Math.floor(Math.random() * 2 ** 31), path } = extent
  const startedMs = performance.now()
  const progress = () => {
    const seconds = (performance.now() - startedMs) / 1000
    return `${name}: ${subject.steps()} steps in ${seconds.toFixed(1)} s, seed ${seed}`
  }
  const timer = setInterval(() => tell(progress()), progressMs)
  try {
    const replay = path === undefined ? {} : { path, endOnFailure: true }
    const { runs, failure } = await subject.check({ numRuns, seed, ...replay })
    const again = `npm run test:properties -- --only ${name} --seed ${seed} --path ${failure?.path}`
    if (failure) assert.fail(`${failure.report}\n\nAgain: ${again}`)
    tell(`${progress()}; ${runs} runs, no failure`)
  } finally {
    clearInterval(timer)
    await subject.close()
  }
}
