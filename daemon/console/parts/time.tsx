import { signal } from '@preact/signals'

/** Changes when the shown times must be drawn again. */
const ticks = signal(0)
setInterval(() => {
  ticks.value += 1
}, 30_000)

const relative = new Intl.RelativeTimeFormat('en', { numeric: 'auto' })
const shortRelative = new Intl.RelativeTimeFormat('en', { numeric: 'auto', style: 'narrow' })
/** Formats a time with its zone. */
export const exact = new Intl.DateTimeFormat('en', { dateStyle: 'medium', timeStyle: 'long' })

const units: readonly [Intl.RelativeTimeFormatUnit, number][] = [
  ['year', 31_536_000],
  ['month', 2_592_000],
  ['day', 86_400],
  ['hour', 3600],
  ['minute', 60],
]

interface TimeProps {
  readonly at: string | null | undefined
  readonly none?: string
  readonly isShort?: boolean
  /** Shows the exact time as well. */
  readonly isExact?: boolean
}

/** Shows how long ago or from now a time is, with the exact time on hover. */
export function Time({ at, none = 'never', isShort = false, isExact = false }: TimeProps) {
  if (!at) return <span class="muted">{none}</span>
  const date = new Date(at)
  return (
    <time key={ticks.value} dateTime={at} title={exact.format(date)}>
      {relativeTime((date.getTime() - Date.now()) / 1000, isShort ? shortRelative : relative)}
      {isExact && `, ${exact.format(date)}`}
    </time>
  )
}

function relativeTime(seconds: number, format: Intl.RelativeTimeFormat): string {
  const unit = units.find(([, length]) => Math.abs(seconds) >= length)
  if (unit) return format.format(Math.trunc(seconds / unit[1]), unit[0])
  return seconds > 5 ? `in ${Math.round(seconds)} seconds` : 'just now'
}

/** Returns a time as an input of the type `datetime-local` has it: in the person's time zone, to the minute. */
export function localTime(time: string): string {
  const date = new Date(time)
  return new Date(date.getTime() - date.getTimezoneOffset() * 60_000).toISOString().slice(0, 16)
}

/** Returns an amount of time for people, in its two largest units: `3 min 5 s`. */
export function duration(seconds: number): string {
  if (!Number.isFinite(seconds)) return 'unknown'
  const parts: string[] = []
  let rest = Math.round(seconds)
  for (const [unit, length] of [
    ['d', 86_400],
    ['h', 3600],
    ['min', 60],
    ['s', 1],
  ] as const) {
    const count = Math.floor(rest / length)
    rest -= count * length
    if (count > 0) parts.push(`${count} ${unit}`)
  }
  return parts.slice(0, 2).join(' ') || '0 s'
}

const digits = new Intl.NumberFormat('en')

export function number(value: number): string {
  return digits.format(value)
}
