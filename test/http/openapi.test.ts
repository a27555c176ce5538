/** The content of /api/v1/openapi.json. http-description.ts checks answers and webhooks against it in every test. */
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { Validator } from '@seriousme/openapi-schema-validator'
import { createApi } from '../../daemon/api/index.ts'
import { chapters } from '../../daemon/api/routes/index.ts'
import { listen } from '../../daemon/http/server.ts'
import { errorCodes, eventTypes, version } from '../../lib/index.ts'
import { testMailkeep } from '../../lib/testing.ts'
import { withBody } from '../support/api-request.ts'
import { openService } from '../support/harness.ts'
import {
  assertDescribed,
  assertExamplesFit,
  assertSchemasAreSound,
  bodiesWithExamples,
  type Description,
  description,
  descriptionIn,
  type Operation,
  type Response,
} from '../support/http-description.ts'
import { bodyOf, openWorld, pathTo, type Route, routes, titleOf } from '../support/http-world.ts'
import { assertFaster, onDemand } from '../support/timing.ts'

type Options = Omit<Parameters<typeof createApi>[0], 'mailkeep'>

async function describedBy(options: Options, request: object = {}): Promise<Description> {
  await using kit = await testMailkeep()
  const { answer } = createApi({ mailkeep: kit.mailkeep, ...options })
  const target = '/api/v1/openapi.json'
  const headers = { host: 'api.example:6245' }
  const answered = await answer({ method: 'GET', target, headers, ...withBody(), ...request })
  return descriptionIn(answered)
}

const pathOf = (route: Route) => `/api/v1${route.path.replace(/:(\w+)/g, '{$1}')}`
const operationOf = (route: Route) => description.paths[pathOf(route)]![route.method.toLowerCase()]!
const operations = Object.values(description.paths).flatMap((path) => Object.values(path))
const metrics = { contentType: 'text/plain', render: async () => '' }

/** Returns the statuses in the description of an operation, except the server's own errors. */
function statusesOf({ responses }: Operation): number[] {
  return Object.keys(responses).flatMap((status) => (status === 'default' ? [] : [Number(status)]))
}

/** The operations of the API contract. It calls the id of an endpoint just `id`. */
const contractOperations = [
  'GET /tags',
  'POST /tags',
  'PATCH /tags/{tagId}',
  'DELETE /tags/{tagId}',
  'GET /contacts',
  'GET /contacts/{contactId}',
  'POST /lists/{listId}/contacts',
  'PUT /contacts/{contactId}',
  'POST /contacts/{contactId}/unsubscribe',
  'DELETE /lists/{listId}/contacts/{contactId}',
  'GET /webhook-endpoints',
  'POST /webhook-endpoints',
  'PATCH /webhook-endpoints/{endpointId}',
  'DELETE /webhook-endpoints/{endpointId}',
  'GET /webhook-endpoints/{endpointId}/deliveries',
  'POST /webhook-endpoints/{endpointId}/test',
  'POST /webhook-endpoints/{endpointId}/secret',
  'GET /email-identities',
  'GET /email-identities/{emailIdentityId}',
]

