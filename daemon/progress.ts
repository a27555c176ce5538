/** Progress of one task. */
export interface ProgressReport {
  /** The current step, such as a file's name. */
  readonly what: string
  readonly done: number
  /** Undefined when unknown. */
  readonly total?: number | undefined
  /** The counted noun, in the singular. */
  readonly unit: string
  /** Fraction done, from 0 to 1. Default: `done` divided by `total`. */
  readonly part?: number | undefined
}

/** Shows progress to a person. */
export interface Progress {
  show(report: ProgressReport): void
  /** Removes the bar. */
  clear(): void
}

interface Output {
  readonly isTTY?: boolean
  readonly columns?: number
  write(text: string): unknown
}

const barWidth = 30
const barIntervalMs = 100
const lineIntervalMs = 10_000

/**
 * Creates a progress bar on a terminal. Elsewhere it prints a line every ten seconds, for logs.
 *
 * @param nowMs A monotonic clock; tests replace it.
 */
export function progressOn(output: Output, nowMs: () => number = () => performance.now()): Progress {
  return output.isTTY === true ? bar(output, nowMs) : lines(output, nowMs)
}

function bar(output: Output, nowMs: () => number): Progress {
  const startedMs = nowMs()
  let shownMs = Number.NEGATIVE_INFINITY
  let shown = ''
  return {
    show(report) {
      const ms = nowMs()
      const line = renderBar(report, ms - startedMs).slice(0, (output.columns ?? 80) - 1)
      if (line === shown || (ms - shownMs < barIntervalMs && fractionOf(report) !== 1)) return
      shownMs = ms
      shown = line
      output.write(`\r\x1b[K${line}`)
    },
    clear() {
      if (shown !== '') output.write('\r\x1b[K')
      shown = ''
    },
  }
}

function lines(output: Output, nowMs: () => number): Progress {
  const startedMs = nowMs()
  let shownMs = startedMs
  return {
    show(report) {
      const ms = nowMs()
      if (ms - shownMs < lineIntervalMs) return
      shownMs = ms
      output.write(`mailkeep: ${terminalText(report.what)}: ${figuresOf(report, ms - startedMs).join(', ')}\n`)
    },
    clear() {},
  }
}

function renderBar(report: ProgressReport, elapsedMs: number): string {
  const part = fractionOf(report)
  const full = Math.floor((part ?? 0) * barWidth)
  const drawn = part === undefined ? '' : `[${'#'.repeat(full)}${'.'.repeat(barWidth - full)}] `
  return `${drawn}${figuresOf(report, elapsedMs).join(', ')}: ${terminalText(report.what)}`
}

/** Returns the known figures: `45 %`, `12,000 rows`, `3,400 rows/s`, `0:25 left`. */
function figuresOf(report: ProgressReport, elapsedMs: number): string[] {
  const { done, unit } = report
  const part = fractionOf(report)
  const figures = part === undefined ? [] : [`${Math.floor(part * 100)} %`]
  figures.push(plural(done, unit))
  if (elapsedMs < 1000 || done === 0) return figures
  figures.push(`${plural(Math.round((done * 1000) / elapsedMs), unit)}/s`)
  if (part !== undefined && part > 0 && part < 1) figures.push(`${clockTime((elapsedMs * (1 - part)) / part)} left`)
  return figures
}

function fractionOf({ done, total, part }: ProgressReport): number | undefined {
  if (part !== undefined) return Math.min(part, 1)
  if (total === undefined) return undefined
  return total === 0 ? 1 : done / total
}

/** `1:02:03`, `0:25` */
function clockTime(ms: number): string {
  const seconds = Math.round(ms / 1000)
  const parts = [Math.floor(seconds / 3600), Math.floor(seconds / 60) % 60, seconds % 60]
  const [hours, minutes, rest] = parts.map((value) => String(value))
  return hours === '0'
    ? `${minutes}:${rest!.padStart(2, '0')}`
    : `${hours}:${minutes!.padStart(2, '0')}:${rest!.padStart(2, '0')}`
}

/** Formats a count with its noun: `1 row`, `2,000 rows`. */
export function plural(count: number, noun: string): string {
  const many = noun.endsWith('y') ? `${noun.slice(0, -1)}ies` : `${noun}s`
  return `${count.toLocaleString('en')} ${count === 1 ? noun : many}`
}

/**
 * Replaces control characters, because names and messages could contain terminal escape sequences. Keeps the joiners of
 * emoji and of languages such as Persian and Hindi.
 */
export function terminalText(text: string): string {
  return text.replace(/(?![\u200c\u200d])\p{C}/gu, '?')
}
