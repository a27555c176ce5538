import { randomUUID } from 'node:crypto'
import type { MailkeepError } from '../../lib/index.ts'
import { errorHeaders, statusOf } from './errors.ts'
import { type ApiRequest, type ApiResponse, header } from './http-types.ts'

/** @returns the caller's id for this request if it is fit for a log, else a new one. */
export function requestIdOf(request: ApiRequest): string {
  const given = header(request, 'x-request-id')
  return given !== undefined && /^[\w.~:-]{1,128}$/.test(given) ? given : randomUUID()
}

/** Whom an answer goes to, and what it answers. */
export interface ResponseContext {
  readonly requestId: string
  /** `HEAD` gets the headers of the whole answer. */
  readonly method: string
  /** The route's pattern, once one has matched. */
  route?: string
  /** Id of the token the request came with, once it is known. */
  tokenId?: number
}

/** An answer of JSON text, or of nothing where `body` is undefined. */
export function encode(
  { requestId, method, route, tokenId }: ResponseContext,
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
  const response: { -readonly [K in keyof ApiResponse]: ApiResponse[K] } = { status, headers }
  if (route !== undefined) response.route = route
  if (tokenId !== undefined) response.tokenId = tokenId
  if (body === undefined) return response
  headers['Content-Type'] = 'application/json; charset=utf-8'
  headers['Content-Length'] = String(Buffer.byteLength(body))
  if (method !== 'HEAD') response.body = body
  return response
}

/** The one shape of every error. */
export function encodeError(
  to: ResponseContext,
  error: MailkeepError,
  more: Readonly<Record<string, string>> = {},
): ApiResponse {
  const { message, code, errors } = error
  const payload = errors === undefined ? { message, code } : { message, code, errors }
  return encode(to, statusOf[code], JSON.stringify(payload), { ...errorHeaders(error), ...more })
}
