/** @returns The candidate most similar to `word`; undefined when none is similar. */
export function nearest(word: string, candidates: Iterable<string>): string | undefined {
  let best: string | undefined
  let fewestEdits = Math.max(1, Math.floor(word.length / 3)) + 1
  for (const candidate of candidates) {
    const edits = editDistance(word, candidate)
    if (edits < fewestEdits) [best, fewestEdits] = [candidate, edits]
  }
  return best
}

/** Optimal string alignment distance: counts insertions, deletions, substitutions and swaps of neighbours. */
function editDistance(a: string, b: string): number {
  let [beforeLast, last] = [[] as number[], Array.from({ length: b.length + 1 }, (_, at) => at)]
  for (let i = 1; i <= a.length; i++) {
    const row = [i]
    for (let j = 1; j <= b.length; j++) {
      const substituted = last[j - 1]! + (a[i - 1] === b[j - 1] ? 0 : 1)
      row[j] = Math.min(substituted, last[j]! + 1, row[j - 1]! + 1)
      const swapped = i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1]
      if (swapped) row[j] = Math.min(row[j]!, beforeLast[j - 2]! + 1)
    }
    ;[beforeLast, last] = [last, row]
  }
  return last[b.length]!
}
