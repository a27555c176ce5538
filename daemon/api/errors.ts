import { type ErrorCode, isMailkeepError, MailkeepError, type RateLimit } from '../../lib/index.ts'
import type { ErrorLog } from './api-options.ts'

/** The one place where an error's code becomes a status. */
export const statusOf: Readonly<Record<ErrorCode, number>> = {
  invalid_json: 400,
  unauthenticated: 401,
  forbidden: 403,
  not_found: 404,
  method_not_allowed: 405,
  conflict: 409,
  body_too_large: 413,
  unsupported_media_type: 415,
  validation_failed: 422,
  idempotency_mismatch: 422,
  rate_limited: 429,
  internal: 500,
  unavailable: 503,
}

/** Seconds after which to try again when the service is busy or going down. */
const unavailableForSeconds = 2

/**
 * Turns anything thrown into an error that may be shown. An unforeseen error shows nothing of itself: it goes to the
 * log, with the request's id.
 */
export function toPublicError(error: unknown, requestId: string, logger: ErrorLog): MailkeepError {
  if (isMailkeepError(error) && Object.hasOwn(statusOf, error.code) && error.code !== 'internal') return error
  logger.error({ requestId, stack: stackOf(error) }, 'request failed')
  return new MailkeepError('internal', 'Internal error. Quote the X-Request-Id when you report it.')
}

/** The headers that belong to an error's status. */
export function errorHeaders(error: MailkeepError): Record<string, string> {
  if (error.code === 'unauthenticated') return { 'WWW-Authenticate': 'Bearer' }
  if (error.code === 'unavailable') return { 'Retry-After': String(unavailableForSeconds) }
  return error.rateLimit ? limitHeaders(error.rateLimit) : {}
}

/** As in draft-ietf-httpapi-ratelimit-headers-06; all times are in whole seconds from now. */
function limitHeaders({ limit, remaining, resetSeconds }: RateLimit): Record<string, string> {
  const reset = String(Math.max(1, Math.ceil(resetSeconds)))
  return {
    'Retry-After': reset,
    'RateLimit-Limit': String(limit),
    'RateLimit-Remaining': String(remaining),
    'RateLimit-Reset': reset,
  }
}

function stackOf(error: unknown, depth = 0): string {
  if (!(error instanceof Error)) return String(error)
  const stack = error.stack ?? String(error)
  return error.cause === undefined || depth > 4 ? stack : `${stack}\ncaused by ${stackOf(error.cause, depth + 1)}`
}
