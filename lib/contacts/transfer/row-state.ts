/** Converts a row to a contact, with its subscription and what an export says of it. */
import { type Context, isAdmin } from '../../context.ts'
import { type FieldErrors, invalid, MailkeepError } from '../../errors.ts'
import { inputLimits } from '../../limits.ts'
import { isDay, isRecord, Name, parse, parseJson } from '../../parse.ts'
import { lastMs, type Timestamp, timestamp } from '../../time.ts'
import { entryOf } from '../bulk.ts'
import { type Entry, orRefused } from '../bulk-merge.ts'
import type { NewContact } from '../schema.ts'
import type { RowState } from './columns.ts'

/** The values of a row beyond the input of `addToList`. */
export interface Restored {
  /** Set when the person has unsubscribed. `at` is null when the time is unknown. */
  readonly unsubscribed?: { readonly at: Timestamp | null; readonly byContact: boolean } | undefined
  readonly created_at?: Timestamp | undefined
  /** Names of lists. */
  readonly lists: readonly string[]
  readonly topics: readonly TopicName[]
}

/** A topic by name. Without `list` it belongs to any of the contact's lists. */
export interface TopicName {
  readonly list?: string | undefined
  readonly topic: string
}

export interface ImportedContact extends NewContact {
  readonly restored?: Restored
}

export function isUnsubscribed(contact: NewContact): boolean {
  return (contact as ImportedContact).restored?.unsubscribed !== undefined
}

/** The state that the import's options give to every row. */
export interface RowOptions {
  /** Whether everybody in the file has unsubscribed. */
  readonly isUnsubscribed: boolean
  /** Whether everybody in the file has confirmed elsewhere. */
  readonly confirmed: boolean
}

/**
 * An unsubscribed person is not asked to confirm a list, because that would be a mail. Only an admin's import puts the
 * person on such a list. Otherwise `resubscribe` would make a member who never confirmed.
 */
export function importedEntry(
  ctx: Context,
  input: unknown,
  state: RowState | undefined,
  { isUnsubscribed, confirmed }: RowOptions,
): Entry {
  return orRefused(() => {
    const { restored, fields } = readState(state ?? {}, isUnsubscribed)
    const entry = entryOf(ctx, isRecord(input) ? withFields(input, fields) : input)
    if ('refused' in entry) return entry
    const mayJoin = confirmed || (restored?.unsubscribed !== undefined && isAdmin(ctx))
    return { ...entry, ...(restored && { restored }), ...(mayJoin && { confirmed: true }) }
  })
}

/** `Object.fromEntries`, because an attribute may be called `__proto__`. The row's own columns win. */
function withFields(input: Record<string, unknown>, fields: readonly [string, unknown][]): unknown {
  const tags = Array.isArray(input.tags) ? [['tags', input.tags.map(nameOf)]] : []
  return Object.fromEntries([...fields, ...Object.entries(input), ...tags])
}

function readState(
  state: RowState,
  isUnsubscribed: boolean,
): { restored: Restored | undefined; fields: [string, unknown][] } {
  const unsubscribed = isUnsubscribed ? { at: findTime(state) } : readUnsubscribed(state)
  if (state.subscribed_at === '' && !unsubscribed) throw unconfirmed('subscribed_at')
  const names = (['first_name', 'last_name'] as const).map((field) => {
    return isUnsubscribed ? textOf(state[field]) : textIn(field, state[field])
  })
  const name = names.filter(Boolean).join(' ')
  const fields: [string, unknown][] = attributesOf(state)
  if (state.subscribed_at) fields.push(['subscribed_at', state.subscribed_at])
  if (name) fields.push(['name', name])
  const lists = namesIn('lists', state.lists).map((list) => validName('lists', nameOf(list)))
  const topics = namesIn('topics', state.topics).map((topic) => topicOf(topic, state.lists))
  // A time that cannot be read is no reason to lose the person.
  const created_at = state.created_at === undefined ? undefined : readTime(state.created_at)
  if (!unsubscribed && !created_at && lists.length === 0 && topics.length === 0) return { restored: undefined, fields }
  const byContact = state.unsubscribed_by_contact === true || state.unsubscribed_by_contact === 'true'
  return {
    restored: { ...(unsubscribed && { unsubscribed: { ...unsubscribed, byContact } }), created_at, lists, topics },
    fields,
  }
}

const yes = /^(?:yes|y|true|1)$/i
const no = /^(?:no|n|false|0|null)?$/i

/** Statuses of the known products, without case, spaces, hyphens and underscores. */
const subscribedStatuses: ReadonlySet<string> = new Set(['subscribed', 'enabled', 'active', 'confirmed', ''])
const unsubscribedStatuses: ReadonlySet<string> = new Set([
  'unsubscribed',
  'disabled',
  'inactive',
  'blocklisted',
  'blacklisted',
  'suppressed',
  'archived',
  'cleaned',
  'bounced',
  'complained',
])
const unconfirmedStatuses: ReadonlySet<string> = new Set(['unconfirmed', 'pending', 'nonsubscribed', 'transactional'])

const unsubscribedFields = ['unsubscribed_at', 'cleaned_at', 'blocklisted'] as const

/** Returns the first time that can be read, or null. */
function findTime(state: RowState): Timestamp | null {
  return unsubscribedFields.map((field) => readTime(state[field])).find((time) => time) ?? null
}

