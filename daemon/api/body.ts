import { isUtf8 } from 'node:buffer'
import { MailkeepError } from '../../lib/index.ts'
import { invalid, readJson } from '../../lib/internal.ts'
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
  const known = mediaTypeOf(request) === 'application/json'
  // Report a wrong type before a wrong size.
  if (!known && declared === 'bytes') throw unsupported()
  const bytes = await request.body().catch((error: unknown) => {
    throw known ? error : unsupported()
  })
  if (bytes.length === 0) return {}
  if (!known) throw unsupported()
  return decode(bytes)
}

/** Returns the media type of a body in UTF-8 that is not compressed; undefined for any other body. */
export function mediaTypeOf(request: ApiRequest): string | undefined {
  const [type, ...parameters] = (header(request, 'content-type') ?? '').split(';')
  for (const parameter of parameters) {
    const [name, value] = parameter.split('=', 2)
    if (name?.trim().toLowerCase() === 'charset' && !/^(?:utf-8|"utf-8")$/i.test(value?.trim() ?? '')) return undefined
  }
  const encoding = header(request, 'content-encoding')?.trim() ?? ''
  // Servers undo `chunked` only. A body with `gzip, chunked` arrives compressed.
  const transfer = header(request, 'transfer-encoding')?.trim() ?? ''
  const isPlain = /^(?:identity)?$/i.test(encoding) && /^(?:chunked)?$/i.test(transfer)
  return isPlain ? type!.trim().toLowerCase() : undefined
}

function unsupported(): MailkeepError {
  return new MailkeepError('unsupported_media_type', 'Bodies must be application/json in UTF-8, not compressed.')
}

function decode(bytes: Uint8Array): Fields {
  if (!isUtf8(bytes)) throw new MailkeepError('invalid_json', 'The body is not UTF-8.')
  const text = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('utf8')
  let value: unknown
  try {
    value = readJson(text)
  } catch {
    // Hide the parser's message, because it quotes the body.
    throw new MailkeepError('invalid_json', 'The body is not JSON.')
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw invalid('body', 'The body must be a JSON object.')
  }
  // A number that JSON.parse changes would be stored and sent with another value.
  const inexact = findInexactNumber(text)
  if (inexact !== undefined) {
    throw invalid(
      inexact || 'body',
      'This cannot be kept exactly as a number (64-bit floating point). Send it as a string.',
    )
  }
  return value as Fields
}
