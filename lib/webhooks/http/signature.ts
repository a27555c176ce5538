import { createHmac, createSecretKey, type KeyObject, randomBytes } from 'node:crypto'
import { BoundedCache } from '../../bounded-cache.ts'

const prefix = 'whsec_'

const maxCachedKeys = 1000
const contractKeys = new BoundedCache<string, KeyObject>(maxCachedKeys)
const standardKeys = new BoundedCache<string, KeyObject>(maxCachedKeys)

/**
 * Signs for `X-Service-Signature`: HMAC-SHA256 over "timestamp.body", keyed with the UTF-8 bytes of the whole secret.
 *
 * @param timestampSeconds Unix time of the attempt, whole seconds.
 * @returns `sha256=` and 64 lower-case hexadecimal digits.
 */
export function signContract(secret: string, timestampSeconds: number, body: string | Uint8Array): string {
  const key = contractKeys.get(secret, () => createSecretKey(secret, 'utf8'))
  return `sha256=${hmac(key, `${timestampSeconds}.`, body).digest('hex')}`
}

/**
 * Signs as Standard Webhooks 1.0.0 says: HMAC-SHA256 over "id.timestamp.body".
 *
 * @param secret `whsec_` and the key in base64.
 * @param id The delivery's uuid, the same in each retry. It must not contain a dot.
 * @param timestampSeconds Unix time of the attempt, whole seconds.
 * @returns `v1,` and the signature in base64.
 */
export function signStandard(secret: string, id: string, timestampSeconds: number, body: string | Uint8Array): string {
  const key = standardKeys.get(secret, () => createSecretKey(secret.slice(prefix.length), 'base64'))
  return `v1,${hmac(key, `${id}.${timestampSeconds}.`, body).digest('base64')}`
}

function hmac(key: KeyObject, before: string, body: string | Uint8Array) {
  const hash = createHmac('sha256', key)
  return typeof body === 'string' ? hash.update(before + body) : hash.update(before).update(body)
}

/** @returns A new signing secret: `whsec_` and base64 of 32 random bytes, 50 characters. */
export function newSecret(): string {
  return prefix + randomBytes(32).toString('base64')
}
