import assert from 'node:assert/strict'
import nodeCrypto from 'node:crypto'
import type { IncomingHttpHeaders } from 'node:http'
import { syncBuiltinESMExports } from 'node:module'
import { describe, test } from 'node:test'
import { Webhook } from 'standardwebhooks'
import { newSecret, signContract, signStandard } from '../../lib/webhooks/http/signature.ts'
import {
  type DeliveryErrorCode,
  type DeliveryHeaders,
  DeliveryVerificationError,
  verifyDelivery,
  type WebhookEvent,
} from '../../lib/webhooks/receiver.ts'

const secret = newSecret()
const time = 1_767_323_045
const event = {
  id: '8c0f…',
  type: 'webhook.test',
  created_at: '2026-01-02T03:04:05.678901Z',
  data: { message: 'Grüß 💌' },
}
const body = JSON.stringify(event)

describe('a secret', () => {
  test('is whsec_ and 32 bytes in base64, new each time', () => {
    assert.match(secret, /^whsec_[A-Za-z0-9+/]{43}=$/)
    assert.notEqual(newSecret(), secret)
  })
})

describe("the contract's signature", () => {
  test('equals the result of Web Crypto with the whole secret as the key, also for an empty body', async () => {
    const key = new TextEncoder().encode(secret)
    const algorithm = { name: 'HMAC', hash: 'SHA-256' }
    const imported = await crypto.subtle.importKey('raw', key, algorithm, false, ['sign'])
    for (const text of [body, '', 'ü'.repeat(32_768), '\0']) {
      const mac = await crypto.subtle.sign('HMAC', imported, new TextEncoder().encode(`${time}.${text}`))
      const expected = `sha256=${Buffer.from(mac).toString('hex')}`
      assert.equal(signContract(secret, time, text), expected)
    }
  })

  test('equals the result of openssl', () => {
    // printf '1700000000.{}' | openssl dgst -sha256 -hmac whsec_c2VjcmV0
    const known = 'sha256=364c5930136b64e55f7f7a0228b53cdcdcfe48ee68e73fa94d7a3e529cec1c38'
    assert.equal(signContract('whsec_c2VjcmV0', 1_700_000_000, '{}'), known)
  })
})

describe('the Standard Webhooks signature', () => {
  const id = '0f6b9c1e-3c3a-4c0e-9a51-1d8f2f2f0b11'

  test('equals the result of that standard’s library', () => {
    const expected = new Webhook(secret).sign(id, new Date(time * 1000), body)
    assert.equal(signStandard(secret, id, time, body), expected)
  })

  test('is verified by the library of that standard, which detects tampering', () => {
    const now = Math.floor(Date.now() / 1000)
    const signature = signStandard(secret, id, now, body)
    const headers = { 'webhook-id': id, 'webhook-timestamp': String(now), 'webhook-signature': signature }
    assert.deepEqual(new Webhook(secret).verify(body, headers), event)
    assert.throws(() => new Webhook(secret).verify(`${body} `, headers))
    assert.throws(() => new Webhook(newSecret()).verify(body, headers))
  })
})

/** Returns the contract's headers for this body, by default signed now. */
function signed(text: string | Uint8Array = body, at = time, by = secret) {
  const signature = nodeCrypto.createHmac('sha256', by).update(`${at}.`).update(text).digest('hex')
  return { 'x-service-signature': `sha256=${signature}`, 'x-service-timestamp': String(at) }
}

const at = (seconds: number) => ({ now: () => seconds * 1000 })

function refuses(code: DeliveryErrorCode, verify: () => unknown): void {
  assert.throws(verify, (error) => {
    assert.ok(error instanceof DeliveryVerificationError)
    assert.equal(error.code, code)
    assert.ok(!error.message.includes(secret))
    return true
  })
}

