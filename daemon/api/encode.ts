import { randomUUID } from 'node:crypto'
import type { MailkeepError } from '../../lib/index.ts'
import { type ApiRequest, type ApiResponse, header } from './exchange.ts'
import { errorHeaders, statusOf } from './failure.ts'

/** @returns the caller's id for this request if it is fit for a log, else a new one. */
export function requestIdOf(request: ApiRequest): string {
  const given = header(request, 'x-request-id')
  return given !== undefined && /^[\w.~:-]{1,128}$/.test(given) ? given : randomUUID()
}

/**
 * An answer of JSON text, or of nothing where `body` is undefined.
 *
 * @param method `HEAD` gets the headers of the whole answer.
 */
export function encode(
  { requestId, method }: { requestId: string; method: string },
  status: number,
  body: string | undefined,
  more: Readonly<Record<string, string>> = {},
): ApiResponse {
  // Answers hold personal data and secrets: nobody on the way may keep them.
  const headers: Record<string, string> = {
    'X-Request-Id': requestId,
    'Cache-Control': 'no-store',
    'X-Content-Type-Options': 'nosniff',
    ...more,
  }
  if (body === undefined) return { status, headers }
  headers['Content-Type'] = 'application/json; charset=utf-8'
  headers['Content-Length'] = String(Buffer.byteLength(body))
  return method === 'HEAD' ? { status, headers } : { status, headers, body }
}

/** The one shape of every error. */
export function encodeError(
  to: { requestId: string; method: string },
  error: MailkeepError,
  more: Readonly<Record<string, string>> = {},
): ApiResponse {
  const { message, code, errors } = error
  const payload = errors === undefined ? { message, code } : { message, code, errors }
  return encode(to, statusOf[code], JSON.stringify(payload), { ...errorHeaders(error), ...more })
}
