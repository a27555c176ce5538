/** The shapes of the API's resources, to compare answers with: exactly these fields, of these types. */
import assert from 'node:assert/strict'
import type { EventType } from '../../lib/index.ts'

type Check = RegExp | ((value: unknown) => boolean)
export type Shape = Readonly<Record<string, Check>>

export const id: Check = (value) => Number.isSafeInteger(value) && (value as number) > 0
export const count: Check = (value) => Number.isSafeInteger(value) && (value as number) >= 0
export const text: Check = (value) => typeof value === 'string'
export const flag: Check = (value) => typeof value === 'boolean'
export const uuid = /^[\da-f]{8}-[\da-f]{4}-[\da-f]{4}-[\da-f]{4}-[\da-f]{12}$/
export const orNull =
  (check: Check): Check =>
  (value) =>
    value === null || fits(value, check)
export const each =
  (check: Check): Check =>
  (value) =>
    Array.isArray(value) && value.every((item) => fits(item, check))
export const of =
  (shape: Shape): Check =>
  (value) =>
    hasShape(value, shape)
export const attributes: Check = (value) =>
  typeof value === 'object' && value !== null && Object.values(value).every(isText)

export const object: Check = (value) => typeof value === 'object' && value !== null && !Array.isArray(value)

/** The two time formats. */
export const utc = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z$/
export const offset = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\+00:00$/

export const tag: Shape = { id, uuid, name: text, created_at: utc }
export const list: Shape = { id, uuid, name: text, created_at: utc }
export const topic: Shape = { id, uuid, list_id: id, name: text, description: orNull(text), created_at: utc }

/** As answered by create, update and remove-from-list. */
export const contactWithoutTopics: Shape = {
  id,
  uuid,
  name: text,
  email: text,
  extra_attributes: attributes,
  unsubscribed_at: orNull(utc),
  unsubscribed_by_contact: flag,
  tags: each(of(tag)),
  lists: each(of(list)),
  created_at: utc,
}
export const contact: Shape = { ...contactWithoutTopics, topics: each(of(topic)) }

export const oneOf =
  (...values: unknown[]): Check =>
  (value) =>
    values.includes(value)

export const eventTypes: EventType[] = [
  'contact.subscribed',
  'contact.unsubscribed',
  'contact.resubscribed',
  'newsletter.sent',
  'sequence_step.sent',
  'sequence.completed',
  'webhook.test',
]

const whsec = /^whsec_[A-Za-z\d+/]{43}=$/
export const newEndpoint: Shape = {
  id,
  uuid,
  url: text,
  events: each(oneOf(...eventTypes)),
  active: flag,
  secret: whsec,
}
export const changedEndpoint: Shape = { id, active: flag }
export const newSecret: Shape = { id, secret: whsec }
export const endpoint: Shape = {
  id,
  uuid,
  url: text,
  description: text,
  events: each(oneOf(...eventTypes)),
  active: flag,
  disabled_reason: oneOf('manual', 'auto_failures', null),
  consecutive_failures: count,
  last_triggered_at: orNull(offset),
}

export const queuedTest: Shape = { id, event_type: /^webhook\.test$/, status: /^pending$/ }
export const delivery: Shape = {
  id,
  uuid,
  event_type: oneOf(...eventTypes),
  status: oneOf('pending', 'success', 'failed', 'held'),
  attempts: count,
  response_status: orNull(count),
  delivered_at: orNull(offset),
}

export const endpointDelivery: Shape = { ...delivery, endpoint_id: id, created_at: offset }

export const identityStatuses = ['pending', 'verifying', 'verified', 'failed'] as const
export const identity: Shape = {
  id,
  uuid,
  email: text,
  name: text,
  domain: text,
  identity_status: oneOf(...identityStatuses),
  verified_at: orNull(utc),
  created_at: utc,
  updated_at: utc,
}

export const token: Shape = {
  id,
  name: orNull(text),
  role: oneOf('admin', 'member', 'viewer'),
  created_at: utc,
  expires_at: orNull(utc),
  last_used_at: orNull(utc),
}
export const newToken: Shape = { ...token, token: /^mk_[\w-]{43}$/ }

