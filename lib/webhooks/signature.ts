import { createHmac, randomBytes } from 'node:crypto'

const prefix = 'whsec_'

/**
 * Signs as the contract's section 6 says: HMAC-SHA256 over "timestamp.body", keyed with the whole secret's UTF-8 bytes.
 *
 * @param timestampSeconds Unix time of the attempt, whole seconds.
 * @returns `sha256=` and 64 lower-case hexadecimal digits.
 */
export function signContract(secret: string, timestampSeconds: number, body: string | Uint8Array): string {
  return `sha256=${createHmac('sha256', secret).update(`${timestampSeconds}.`).update(body).digest('hex')}`
}

/**
 * Signs as Standard Webhooks 1.0.0 says: HMAC-SHA256 over "id.timestamp.body".
 *
 * @param secret `whsec_` and the key in base64.
 * @param id The delivery's, the same over retries; it must not contain a dot.
 * @param timestampSeconds Unix time of the attempt, whole seconds.
 * @returns `v1,` and the signature in base64.
 */
export function signStandard(secret: string, id: string, timestampSeconds: number, body: string | Uint8Array): string {
  const key = Buffer.from(secret.slice(prefix.length), 'base64')
  return `v1,${createHmac('sha256', key).update(`${id}.${timestampSeconds}.`).update(body).digest('base64')}`
}

/** @returns A new signing secret: `whsec_` and base64 of 32 random bytes, 50 characters. */
export function newSecret(): string {
  return prefix + randomBytes(32).toString('base64')
}
