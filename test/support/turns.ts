import type { TestContext } from 'node:test'

/** Counts the turns of the event loop from now on. @returns The number so far. */
export function countTurns(t: TestContext): () => number {
  let turns = 0
  const next = () => {
    turns += 1
    immediate = setImmediate(next)
  }
  let immediate = setImmediate(next)
  t.after(() => clearImmediate(immediate))
  return () => turns
}
