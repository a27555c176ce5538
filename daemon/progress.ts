/** Tells a person how far something is. */
export interface Progress {
  /**
   * @param what What is being done now.
   * @param unit What is counted; default rows.
   */
  show(done: number, total: number, what: string, unit?: string): void
  /** Takes the line away again. */
  clear(): void
}

interface Output {
  readonly isTTY?: boolean
  readonly columns?: number
  write(text: string): unknown
}

const barWidth = 30
const betweenMs = 100

/** A line on a terminal. @returns undefined where nobody is looking. */
export function progressOn(output: Output): Progress | undefined {
  if (output.isTTY !== true) return undefined
  let shownMs = Number.NEGATIVE_INFINITY
  let shown = ''
  return {
    show(done, total, what, unit = 'rows') {
      const line = lineOf(done, total, what, unit).slice(0, (output.columns ?? 80) - 1)
      const nowMs = performance.now()
      if (line === shown || (nowMs - shownMs < betweenMs && done < total)) return
      shownMs = nowMs
      shown = line
      output.write(`\r\x1b[K${line}`)
    },
    clear() {
      if (shown !== '') output.write('\r\x1b[K')
      shown = ''
    },
  }
}

function lineOf(done: number, total: number, what: string, unit: string): string {
  const part = total === 0 ? 1 : done / total
  const full = Math.floor(part * barWidth)
  const bar = `${'#'.repeat(full)}${'.'.repeat(barWidth - full)}`
  return `[${bar}] ${Math.floor(part * 100)} % of ${total.toLocaleString('en')} ${unit}: ${what}`
}
