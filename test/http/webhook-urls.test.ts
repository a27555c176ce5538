/** The URL rule at creation, with production settings. The guard's own tests have more URLs. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { openService } from '../support/harness.ts'
import { assertInvalid } from '../support/http-call.ts'

const events = ['newsletter.sent']

const publicUrls = [
  'https://example.com',
  'https://example.com/hook?a=1&b=%20',
  'https://EXAMPLE.com:443/',
  'https://hooks.example.org:8443/x',
  'https://xn--mller-kva.example/',
  'https://93.184.216.34/',
  'https://[2606:2800:220:1::1]/',
  `https://example.com/${'x'.repeat(2048 - 20)}`,
]

const refusedUrls = [
  'http://example.com/',
  'HTTP://example.com/',
  'ftp://example.com/',
  '//example.com/',
  'example.com',
  'javascript:alert(1)',
  'https://',
  'https://user@example.com/',
  'https://example.com@127.0.0.1/',
  'https://example.com/#x',
  'https://example.com:6379/',
  'https://example.com:80/',
  ' https://example.com/',
  'https://exam\tple.com/',
  'https:\\\\example.com/',
  'https://localhost/',
  'https://ＬＯＣＡＬＨＯＳＴ/',
  'https://a.localhost./',
  'https://printer.local/',
  'https://svc.internal/',
  'https://intranet/',
  'https://127.0.0.1/',
  'https://127.1/',
  'https://2130706433/',
  'https://0x7f.0.0.1/',
  'https://012.0.0.1/',
  'https://10.0.0.1/',
  'https://172.31.255.254/',
  'https://192.168.0.1/',
  'https://100.127.255.254/',
  'https://169.254.169.254/latest/meta-data/',
  'https://168.63.129.16/',
  'https://0.0.0.0/',
  'https://240.0.0.1/',
  'https://[::1]/',
  'https://[::]/',
  'https://[::ffff:127.0.0.1]/',
  'https://[64:ff9b::7f00:1]/',
  'https://[fd00::1]/',
  'https://[febf::1]/',
  'https://[2001:db8::1]/',
  'https://[2002:7f00:1::]/',
  `https://example.com/${'x'.repeat(2048 - 19)}`,
  `https://${'a'.repeat(64)}.com/`,
]

test('public URLs are accepted unchanged', async (t) => {
  const { data } = await openService(t, { webhooks: { allowPrivate: false } })
  for (const each of publicUrls) {
    assert.equal((await data(201, 'POST', '/webhook-endpoints', { body: { url: each, events } })).url, each)
  }
})

test('all other URLs are refused on url', async (t) => {
  const { call, data } = await openService(t, { webhooks: { allowPrivate: false } })
  for (const each of refusedUrls) {
    assertInvalid(await call('POST', '/webhook-endpoints', { body: { url: each, events } }), 'url')
  }
  assert.deepEqual(await data(200, 'GET', '/webhook-endpoints'), [])
})