describe('the description of the API', () => {
  test('is valid OpenAPI 3.1', async () => {
    for (const each of [description, await describedBy({ authenticate: () => null, mounted: true })]) {
      assert.equal(each.openapi, '3.1.0')
      assert.deepEqual(await new Validator().validate({ ...each }), { valid: true })
    }
    assert.equal(description.info.version, version)
  })

  test('uses only keywords that exist, and references that resolve', () => {
    assertSchemasAreSound()
    const text = JSON.stringify(description)
    const { components } = description
    for (const kind of ['schemas', 'headers'] as const) {
      for (const name of Object.keys(components[kind])) {
        assert.ok(text.includes(`{"$ref":"#/components/${kind}/${name}"}`), `nothing refers to ${kind} ${name}`)
      }
    }
    for (const [, pointer] of text.matchAll(/\{"\$ref":"#\/([^"]+)"\}/g)) {
      const place = pointer!
        .split('/')
        .reduce((at, name) => (at as Record<string, object>)[name]!, description as object)
      assert.ok(place, `there is no ${pointer}`)
    }
  })

  test('describes every route and every page, and nothing else', () => {
    const described = Object.entries(description.paths).flatMap(([path, methods]) =>
      Object.keys(methods).map((method) => `${method.toUpperCase()} ${path}`),
    )
    const pages = ['/api/v1/openapi.json', '/healthz', '/readyz', '/metrics'].map((path) => `GET ${path}`)
    const known = [...routes.map((route) => `${route.method} ${pathOf(route)}`), ...pages]
    assert.deepEqual(described.sort(), known.sort())
  })

  test('states the role that each operation needs, and marks extensions of the contract', () => {
    const tags = new Set(description.tags.map(({ name }) => name))
    const extensions = chapters.filter(({ isExtension }) => isExtension).flatMap((chapter) => chapter.routes)
    for (const route of routes) {
      const { 'x-role': role, 'x-extension': beyond = false, tags: used } = operationOf(route)
      assert.deepEqual([role, beyond], [route.role, extensions.includes(route)], titleOf(route))
      assert.ok(
        used.every((tag) => tags.has(tag) && tag.startsWith('Extensions: ') === beyond),
        titleOf(route),
      )
    }
  })

  test('marks everything that the contract does not have as an extension', () => {
    const unmarked = Object.entries(description.paths).flatMap(([path, methods]) =>
      Object.entries(methods).flatMap(([method, operation]) =>
        path.startsWith('/api/v1/') && !operation['x-extension'] ? [`${method.toUpperCase()} ${path.slice(7)}`] : [],
      ),
    )
    assert.deepEqual(unmarked.sort(), contractOperations.toSorted())
  })

  test('gives each operation a unique name', () => {
    const all = [...operations, ...Object.values(description.webhooks).map(({ post }) => post)]
    const names = all.map(({ operationId }) => operationId)
    assert.equal(new Set(names).size, names.length)
    for (const name of names) assert.match(name, /^[a-z][A-Za-z]+$/)
  })

  test('gives each operation a summary and a description', () => {
    for (const { operationId, summary, description: text } of operations) {
      assert.ok(summary.length > 0 && text.length > 0, operationId)
    }
  })

  test('has a webhook for each event type', () => {
    assert.deepEqual(Object.keys(description.webhooks), eventTypes)
  })

  test('has a valid example for every body of requests and answers', () => {
    assertExamplesFit()
  })

  test('has an example of every error code, with the status of that code', () => {
    const examples = bodiesWithExamples().flatMap(({ examples }) => examples) as { code?: string; errors?: object }[]
    for (const code of errorCodes)
      assert.ok(
        examples.some((each) => each.code === code),
        code,
      )
    for (const { code, errors } of examples) {
      if (code === 'validation_failed') assert.ok(Object.keys(errors ?? {}).length > 0)
    }
  })

  test('has examples of wrong fields that the operation has', () => {
    const general = ['status', 'dry_run', 'tag', 'active', 'topic_id', 'body']
    for (const route of routes) {
      const { responses, parameters = [], requestBody } = operationOf(route)
      const content = (responses['422'] as Response).content!['application/json']!
      const example = (content.example ?? content.examples!.validation_failed!.value) as { errors: object }
      const body = requestBody?.content['application/json'] as { example: object } | undefined
      const named = (body?.example as { $ref?: string }) ?? {}
      const known = [...parameters.map(({ name }) => name), ...Object.keys(named), ...general, 'name', 'email']
      for (const field of Object.keys(example.errors)) assert.ok(known.includes(field), `${titleOf(route)}: ${field}`)
    }
  })

  test('requires a token except for its own pages', async () => {
    assert.deepEqual(description.security, [{ token: [] }])
    for (const route of routes) assert.equal(operationOf(route).security, undefined)
    for (const page of ['/api/v1/openapi.json', '/healthz', '/readyz', '/metrics']) {
      assert.deepEqual(description.paths[page]!.get!.security, [], page)
    }
    const guarded = await describedBy({ metrics: { ...metrics, token: 'open sesame' } })
    assert.deepEqual(guarded.paths['/metrics']!.get!.security, [{ metricsToken: [] }])
    assert.ok('401' in guarded.paths['/metrics']!.get!.responses)
    assert.doesNotMatch(JSON.stringify(guarded), /sesame/)
  })

  test('omits pages that are not served', async () => {
    const pagesOf = ({ paths }: Description) => Object.keys(paths).filter((path) => !path.startsWith('/api/v1/'))
    assert.deepEqual(pagesOf(await describedBy({ metrics })), ['/healthz', '/readyz', '/metrics'])
    assert.deepEqual(pagesOf(await describedBy({})), ['/healthz', '/readyz'])
    assert.deepEqual(pagesOf(await describedBy({ mounted: true })), [])
    const hosted = await describedBy({ authenticate: () => null })
    assert.deepEqual([hosted.security, hosted.components.securitySchemes], [undefined, undefined])
  })

  test('names the server by the URL that the client uses', async () => {
    const urlFor = async (options: Options, request: object = {}) =>
      (await describedBy(options, request)).servers[0]!.url
    assert.equal(await urlFor({}), 'http://api.example:6245')
    assert.equal(await urlFor({}, { secure: true, prefix: '/mail' }), 'https://api.example:6245/mail')
    assert.equal(await urlFor({}, { headers: { host: '"><script>' } }), 'http://localhost')
    assert.equal(await urlFor({ publicUrl: 'https://app.example/mail/' }, { prefix: '/x' }), 'https://app.example/mail')
    await using kit = await testMailkeep()
    const api = createApi({ mailkeep: kit.mailkeep })
    for (const host of ['a.example', 'b.example']) {
      const request = { method: 'GET', target: '/api/v1/openapi.json', headers: { host } }
      const answered = await api.answer({ ...request, ...withBody() })
      assert.deepEqual(descriptionIn(answered).servers, [{ url: `http://${host}` }])
    }
  })
})