describe('the receiver', () => {
  test('returns the event of a valid delivery, from text or bytes', () => {
    assert.deepEqual(verifyDelivery(signed(), body, secret, at(time)), event)
    assert.deepEqual(verifyDelivery(signed(), Buffer.from(body), secret, at(time)), event)
    assert.deepEqual(verifyDelivery(signed(), new TextEncoder().encode(body), secret, at(time)), event)
  })

  test('returns the names of attributes as they were sent, also after others with escapes', () => {
    for (const name of ['\\', '\n', '"', 'x\\', 'x\n']) {
      const text = JSON.stringify({ ...event, data: { attributes: { receiver: '', [name]: '' } } })
      const { data } = verifyDelivery(signed(text), text, secret, at(time)) as { data: { attributes?: object } }
      assert.deepEqual(Object.keys(data.attributes ?? {}), ['receiver', name])
    }
  })

  test('uses the system clock by default', () => {
    const now = Math.floor(Date.now() / 1000)
    assert.deepEqual(verifyDelivery(signed(body, now), body, secret), event)
    refuses('stale_timestamp', () => verifyDelivery(signed(), body, secret))
  })

  test('accepts headers in any form and letter case', () => {
    const lower = signed()
    const [signature, timestamp] = [lower['x-service-signature'], lower['x-service-timestamp']]
    const node: IncomingHttpHeaders = { host: 'example.com', 'set-cookie': ['a', 'b'], ...lower }
    const forms: DeliveryHeaders[] = [
      lower,
      node,
      { 'X-Service-Signature': signature, 'X-Service-Timestamp': timestamp },
      { 'X-SERVICE-SIGNATURE': [signature], 'x-Service-timestamp': [timestamp], 'x-service-event': undefined },
      new Headers({ 'X-Service-Signature': signature, 'X-Service-Timestamp': timestamp }),
      Object.assign(Object.create(null), lower),
    ]
    for (const headers of forms) assert.deepEqual(verifyDelivery(headers, body, secret, at(time)), event)
  })

  test('refuses a delivery without one of the headers', () => {
    const { 'x-service-signature': signature, 'x-service-timestamp': timestamp } = signed()
    const inherited = Object.create(signed())
    for (const headers of [
      ...[{}, inherited, new Headers(), { 'x-service-signature': '', 'x-service-timestamp': timestamp }],
      ...[{ 'x-service-signature': signature }, { 'x-service-timestamp': timestamp, 'x-service-signature': undefined }],
    ]) {
      refuses('missing_header', () => verifyDelivery(headers, body, secret, at(time)))
    }
  })

  test('refuses a signed timestamp that is not a Unix time', () => {
    for (const odd of [
      'soon',
      '-1',
      '1e9',
      '1.5',
      ' 1767323045',
      '0x1',
      `${time}, ${time}`,
      '9'.repeat(13),
      'NaN',
      '٣',
    ]) {
      const headers = { ...signed(), 'x-service-timestamp': odd }
      refuses('bad_timestamp', () => verifyDelivery(headers, body, secret, at(time)))
    }
  })

  test('accepts timestamps up to five minutes off, in both directions and inclusive', () => {
    for (const now of [time - 300, time + 300]) assert.ok(verifyDelivery(signed(), body, secret, at(now)))
    for (const now of [time - 301, time + 301, 0, Number.NaN]) {
      refuses('stale_timestamp', () => verifyDelivery(signed(), body, secret, at(now)))
    }
  })

  test('accepts another tolerance', () => {
    assert.ok(verifyDelivery(signed(), body, secret, { ...at(time + 10), toleranceSeconds: 10 }))
    refuses('stale_timestamp', () => verifyDelivery(signed(), body, secret, { ...at(time + 11), toleranceSeconds: 10 }))
    refuses('stale_timestamp', () =>
      verifyDelivery(signed(), body, secret, { ...at(time), toleranceSeconds: Number.NaN }),
    )
  })

  test('refuses a delivery that was tampered with', () => {
    const good = signed()
    const signature = good['x-service-signature']
    const verify =
      (headers: DeliveryHeaders, text = body) =>
      () =>
        verifyDelivery(headers, text, secret, at(time))
    refuses('bad_signature', verify(good, body.replace('test', 'tesT')))
    refuses('bad_signature', verify(good, `${body}\n`))
    refuses('bad_signature', verify({ ...good, 'x-service-timestamp': String(time + 1) }))
    for (const odd of [
      ...[signature.slice(7), signature.slice(0, -1), `${signature}0`, signature.toUpperCase(), 'sha256='],
      ...[
        `${signature}, ${signature}`,
        signature.replace('sha256', 'sha1'),
        'ü'.repeat(71),
        signature.replace(/.$/, 'ü'),
      ],
    ]) {
      refuses('bad_signature', verify({ ...good, 'x-service-signature': odd }))
    }
  })

  test('compares signatures in constant time, valid ones and invalid ones', (t) => {
    const compare = t.mock.method(nodeCrypto, 'timingSafeEqual')
    syncBuiltinESMExports()
    t.after(() => {
      compare.mock.restore()
      syncBuiltinESMExports()
    })
    verifyDelivery(signed(), body, secret, at(time))
    assert.equal(compare.mock.callCount(), 1)
    refuses('bad_signature', () => verifyDelivery(signed(), `${body} `, secret, at(time)))
    assert.equal(compare.mock.callCount(), 2)
  })

  test('accepts any of several secrets, so that one can be rotated, but never an empty one', () => {
    const old = newSecret()
    for (const secrets of [
      [old, secret],
      [secret, old],
      ['', secret],
    ]) {
      assert.deepEqual(verifyDelivery(signed(), body, secrets, at(time)), event)
    }
    for (const secrets of [old, [old], [], '', [''], secret.slice(6)]) {
      refuses('bad_signature', () => verifyDelivery(signed(), body, secrets, at(time)))
    }
    refuses('bad_signature', () => verifyDelivery(signed(body, time, ''), body, ['', old], at(time)))
  })

  test('says what is wrong when the body was parsed before, or when there are no headers or no secret', () => {
    // biome-ignore lint/suspicious/noExplicitAny: values that the types forbid.
    const wrong = (value: unknown) => value as any
    for (const parsed of [undefined, null, JSON.parse(body)]) {
      assert.throws(() => verifyDelivery(signed(), wrong(parsed), secret, at(time)), /^TypeError: rawBody must be/)
    }
    for (const none of [undefined, null, 7, [undefined]]) {
      assert.throws(() => verifyDelivery(signed(), body, wrong(none), at(time)), /^TypeError: secret must be/)
    }
    for (const none of [undefined, null, 'sha256=00']) {
      assert.throws(() => verifyDelivery(wrong(none), body, secret, at(time)), /^TypeError: headers must be/)
    }
  })

  test('refuses a signed body that is not an event', () => {
    const { id, ...rest } = event
    const odd = ['', '{', 'null', '[]', '1', '"x"', JSON.stringify(rest), JSON.stringify({ id, ...rest, data: null })]
    for (const text of [...odd, Buffer.from([...Buffer.from(body.slice(0, -3)), 0xff, 0x22, 0x7d, 0x7d])]) {
      refuses('bad_body', () => verifyDelivery(signed(text), text, secret, at(time)))
    }
  })

  test('returns events of types that are added later', () => {
    const text = JSON.stringify({ ...event, type: 'contact.moved', data: {} })
    assert.equal(verifyDelivery(signed(text), text, secret, at(time)).type, 'contact.moved')
  })

  test('types each event by its type', () => {
    const describeEvent = (received: WebhookEvent): string => {
      switch (received.type) {
        case 'contact.subscribed':
          return `${received.data.contact.email} joined ${received.data.list.name}`
        case 'contact.unsubscribed':
        case 'contact.resubscribed':
          return `${received.data.contact.email} ${received.data.truncated?.join() ?? 'whole'}`
        case 'webhook.test':
          return received.data.message
        default:
          return Object.keys(received.data).join()
      }
    }
    assert.equal(describeEvent(verifyDelivery(signed(), body, secret, at(time))), 'Grüß 💌')
  })
})
