/** The index of searches holds every three letters that follow each other. */
export const trigram = 3

const most = 12

/** Trigrams that cover a text, or, where it is long, that are spread over it; none for a text that has none. */
export function trigramsOf(text: string): string[] {
  const letters = [...text]
  const last = letters.length - trigram
  const step = Math.max(trigram, Math.ceil(last / (most - 1)))
  const starts = Array.from({ length: Math.ceil(last / step) }, (_, i) => i * step)
  const parts = last < 0 ? [] : [...starts, last].map((start) => letters.slice(start, start + trigram).join(''))
  return [...new Set(parts)]
}
