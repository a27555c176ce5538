/** Formats a count with its noun: `1 row`, `2,000 rows`. */
export function plural(count: number, noun: string): string {
  const many = noun.endsWith('y') ? `${noun.slice(0, -1)}ies` : `${noun}s`
  return `${count.toLocaleString('en')} ${count === 1 ? noun : many}`
}
