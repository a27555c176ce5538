/** The client of the HTTP API: typed, with retries and iteration over pages. */
import assert from 'node:assert/strict'
import { getEventListeners, once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { describe, type TestContext } from 'node:test'
import { runInNewContext } from 'node:vm'
import { build } from 'esbuild'
import type { Contact, List, Newsletter, Segment } from 'mailkeep'
import { ApiError, type Client, createClient } from 'mailkeep/client'
import { takesKey } from '../../daemon/api/idempotency.ts'
import { routes } from '../../daemon/api/routes/index.ts'
import { answeredWithContact, files, operations, withoutKey } from '../../daemon/client/operations.ts'
import { test } from '../support/databases.ts'
import { overHttp } from '../support/harness.ts'

const maxBundleBytes = 10_000

overHttp('the client', (open) => {
  test('does the work of a first session, with the types of the API', async (t) => {
    const { url, admin } = await open(t)
    const client = createClient({ baseUrl: `${url}/`, token: admin })
    const list = await client.lists.create({ name: 'News' })
    const endpoint = await client.webhooks.create({ url: 'http://127.0.0.1:9/', events: ['contact.subscribed'] })
    assert.match(endpoint.secret, /^whsec_/)
    const ada = await client.contacts.addToList(list.id, {
      email: 'ada@example.org',
      tags: ['vip'],
      company: 'Engines',
    })
    assert.equal(ada.extra_attributes.company, 'Engines')
    const changed = await client.contacts.update(ada.id, { tags: ['vip', 'beta'], company: null })
    const [tagId = 0] = changed.tags.map(({ id }) => id)
    const found = await client.contacts.list({ search: 'ada', lists: [list.id], tags: [tagId] })
    assert.deepEqual(
      found.data.map(({ email }) => email),
      ['ada@example.org'],
    )
    assert.equal((await client.contacts.count({ lists: [list.id] })).count, 1)
    const left = await client.contacts.unsubscribe(ada.id)
    assert.notEqual(left.unsubscribed_at, null)
    assert.equal(await client.contacts.delete(ada.id), undefined)
  })

  test('returns records that fit the types of the library', async (t) => {
    const { url, admin } = await open(t)
    const client = createClient({ baseUrl: url, token: admin })
    const list: List = await client.lists.create({ name: 'News', double_opt_in: true })
    const contact: Contact = await client.contacts.upsert({ email: 'ada@example.org' })
    const segment: Segment = await client.segments.create({ name: 'All', filters: { lists: [list.id] } })
    const content = { subject: 'Hello', html: '<a href="{{ unsubscribe_url }}">Unsubscribe</a>' }
    const newsletter: Newsletter = await client.newsletters.create(content)
    assert.deepEqual([list.double_opt_in, contact.id, segment.id, newsletter.status], [true, 1, 1, 'draft'])
  })

  test('needs no field that has a default', async (t) => {
    const { url, admin } = await open(t)
    const { identities, sequences, portal } = createClient({ baseUrl: url, token: admin })
    assert.equal((await identities.create({ email: 'news@example.org' })).name, '')
    const { id } = await sequences.create({ name: 'Welcome', status: 'paused' })
    assert.equal((await sequences.update(id, { name: 'Hello' })).status, 'paused')
    assert.equal((await sequences.create({ name: 'Course' })).status, 'active')
    assert.match((await portal.createLink({ role: 'webhooks' })).url, /\/portal#token=/)
  })

  test('iterates over the records of all pages', async (t) => {
    const { url, member } = await open(t)
    const { lists } = createClient({ baseUrl: url, token: member })
    for (const name of ['a', 'b', 'c', 'd', 'e']) await lists.create({ name })
    const names: string[] = []
    for await (const { name } of lists.list({ per_page: 2 })) names.push(name)
    assert.deepEqual(names.sort(), ['a', 'b', 'c', 'd', 'e'])
  })

  test('finds nothing by a filter without ids, and everyone by an exclusion without ids', async (t) => {
    const { url, member } = await open(t)
    const { contacts } = createClient({ baseUrl: url, token: member })
    await contacts.upsert({ email: 'ada@example.org' })
    for (const filter of ['lists', 'tags', 'topics', 'ids']) {
      assert.equal((await contacts.list({ [filter]: [] })).data.length, 0, filter)
      assert.equal(await (await contacts.export({ [filter]: [] })).text(), '', filter)
    }
    assert.equal((await contacts.count({ exclude_lists: [], exclude_tags: [] })).count, 1)
  })

  test('takes a Date where the API takes a time', async (t) => {
    const { url, member } = await open(t)
    const { contacts } = createClient({ baseUrl: url, token: member })
    await contacts.upsert({ email: 'ada@example.org' })
    const tomorrow = new Date(Date.now() + 86_400_000) as unknown as string
    assert.equal((await contacts.list({ created_after: tomorrow })).data.length, 0)
    assert.equal((await contacts.list({ created_before: tomorrow })).data.length, 1)
  })

  test('filters by declared attributes, and sends and receives files', async (t) => {
    const { url, admin } = await open(t)
    const client = createClient({ baseUrl: url, token: admin })
    const list = await client.lists.create({ name: 'News' })
    await client.settings.updateAttributes({ indexed: ['plan'] })
    const counts = await client.contacts.import(list.id, 'email,plan\nada@example.org,pro\nbob@example.org,free\n')
    assert.equal(counts.created, 2)
    const exported = await client.contacts.export({ format: 'csv' })
    assert.match(await exported.text(), /email.*ada@example\.org/s)
    await assert.rejects(client.contacts.list({ attributes: { town: 'x' } }), { code: 'validation_failed' })
  })

  test('throws the API’s errors with code, fields and request id', async (t) => {
    const { url, viewer } = await open(t)
    const client = createClient({ baseUrl: url, token: viewer })
    const refused = await client.tags.create({ name: 'x' }).catch((error: unknown) => error)
    assert.ok(refused instanceof ApiError)
    assert.deepEqual([refused.status, refused.code], [403, 'forbidden'])
    assert.ok(refused.requestId)
    await assert.rejects(client.contacts.list({ per_page: 0 }), (error: ApiError) => {
      assert.deepEqual(Object.keys(error.errors ?? {}), ['per_page'])
      return true
    })
    await assert.rejects(client.contacts.get(999_999), { status: 404, code: 'not_found' })
  })

  test('sends one idempotency key with all attempts of a POST', async (t) => {
    const { url, admin } = await open(t)
    const keys: (string | null)[] = []
    let failures = 1
    const flaky: typeof fetch = async (input, init) => {
      const answer = await fetch(input, init)
      keys.push(new Headers(init?.headers).get('idempotency-key'))
      // The server has processed the request, but its answer is lost.
      if (failures-- > 0) throw new TypeError('fetch failed')
      return answer
    }
    const client = createClient({ baseUrl: url, token: admin, fetch: flaky })
    const tag = await client.tags.create({ name: 'once' })
    assert.equal(keys.length, 2)
    assert.equal(keys[0], keys[1])
    const { data } = await client.tags.list()
    assert.deepEqual(
      data.map(({ id }) => id),
      [tag.id],
    )
  })
})

/** Opens a server whose answers are made by `answer`, and counts its requests. */
async function serve(t: TestContext, answer: (res: ServerResponse, count: number, req: IncomingMessage) => void) {
  let count = 0
  const server = createServer((req, res) => {
    req.resume().once('end', () => answer(res, ++count, req))
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.after(() => server.close())
  const baseUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  return { options: { baseUrl, token: 'mk_x' }, count: () => count }
}

const limited = JSON.stringify({ code: 'rate_limited', message: 'Too many.' })

describe('a request of the client', () => {
  test('is repeated after 429 and 503, and not after other errors', async (t) => {
    const server = await serve(t, (res, count) => {
      const status = [429, 503, 200][count - 1] ?? 500
      res.writeHead(status, { 'Retry-After': '0' }).end(status === 200 ? '{"data":[],"meta":{}}' : limited)
    })
    const client = createClient(server.options)
    await client.tags.list()
    assert.equal(server.count(), 3)
    await assert.rejects(async () => await client.tags.list(), { status: 500 })
    assert.equal(server.count(), 4)
  })

  test('is repeated when the connection breaks within its answer', async (t) => {
    const server = await serve(t, (res, count) => {
      res.writeHead(200, { 'Content-Length': '21' }).write('{"data":[],')
      if (count === 1) setImmediate(() => res.destroy())
      else res.end('"meta":{}}')
    })
    assert.deepEqual(await createClient(server.options).tags.list(), { data: [], meta: {} })
    assert.equal(server.count(), 2)
  })

  test('whose first attempt is still running waits for it', async (t) => {
    const conflict = JSON.stringify({ code: 'conflict', message: 'The first request is still running.' })
    const server = await serve(t, (res, count) => {
      if (count === 1) res.destroy()
      else if (count === 2) res.writeHead(409, { 'Retry-After': '0' }).end(conflict)
      else if (count === 3) res.writeHead(201).end('{"data":{"id":1}}')
      else res.writeHead(409).end(conflict)
    })
    const client = createClient(server.options)
    assert.deepEqual(await client.tags.create({ name: 'x' }), { id: 1 })
    assert.equal(server.count(), 3)
    await assert.rejects(client.tags.create({ name: 'x' }), { status: 409, code: 'conflict' }) // the first attempt
    assert.equal(server.count(), 4)
  })

  test('that deletes has done so when its answer is lost and the record is gone', async (t) => {
    const missing = JSON.stringify({ code: 'not_found', message: 'No such record.' })
    const server = await serve(t, (res, count) => {
      if (count % 2 === 1) res.destroy()
      else res.writeHead(404).end(missing)
    })
    const client = createClient(server.options)
    assert.equal(await client.tags.delete(1), undefined)
    assert.equal(server.count(), 2)
    await assert.rejects(client.contacts.removeFromList(1, 2), { code: 'not_found' }) // it would answer the contact
    const gone = await serve(t, (res) => res.writeHead(404).end(missing))
    await assert.rejects(createClient(gone.options).tags.delete(1), { code: 'not_found' })
    const proxy = await serve(t, (res, count) => (count === 1 ? res.destroy() : res.writeHead(404).end('<html>')))
    await assert.rejects(createClient(proxy.options).tags.delete(1), { message: /baseUrl/ })
  })

  test('that has no idempotency key is not repeated when its answer is lost', async (t) => {
    const server = await serve(t, (res) => res.destroy())
    const client = createClient(server.options)
    await assert.rejects(client.webhooks.rotateSecret(1), TypeError)
    assert.equal(server.count(), 1)
  })

  test('with a stream is not repeated, because its body is used up', async (t) => {
    const server = await serve(t, (res) => res.writeHead(429, { 'Retry-After': '0' }).end(limited))
    const { contacts } = createClient(server.options)
    const file = 'email\nada@example.org\n'
    await assert.rejects(contacts.import(1, new Blob([file]).stream()), { code: 'rate_limited', status: 429 })
    assert.equal(server.count(), 1)
    await assert.rejects(contacts.import(1, file), { code: 'rate_limited' })
    assert.equal(server.count(), 5)
  })

  test('waits as long as Retry-After says, and stops waiting when it is aborted', async (t) => {
    const server = await serve(t, (res) => res.writeHead(429, { 'Retry-After': '50' }).end(limited))
    const abort = new AbortController()
    const waiting = createClient(server.options).tags.create({ name: 'x' }, { signal: abort.signal })
    while (server.count() === 0) await new Promise((resolve) => setImmediate(resolve))
    abort.abort(new Error('enough'))
    await assert.rejects(waiting, { message: 'enough' })
    assert.equal(server.count(), 1)
  })

  test('is aborted after timeoutMs, also while the process allocates memory', { timeout: 20_000 }, async (t) => {
    const server = await serve(t, () => {})
    const { tags } = createClient({ ...server.options, timeoutMs: 500, retries: 0 })
    const allocating = setInterval(() => Array.from({ length: 200_000 }, (_, i) => ({ i })), 20)
    t.after(() => clearInterval(allocating))
    await assert.rejects(async () => await tags.list(), { name: 'TimeoutError' })
    assert.equal(server.count(), 1)
  })

  test('leaves nothing on a signal that is used for many calls', async (t) => {
    const server = await serve(t, (res) => res.end('{"data":[],"meta":{}}'))
    const { signal } = new AbortController()
    const { tags } = createClient(server.options)
    for (let n = 0; n < 20; n++) await tags.list({}, { signal })
    assert.equal(getEventListeners(signal, 'abort').length, 0)
  })

  test('is aborted by its signal at once', async (t) => {
    const server = await serve(t, () => {})
    const { tags, contacts } = createClient(server.options)
    const reason = new Error('enough')
    const abort = new AbortController()
    const { signal } = abort
    const calls = [tags.list({}, { signal }), tags.create({ name: 'x' }, { signal }), contacts.export({}, { signal })]
    while (server.count() < 3) await new Promise((resolve) => setImmediate(resolve))
    abort.abort(reason)
    for (const call of [...calls, tags.list({}, { signal })]) await assert.rejects(async () => await call, reason)
    assert.equal(server.count(), 3)
  })

  test('has an idempotency key also on a page over plain http, where crypto.randomUUID is missing', async (t) => {
    Object.assign(crypto, { randomUUID: undefined })
    t.after(() => Reflect.deleteProperty(crypto, 'randomUUID'))
    const keys: unknown[] = []
    const server = await serve(t, (res, _, req) => {
      keys.push(req.headers['idempotency-key'])
      res.writeHead(201).end('{"data":{"id":1}}')
    })
    const { tags } = createClient(server.options)
    for (const name of ['a', 'b']) await tags.create({ name })
    assert.equal(new Set(keys).size, 2)
    for (const key of keys) assert.match(String(key), /^[!-~]{32,255}$/)
  })

  test('gives up after the given number of retries', async (t) => {
    const server = await serve(t, (res) => res.writeHead(503).end(limited))
    await assert.rejects(async () => await createClient({ ...server.options, retries: 1 }).tags.list(), {
      code: 'rate_limited',
    })
    assert.equal(server.count(), 2)
  })

  test('is not redirected: a POST would become a GET, or its body go to another host', async (t) => {
    for (const status of [301, 302, 307]) {
      const server = await serve(t, (res) => res.writeHead(status, { Location: '/api/v1/tags' }).end())
      await assert.rejects(createClient(server.options).tags.create({ name: 'x' }), { status, message: /baseUrl/ })
      assert.equal(server.count(), 1)
    }
  })

  test('with a body that is not JSON is refused before it is sent', async (t) => {
    const server = await serve(t, (res) => res.end())
    let asked = 0
    const fetch = () => Promise.reject(new Error(`${++asked}`))
    const client = createClient({ ...server.options, fetch: fetch as never })
    await assert.rejects(client.tags.create({ name: 1n as never }), /BigInt/)
    assert.equal(asked, 0)
  })

  test('to something else than the API fails with what to check', async (t) => {
    const server = await serve(t, (res) => res.writeHead(404).end('<html>'))
    await assert.rejects(async () => await createClient(server.options).tags.list(), {
      status: 404,
      message: /baseUrl/,
    })
    const page = await serve(t, (res) => res.end('<html>'))
    await assert.rejects(async () => await createClient(page.options).tags.list(), { status: 200, message: /baseUrl/ })
    for (const text of ['null', '5', '[]', '{}', '"data"']) {
      const other = await serve(t, (res) => res.end(text))
      await assert.rejects(async () => await createClient(other.options).tags.list(), {
        status: 200,
        message: /baseUrl/,
      })
    }
    const notOfApi = ['{"error":"blocked"}', '"x"', '[]', 'null', '{"message":"Not Found"}', '{"code":7,"message":{}}']
    for (const text of notOfApi) {
      const proxy = await serve(t, (res) => res.writeHead(403).end(text))
      const refused = { status: 403, code: 'internal', message: /baseUrl/ }
      await assert.rejects(async () => await createClient(proxy.options).tags.list(), refused)
    }
  })
})

describe('a mistake of the client’s caller', () => {
  /** Returns a client whose requests are counted, and never sent. */
  function unsent() {
    let count = 0
    const fetch = () => Promise.reject(new Error(`request ${++count}`))
    const client = createClient({ baseUrl: 'https://mail.example.org', token: 'mk_x', fetch: fetch as never })
    return { client, count: () => count }
  }

  test('in an option is refused when the client is created', () => {
    const options = { baseUrl: 'https://mail.example.org/mail/', token: 'mk_x' }
    createClient({ ...options, retries: undefined as never, timeoutMs: 1, fetch })
    const wrong: Readonly<Record<string, readonly unknown[]>> = {
      baseUrl: [
        ...['mail.example.org', 'ftp://mail.example.org', 'https://mail.example.org?a=1', 'https://user:pass@host'],
        ...['https://host ', 'https://host\n', ' https://host', new URL('https://host'), 5, undefined],
      ],
      token: ['', 'mk_x\n', 'mk_é', 5, undefined],
      retries: [-1, 1.5, Number.NaN, '3', null],
      timeoutMs: [Number.NaN, -1, 0, 1.5, Number.POSITIVE_INFINITY, 2 ** 31, '5', null],
      fetch: [5, null],
    }
    for (const [name, values] of Object.entries(wrong)) {
      const refused = { name: 'TypeError', message: new RegExp(`^${name} must be `) }
      for (const value of values) assert.throws(() => createClient({ ...options, [name]: value }), refused)
    }
    const unknown = { name: 'TypeError', message: /no timeout here\. Known: baseUrl, .*timeoutMs/ }
    assert.throws(() => createClient({ ...options, timeout: 5 } as never), unknown)
    for (const value of [undefined, null, 5]) assert.throws(() => createClient(value as never), /baseUrl/)
  })

  test('in a filter rejects the call, which would find everyone without it', async () => {
    const { client, count } = unsent()
    const wrong: readonly (readonly [query: unknown, message: RegExp])[] = [
      [{ ids: new Set([1]) }, /^ids must/],
      [{ ids: new Map() }, /^ids must/],
      [{ ids: [null] }, /^ids must/],
      [{ attributes: {} }, /^attributes must not be empty/],
      [{ attributes: { plan: undefined } }, /^attributes\.plan must/],
      [{ attributes: Promise.resolve({ plan: 'pro' }) }, /^attributes must/],
      [{ search: null }, /^search must/],
      [{ search: Symbol('x') }, /^search must/],
      ...[5, 'x', null, [1], new Map()].map((query) => [query, /^The query must be an object/] as const),
    ]
    for (const [query, message] of wrong) {
      const refused = { name: 'TypeError', message }
      await assert.rejects(client.contacts.list(query as never), refused)
      await assert.rejects(client.contacts.export(query as never), refused)
      await assert.rejects(client.contacts.delete(1, undefined, { query: query as never }), refused)
    }
    assert.equal(count(), 0)
  })

  test('in an id, an idempotency key or a signal rejects the call before it is sent', async () => {
    const { client, count } = unsent()
    const { contacts, tags } = client
    await assert.rejects(contacts.get('7' as never), /^TypeError: contactId must be the id/)
    await assert.rejects(contacts.import(undefined as never, 'email\n'), /^TypeError: listId must be the id/)
    for (const idempotencyKey of ['Bestellung-№5', 'a\nb', 'a b', '', 'x'.repeat(256)]) {
      await assert.rejects(
        tags.create({ name: 'x' }, { idempotencyKey }),
        /^TypeError: idempotencyKey must be 1 to 255/,
      )
    }
    for (const signal of [5, {}]) {
      await assert.rejects(
        tags.create({ name: 'x' }, { signal: signal as never }),
        /^TypeError: signal must be an Abort/,
      )
    }
    assert.equal(count(), 0)
  })

  test('in the options of a call rejects it before it is sent', async () => {
    const { client, count } = unsent()
    const { contacts, tags } = client
    const calls: readonly (readonly [known: RegExp, call: (options: never) => Promise<unknown>])[] = [
      [/Known: signal, idempotencyKey\.$/, async (options) => await tags.list({}, options)],
      [/Known: signal, idempotencyKey\.$/, (options) => contacts.export({}, options)],
      [/Known: signal, idempotencyKey, query\.$/, (options) => tags.create({ name: 'x' }, options)],
      [/Known: signal, idempotencyKey, query\.$/, (options) => contacts.delete(1, undefined, options)],
      [/Known: signal, idempotencyKey, query, format\.$/, (options) => contacts.import(1, 'email\n', options)],
      [/Known: signal, idempotencyKey, query, format\.$/, (options) => contacts.restore('email\n', options)],
    ]
    for (const [known, call] of calls) {
      for (const name of ['dry_run', 'idempotency_key', 'formats']) {
        const refused = call({ [name]: true } as never)
        await assert.rejects(refused, { name: 'TypeError', message: new RegExp(`^There is no ${name} here`) })
        await assert.rejects(call({ [name]: true } as never), { message: known })
      }
      for (const options of [null, 5, 'x', []]) {
        await assert.rejects(call(options as never), { name: 'TypeError', message: /^The options must be an object/ })
      }
    }
    await assert.rejects(async () => await tags.list({}, { query: {} } as never), /^TypeError: There is no query here/)
    for (const format of ['CSV', 'tsv', null, 5]) {
      await assert.rejects(contacts.import(1, 'email\n', { format: format as never }), /^TypeError: format must be/)
    }
    for (const file of [undefined, null, 5, {}, new Map()]) {
      await assert.rejects(contacts.import(1, file as never), /^TypeError: file must be/)
    }
    assert.equal(count(), 0)
  })
})

describe('the client’s methods', () => {
  const named = (path: string) => path.replace(/:(\w+)/g, '{$1}')
  const all = [...Object.values(operations).flatMap((methods) => Object.values(methods)), ...Object.values(files)]

  test('are the routes of the API, each once', () => {
    const described = routes.map(({ method, path }) => `${method} ${named(path)}`)
    assert.deepEqual([...all].sort(), described.sort())
  })

  test('send an idempotency key where the API takes one', () => {
    const without = routes.filter((route) => route.method === 'POST' && !takesKey(route))
    assert.deepEqual(
      [...withoutKey, files.import, files.restore].sort(),
      without.map(({ path }) => `POST ${named(path)}`).sort(),
    )
  })

  test('take no body where the route has none: the API would ignore it', () => {
    // @ts-expect-error: `suppress` is a parameter of the query
    const mistaken = ({ contacts }: Client) => contacts.delete(1, { suppress: true })
    const right = ({ contacts }: Client) => contacts.delete(1, undefined, { query: { suppress: true } })
    assert.deepEqual([mistaken.length, right.length], [1, 1])
  })

  test('that delete a record have no answer', () => {
    const answered = routes.filter(({ method, answers }) => method === 'DELETE' && !(204 in answers))
    assert.deepEqual([...answeredWithContact].sort(), answered.map(({ path }) => `DELETE ${named(path)}`).sort())
  })

  const bundle = async (format: 'esm' | 'cjs') => {
    const entry = join(import.meta.dirname, '../../daemon/client/index.ts')
    const options = { bundle: true, format, platform: 'browser', minify: true, write: false } as const
    const { outputFiles } = await build({ entryPoints: [entry], ...options })
    return outputFiles[0]!
  }

  test('fit into 10 KB for a browser, without modules of Node', async () => {
    const { contents } = await bundle('esm')
    assert.ok(contents.length < maxBundleBytes, `${contents.length} bytes`)
  })

  test('work where jsdom hides the streams of Node, and take files of another realm', async () => {
    const module: { exports: { createClient?: typeof createClient } } = { exports: {} }
    const hosts = { URL, URLSearchParams, AbortController, crypto, setTimeout, clearTimeout }
    runInNewContext((await bundle('cjs')).text, { module, ...hosts })
    const sent: unknown[] = []
    const fetch = async (_: unknown, init?: RequestInit) => {
      sent.push(init?.body)
      return Response.json({ data: { created: 1 } })
    }
    const client = module.exports.createClient!({ baseUrl: 'http://localhost', token: 'mk_x', fetch })
    const files = ['email\n', new Blob(['email\n']), new Response('email\n').body!]
    for (const file of files) assert.equal((await client.contacts.import(1, file)).created, 1)
    assert.deepEqual(sent, files)
  })
})
