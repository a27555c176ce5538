import { createHmac, createSecretKey, type KeyObject, randomBytes } from 'node:crypto'
import { BoundedCache } from '../../bounded-cache.ts'

const prefix = 'whsec_'

/** Making a key from base64 takes 1.7 µs, two thirds of the time of a signature. A text as key costs nothing. */
const standardKeys = new BoundedCache<string, KeyObject>(1000)

/**
 * Signs for `X-Service-Signature`: HMAC-SHA256 over "timestamp.body", keyed with the UTF-8 bytes of the whole secret.
 *
 * @param timestampSeconds Unix time of the attempt, whole seconds.
 * @returns `sha256=` and 64 lower-case hexadecimal digits.
 */
export function signContract(secret: string, timestampSeconds: number, body: string): string {
  return `sha256=${createHmac('sha256', secret).update(`${timestampSeconds}.${body}`).digest('hex')}`
}

/**
 * Signs as Standard Webhooks 1.0.0 says: HMAC-SHA256 over "id.timestamp.body".
 *
 * @param secret `whsec_` and the key in base64.
 * @param id The delivery's uuid, the same in each retry. It must not contain a dot.
 * @param timestampSeconds Unix time of the attempt, whole seconds.
 * @returns `v1,` and the signature in base64.
 */
export function signStandard(secret: string, id: string, timestampSeconds: number, body: string): string {
  const key = standardKeys.get(secret, () => createSecretKey(secret.slice(prefix.length), 'base64'))
  return `v1,${createHmac('sha256', key).update(`${id}.${timestampSeconds}.${body}`).digest('base64')}`
}

/** @returns A new signing secret: `whsec_` and base64 of 32 random bytes, 50 characters. */
export function newSecret(): string {
  return prefix + randomBytes(32).toString('base64')
}