describe('GET /api/v1/openapi.json', () => {
  test('costs little more than any other answer, because it needs no token', onDemand, async () => {
    await using kit = await testMailkeep()
    const { answer } = createApi({ mailkeep: kit.mailkeep })
    const request = { method: 'HEAD', target: '/api/v1/openapi.json', headers: { host: 'a.example' }, ...withBody() }
    const ask = () => answer(request)
    await ask()
    const startedMs = performance.now()
    for (let at = 0; at < 1000; at++) await ask()
    assertFaster(performance.now() - startedMs, 200, 'a thousand answers')
  })

  test('takes nothing from the budget of responses, because it needs no token', async (t) => {
    await using kit = await testMailkeep()
    const { surfaces } = createApi({ mailkeep: kit.mailkeep })
    const logger = { debug() {}, info() {}, warn() {}, error() {} }
    const limits = { answersBytes: 2 ** 16 }
    const server = await listen({ surfaces, logger, host: '127.0.0.1', port: 0, limits })
    t.after(() => server.close(0))
    const response = await fetch(`${server.url}/api/v1/openapi.json`)
    assert.equal(response.status, 200)
    const text = await response.text()
    assert.equal(response.headers.get('content-length'), String(Buffer.byteLength(text)))
    assert.deepEqual(JSON.parse(text).servers, [{ url: server.url }])
  })

  test('needs no token, answers HEAD too, and 405 to other methods', async (t) => {
    const { call, url } = await openService(t)
    for (const options of [{ token: null }, { token: 'mk_unknown' }, {}]) {
      const { status, body } = await call('GET', '/openapi.json', options)
      assert.deepEqual([status, body.servers], [200, [{ url }]])
    }
    const get = await call('GET', '/openapi.json')
    const head = await call('HEAD', '/openapi.json', { token: null })
    assert.deepEqual([head.status, head.headers['content-length']], [200, get.headers['content-length']])
    for (const method of ['POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS']) {
      const { status, headers } = await call(method, '/openapi.json', { token: null })
      assert.deepEqual([status, headers.allow], [405, 'GET, HEAD'])
    }
    for (const path of ['/openapi.json/', '/openapi', '/OpenAPI.json', '//api%2Fv1/openapi.json', '//openapi.json']) {
      assert.ok([401, 404].includes((await call('GET', path, { token: null })).status), path)
    }
  })

  test('also describes the service pages correctly', async (t) => {
    const { call } = await openService(t)
    for (const path of ['//healthz', '//readyz']) assert.equal((await call('GET', path, { token: null })).status, 200)
    for (const path of ['//healthz', '//readyz']) assert.equal((await call('POST', path, { token: null })).status, 405)
  })
})

