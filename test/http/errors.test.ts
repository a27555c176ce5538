/** Authentication, and the paths and methods that the API knows. Bodies are in bodies.test.ts. */
import assert from 'node:assert/strict'
import type { OutgoingHttpHeaders } from 'node:http'
import { describe, test } from 'node:test'
import { openService } from '../support/harness.ts'
import { bodyOf, openWorld, paramsOf, pathTo, routes, titleOf, viewOf } from '../support/http-world.ts'

/** Authorization headers that are not valid; `{token}` is replaced by a valid token. */
const badCredentials = [
  '',
  'Bearer',
  'Bearer ',
  'Bearer{token}',
  '{token}',
  'Basic dXNlcjpwYXNzd29yZA==',
  'Basic {token}',
  'Token {token}',
  'Bearer: {token}',
  'Bearer={token}',
  'Bearer {token}x',
  'Bearer x{token}',
  'Bearer {token}=',
  'Bearer {token} {token}',
  'Bearer {token},{token}',
  'Bearer {token}, Bearer {token}',
  'Bearer "{token}"',
  'Bearer mk_',
  "Bearer ' or 1=1 --",
  'Bearer %',
  'Bearer null',
  'Bearer \u00fc',
  `Bearer ${'x'.repeat(10_000)}`,
]

const badIds = [
  '1e3',
  '0x1',
  '0',
  '-1',
  '+1',
  '01',
  '1.0',
  '1.',
  '1,0',
  '1_0',
  'abc',
  'NaN',
  'null',
  '1n',
  '*',
  '%00',
  '1%00',
  '%201',
  '1%20',
]
const moreBadIds = [
  '9007199254740992',
  '9007199254740993',
  '99999999999999999999',
  '%EF%BC%91',
  '%D9%A1',
  '%2B1',
  '%zz',
  '%',
  '%ff',
  '1%2F2',
  '1;2',
]

const methods = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS', 'PROPFIND']

