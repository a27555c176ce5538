import * as v from 'valibot'
import { type FieldErrors, invalid, invalidFields, type MailkeepError } from './errors.ts'
import { readJson } from './json.ts'
import { inputLimits } from './limits.ts'
import { fold, withAsciiDomain } from './spelling.ts'
import { lastMs } from './time.ts'
import { unknownNameMessage, unknownNames } from './unknown-names.ts'

/**
 * Validates a caller's input. The output is trimmed and typed.
 *
 * @throws MailkeepError `validation_failed`, with messages by field.
 * @param whole The field name of errors about the whole input.
 */
export function parse<S extends v.GenericSchema>(schema: S, input: unknown, whole = 'body'): v.InferOutput<S> {
  // Valibot accepts arrays and other objects without fields.
  if (typeof input === 'object' && input !== null && !isRecord(input)) throw invalid(whole, noRecordMessage(input))
  const result = v.safeParse(schema, input)
  if (result.success) return result.output
  throw validationFailed(result.issues, whole)
}

/** Limits the size of an error. An input of one megabyte can have a hundred thousand issues. */
const maxIssuesPerError = 100

/** @param whole The field name of errors about the whole input. */
export function validationFailed(issues: readonly v.BaseIssue<unknown>[], whole: string): MailkeepError {
  const errors: FieldErrors = Object.create(null) // without a prototype, because a field may be called __proto__
  for (const issue of issues.slice(0, maxIssuesPerError)) {
    const field = issue.path?.map((item) => String(item.key)).join('.') ?? whole
    errors[field] ??= []
    errors[field].push(messageOf(issue))
  }
  return invalidFields({ ...errors }) // a plain object, which equals the one that a test of the host expects
}

/** Returns the message of an issue. Valibot's default messages do not distinguish absent fields. */
export function messageOf(issue: v.BaseIssue<unknown>): string {
  if (issue.received === 'undefined') return 'This field is required.'
  if (issue.type === 'object') return 'This must be an object.'
  return issue.message
}

type ObjectOf<Entries extends v.ObjectEntries> = v.ObjectSchema<Entries, undefined>

/**
 * Schema of an object without other fields. It reports every unknown field. Valibot's strictObject reports only the first
 * one, and accepts names such as `constructor`.
 *
 * @param known The names that the message for an unknown field lists; default: all fields.
 */
export function closedObject<Entries extends v.ObjectEntries>(
  entries: Entries,
  known: readonly (keyof Entries & string)[] = Object.keys(entries),
): v.GenericSchema<v.InferInput<ObjectOf<Entries>>, v.InferOutput<ObjectOf<Entries>>> & {
  /** For the description of the API. */
  readonly entries: Readonly<Record<keyof Entries, v.GenericSchema>>
} {
  const names = Object.keys(entries)
  const object = v.object(entries)
  const schema = v.pipe(
    v.custom<v.InferInput<typeof object>>(isRecord, ({ input }) => noRecordMessage(input)),
    v.rawTransform(({ dataset, addIssue, NEVER }) => {
      const input = dataset.value as Record<string, unknown>
      const result = v.safeParse(object, input)
      for (const issue of result.issues ?? []) addIssue({ message: messageOf(issue), path: issue.path as never })
      const unknown = unknownNames(input, names)
      for (const key of unknown) {
        const path = [{ type: 'object', origin: 'key', input, key, value: input[key] }] as never
        addIssue({ message: unknownNameMessage(key, known), path })
      }
      return result.success && unknown.length === 0 ? (result.output as v.InferOutput<typeof object>) : NEVER
    }),
  )
  return Object.assign(schema, { entries })
}

/**
 * Whether the input is an object with named fields. A Promise, a Map or URLSearchParams has none of its own, and would be
 * taken for a filter that every contact matches.
 */
export function isRecord(input: unknown): input is Record<string, unknown> {
  if (typeof input !== 'object' || input === null || Array.isArray(input)) return false
  return Object.keys(input).length > 0 || classOf(input) === 'Object'
}

