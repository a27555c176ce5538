import { firstTime, lastTime } from '../../time.ts'
import type { ParameterType } from '../statement.ts'

type Parser = (text: string) => unknown

/** Matches `2026-01-02 03:04:05.678901+00`. The session may be in any time zone. */
const isoTime = /^(\d{4}-\d\d-\d\d) (\d\d:\d\d:\d\d)(?:\.(\d{1,6}))?([+-])(\d\d)(?::?(\d\d))?(?::?(\d\d))?$/

/** PostgreSQL's OIDs of the types that the tables and statements use. */
const oids = { bool: 16, int8: 20, int2: 21, int4: 23, timestamptz: 1184 }

const fromText: Readonly<Record<number, Parser>> = {
  [oids.bool]: (text) => text === 't',
  [oids.int8]: Number,
  [oids.int2]: Number,
  [oids.int4]: Number,
  [oids.timestamptz]: timeFromText,
}

/**
 * Type parsers that are passed with each query, so that rows look like SQLite's whatever the host sets on `pg.types`.
 * Times become text in the API's format. JSON and all other types stay text.
 */
export const rowTypes = {
  getTypeParser(oid: number, format?: string): Parser {
    return format === 'binary' ? refuseBinary : (fromText[oid] ?? unchanged)
  },
}

/** Refuses the binary format, because the driver decodes the bytes as UTF-8 first, which corrupts them. */
function refuseBinary(): never {
  throw new TypeError("mailkeep cannot read PostgreSQL's binary format: set pg.defaults.binary to false.")
}

function unchanged(text: string): string {
  return text
}

export function timeFromText(text: string): string {
  const match = isoTime.exec(text)
  if (!match) throw new TypeError(`A time came as ${text}: mailkeep's connections need DateStyle ISO.`)
  const [, date, time, fraction = '', sign, hours, minutes = '0', seconds = '0'] = match
  const micros = fraction.padEnd(6, '0')
  const aheadSeconds = Number(hours) * 3600 + Number(minutes) * 60 + Number(seconds)
  if (aheadSeconds === 0) return `${date}T${time}.${micros}Z`
  const ms = Date.parse(`${date}T${time}Z`) + (sign === '+' ? -1000 : 1000) * aheadSeconds
  return `${new Date(ms).toISOString().slice(0, 19)}.${micros}Z`
}

/** SQL types for casts. PostgreSQL cannot infer a parameter's type outside a plain comparison. */
export const castOf: Readonly<Record<ParameterType, string>> = {
  int: 'bigint',
  text: 'text',
  bool: 'boolean',
  time: 'timestamptz',
  json: 'json',
  ints: 'bigint[]',
  texts: 'text[]',
  rows: 'json',
}

/** Converts a value for the driver, which itself encodes numbers, booleans and arrays. */
export function bindValue(type: ParameterType, value: unknown): unknown {
  if (type === 'text') return withoutNul(value as string)
  if (type === 'time') return clampTime(value as string)
  if (type === 'texts') return (value as readonly string[]).map(withoutNul)
  if (type === 'rows')
    return JSON.stringify(value, (_, field) => (typeof field === 'string' ? withoutNul(field) : field))
  if (type === 'bool') return Boolean(value)
  return value
}

/** Replaces NUL, which PostgreSQL's text cannot contain. Validated input has none, but a host's data may. */
function withoutNul(text: string): string {
  return text.includes('\0') ? text.replaceAll('\0', '\ufffd') : text
}

/** Clamps times to PostgreSQL's range. JS writes years with more than four digits with a sign. */
function clampTime(text: string): string {
  if (text >= '0001') return text
  return text.startsWith('+') ? lastTime : firstTime
}
