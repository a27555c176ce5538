/** Invalid bodies on every route that takes one: 400, 413, 415, and 422 on `body` or an unknown field. */
import assert from 'node:assert/strict'
import { describe, type TestContext, test } from 'node:test'
import { type Open, openService } from '../support/harness.ts'
import { type Answer, assertInvalid, type CallOptions } from '../support/http-call.ts'
import { bodyOf, openWorld, pathTo, type Route, routes, titleOf, viewOf } from '../support/http-world.ts'

const mebibyte = 1024 * 1024
const json = { 'content-type': 'application/json' }

const otherTypes = [
  'text/plain',
  'text/json',
  'application/x-www-form-urlencoded',
  'multipart/form-data; boundary=x',
  'application/jsonp',
  'application/json5',
  'application/vnd.api+json',
  'application/json; charset=iso-8859-1',
  'application/json; charset=utf-16',
  'json',
  '*/*',
  '',
]
const jsonTypes = [
  'application/json',
  'Application/JSON',
  'application/json; charset=utf-8',
  'application/json;charset="UTF-8"',
]

const notJson = [
  '{',
  '}',
  '{"name":}',
  '{"name":"x"',
  '{"name":"x"}}',
  '{"name":"x"} {}',
  '{"name":"x",}',
  "{'name':'x'}",
  '{name:"x"}',
  '{"name":"a\nb"}',
  '{"name":"\\x41"}',
  '{"name":"\\ud8"}',
  '{"name":NaN}',
  '{"name":01}',
  '[',
  '"',
  'undefined',
  'nul',
  'name=x',
  '<xml/>',
  '\0',
  ' ',
  '{"a":'.repeat(50_000),
]

const quoted = (...bytes: number[]) => Buffer.concat([Buffer.from('{"name":"'), Buffer.from(bytes), Buffer.from('"}')])
const notUtf8 = {
  'a lone continuation byte': quoted(0x80),
  'Latin-1': quoted(0xfc),
  'a character cut short': quoted(0xe2, 0x82),
  'an overlong form': quoted(0xc0, 0xaf),
  'an encoded surrogate': quoted(0xed, 0xa0, 0x80),
  'beyond Unicode': quoted(0xf4, 0x90, 0x80, 0x80),
  'UTF-16': Buffer.from('{"name":"x"}', 'utf16le'),
}

const notObjects = [
  '[]',
  '[{"name":"x"}]',
  '[9007199254740993]',
  '[{"name":1e400}]',
  '"name"',
  '""',
  'null',
  '7',
  '-0',
  '1e400',
  'true',
  'false',
  ' [ ] ',
]

/** Property names that every object inherits are unknown fields like any other. */
const unknownNames = ['unknown', '__proto__', 'constructor', 'toString', 'hasOwnProperty', 'ID', 'name ', '', '0']

/** Every other field of a contact is an attribute. */
const takesAnyField = (route: Route) =>
  ['POST /contacts', 'POST /lists/:listId/contacts', 'PUT /contacts/:contactId'].includes(titleOf(route))

/** Excludes imports, which take streams in other formats. */
const takingBodies = routes.filter(({ method, path }) => /POST|PUT|PATCH/.test(method) && !path.endsWith('/import'))

/** The routes share the code that decodes bodies. These get all requests, and each of the others gets some of them. */
const routesWithAllRequests = 3

/** Calls every route that takes a body, and checks that nothing was changed. */
async function onEveryRoute(
  open: Open,
  t: TestContext,
  requests: readonly CallOptions[],
  check: (answer: Answer, index: number) => void,
  among: readonly Route[] = takingBodies,
): Promise<void> {
  const service = await open(t)
  const world = await openWorld(service, 'mine')
  const before = await viewOf(service, world)
  for (const [n, route] of among.entries()) {
    for (const [index, request] of requests.entries()) {
      if (n >= routesWithAllRequests && (n + index) % 8 !== 0) continue
      check(await service.call(route.method, pathTo(route, world), request), index)
    }
  }
  assert.deepEqual(await viewOf(service, world), before)
}