/** Returns the message for an input that is not a record. */
export function noRecordMessage(input: unknown): string {
  if (typeof input !== 'object' || input === null || Array.isArray(input)) return 'This must be an object.'
  const name = classOf(input)
  const advice = name === 'Promise' ? 'await it first' : 'pass an object with the fields'
  return `This must be a plain object, not ${name}: ${advice}.`
}

/** Returns the name that a built-in class gives its objects, also those of another realm; `Object` for other objects. */
function classOf(input: object): string {
  return Object.prototype.toString.call(input).slice('[object '.length, -1)
}

/** Values by the name of an attribute. Valibot's `record` drops names such as `__proto__`, which are valid ones. */
export function valuesByName<Output>(value: v.GenericSchema<unknown, Output>) {
  return v.rawTransform<Record<string, unknown>, Readonly<Record<string, Output>>>(({ dataset, addIssue, NEVER }) => {
    const input = dataset.value
    const values: Record<string, Output> = Object.create(null)
    let isValid = true
    for (const [key, given] of Object.entries(input)) {
      const result = v.safeParse(value, given)
      if (result.success) values[key] = result.output
      else {
        isValid = false
        const path = [{ type: 'object', origin: 'value', input, key, value: given }] as const
        addIssue({ message: result.issues[0].message, path: [...path] })
      }
    }
    return isValid ? values : NEVER
  })
}

/**
 * Returns the key that an address is compared by: folded, and its domain in Punycode. So the two spellings of an
 * internationalised domain have one key. A domain whose encoding is no domain of an address is only folded.
 */
export function foldAddress(email: string): string {
  if (!/[^ -~][^@]*$/.test(email)) return fold(email)
  const ascii = withAsciiDomain(email)
  return fold(isEmailAddress(ascii) ? ascii : email)
}

/** Text that databases store unchanged: without NUL and lone surrogates. */
export const Text = v.pipe(
  v.string('This must be a string.'),
  v.check((text) => text.isWellFormed(), 'This is not well-formed Unicode.'),
  v.check((text) => !text.includes('\0'), 'This must not contain NUL characters.'),
)

/** Limits the number of code points. Databases count code points too, not UTF-16 units. */
export function atMost(characters: number) {
  const check = v.check(
    (text: string) => text.length <= characters || (text.length <= 2 * characters && [...text].length <= characters),
    `This must have at most ${characters} characters.`,
  )
  return { ...check, characters } // for the description of the API
}

function atMostUnits(units: number, characters: number) {
  return v.check((text: string) => text.length <= units, `This must have at most ${characters} characters.`)
}

/** A boolean, or its text in a query string. */
export const QueryBoolean = v.pipe(
  v.union([v.boolean(), v.picklist(['1', '0', 'true', 'false'])], 'This must be 1, 0, true or false.'),
  v.transform((value) => value === true || value === '1' || value === 'true'),
)

/** A name: trimmed, NFC, 1–255 characters. */
export const Name = v.pipe(
  Text,
  v.transform((text) => text.trim()),
  // Normalising long runs of combining marks takes quadratic time. NFC makes one of at most four characters.
  atMostUnits(8 * inputLimits.nameCharacters, inputLimits.nameCharacters),
  v.transform((text) => text.normalize('NFC')),
  v.minLength(1, 'This must not be empty.'),
  atMost(inputLimits.nameCharacters),
)

/** A description: at most 1,000 characters. */
export const Description = v.pipe(Text, atMost(inputLimits.descriptionCharacters))

/** Whether a value can be the id of a record: a positive 53-bit integer. */
export function isId(value: unknown): value is number {
  return typeof value === 'number' && Number.isSafeInteger(value) && value > 0
}

/**
 * Checks an id that a caller passed as an argument.
 *
 * @param name Field name for the error, such as `clientId`.
 * @throws MailkeepError `validation_failed`: not a positive 53-bit integer. The text '1' is rejected too.
 */
