import assert from 'node:assert/strict'
import { request } from 'node:http'
import { test } from 'node:test'
import { brotliDecompressSync, gzipSync } from 'node:zlib'
import { consoleSurfaces } from '../../daemon/console-surface.ts'
import { withBody } from '../support/api-request.ts'
import { daemon, directory } from '../support/program.ts'

/** Asks with the given headers only, and returns the body as it is sent. */
function get(url: string, headers: Record<string, string> = {}, method = 'GET') {
  return new Promise<{ status: number; headers: NodeJS.Dict<string | string[]>; body: Buffer }>((resolve, reject) => {
    request(url, { method, headers }, async (response) => {
      const body = Buffer.concat(await response.toArray())
      resolve({ status: response.statusCode!, headers: response.headers, body })
    })
      .on('error', reject)
      .end()
  })
}

test('the daemon serves the console and its files', async (t) => {
  const { url } = await daemon(t, { cwd: await directory(t) })
  const page = await get(`${url}/`)
  assert.equal(page.status, 200)
  assert.equal(page.headers['content-type'], 'text/html; charset=utf-8')
  assert.equal(page.headers['cache-control'], 'no-cache')
  assert.equal(
    page.headers['content-security-policy'],
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; frame-ancestors 'none'",
  )
  assert.equal(page.headers['x-content-type-options'], 'nosniff')
  assert.equal(page.headers['referrer-policy'], 'no-referrer')
  for (const path of ['/docs', '/console', '/console/contacts/5', '/?a=1']) {
    assert.deepEqual((await get(url + path)).body, page.body, path)
  }

  const files = [...page.body.toString().matchAll(/"(\/console\/assets\/[^"]+)"/g)].map((match) => match[1]!)
  assert.equal(files.length, 2)
  let zippedBytes = gzipSync(page.body).length
  for (const path of files) {
    const plain = await get(url + path)
    const packed = await get(url + path, { 'accept-encoding': 'gzip, br' })
    assert.equal(packed.headers['content-encoding'], 'br')
    assert.equal(packed.headers['cache-control'], 'public, max-age=31536000, immutable')
    assert.deepEqual(brotliDecompressSync(packed.body), plain.body)
    const known = await get(url + path, { 'if-none-match': String(packed.headers.etag) })
    assert.equal(known.status, 304)
    assert.equal(known.body.length, 0)
    zippedBytes += gzipSync(plain.body).length
  }
  assert.ok(zippedBytes < 150_000, `${zippedBytes} bytes`)

  const head = await get(`${url}/`, {}, 'HEAD')
  assert.equal(head.headers['content-length'], String(page.body.length))
  assert.equal(head.body.length, 0)
  const post = await get(`${url}/docs`, {}, 'POST')
  assert.equal(post.status, 405)
  assert.equal(post.headers.allow, 'GET, HEAD')
  for (const path of ['/console/assets/nothing.js', '/contacts', '/index.html', '//']) {
    const missing = await get(url + path)
    assert.equal(missing.status, 404, path)
    assert.equal(JSON.parse(missing.body.toString()).code, 'not_found')
  }
})

test('all responses share the bytes of a file, so that clients which do not read them take no memory', async () => {
  const answer = consoleSurfaces({ error: (fields) => assert.fail(String(fields)) }, [])['/']!
  for (const coding of ['br', 'identity']) {
    const headers = { 'accept-encoding': coding }
    const ask = () => answer({ method: 'GET', target: '/', headers, ...withBody() })
    const [first, second] = [await ask(), await ask()]
    assert.ok(first.bytes && first.bytes === second.bytes, coding)
  }
})

test('MAILKEEP_CONSOLE=false turns the console and the documentation off', async (t) => {
  const { url } = await daemon(t, { cwd: await directory(t), env: { MAILKEEP_CONSOLE: 'false' } })
  for (const path of ['/', '/docs', '/console', '/console/contacts']) assert.equal((await get(url + path)).status, 404)
  assert.equal((await get(`${url}/api/v1/openapi.json`)).status, 200)
})

test('without the console there are no links to the portal', async (t) => {
  const { ask, url } = await daemon(t, { cwd: await directory(t), env: { MAILKEEP_CONSOLE: 'false' } })
  assert.equal((await get(`${url}/portal`)).status, 404)
  const refused = await ask('POST', '/api/v1/portal-links', { role: 'webhooks' })
  assert.equal(refused.status, 422)
  const { errors } = (await refused.json()) as { errors: Record<string, string[]> }
  assert.match(errors.console![0]!, /MAILKEEP_CONSOLE=true/)
})