/** @throws MailkeepError `validation_failed`: a value is unclear, or the person never confirmed. */
function readUnsubscribed(state: RowState): { at: Timestamp | null } | undefined {
  const found = unsubscribedFields.map((field) => flagOrTime(field, state[field]))
  return found.find((each) => each?.at) ?? found.find((each) => each) ?? readStatus(state.status)
}

function flagOrTime(field: string, value: unknown): { at: Timestamp | null } | undefined {
  const text = textIn(field, value).trim()
  if (no.test(text)) return undefined
  return { at: yes.test(text) ? null : readTimeOf(field, text) }
}

function readStatus(value: unknown): { at: null } | undefined {
  const status = textIn('status', value)
    .toLowerCase()
    .replace(/[\s_-]/g, '')
  if (subscribedStatuses.has(status)) return undefined
  if (unsubscribedStatuses.has(status)) return { at: null }
  if (unconfirmedStatuses.has(status)) throw unconfirmed('status')
  throw invalid(
    'status',
    'This must be subscribed or unsubscribed. To keep the column as an attribute, pass map[ATTRIBUTE] with its name.',
  )
}

/** @throws MailkeepError `validation_failed`: the value is an object or an array. */
function textIn(field: string, value: unknown): string {
  const text = textOf(value ?? '')
  if (text === undefined) throw invalid(field, 'This must be text or a number.')
  return text
}

function unconfirmed(field: string): MailkeepError {
  return invalid(field, 'The person has not confirmed the subscription.')
}

function readTimeOf(field: string, value: string): Timestamp {
  const time = readTime(value)
  if (time === undefined) throw invalid(field, 'This must be a time, such as 2026-01-02T03:04:05Z.')
  return time
}

/**
 * Returns the attributes that the file has as one JSON object: an object in NDJSON, JSON text in CSV. PHP writes no
 * attributes as an empty array.
 */
function attributesOf(state: RowState): [string, unknown][] {
  return (['attributes', 'extra_attributes'] as const).flatMap((field) => {
    const value = state[field]
    if (value === undefined || value === '') return []
    const attributes = typeof value === 'string' ? parseJson(value) : value
    if (attributes === null || (Array.isArray(attributes) && attributes.length === 0)) return []
    if (!isRecord(attributes)) throw invalid(field, 'This must be a JSON object.')
    return Object.entries(attributes).map(([name, value]): [string, unknown] => [name, attributeText(name, value)])
  })
}

/** Attributes are strings here. Other products have numbers and nested values, too. */
function attributeText(name: string, value: unknown): unknown {
  if (typeof value !== 'object' || value === null) return textOf(value) ?? value
  try {
    return JSON.stringify(value)
  } catch (error) {
    throw invalid(name, 'This is nested too deeply.', error) // JSON.parse reads deeper values
  }
}

/** The names in a cell, or the records of an exported contact. */
function namesIn(field: 'lists' | 'topics', value: unknown): unknown[] {
  if (value === undefined || value === null || value === '') return []
  if (!Array.isArray(value)) throw invalid(field, 'This must be a list of names.')
  if (value.length > inputLimits[field]) throw invalid(field, `A contact has at most ${inputLimits[field]} ${field}.`)
  return value
}

/** Returns the name of an exported record, or the name itself. */
function nameOf(value: unknown): unknown {
  return isRecord(value) && 'name' in value ? value.name : value
}

/** @throws MailkeepError `validation_failed` */
function validName(field: string, value: unknown): string {
  try {
    return parse(Name, value, field)
  } catch (error) {
    throw new MailkeepError('validation_failed', `${field} must be a list of names.`, {
      errors: { [field]: [(error as Error).message] } satisfies FieldErrors,
      cause: error,
    })
  }
}

/** Converts a topic: the record of an exported contact, `{ list, topic }` of a CSV, or its name. */
function topicOf(value: unknown, lists: unknown): TopicName {
  if (!isRecord(value)) return { topic: validName('topics', value) }
  if ('topic' in value) return { list: validName('topics', value.list), topic: validName('topics', value.topic) }
  const list = Array.isArray(lists) ? lists.find((each) => isRecord(each) && each.id === value.list_id) : undefined
  const topic = validName('topics', value.name)
  return list === undefined ? { topic } : { list: validName('lists', nameOf(list)), topic }
}

/** `2026-01-02T03:04:05.678901Z`, `2026-01-02 03:04:05`, `2026-01-02`, `2026-01-02 03:04:05.6 +0200 CEST`. */
const yearFirst =
  /^(\d{4})-(\d\d)-(\d\d)(?:[T ](\d\d):(\d\d)(?::(\d\d)(?:\.(\d{1,9}))?)?\s*(Z|UTC|[+-]\d\d(?::?\d\d)?)?(?: [A-Z]{3,5})?)?$/
/** Brevo: `02-01-2026 03:04:05`. */
const dayFirst = /^(\d\d)-(\d\d)-(\d{4})(.*)$/

/** Returns the text of a string, number or boolean, or undefined. `String` may throw for other values of JSON. */
function textOf(value: unknown): string | undefined {
  return ['string', 'number', 'boolean'].includes(typeof value) ? String(value) : undefined
}

/** Reads the time of a cell, in UTC if it names no zone. Returns undefined if it is none. */
function readTime(value: unknown): Timestamp | undefined {
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