describe('the description', () => {
  const open = openService

  test('has every success that happens, and each of them happens', async (t) => {
    const service = await open(t, { dispatch: false })
    const world = await openWorld(service, 'mine')
    const merged = await openWorld(service, 'merged') // a merge deletes its contact
    const happened = new Map(routes.map((route) => [route, new Set<number>()]))
    const seen = async (route: Route) => {
      const body = bodyOf(route)
      const named = body && 'name' in body ? { ...body, name: titleOf(route) } : body
      const ids = route.name === 'mergeContact' ? merged : world
      const { status } = await service.call(route.method, pathTo(route, ids), { body: named })
      happened.get(route)!.add(status)
    }
    // The endpoint must be enabled first, and records that other paths need are deleted last.
    const order = ['PATCH', 'PUT', 'GET', 'POST', 'DELETE']
    const ordered = [...routes].sort((a, b) => order.indexOf(a.method) - order.indexOf(b.method))
    for (const route of ordered.filter(({ method }) => method !== 'DELETE')) {
      await seen(route)
      if (['200', '201'].every((status) => status in operationOf(route).responses)) await seen(route)
    }
    const deletes = ordered.filter(({ method }) => method === 'DELETE')
    for (const route of deletes.sort((a, b) => b.path.length - a.path.length)) await seen(route)
    for (const [route, statuses] of happened) {
      const good = statusesOf(operationOf(route)).filter((status) => status < 300)
      assert.deepEqual([...statuses].sort(), good, titleOf(route))
    }
  })

  test('has every error that happens, and each of them happens', async (t) => {
    const service = await open(t, { publicUrl: 'https://mail.example.org' })
    const world = await openWorld(service, 'mine')
    const { url } = await service.client.portal.createLink({ role: 'webhooks' })
    const scoped = [world, { token: url.slice(url.indexOf('mkp_')) }] as const
    const missing = Object.fromEntries(Object.keys(world).map((name) => [name, 999_999]))
    const json = { 'content-type': 'application/json' }
    const csv = { 'content-type': 'text/csv' }
    const badFiles = [
      [missing, {}],
      [world, { token: null }],
      [world, { token: service.viewer }],
      [world, { raw: 'email\n"', headers: csv }],
      [world, { raw: 'name\nAda\n', headers: csv }],
      [world, { raw: '{}', headers: json }],
    ] as const
    const bad = [
      [missing, {}],
      [world, { token: null }],
      [world, { token: service.viewer, raw: '[]', headers: json }],
      [world, { raw: '[]', headers: json }],
      [world, { raw: '{', headers: json }],
      [world, { raw: ' '.repeat(1_100_000), headers: json }],
      [world, { raw: '<x/>', headers: { 'content-type': 'text/xml' } }],
    ] as const
    const unknown = [world, { query: 'unknown=1' }] as const
    const noSegment = [world, { query: 'segment=999999' }] as const
    for (const route of routes) {
      const bySegment = route.query && 'segment' in route.query ? [noSegment] : []
      const answers = await Promise.all(
        [...(route.body === 'file' ? badFiles : bad), unknown, scoped, ...bySegment].map(([ids, options]) =>
          service.call(route.method, pathTo(route, route.method === 'DELETE' ? missing : ids), {
            body: bodyOf(route),
            ...options,
          }),
        ),
      )
      const statuses = new Set(answers.map(({ status }) => status).filter((status) => status >= 400))
      // Excludes statuses that need another request at the same time, or many requests.
      const described = statusesOf(operationOf(route)).filter((status) => status >= 400 && status < 500)
      const common = described.filter((status) => status !== 409 && status !== 429)
      assert.deepEqual([...statuses].sort(), common, titleOf(route))
    }
  })

  test('has the limits that are applied', async (t) => {
    const first = await open(t)
    const other = await first.addTenant()
    const worlds = [await openWorld(first, 'mine'), await openWorld(other, 'other')] as const
    for (const route of routes) {
      // The other client does not have the addresses of the trials before.
      const isOther = route.name === 'changeContactEmail'
      const [service, world] = isOther ? ([other, worlds[1]] as const) : ([first, worlds[0]] as const)
      const { requestBody } = operationOf(route)
      const name = /[^/]+$/.exec(
        (requestBody?.content['application/json']?.schema as { $ref?: string })?.$ref ?? '',
      )?.[0]
      if (!name) continue
      let contacts = 0
      const fieldsOf = async (fields: object) => {
        // Uses a new contact each time, because its tags and attributes would add up.
        const isNew = ['POST /lists/:listId/contacts', 'POST /contacts'].includes(titleOf(route))
        const fresh = { email: `new${contacts++}@example.org` }
        const ids = route.name.endsWith('tagContact')
          ? { ...world, contactId: (await service.client.contacts.upsert(fresh)).contact.id }
          : world
        const body = { ...bodyOf(route), ...(isNew && fresh), ...fields }
        const answer = await service.call(route.method, pathTo(route, ids), { body })
        return answer.status === 422 ? Object.keys(answer.body.errors) : []
      }
      for (const [fields, wrong] of trials(description.components.schemas[name] as Limits)) {
        const found = await fieldsOf(fields)
        const field = Object.keys(fields)[0]!
        if (field.endsWith('_id') && !wrong) continue // there is no such record
        const isRefused = found.some((each) => each === field || each.startsWith(`${field}.`) || each === 'body')
        assert.equal(isRefused, wrong, `${titleOf(route)} ${JSON.stringify(fields).slice(0, 100)}: ${found}`)
      }
    }
  })
})

