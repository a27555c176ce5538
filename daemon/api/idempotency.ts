import type { ClientMailkeep, ClientOperations, Principal } from '../../lib/index.ts'
import { holdKeys, invalid } from '../../lib/internal.ts'
import { type ApiRequest, header } from './http-types.ts'
import type { Route, RouteResult } from './routes/route.ts'

export const keyPattern = /^[\x21-\x7e]{1,255}$/

/** @returns Whether the route honours `Idempotency-Key`. */
export function takesKey({ method, key }: Route): boolean {
  return method === 'POST' && key !== 'none'
}

/**
 * Returns the request's idempotency key, if it has one and the route honours it.
 *
 * @throws MailkeepError `validation_failed` on `Idempotency-Key`: not 1–255 visible ASCII characters.
 */
export function keyOf(request: ApiRequest, route: Route): string | undefined {
  if (!takesKey(route)) return undefined
  const key = header(request, 'idempotency-key')
  if (key === undefined || keyPattern.test(key)) return key
  throw invalid('Idempotency-Key', 'This must be 1–255 visible characters of ASCII.')
}

/**
 * Performs an operation once per key. A repeated request gets the first answer.
 *
 * @param request Identifies the request. Another request with the same key is refused.
 */
export async function performOnce(
  client: ClientMailkeep,
  key: string,
  request: unknown,
  perform: (client: ClientOperations) => Promise<RouteResult>,
): Promise<RouteResult> {
  const { answer, replayed } = await client.withIdempotencyKey(key, request, async (operations) => {
    const { data, ...outcome } = await perform(operations)
    // Store text, so that a replayed answer is identical to the byte.
    return data === undefined ? outcome : { ...outcome, json: JSON.stringify(data) }
  })
  return { ...answer, replayed }
}

/** Holds the keys of the operations of `performThenStore` that are running in this process. */
const hold = holdKeys()

const notStored = new Error('no answer is stored for this key')

/**
 * As `performOnce`, for an operation that calls another service. No transaction includes that call: the answer is stored
 * after it. If the process dies before that, a repeated request performs the operation again.
 *
 * @throws MailkeepError `conflict`: the first request with this key is still running in this process.
 */
export async function performThenStore(
  { clientId }: Principal,
  client: ClientMailkeep,
  key: string,
  request: unknown,
  perform: (client: ClientOperations) => Promise<RouteResult>,
): Promise<RouteResult> {
  return await hold(`${clientId} ${key}`, async () => {
    try {
      return await performOnce(client, key, request, () => Promise.reject(notStored))
    } catch (error) {
      if (error !== notStored) throw error
      const outcome = await perform(client)
      return await performOnce(client, key, request, () => Promise.resolve(outcome))
    }
  })
}
