/** Returns the headers of a delivery with both signatures, computed by Node's own crypto. */
import { createHmac, createSecretKey } from 'node:crypto'

const keys = [createSecretKey('whsec_key', 'utf8'), createSecretKey('key', 'utf8')] as const
const sign = (key: (typeof keys)[number], text: string) => createHmac('sha256', key).update(text)

export function signedHeaders(uuid: string, body: string, nowMs: number): Record<string, string> {
  const seconds = String(Math.floor(nowMs / 1000))
  return {
    'content-type': 'application/json',
    'user-agent': 'mailkeep/0.0.0',
    'x-service-signature': `sha256=${sign(keys[0], `${seconds}.${body}`).digest('hex')}`,
    'x-service-timestamp': seconds,
    'x-service-event': 'newsletter.sent',
    'x-service-delivery': uuid,
    'webhook-id': uuid,
    'webhook-timestamp': seconds,
    'webhook-signature': `v1,${sign(keys[1], `${uuid}.${seconds}.${body}`).digest('base64')}`,
  }
}