interface Limits {
  readonly maxLength?: number
  readonly minLength?: number
  readonly maxItems?: number
  readonly minItems?: number
  readonly minimum?: number
  readonly type?: string | readonly string[]
  readonly format?: string
  readonly pattern?: string
  readonly enum?: readonly string[]
  readonly items?: Limits
  readonly properties?: Readonly<Record<string, Limits>>
  readonly required?: readonly string[]
  readonly additionalProperties?: boolean | Limits
  readonly patternProperties?: Readonly<Record<string, Limits>>
  readonly propertyNames?: { readonly maxLength: number; readonly not?: { readonly const: string } }
  readonly maxProperties?: number
}

/** Yields fields at a limit and beyond it, and whether they are wrong. */
function* trials({
  properties = {},
  required = [],
  additionalProperties,
  ...bounds
}: Limits): Generator<[object, boolean]> {
  for (const [name, limits] of Object.entries(properties)) {
    yield [{ [name]: undefined }, required.includes(name)]
    for (const [value, wrong] of values(limits)) yield [{ [name]: value }, wrong]
  }
  if (additionalProperties === false) yield [{ unknown: 'x' }, true]
  const { patternProperties = {}, propertyNames, maxProperties } = bounds
  for (const [pattern, limits] of Object.entries(patternProperties)) {
    assert.match('unknown', new RegExp(pattern))
    for (const [value, wrong] of values(limits)) yield [{ unknown: value }, wrong]
    yield [{ unknown: ['x'] }, true]
  }
  if (propertyNames?.not) yield [{ [propertyNames.not.const]: 'ada@example.org' }, true]
  if (propertyNames) yield [{ ['n'.repeat(propertyNames.maxLength)]: 'x' }, false]
  if (propertyNames) yield [{ ['n'.repeat(propertyNames.maxLength + 1)]: 'x' }, true]
  if (maxProperties)
    yield [Object.fromEntries(Array.from({ length: maxProperties + 1 }, (_, at) => [`n${at}`, null])), true]
}

