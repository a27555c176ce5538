import { randomUUID } from 'node:crypto'
import type { MailkeepError } from '../../lib/index.ts'
import type { ErrorLog } from './api-options.ts'
import { errorHeaders, statusOf, toPublicError } from './errors.ts'
import { type ApiRequest, type ApiResponse, header } from './http-types.ts'
import type { RouteResult } from './routes/route.ts'

/** @returns The caller's `X-Request-Id` if it is safe to log, else a new id. */
export function requestIdOf(request: ApiRequest): string {
  const given = header(request, 'x-request-id')
  return given !== undefined && /^[\w.~:-]{1,128}$/.test(given) ? given : randomUUID()
}

/** Facts about the request that its answer depends on. */
export interface ResponseContext {
  readonly requestId: string
  /** The answer to `HEAD` has the headers of the whole answer but no body. */
  readonly method: string
  /** The route's pattern, once one has matched. */
  route?: string
  /** Id of the token the request came with, once it is known. */
  tokenId?: number
}

/**
 * Encodes an answer with a text, or without a body when `body` is undefined.
 *
 * @param more Further headers. Without a `Content-Type` the text is JSON; a `Content-Length` saves counting the body.
 */
export function encode(
  { requestId, method, route, tokenId }: ResponseContext,
  status: number,
  body: string | undefined,
  more: Readonly<Record<string, string>> = {},
): ApiResponse {
  // Answers contain personal data and secrets, so no cache may store them.
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
  headers['Content-Type'] ??= 'application/json; charset=utf-8'
  headers['Content-Length'] ??= String(Buffer.byteLength(body))
  if (method !== 'HEAD') response.body = body
  return response
}

/** Encodes an answer that is a file. The file is produced while it is sent. */
export function encodeDownload(
  context: ResponseContext,
  { status, download, headers }: RouteResult,
  logger: ErrorLog,
): ApiResponse {
  const { name, contentType, text } = download!
  const response = encode(context, status, undefined, {
    'Content-Type': contentType,
    ...(name !== undefined && { 'Content-Disposition': `attachment; filename="${name}"` }),
    ...headers,
  })
  return context.method === 'HEAD' ? response : { ...response, stream: logErrors(text, context.requestId, logger) }
}

/** Logs an error of the stream. The client only sees that the file is cut off. */
async function* logErrors(text: AsyncIterable<string>, requestId: string, logger: ErrorLog) {
  try {
    yield* text
  } catch (error) {
    throw toPublicError(error, requestId, logger)
  }
}

/** Encodes the error of a request that reaches no route. */
export function refuse(request: ApiRequest, error: MailkeepError, route?: string): ApiResponse {
  return encodeError({ requestId: requestIdOf(request), method: request.method, ...(route && { route }) }, error)
}

/** Encodes an error. All errors have the same shape. */
export function encodeError(
  context: ResponseContext,
  error: MailkeepError,
  more: Readonly<Record<string, string>> = {},
): ApiResponse {
  const { message, code, errors } = error
  const payload = errors === undefined ? { message, code } : { message, code, errors }
  return encode(context, statusOf[code], JSON.stringify(payload), { ...errorHeaders(error), ...more })
}