export function requireId(name: string, id: unknown): asserts id is number {
  if (isId(id)) return
  throw invalid(name, `${name} must be a positive whole number.`)
}

/** Schema of a whole number in a range. */
export function wholeNumber(min: number, max: number) {
  const problem = `This must be a whole number from ${min} to ${max}.`
  return v.pipe(v.number(problem), v.safeInteger(problem), v.minValue(min, problem), v.maxValue(max, problem))
}

/** Schema of an id in a body. */
export function idInput(message = 'This must be an id: a positive whole number.') {
  return v.pipe(v.number(message), v.safeInteger(message), v.minValue(1, message))
}

/**
 * An e-mail address of at most 254 characters. Internationalised addresses (RFC 6531) are valid. Quoted local parts, IP
 * addresses as domains, and encoded words (RFC 2047, 5) are not.
 */
export const EmailAddress = v.pipe(
  Text,
  v.transform((text) => text.trim()),
  atMost(inputLimits.emailCharacters),
  v.check(isEmailAddress, 'This must be an e-mail address.'),
)

const localPart = /^[\p{L}\p{M}\p{N}!#$%&'*+/=?^_`{|}~-]+(?:\.[\p{L}\p{M}\p{N}!#$%&'*+/=?^_`{|}~-]+)*$/u
/** Mail programs decode it in a header, also to another address or a line break. */
const encodedWord = /=\?[^?]*\?[bq]\?/i
const domainLabel = /^[\p{L}\p{N}](?:[\p{L}\p{M}\p{N}-]{0,61}[\p{L}\p{M}\p{N}])?$/u

function isEmailAddress(text: string): boolean {
  const at = text.lastIndexOf('@')
  const labels = text.slice(at + 1).split('.')
  return (
    at > 0 &&
    at <= 64 &&
    localPart.test(text.slice(0, at)) &&
    !encodedWord.test(text) &&
    labels.length > 1 &&
    labels.every((label) => domainLabel.test(label)) &&
    !/^\p{N}+$/u.test(labels.at(-1)!)
  )
}

/** Parses JSON; returns undefined for other text. */
export function parseJson(text: string): unknown {
  try {
    return readJson(text)
  } catch {
    return undefined
  }
}

/** Whether a host name or address, without brackets, is that of this machine. */
export function isLoopback(host: string): boolean {
  return /^(?:localhost|127(?:\.\d{1,3}){3}|::1)$/i.test(host)
}

/** A time with its offset, as text. */
export const TimeText = v.config(
  v.pipe(
    v.string('This must be a string.'),
    v.regex(
      /^\d{4}-\d\d-\d\dT\d\d:\d\d(:\d\d(\.\d{1,9})?)?(Z|[+-]\d\d:\d\d)$/,
      'This must be a time with its offset, as in 2026-01-02T03:04:05Z.',
    ),
    v.check((text) => isInRange(Date.parse(text)) && isDay(text.slice(0, 10)), 'This must be a time that exists.'),
  ),
  { abortPipeEarly: true },
)

const firstMs = Date.parse('0000-01-01T00:00:00Z')

/** Whether a time can be stored. In UTC, other years have another form, which sorts wrongly. */
export function isInRange(ms: number): boolean {
  return ms >= firstMs && ms <= lastMs
}

/** Whether a day of the form `2026-01-02` exists. `Date` takes the 30th of February for the 2nd of March. */
export function isDay(day: string): boolean {
  const date = new Date(`${day}T00:00:00Z`)
  return !Number.isNaN(date.getTime()) && date.toISOString().startsWith(day)
}

/** A time with its offset. The output is milliseconds since 1970. */
export const TimeMs = v.pipe(
  TimeText,
  v.transform((text) => Date.parse(text)),
)

/** Returns host and port as a URL has them: an IPv6 address is in brackets. */
export function hostAndPort(host: string, port: number): string {
  return `${host.includes(':') ? `[${host}]` : host}:${port}`
}
