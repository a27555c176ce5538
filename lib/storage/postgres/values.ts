import type { ParameterType } from '../statement.ts'

type Parser = (text: string) => unknown

/** `2026-01-02 03:04:05.678901+00`, in whatever time zone the session is. */
const isoMoment = /^(\d{4}-\d\d-\d\d) (\d\d:\d\d:\d\d)(?:\.(\d{1,6}))?([+-])(\d\d)(?::?(\d\d))?(?::?(\d\d))?$/

/** PostgreSQL's numbers for the types our tables and statements have. */
const oids = { bool: 16, int8: 20, int2: 21, int4: 23, timestamptz: 1184 }

const fromText: Readonly<Record<number, Parser>> = {
  [oids.bool]: (text) => text === 't',
  [oids.int8]: Number,
  [oids.int2]: Number,
  [oids.int4]: Number,
  [oids.timestamptz]: momentFromText,
}

/**
 * How values come out of the database, given with each query: whatever parsers the host has set on `pg.types`, rows
 * are as on SQLite. Moments are text of the contract's form, JSON stays text, what is not listed too.
 */
export const rowTypes = {
  getTypeParser(oid: number, format?: string): Parser {
    return format === 'binary' ? refuseBinary : (fromText[oid] ?? asItIs)
  },
}

/** The driver reads bytes as UTF-8 before anybody sees them: what arrives is not what was sent. */
function refuseBinary(): never {
  throw new TypeError("mailkeep cannot read PostgreSQL's binary format: set pg.defaults.binary to false.")
}

function asItIs(text: string): string {
  return text
}

export function momentFromText(text: string): string {
  const match = isoMoment.exec(text)
  if (!match) throw new TypeError(`A time came as ${text}: mailkeep's connections need DateStyle ISO.`)
  const [, date, time, fraction = '', sign, hours, minutes = '0', seconds = '0'] = match
  const micros = fraction.padEnd(6, '0')
  const aheadSeconds = Number(hours) * 3600 + Number(minutes) * 60 + Number(seconds)
  if (aheadSeconds === 0) return `${date}T${time}.${micros}Z`
  const ms = Date.parse(`${date}T${time}Z`) + (sign === '+' ? -1000 : 1000) * aheadSeconds
  return `${new Date(ms).toISOString().slice(0, 19)}.${micros}Z`
}

/** What a parameter is cast to: PostgreSQL cannot tell a parameter's type outside a plain comparison. */
export const castOf: Readonly<Record<ParameterType, string>> = {
  int: 'bigint',
  text: 'text',
  bool: 'boolean',
  time: 'timestamptz',
  json: 'json',
  ints: 'bigint[]',
  texts: 'text[]',
  jsons: 'json[]',
  rows: 'json',
}

/** A value as the driver binds it; the driver writes numbers, booleans and arrays as PostgreSQL reads them. */
export function bindValue(type: ParameterType, value: unknown): unknown {
  if (type === 'text') return storable(value as string)
  if (type === 'time') return momentInRange(value as string)
  if (type === 'texts' || type === 'jsons') return (value as readonly string[]).map(storable)
  if (type === 'rows') return JSON.stringify(value, (_, field) => (typeof field === 'string' ? storable(field) : field))
  if (type === 'bool') return Boolean(value)
  return value
}

/** PostgreSQL's text has no NUL. Callers' input has none either; but a host may hand one over. */
function storable(text: string): string {
  return text.includes('\0') ? text.replaceAll('\0', '\ufffd') : text
}

/** Callers may name moments that PostgreSQL does not know: JS writes years beyond four digits with a sign. */
function momentInRange(text: string): string {
  if (text >= '0001') return text
  return text.startsWith('+') ? '9999-12-31T23:59:59.999999Z' : '0001-01-01T00:00:00.000000Z'
}
