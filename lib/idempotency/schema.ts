import { createHash } from 'node:crypto'
import * as v from 'valibot'
import type { ClientOperations } from '../client-api.ts'
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
    throw invalid('body', 'This cannot be written as JSON: it has a BigInt or a cycle, or is nested too deeply.')
  }
}

function sortFields(_: string, value: unknown): unknown {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return value
  return Object.fromEntries(Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1)))
}

/** Operations that are safe to repeat, on `mailkeep.forClient(id)`. */
export interface IdempotencyApi {
  /**
   * Runs `work` at most once for an idempotency key of the client. The key is committed in the same transaction as the
   * work's changes. For 24 hours, a repeated call returns the first result and does nothing. If `work` throws, its
   * changes and the key are rolled back. So they are if one of its operations fails after it has written, even if `work`
   * catches the error. Stored results are encrypted, and are deleted with the contacts that they
   * contain.
   *
   * @param key 1–255 characters. Use a random key for each task.
   * @param request The parameters of the request, as JSON. They distinguish a repeat from another request.
   * @param work Receives the client's operations, which run in one transaction. It may await only these, one after
   *   another, and no operation of an outer client. It cannot import. It may run twice; then the first run is rolled
   *   back. On SQLite, other writes wait for it, so it should change at most some hundreds of rows.
   * @throws MailkeepError `idempotency_mismatch`: the key was used for another request; `conflict`: the first request
   *   with this key is still running, or its result was encrypted with a key that is no longer configured;
   *   `validation_failed`; and the errors that `work` throws.
   * @example
   * const { answer } = await acme.withIdempotencyKey(order.id, order, (client) => client.contacts.addToList(1, order.buyer))
   */
  withIdempotencyKey<T>(
    key: string,
    request: unknown,
    work: (client: ClientOperations) => Promise<T>,
  ): Promise<IdempotentResult<T>>
}
