import { type ClientMailkeep, type ClientOperations, MailkeepError } from '../../lib/index.ts'
import { type ApiRequest, header } from './http-types.ts'
import type { Outcome, Route } from './routes/route.ts'

const name = 'Idempotency-Key'

export const keyPattern = /^[\x21-\x7e]{1,255}$/

/** @returns whether repeats of a request to this route are known by a key. */
export function takesKey({ method, key }: Route): boolean {
  return method === 'POST' && key !== 'none'
}

/**
 * The key by which a request is known when it is repeated: of a POST, unless its route takes none.
 *
 * @throws MailkeepError `validation_failed` on `Idempotency-Key`: not 1–255 visible characters of ASCII.
 */
export function keyOf(request: ApiRequest, route: Route): string | undefined {
  if (!takesKey(route)) return undefined
  const key = header(request, 'idempotency-key')
  if (key === undefined || keyPattern.test(key)) return key
  const message = 'This must be 1–255 visible characters of ASCII.'
  throw new MailkeepError('validation_failed', message, { errors: { [name]: [message] } })
}

/** @param asked What tells a repeat from another request with the same key. */
export async function performOnce(
  client: ClientMailkeep,
  key: string,
  asked: unknown,
  perform: (client: ClientOperations) => Promise<Outcome>,
): Promise<Outcome> {
  const { answer, replayed } = await client.withIdempotencyKey(key, asked, async (operations) => {
    const { data, ...outcome } = await perform(operations)
    // As text, so that a replay is the same to the byte.
    return data === undefined ? outcome : { ...outcome, json: JSON.stringify(data) }
  })
  return { ...answer, replayed }
}
