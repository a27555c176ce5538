import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { describe, type TestContext, test } from 'node:test'
import tls, { type ConnectionOptions } from 'node:tls'
import { authority, certificate } from '../support/certificates.ts'
import { assertFaster } from '../support/timing.ts'
import { addEndpoint, attempted, open, openSocket, raise } from '../support/webhook-harness.ts'

const host = 'hook.example'

/** Sends one delivery to https://hook.example, a test server with that certificate. */
async function deliver(t: TestContext, keys: { key: Buffer; cert: Buffer }) {
  // Behaves as if the authority were one of the system's.
  const connect = tls.connect as (options: ConnectionOptions) => tls.TLSSocket
  t.mock.method(tls, 'connect', (options: ConnectionOptions) => connect({ ...options, ca: authority }))
  const bodies: string[] = []
  const server = createServer(keys, async (request, response) => {
    let body = ''
    for await (const chunk of request) body += chunk
    bodies.push(body)
    response.end()
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.after(() => server.close())
  const resolver = { resolve4: async () => ['127.0.0.1'], resolve6: async () => [] }
  const mk = await open(t, { lookup: { resolver } })
  const { id } = await addEndpoint(mk, `https://hook.example:${(server.address() as AddressInfo).port}/`)
  await raise(mk)
  return { ...(await attempted(mk, id, 1)), bodies }
}

describe('https', { skip: authority ? false : 'OPENSSL IS MISSING: certificates are not tested' }, () => {
  test('delivers where the certificate is valid', async (t) => {
    const { status, response_status, bodies } = await deliver(t, certificate('good', { host }))
    assert.deepEqual([status, response_status, bodies.length], ['success', 200, 1])
  })

  for (const [what, options, error] of [
    ['signs itself', { host, selfSigned: true }, 'DEPTH_ZERO_SELF_SIGNED_CERT'],
    ['has expired', { host, days: '-1' }, 'CERT_HAS_EXPIRED'],
    ['is for another name', { host: 'other.example' }, 'ERR_TLS_CERT_ALTNAME_INVALID'],
  ] as const) {
    test(`fails, and sends nothing, where the certificate ${what}`, async (t) => {
      const delivery = await deliver(t, certificate(error.toLowerCase(), options))
      assert.deepEqual([delivery.status, delivery.attempts, delivery.response_status], ['pending', 1, null])
      assert.equal(delivery.error, `The request failed: ${error}.`)
      assert.deepEqual(delivery.bodies, [])
    })
  }

  test('fails after the connect time-out of 5 s where the other side never answers the handshake', async (t) => {
    const mk = await open(t)
    const { url } = await openSocket(t, () => {})
    const { id } = await addEndpoint(mk, url.replace('http:', 'https:'))
    const started = performance.now()
    await raise(mk)
    const { status, error } = await attempted(mk, id, 1)
    const tookMs = performance.now() - started
    assert.deepEqual([status, error], ['pending', 'The request failed: UND_ERR_CONNECT_TIMEOUT.'])
    assert.ok(tookMs > 4500, `${tookMs} ms`)
    assertFaster(tookMs, 12_000, 'the attempt')
  })

  test('fails where the other side does not speak TLS', async (t) => {
    const mk = await open(t)
    const { createServer } = await import('node:http')
    const server = createServer((_, response) => response.end()).listen(0, '127.0.0.1')
    await once(server, 'listening')
    t.after(() => server.close())
    const { id } = await addEndpoint(mk, `https://127.0.0.1:${(server.address() as AddressInfo).port}/`)
    await raise(mk)
    const { status, error } = await attempted(mk, id, 1)
    assert.equal(status, 'pending')
    assert.match(error!, /^The request failed: (ERR_SSL_\w+|EPROTO|ECONNRESET)\.$/)
  })
})