describe('errors', () => {
  const open = openService
  test('a missing, unknown or malformed token is 401', async (t) => {
    const { admin, call, member } = await open(t)
    const headersOf = (credentials: string): OutgoingHttpHeaders => ({
      authorization: credentials.replaceAll('{token}', admin),
    })
    const requests: OutgoingHttpHeaders[] = [
      {},
      ...badCredentials.map(headersOf),
      { authorization: [`Bearer ${admin}`, `Bearer ${admin}`] as never },
    ]
    for (const headers of [...requests, { authorization: `Bearer ${admin.toUpperCase()}` }]) {
      const { status, body, headers: answered } = await call('GET', '/tags', { token: null, headers })
      const expected = [401, 'unauthenticated', 'Bearer']
      assert.deepEqual([status, body.code, answered['www-authenticate']], expected, JSON.stringify(headers))
    }
    for (const query of [`access_token=${admin}`, `token=${admin}`]) {
      assert.equal((await call('GET', '/tags', { token: null, query })).status, 401)
    }
    for (const authorization of [`bearer ${admin}`, `BEARER ${member}`]) {
      assert.equal((await call('GET', '/tags', { token: null, headers: { authorization } })).status, 200)
    }
  })

  test('under /api/v1 the check of the token comes before every other answer', async (t) => {
    const service = await open(t)
    const world = await openWorld(service, 'mine')
    const before = await viewOf(service, world)
    const json = { 'content-type': 'application/json' }
    const requests = [
      ...routes.map((route) => [route.method, pathTo(route, world), { body: bodyOf(route) }] as const),
      ...methods.map((method) => [method, '/tags', {}] as const),
      ...methods.map((method) => [method, '/no/such/route', {}] as const),
      ['GET', '', {}],
      ['GET', '/', {}],
      ['GET', '/tags/abc', {}],
      ['GET', '/%zz', {}],
      ['POST', '/tags', { raw: '{', headers: json }],
      ['POST', '/tags', { raw: Buffer.from([0xff]), headers: json }],
      ['POST', '/tags', { raw: 'x', headers: { 'content-type': 'text/plain' } }],
      ['POST', '/tags', { raw: ' '.repeat(2_000_000), headers: json }],
      ['GET', '/tags', { query: 'per_page=0&cursor=x' }],
    ] as const
    for (const [method, path, options] of requests) {
      for (const token of [null, 'mk_unknown']) {
        const { status, headers, what } = await service.call(method, path, { ...options, token })
        assert.deepEqual([status, headers['www-authenticate']], [401, 'Bearer'], what)
      }
    }
    assert.deepEqual(await viewOf(service, world), before)
  })

  test('unknown routes are 404, and outside /api/v1 without a token too', async (t) => {
    const { call } = await open(t)
    const outside = [
      '//',
      '//api',
      '//api/v2/tags',
      '//api/v10/tags',
      '//API/V1/tags',
      '//tags',
      '///api/v1/tags',
      '//api%2Fv1/tags',
      '//api/./v1/tags',
    ]
    for (const path of outside) {
      for (const options of [{}, { token: null }]) assert.equal((await call('GET', path, options)).status, 404, path)
    }
    const inside = [
      '',
      '/',
      '/tag',
      '/Tags',
      '/tags/',
      '/tags//',
      '//api/v1//tags',
      '/tags/1/2',
      '/lists/1/contacts/1/2',
      '/contacts/1/subscribe',
      '/email_identities',
      '/__proto__',
      '/constructor',
      '/tags%00',
      '/tags%2F1',
      '/../v1/tags',
      '/lists/1/../../tags',
    ]
    for (const path of inside) {
      const { status, body, what } = await call('GET', path)
      assert.deepEqual([status, body.code], [404, 'not_found'], what)
    }
  })

  test('an id that is not a positive 53-bit integer in canonical notation is 404, on every route', async (t) => {
    const service = await open(t)
    const world = await openWorld(service, 'mine')
    const before = await viewOf(service, world)
    const ids = [...badIds, ...moreBadIds, '', '9007199254740991', '999999']
    for (const route of routes) {
      for (const name of paramsOf(route)) {
        const answers = await Promise.all(
          ids.map((id) =>
            service.call(route.method, pathTo(route, { ...world, [name]: id as never }), { body: bodyOf(route) }),
          ),
        )
        for (const { status, what } of answers) assert.equal(status, 404, `${titleOf(route)}: ${what}`)
      }
    }
    assert.deepEqual(await viewOf(service, world), before)
  })

  test('percent-encoded digits are digits', async (t) => {
    const service = await open(t)
    const { listId } = await openWorld(service, 'mine')
    const encoded = [...String(listId)].map((digit) => `%3${digit}`).join('')
    assert.equal((await service.data(200, 'GET', `/lists/${encoded}`)).id, listId)
    assert.equal((await service.data(200, 'GET', `/%6cists/${listId}`)).id, listId)
  })

  test('a known path with another method is 405 with Allow, whether the record exists or not', async (t) => {
    const service = await open(t)
    const world = await openWorld(service, 'mine')
    const before = await viewOf(service, world)
    const missing = Object.fromEntries(Object.keys(world).map((name) => [name, 999_999]))
    for (const ids of [world, missing]) {
      for (const path of new Set(routes.map((route) => route.path))) {
        const known = routes.filter((route) => route.path === path).map(({ method }) => String(method))
        const allow = [...known, ...(known.includes('GET') ? ['HEAD'] : [])].sort()
        for (const method of methods.filter((each) => !known.includes(each))) {
          const { status, body, headers, what } = await service.call(method, pathTo({ path }, ids))
          assert.deepEqual([status, body.code], [405, 'method_not_allowed'], what)
          assert.deepEqual(String(headers.allow).split(', ').sort(), allow, what)
        }
      }
    }
    assert.deepEqual(await viewOf(service, world), before)
  })

  test('HEAD answers like GET, without the body', async (t) => {
    const { call } = await open(t)
    for (const path of ['/tags', '/contacts', '/lists/1', '/nothing', '/tags/1/2']) {
      const [head, get] = [await call('HEAD', path), await call('GET', path)]
      assert.equal(head.status, get.status)
      for (const name of ['content-type', 'content-length']) assert.equal(head.headers[name], get.headers[name], path)
    }
    assert.equal((await call('HEAD', '/tags', { token: null })).status, 401)
  })

  test('every answer carries X-Request-Id: the caller’s if it is valid', async (t) => {
    const { call } = await open(t)
    const answered = async (sent: string, path = '/tags', token?: null) =>
      (await call('GET', path, { headers: { 'x-request-id': sent }, ...(token === null ? { token } : {}) })).headers[
        'x-request-id'
      ]
    for (const id of ['a', 'abc-123', '0b9c7c3e-7e0a-4d7e-8a43-1f1f8a6f1f2d']) {
      assert.equal(await answered(id), id)
      assert.equal(await answered(id, '/nothing'), id)
      assert.equal(await answered(id, '/tags', null), id)
    }
    for (const id of ['', ' ', 'a b', '<script>', '"', 'a\tb', '\u00fc', 'x'.repeat(5000), '{}', '$(id)']) {
      const own = await answered(id)
      assert.ok(own !== id && own !== undefined, id)
    }
    assert.notEqual(
      (await call('GET', '/tags')).headers['x-request-id'],
      (await call('GET', '/tags')).headers['x-request-id'],
    )
  })

  test('no proxy may cache an answer', async (t) => {
    const { call } = await open(t)
    for (const path of ['/tags', '/nothing'])
      assert.equal((await call('GET', path)).headers['cache-control'], 'no-store')
  })
})
