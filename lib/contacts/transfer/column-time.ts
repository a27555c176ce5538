import { isDay } from '../../parse.ts'
import { lastMs, type Timestamp, timestamp } from '../../time.ts'

/** `2026-01-02T03:04:05.678901Z`, `2026-01-02 03:04:05`, `2026-01-02`, `2026-01-02 03:04:05.6 +0200 CEST`. */
const yearFirst =
  /^(\d{4})-(\d\d)-(\d\d)(?:[T ](\d\d):(\d\d)(?::(\d\d)(?:\.(\d{1,9}))?)?\s*(Z|UTC|[+-]\d\d(?::?\d\d)?)?(?: [A-Z]{3,5})?)?$/
/** Brevo: `02-01-2026 03:04:05`. */
const dayFirst = /^(\d\d)-(\d\d)-(\d{4})(.*)$/

/** Returns the text of a string, number or boolean, or undefined. `String` may throw for other values of JSON. */
export function textOf(value: unknown): string | undefined {
  return ['string', 'number', 'boolean'].includes(typeof value) ? String(value) : undefined
}

/** Reads the time of a cell, in UTC if it names no zone. Returns undefined if it is none. */
export function readTime(value: unknown): Timestamp | undefined {
  const text = (textOf(value) ?? '').trim().replace(dayFirst, '$3-$2-$1$4')
  const [, year, month, day, hour = '00', minute = '00', second = '00', fraction = '', zone = 'Z'] =
    yearFirst.exec(text) ?? []
  if (year === undefined) return undefined
  const [, sign, hours, minutes = '00'] = /^([+-])(\d\d):?(\d\d)?$/.exec(zone) ?? []
  const iso = `${year}-${month}-${day}T${hour}:${minute}:${second}`
  const ms = Date.parse(`${iso}${sign ? `${sign}${hours}:${minutes}` : 'Z'}`)
  if (Number.isNaN(ms) || ms < 0 || ms > lastMs || !isDay(`${year}-${month}-${day}`)) return undefined
  // Microseconds as text, because a number of milliseconds would lose some.
  return timestamp(ms).replace(/\d{6}Z$/, `${fraction.slice(0, 6).padEnd(6, '0')}Z`)
}
