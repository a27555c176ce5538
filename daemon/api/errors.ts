import { type ErrorCode, isMailkeepError, MailkeepError, type RateLimit } from '../../lib/index.ts'
import { invalid } from '../../lib/internal.ts'
import type { ErrorLog } from './api-options.ts'

/** HTTP status of each error code. */
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

/** The error of a path that nothing answers. */
export function nothingHere(): MailkeepError {
  return new MailkeepError('not_found', 'No such route: check the path.')
}

export function methodNotAllowed(): MailkeepError {
  return new MailkeepError('method_not_allowed', 'This path does not support the method: see Allow.')
}

export function noConsole(): MailkeepError {
  return invalid('console', 'The console is switched off, so the link would open nothing: set MAILKEEP_CONSOLE=true.')
}

/** `Retry-After` when the service is busy or shutting down. */
const retryAfterSeconds = 2

/**
 * Turns any thrown value into an error that clients may see. Logs an unexpected error with the request's id and hides
 * its content.
 */
export function toPublicError(error: unknown, requestId: string, logger: ErrorLog): MailkeepError {
  if (isMailkeepError(error) && Object.hasOwn(statusOf, error.code) && error.code !== 'internal') return error
  logger.error({ requestId, stack: stackOf(error) }, 'request failed')
  return new MailkeepError('internal', 'Internal error. Quote the X-Request-Id when you report it.')
}

/** Returns the extra headers of an error's answer. */
export function errorHeaders(error: MailkeepError): Record<string, string> {
  if (error.code === 'unauthenticated') return { 'WWW-Authenticate': 'Bearer' }
  if (error.code === 'unavailable') return { 'Retry-After': String(retryAfterSeconds) }
  return error.rateLimit ? limitHeaders(error.rateLimit) : {}
}

/** Rate limit headers of draft-ietf-httpapi-ratelimit-headers-06. All times are whole seconds from now. */
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