describe('bodies', () => {
  const open = openService
  test('with a Content-Type other than JSON are 415', (t) =>
    onEveryRoute(
      open,
      t,
      [
        { raw: '{}' },
        { raw: 'x' },
        { raw: '{', headers: { 'content-type': 'text/plain' } },
        ...otherTypes.map((type) => ({ raw: '{}', headers: { 'content-type': type } })),
        { raw: '{}', headers: { ...json, 'content-encoding': 'gzip' } },
        { raw: '{}', headers: { ...json, 'transfer-encoding': 'gzip, chunked' } },
      ],
      ({ status, what }) => assert.equal(status, 415, what),
    ))

  test('that are not valid JSON, or not UTF-8, are 400', (t) =>
    onEveryRoute(
      open,
      t,
      [...notJson, ...Object.values(notUtf8)].map((raw) => ({ raw, headers: json })),
      ({ status, body, text, what }) => {
        assert.deepEqual([status, body.code], [400, 'invalid_json'], what)
        assert.doesNotMatch(text, /position|token|unexpected/i, 'the error does not show the parser’s message')
      },
    ))

  test('that are not an object are 422 on body', (t) =>
    onEveryRoute(
      open,
      t,
      [...notObjects, `${'['.repeat(100_000)}${']'.repeat(100_000)}`].map((raw) => ({ raw, headers: json })),
      (answer) => assertInvalid(answer, 'body'),
    ))

  test('with an unknown field are 422 on that field, except for contacts', (t) =>
    onEveryRoute(
      open,
      t,
      unknownNames.map((name) => ({ raw: `{${JSON.stringify(name)}:"x"}`, headers: json })),
      ({ status, body, what }, index) => {
        assert.equal(status, 422, what)
        assert.ok(Object.hasOwn(body.errors, unknownNames[index]!), what)
      },
      takingBodies.filter((route) => !takesAnyField(route)),
    ))

  test('with all required fields and an unknown field are refused for the unknown field only', async (t) => {
    const service = await open(t)
    const world = await openWorld(service, 'mine')
    const before = await viewOf(service, world)
    for (const route of takingBodies.filter((each) => !takesAnyField(each))) {
      for (const name of ['unknown', '__proto__', 'constructor']) {
        const body = Object.fromEntries([...Object.entries(bodyOf(route) ?? {}), [name, 'x']])
        assertInvalid(await service.call(route.method, pathTo(route, world), { body }), name)
      }
    }
    assert.deepEqual(await viewOf(service, world), before)
  })

  test('over 1 MiB are 413', (t) =>
    onEveryRoute(
      open,
      t,
      [1, mebibyte].map((more) => ({ raw: `{"a":${' '.repeat(mebibyte - 7 + more)}1}`, headers: json })),
      ({ status, body, what }) => assert.deepEqual([status, body.code], [413, 'body_too_large'], what),
      takingBodies.slice(0, 3),
    ))

  test('of exactly 1 MiB are accepted, and the connection stays open', async (t) => {
    const { call, data } = await open(t)
    const raw = `{"name":"x"${' '.repeat(mebibyte - 12)}}`
    assert.equal(Buffer.byteLength(raw), mebibyte)
    assert.equal((await data(201, 'POST', '/tags', { raw, headers: json })).name, 'x')
    assert.equal((await call('POST', '/tags', { raw: `${raw} `, headers: json })).status, 413)
    assert.equal((await data(200, 'GET', '/tags')).length, 1)
  })

  test('are not read before the caller is known to have the right to send one', async (t) => {
    const { call, member } = await open(t)
    const huge = { raw: ' '.repeat(mebibyte + 1), headers: json }
    for (const [status, path, options] of [
      [401, '/tags', { token: null }],
      [404, '/nothing', {}],
      [403, '/webhook-endpoints', { token: member }],
    ] as const) {
      for (const request of [huge, { raw: '{', headers: json }, { raw: 'x' }]) {
        assert.equal((await call('POST', path, { ...request, ...options })).status, status)
      }
    }
  })

  test('may use any spelling of JSON’s media type', async (t) => {
    const { data } = await open(t)
    for (const [i, type] of jsonTypes.entries()) {
      const request = { raw: `{"name":"t${i}"}`, headers: { 'content-type': type } }
      await data(201, 'POST', '/tags', request)
    }
    await data(201, 'POST', '/tags', { raw: ' \r\n\t{"name":"\\u00e9\\ud83d\\ude00"}\n', headers: json })
    assert.equal((await data(200, 'GET', '/tags')).at(-1).name, 'é😀')
  })

  test('are optional where the contract shows none, and so is their type', async (t) => {
    const service = await open(t)
    const { contactId } = await openWorld(service, 'mine')
    const path = `/contacts/${contactId}/unsubscribe`
    for (const options of [
      {},
      { headers: { 'content-type': 'text/plain' } },
      { raw: '', headers: json },
      { body: {} },
    ]) {
      await service.data(200, 'POST', path, options)
    }
  })

  test('that nest deeply are answered like any others', async (t) => {
    const service = await open(t)
    const world = await openWorld(service, 'mine')
    const deep = `${'['.repeat(100_000)}${']'.repeat(100_000)}`
    for (const name of ['a', '\\u0061']) {
      const raw = `{"${name}":${deep}}`
      assertInvalid(await service.call('PUT', `/contacts/${world.contactId}`, { raw, headers: json }), 'a')
    }
    const raw = `{"type":"newsletter.sent","data":{"a":${deep}}}`
    assertInvalid(await service.call('POST', '/events', { raw, headers: json }), 'data')
    assertInvalid(await service.call('POST', '/tags', { raw: `{"name":${deep}}`, headers: json }), 'name')
  })
})
