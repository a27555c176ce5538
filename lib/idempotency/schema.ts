import { createHash } from 'node:crypto'
import * as v from 'valibot'
import { invalid } from '../errors.ts'
import { atMost, Text } from '../parse.ts'

/** What names a request, so that a repeat is known. */
export const NamedRequest = v.object({ key: v.pipe(Text, v.minLength(1, 'This must not be empty.'), atMost(255)) })

/** What work done at most once gave. */
export interface IdempotentResult<T> {
  /** As JSON gives it back, the first time too: a Date is text. */
  readonly answer: T
  /** Whether this is the first request's answer, kept: nothing was done now. */
  readonly replayed: boolean
}

/** What is sealed: with the answer a fingerprint of what was asked, since even that may tell of somebody. */
export interface StoredResult {
  readonly asked: string
  readonly answer?: unknown
}

/** A key as it is stored: what a caller put into it is nobody's to read. */
export function hashOf(key: string): string {
  return createHash('sha256').update(key).digest('hex')
}

/**
 * The same for equal JSON, whatever the order of its fields.
 *
 * @throws MailkeepError `validation_failed` on `body`: it is no JSON, or nested too deeply.
 */
export function fingerprintOf(request: unknown): string {
  try {
    return hashOf(JSON.stringify(request, inOrder) ?? '')
  } catch {
    throw invalid('body', 'This cannot be written as JSON: it may be nested too deeply.')
  }
}

function inOrder(_: string, value: unknown): unknown {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return value
  return Object.fromEntries(Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1)))
}
