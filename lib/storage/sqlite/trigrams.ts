/** The index of searches holds every three letters that follow each other. */
export const trigram = 3

const most = 12

/** What is between words. */
const gap = /[^\p{L}\p{M}\p{N}]+/u

/**
 * Trigrams that cover a text, or, where it is long, that are spread over it, by the word they begin in; none for a text
 * that has none.
 */
export function trigramsOf(text: string): string[][] {
  const letters = [...text]
  const last = letters.length - trigram
  if (last < 0) return []
  const step = Math.max(trigram, Math.ceil(last / (most - 1)))
  const starts = [...Array.from({ length: Math.ceil(last / step) }, (_, i) => i * step), last]
  const byWord = new Map<number, Set<string>>()
  for (const start of starts) {
    const word = letters
      .slice(0, start + 1)
      .join('')
      .split(gap).length
    byWord.set(word, (byWord.get(word) ?? new Set()).add(letters.slice(start, start + trigram).join('')))
  }
  return [...byWord.values()].map((parts) => [...parts])
}
