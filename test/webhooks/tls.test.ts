import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { createServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, describe, type TestContext, test } from 'node:test'
import tls, { type ConnectionOptions } from 'node:tls'
import { assertFaster } from '../support/timing.ts'
import { addEndpoint, attempted, open, openSocket, raise } from '../support/webhook-harness.ts'

const folder = mkdtempSync(join(tmpdir(), 'mailkeep-tls-'))
after(() => rmSync(folder, { recursive: true }))

function openssl(...words: string[]): void {
  execFileSync('openssl', words, { cwd: folder, stdio: 'pipe' })
}

const newKey = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes']

/** Creates a certificate for a name, signed by the test authority or self-signed. */
function certificate(of: string, { name = 'hook.example', days = '2', selfSigned = false } = {}) {
  const subject = ['-subj', `/CN=${of}`, '-addext', `subjectAltName=DNS:${name}`]
  if (selfSigned) openssl('req', '-x509', ...newKey, '-keyout', `${of}.key`, '-out', `${of}.pem`, ...subject)
  else {
    openssl('req', ...newKey, '-keyout', `${of}.key`, '-out', `${of}.csr`, ...subject)
    const authority = ['-CA', 'ca.pem', '-CAkey', 'ca.key', '-CAcreateserial', '-copy_extensions', 'copy']
    openssl('x509', '-req', '-in', `${of}.csr`, ...authority, '-days', days, '-out', `${of}.pem`)
  }
  return { key: readFileSync(join(folder, `${of}.key`)), cert: readFileSync(join(folder, `${of}.pem`)) }
}

function makeAuthority(): Buffer | undefined {
  try {
    openssl('req', '-x509', ...newKey, '-keyout', 'ca.key', '-out', 'ca.pem', '-days', '2', '-subj', '/CN=authority')
    return readFileSync(join(folder, 'ca.pem'))
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error
    return undefined
  }
}

const ca = makeAuthority()

/** Sends one delivery to https://hook.example, a test server with that certificate. */
async function deliver(t: TestContext, keys: { key: Buffer; cert: Buffer }) {
  // Behaves as if the authority were one of the system's.
  const connect = tls.connect as (options: ConnectionOptions) => tls.TLSSocket
  t.mock.method(tls, 'connect', (options: ConnectionOptions) => connect({ ...options, ca }))
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

describe('https', { skip: ca ? false : 'OPENSSL IS MISSING: certificates are not tested' }, () => {
  test('delivers where the certificate is valid', async (t) => {
    const { status, response_status, bodies } = await deliver(t, certificate('good'))
    assert.deepEqual([status, response_status, bodies.length], ['success', 200, 1])
  })

  for (const [what, options, error] of [
    ['signs itself', { selfSigned: true }, 'DEPTH_ZERO_SELF_SIGNED_CERT'],
    ['has expired', { days: '-1' }, 'CERT_HAS_EXPIRED'],
    ['is for another name', { name: 'other.example' }, 'ERR_TLS_CERT_ALTNAME_INVALID'],
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
