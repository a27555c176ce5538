import { isUtf8 } from 'node:buffer'
import { MailkeepError } from '../../lib/index.ts'
import { findInexactNumber } from './exact-numbers.ts'
import { type ApiRequest, declaredBody, header } from './http-types.ts'

/** The fields a caller sent. The library validates them. */
export type Fields = Readonly<Record<string, unknown>>

/**
 * Reads a JSON object. An empty body counts as `{}`, whatever its headers say.
 *
 * @throws MailkeepError `unsupported_media_type`, `body_too_large`, `invalid_json`; `validation_failed` on `body`, or on a
 *   number that cannot be represented exactly.
 */
export async function readFields(request: ApiRequest): Promise<Fields> {
  const declared = declaredBody(request)
  if (declared === 'none') return {}
  const known = isJson(header(request, 'content-type')) && isPlain(header(request, 'content-encoding'))
  // Report a wrong type before a wrong size.
  if (!known && declared === 'bytes') throw unsupported()
  const bytes = await request.body().catch((error: unknown) => {
    throw known ? error : unsupported()
  })
  if (bytes.length === 0) return {}
  if (!known) throw unsupported()
  return requireObject(decode(bytes))
}

/** Maximum unknown fields named in an error. Naming all of them could make the answer larger than the request. */
const maxNamedFields = 100

/** Refuses all fields, for operations without a body. */
export function refuseFields(fields: Fields): void {
  const names = Object.keys(fields)
  if (names.length === 0) return
  const message = 'There is no such field here: this operation takes none.'
  // Use entries instead of assignment, because a field may be named __proto__.
  const errors = Object.fromEntries(names.slice(0, maxNamedFields).map((name) => [name, [message]]))
  throw new MailkeepError('validation_failed', 'This operation takes no fields.', { errors })
}

/** Accepts `application/json`, only with the charset UTF-8 (RFC 8259 has no other). */
function isJson(contentType: string | undefined): boolean {
  if (contentType === undefined) return false
  const [type, ...parameters] = contentType.split(';')
  if (type?.trim().toLowerCase() !== 'application/json') return false
  return isUtf8Of(parameters)
}

/** @returns Whether the parameters of a media type allow UTF-8: no charset, or UTF-8 itself. */
export function isUtf8Of(parameters: readonly string[]): boolean {
  return parameters.every((parameter) => {
    const [name, value] = parameter.split('=', 2)
    return name?.trim().toLowerCase() !== 'charset' || /^(?:utf-8|"utf-8")$/i.test(value?.trim() ?? '')
  })
}

/** @returns Whether a body is not compressed. */
export function isPlain(contentEncoding: string | undefined): boolean {
  return contentEncoding === undefined || /^(?:identity)?$/i.test(contentEncoding.trim())
}

function unsupported(): MailkeepError {
  return new MailkeepError('unsupported_media_type', 'Bodies must be application/json in UTF-8, not compressed.')
}

function decode(bytes: Uint8Array): unknown {
  if (!isUtf8(bytes)) throw new MailkeepError('invalid_json', 'The body is not UTF-8.')
  const text = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('utf8')
  const value = parse(text)
  refuseInexactNumbers(text)
  return value
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    // Hide the parser's message, because it quotes the body.
    throw new MailkeepError('invalid_json', 'The body is not JSON.')
  }
}

/** Refuses numbers that JSON.parse changes, because they would be stored and sent with another value. */
function refuseInexactNumbers(text: string): void {
  const path = findInexactNumber(text)
  if (path === undefined) return
  const message = 'This number cannot be kept exactly (64-bit floating point). Send it as a string.'
  throw new MailkeepError('validation_failed', message, { errors: Object.fromEntries([[path || 'body', [message]]]) })
}

function requireObject(value: unknown): Fields {
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value as Fields
  const message = 'The body must be a JSON object.'
  throw new MailkeepError('validation_failed', message, { errors: { body: [message] } })
}
