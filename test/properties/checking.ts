/** Checks a property, in short or in long, and says how to see a failure again. */
import assert from 'node:assert/strict'
import fc from 'fast-check'

/** What is tried at random. */
export interface Subject {
  check(parameters: { numRuns: number; seed: number; path?: string; endOnFailure?: boolean }): Promise<Outcome>
  /** Done so far. */
  steps(): number
  close(): Promise<void>
}

export interface Outcome {
  readonly runs: number
  /** The smallest failing run, and where it stands among its seed's; undefined when all is well. */
  readonly failure: { readonly report: string; readonly path: string } | undefined
}

/** For making a failure smaller: a request that hangs takes its time each time it is tried. */
const shrinkingMs = 30_000

/** @param run Throws what is wrong with a value. */
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

export interface Extent {
  /** Sessions: each is a client of its own and some steps. */
  readonly runs: number
  /** Repeats a run; else a new one each time. */
  readonly seed?: number | undefined
  /** Within the seed's runs, the one that failed: as it was printed. */
  readonly path?: string | undefined
}

const progressMs = 5_000

/**
 * @param tell Hears how far it has come, every few seconds and at its end.
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
    tell(`${progress()}; ${runs} runs, all well`)
  } finally {
    clearInterval(timer)
    await subject.close()
  }
}
