/** The JSON text of an event, as receivers get it. */
import { invalid, isMailkeepError } from '../errors.ts'
import { readJson } from '../json.ts'
import { inputLimits } from '../limits.ts'
import { isRecord, noRecordMessage } from '../parse.ts'
import { timestamp } from '../time.ts'
import type { EventType } from './schema.ts'

/**
 * Checks that an event of the host can be sent as JSON, and copies its data, which the caller may change later.
 *
 * @returns The copy, and the length of the event's body in bytes.
 * @throws MailkeepError `validation_failed` on `data`, also when the body is too large, or on a number in it.
 */
export function checkBody(type: EventType, given: object): { readonly data: object; readonly bytes: number } {
  const body = exactJson({ id: sampleId, type, created_at: timestamp(0), data: given })
  const bytes = Buffer.byteLength(body)
  // Also if the data has a contact: what the host gave is sent whole, or not at all.
  if (bytes > inputLimits.eventBytes) throw tooLarge()
  const { data } = readJson(body)
  if (!isRecord(data)) throw invalid('data', noRecordMessage(data))
  return { data, bytes }
}

/**
 * Writes an event that is not too large without changing a number: JSON.stringify writes NaN and infinities as null. Only a
 * text with null is searched for them, since a megabyte of empty arrays takes 500 ms.
 */
function exactJson(event: object): string {
  let body: string | undefined
  try {
    body = JSON.stringify(event)
  } catch {} // the replacer finds out where
  if (body !== undefined && (Buffer.byteLength(body) > inputLimits.eventBytes || !body.includes('null'))) return body
  return stringify(event, rejectNonJsonNumbers())
}

function tooLarge(): Error {
  return invalid('data', `The event's body would have more than ${inputLimits.eventBytes} bytes.`)
}

/** A sample that is as long as any id of an event. */
const sampleId = '00000000-0000-4000-8000-000000000000'

type Replacer = (this: object, key: string, value: unknown) => unknown

/** Returns a replacer for JSON.stringify that rejects NaN, infinities and bigint. Without it NaN would become null. */
function rejectNonJsonNumbers(): Replacer {
  const paths = new WeakMap<object, string>()
  return function (key, value) {
    const parent = paths.get(this)
    const path = parent ? `${parent}.${key}` : key
    if (typeof value === 'bigint' || (typeof value === 'number' && !Number.isFinite(value))) {
      throw invalid(path, `This must be a number that JSON can hold, not ${value}. Send it as a string.`)
    }
    if (typeof value === 'object' && value !== null) paths.set(value, path)
    return value
  }
}

/**
 * Returns the body of an event, at most 64 KiB. A contact's change is never refused because its event is too large: its
 * attributes, tags, lists and topics are left out, in that order, and `truncated` names them.
 *
 * @throws MailkeepError `validation_failed` on `data`: too large, or nested too deeply.
 */
export function bodyOf(id: string, type: EventType, created_at: string, data: object): string {
  const body = stringify({ id, type, created_at, data })
  if (Buffer.byteLength(body) <= inputLimits.eventBytes) return body
  for (const smaller of hasContact(data) ? withoutLargeFields(data.contact) : []) {
    const short = stringify({ id, type, created_at, data: { ...data, ...smaller } })
    if (Buffer.byteLength(short) <= inputLimits.eventBytes) return short
  }
  throw tooLarge()
}

/** The JSON text of a contact that several events share, and the fields that it leaves out. */
export interface ContactText {
  readonly text: string
  readonly bytes: number
  readonly truncated?: readonly string[]
}

/** Returns the texts of a contact, whole and without its large fields. */
export function contactTexts(contact: object): ContactText[] {
  return [{ contact }, ...withoutLargeFields(contact)].map(({ contact, ...more }) => {
    const text = JSON.stringify(contact)
    return { text, bytes: Buffer.byteLength(text), ...more }
  })
}

/**
 * Where the body of an event has the contact that it shares. No other part of the body can have this text: it has no fields
 * of the host, and JSON escapes the quotes in names.
 */
export const contactPlace = '"contact":{}'

/**
 * Same as `bodyOf`, for an event that shares its contact.
 *
 * @param contacts The texts of the contact, the largest first.
 * @returns The body with `contactPlace`, and the text that belongs there.
 */
export function bodyWithoutContact(
  id: string,
  type: EventType,
  created_at: string,
  data: object,
  contacts: readonly ContactText[],
): { readonly body: string; readonly contact: ContactText } {
  for (const contact of contacts) {
    const { truncated } = contact
    const body = JSON.stringify({
      id,
      type,
      created_at,
      data: { ...data, contact: {}, ...(truncated && { truncated }) },
    })
    if (Buffer.byteLength(body) - '{}'.length + contact.bytes <= inputLimits.eventBytes) return { body, contact }
  }
  throw tooLarge()
}

function stringify(event: object, replacer?: Replacer): string {
  try {
    return JSON.stringify(event, replacer)
  } catch (error) {
    if (isMailkeepError(error)) throw error
    throw invalid('data', 'This cannot be written as JSON: it has a BigInt or a cycle, or is nested too deeply.')
  }
}

interface ContactData {
  contact: object
}

export function hasContact(data: object): data is ContactData {
  return 'contact' in data && typeof data.contact === 'object' && data.contact !== null
}

/** Returns smaller copies of a contact. Each lacks one more of the large fields, and `truncated` names those it lacks. */
function* withoutLargeFields(contact: object): Generator<ContactData & { readonly truncated: readonly string[] }> {
  const empty: Record<string, unknown> = {}
  for (const [field, value] of [
    ['extra_attributes', {}],
    ['tags', []],
    ['lists', []],
    ['topics', []],
  ] as const) {
    empty[field] = value
    yield { contact: { ...contact, ...empty }, truncated: Object.keys(empty) }
  }
}
