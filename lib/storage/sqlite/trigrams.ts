/** Length of a trigram. The search index contains every sequence of three letters. */
export const trigramLength = 3

const maxTrigrams = 12

const wordSeparator = /[^\p{L}\p{M}\p{N}]+/u

/**
 * Returns trigrams of a text, grouped by the word in which they begin. They cover a short text, and are spread evenly
 * over a long one. A text of fewer than three letters has none.
 */
export function trigramsOf(text: string): string[][] {
  const letters = [...text]
  const last = letters.length - trigramLength
  if (last < 0) return []
  const step = Math.max(trigramLength, Math.ceil(last / (maxTrigrams - 1)))
  const starts = [...Array.from({ length: Math.ceil(last / step) }, (_, i) => i * step), last]
  const byWord = new Map<number, Set<string>>()
  for (const start of starts) {
    const word = letters
      .slice(0, start + 1)
      .join('')
      .split(wordSeparator).length
    byWord.set(word, (byWord.get(word) ?? new Set()).add(letters.slice(start, start + trigramLength).join('')))
  }
  return [...byWord.values()].map((parts) => [...parts])
}
