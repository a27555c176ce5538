import { createHash } from 'node:crypto'
import * as v from 'valibot'
import { invalid } from '../errors.ts'
import { atMost, Text } from '../parse.ts'

/** The idempotency key of a request. */
export const NamedRequest = v.object({ key: v.pipe(Text, v.minLength(1, 'This must not be empty.'), atMost(255)) })

/** The result of work with an idempotency key. */
export interface IdempotentResult<T> {
  /** The result after conversion to JSON and back, the first time too. A Date becomes text. */
  readonly answer: T
  /** Whether this is the stored result of the first call, and `work` did not run now. */
  readonly replayed: boolean
}

/** A stored result. The request's fingerprint is encrypted with it, because it may reveal personal data. */
export interface StoredResult {
  /** Fingerprint of the request. */
  readonly asked: string
  readonly answer?: unknown
}

/** Returns the hash of a key for storage, because a caller may put personal data into the key. */
export function hashOf(key: string): string {
  return createHash('sha256').update(key).digest('hex')
}

/**
 * Returns a hash of a JSON value. The order of object fields does not matter.
 *
 * @throws MailkeepError `validation_failed` on `body`: it is not JSON, or nested too deeply.
 */
export function fingerprintOf(request: unknown): string {
  try {
    return hashOf(JSON.stringify(request, sortFields) ?? '')
  } catch {
    throw invalid('body', 'This cannot be written as JSON: it may be nested too deeply.')
  }
}

function sortFields(_: string, value: unknown): unknown {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return value
  return Object.fromEntries(Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1)))
}