export const auditEntry: Shape = {
  id,
  type: /^[a-z]+\.[a-z_]+$/,
  target_id: id,
  token_id: orNull(id),
  source: oneOf('api', 'library', 'cli'),
  created_at: utc,
}

export const meta: Shape = {
  path: /^https?:\/\/[^?]+$/,
  per_page: id,
  next_cursor: orNull(text),
  prev_cursor: orNull(text),
}
const { path: _, ...withoutPath } = meta
/** The meta of the deliveries listing has no `path`. */
export const deliveriesMeta: Shape = withoutPath

/** Asserts that a value has exactly the fields of the shape, each of its type. */
export function assertShape(value: unknown, shape: Shape): void {
  const fields = Object.entries(Object(value))
  assert.deepEqual(fields.map(([name]) => name).sort(), Object.keys(shape).sort(), JSON.stringify(value))
  for (const [name, field] of fields) assert.ok(fits(field, shape[name]!), `${name}: ${JSON.stringify(field)}`)
}

function hasShape(value: unknown, shape: Shape): boolean {
  const fields = Object.entries(Object(value))
  return (
    fields.length === Object.keys(shape).length &&
    fields.every(([name, field]) => Object.hasOwn(shape, name) && fits(field, shape[name]!))
  )
}

function fits(value: unknown, check: Check): boolean {
  return typeof check === 'function' ? check(value) : typeof value === 'string' && check.test(value)
}

function isText(value: unknown): boolean {
  return typeof value === 'string'
}

/** Pairs that are equal for tags, e-mail addresses and searches: NFC, then simple lower case. */
export const sameTexts: readonly (readonly [string, string])[] = [
  ['news', 'NEWS'],
  ['ünal', 'ÜNAL'],
  ['Äö', 'äÖ'],
  ['caf\u00e9', 'cafe\u0301'],
  ['CAF\u00c9', 'cafe\u0301'],
  ['привет', 'ПРИВЕТ'],
  ['ΟΔΟΣ', 'οδοσ'],
  ['İzmir', 'izmir'],
  ['straße', 'STRAẞE'],
  ['\u212bngström', 'ångström'],
  ['\u{10400}x', '\u{10428}x'],
]

/** Pairs that only look alike: one character can map to one character only, and compatibility forms stay different. */
export const differentTexts: readonly (readonly [string, string])[] = [
  ['news', 'newz'],
  ['cafe', 'café'],
  ['οδοσ', 'οδος'],
  ['straße', 'strasse'],
  ['izmir', 'ızmir'],
  ['ﬁn', 'fin'],
  ['x²', 'x2'],
]

/** Values that are not valid as the name of a tag, list or topic: 1–255 characters after trimming. */
export const badNames: Readonly<Record<string, unknown>> = {
  empty: '',
  'only white space': ' \t\n\u00a0',
  null: null,
  'a number': 7,
  'a boolean': true,
  'an array': ['a'],
  'an object': { name: 'a' },
  '256 characters': 'a'.repeat(256),
  '256 characters beyond the BMP': '😀'.repeat(256),
  '100,000 characters': 'a'.repeat(100_000),
  'a NUL': 'a\0b',
  'half a surrogate pair': 'a\ud800b',
}

/** Valid names: as sent, and as stored. */
export const goodNames: Readonly<Record<string, readonly [string, string]>> = {
  'one character': ['a', 'a'],
  '255 characters': ['a'.repeat(255), 'a'.repeat(255)],
  '255 characters beyond the BMP': ['😀'.repeat(255), '😀'.repeat(255)],
  '255 characters and white space around': [` ${'b'.repeat(255)}\n`, 'b'.repeat(255)],
  'a decomposed character': ['Cafe\u0301', 'Caf\u00e9'],
  '255 composed characters, written decomposed': ['e\u0301'.repeat(255), '\u00e9'.repeat(255)],
  'quotes and markup': [`"'\\<b>%_&;--`, `"'\\<b>%_&;--`],
  'a name of JavaScript': ['__proto__', '__proto__'],
}