function* values(limits: Limits): Generator<[unknown, boolean]> {
  const types = [limits.type].flat()
  for (const [type, value] of [
    ['null', null],
    ['integer', Math.max(7, limits.minimum ?? 0)],
    ['boolean', true],
  ] as const) {
    yield [value, !types.includes(type)]
  }
  const { maxLength, minLength, maxItems, minItems, items, enum: words } = limits
  if (maxLength !== undefined) {
    yield [textOf(limits, maxLength), false]
    yield [textOf(limits, maxLength + 1), true]
  }
  if (minLength) yield ['', true]
  if (words) for (const word of [...words, 'unknown']) yield [word, word === 'unknown']
  if (maxItems === undefined) return
  const many = (count: number) =>
    Array.from({ length: count }, (_, at) => items?.enum?.[0] ?? (items?.format ? `t${at}@example.org` : `t${at}`))
  const needsFields = items?.required !== undefined && items.required.length > 1
  if (!needsFields) yield [many(maxItems), false]
  yield [many(maxItems + 1), true]
  if (minItems) yield [[], true]
}

/** Counter for names that must be unique. */
let made = 0

/** Returns a text of this length that is valid except for its length. */
function textOf({ format, description, pattern }: Limits & { description?: string }, length: number): string {
  if (pattern === 'unsubscribe_url') return '{{ unsubscribe_url }}'.padEnd(length, 'a')
  if (description?.includes('https')) return `https://example.com/${'a'.repeat(length - 20)}`
  if (format !== 'idn-email') return `${++made} `.padEnd(length, 'a')
  const domain = `${`${'d'.repeat(60)}.`.repeat(3)}example`
  return `${'a'.repeat(length - domain.length - 1)}@${domain}`
}

describe('checking answers against the description', () => {
  const exchange = {
    method: 'GET',
    target: '/api/v1/tags/1?x',
    status: 200,
    headers: { 'x-request-id': 'a', 'cache-control': 'no-store', 'content-type': 'application/json; charset=utf-8' },
    what: 'an exchange',
  }
  const tag = {
    id: 1,
    uuid: '0b9c7c3e-7e0a-4d7e-8a43-1f1f8a6f1f2d',
    name: 'a',
    created_at: '2026-01-02T03:04:05.678901Z',
  }
  const patched = (data: object) => ({
    ...exchange,
    method: 'PATCH',
    payload: '{"name":"a"}',
    text: JSON.stringify({ data }),
  })

  test('accepts what is described', () => assertDescribed(patched(tag)))

  const wrong: Readonly<Record<string, Parameters<typeof assertDescribed>[0]>> = {
    'an additional field': patched({ ...tag, secret: 'x' }),
    'a missing field': patched({ ...tag, name: undefined }),
    'a field of another type': patched({ ...tag, id: '1' }),
    'another time format': patched({ ...tag, created_at: '2026-01-02T03:04:05Z' }),
    'another status': { ...patched(tag), status: 201 },
    'another method': { ...exchange, text: '{}' },
    'another path': { ...exchange, target: '/api/v1/labels', text: '{}' },
    'a missing header': { ...patched(tag), headers: { ...exchange.headers, 'x-request-id': undefined as never } },
    'an additional header': { ...patched(tag), headers: { ...exchange.headers, 'retry-after': '1' } },
    'another type': { ...patched(tag), headers: { ...exchange.headers, 'content-type': 'text/html' } },
    'a body that should have been refused': { ...patched(tag), payload: '{"name":"a","color":"red"}' },
    'an error with another status': { ...patched(tag), status: 404, text: '{"message":"x","code":"forbidden"}' },
  }
  for (const [what, each] of Object.entries(wrong)) {
    test(`rejects ${what}`, () => assert.throws(() => assertDescribed(each), assert.AssertionError))
  }
})
