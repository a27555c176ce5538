import assert from 'node:assert/strict'
import { once } from 'node:events'
import { Agent, get, type IncomingMessage, request } from 'node:http'
import { describe, type TestContext, test } from 'node:test'
import { runInNewContext } from 'node:vm'
import { gzipSync } from 'node:zlib'
import express from 'express'
import fastify from 'fastify'
import { isMailkeepError, MailkeepError } from 'mailkeep'
import { createContactPages, createFetchHandler, createHandler } from 'mailkeep/http'
import { testMailkeep } from 'mailkeep/testing'
import { createApi } from '../../daemon/api/index.ts'
import { hosts, listen, type OpenHost } from './mounts.ts'

const json = { 'Content-Type': 'application/json' }

/** Opens a kit with a token, a logger that keeps errors, and a host with the API mounted. */
async function mounted(t: TestContext, open: OpenHost, prefix = '', options: object = {}) {
  const kit = await testMailkeep()
  t.after(() => kit.close())
  const errors: object[] = []
  const logger = { error: (fields: object) => void errors.push(fields) }
  const origin = await open(t, { mailkeep: kit.mailkeep, logger, ...options }, prefix)
  const { token } = await kit.mailkeep.tokens.create({ clientId: kit.clientId, role: 'admin' })
  const authorization = `Bearer ${token}`
  const call = (method: string, path: string, body?: unknown, headers: Record<string, string> = {}) =>
    fetch(`${origin}${prefix}/api/v1${path}`, {
      method,
      headers: { authorization, ...(body === undefined ? {} : json), ...headers },
      ...(body === undefined ? {} : { body: typeof body === 'string' ? body : JSON.stringify(body) }),
    })
  return { kit, origin, errors, authorization, call }
}

for (const [name, open] of Object.entries(hosts)) {
  describe(`mounted in ${name}`, () => {
    test('answers like the daemon', async (t) => {
      const { kit, call, errors } = await mounted(t, open)
      const created = await call('POST', '/lists', { name: 'Größe' })
      assert.equal(created.status, 201)
      assert.ok(created.headers.get('x-request-id'))
      const { data: list } = (await created.json()) as { data: { id: number; name: string } }
      assert.equal(list.name, 'Größe')
      const input = { email: 'ada@example.org', tags: ['vip'], company: 'Engines' }
      assert.equal((await call('POST', `/lists/${list.id}/contacts`, input)).status, 201)
      assert.equal((await call('POST', `/lists/${list.id}/contacts`, input)).status, 200)
      const { data } = await kit.client.contacts.list()
      assert.deepEqual(
        data.map(({ email, extra_attributes }) => [email, extra_attributes]),
        [['ada@example.org', { company: 'Engines' }]],
      )
      assert.equal((await call('POST', `/contacts/${data[0]!.id}/unsubscribe`)).status, 200)
      assert.equal((await call('DELETE', `/contacts/${data[0]!.id}`)).status, 204)
      assert.equal((await call('HEAD', '/lists')).status, 200)
      assert.deepEqual(errors, [])
    })

    // Such hosts parse every body as JSON themselves.
    if (!/API route|body parser/.test(name)) {
      test('imports and exports files like the daemon', async (t) => {
        const { kit, call, errors } = await mounted(t, open)
        const list = await kit.client.lists.create({ name: 'News' })
        const rows = Array.from({ length: 300 }, (_, n) => `p${n}@example.org,Größe ${n}`)
        const file = `email,name\n${rows.join('\n')}\n`
        const imported = await call('POST', `/lists/${list.id}/contacts/import`, file, { 'Content-Type': 'text/csv' })
        const text = await imported.text()
        assert.equal(imported.status, 200, text)
        assert.equal(JSON.parse(text).data.created, 300)
        const exported = await call('GET', '/contacts/export')
        const lines = (await exported.text()).trimEnd().split('\n')
        assert.deepEqual([lines.length, JSON.parse(lines[299]!).name], [300, 'Größe 299'])
        assert.equal((await call('HEAD', '/contacts/export')).status, 200)
        const broken = await call('POST', `/lists/${list.id}/contacts/import`, 'x', { 'Content-Type': 'text/plain' })
        assert.equal(broken.status, 415)
        assert.deepEqual(errors, [])
      })
    }

    test('answers errors in the API’s format', async (t) => {
      const { call, origin, errors } = await mounted(t, open)
      const shown = async (answer: Response) => [answer.status, ((await answer.json()) as { code: string }).code]
      assert.deepEqual(await shown(await fetch(`${origin}/api/v1/tags`)), [401, 'unauthenticated'])
      assert.deepEqual(await shown(await call('POST', '/lists', { nome: 'News' })), [422, 'validation_failed'])
      assert.deepEqual(await shown(await call('GET', '/lists/99')), [404, 'not_found'])
      assert.deepEqual(await shown(await call('PUT', '/lists')), [405, 'method_not_allowed'])
      assert.deepEqual(errors, [])
    })

    test('below a prefix uses it in links, and does not affect the host’s own pages', async (t) => {
      const { call, origin, authorization } = await mounted(t, open, '/in/mail')
      const answer = await call('GET', '/tags?per_page=5')
      const { meta } = (await answer.json()) as { meta: { path: string; per_page: number } }
      assert.equal(meta.path, `${origin}/in/mail/api/v1/tags`)
      assert.equal(meta.per_page, 5)
      const description = await fetch(`${origin}/in/mail/api/v1/openapi.json`)
      const { servers } = (await description.json()) as { servers: { url: string }[] }
      assert.deepEqual(servers, [{ url: `${origin}/in/mail` }])
      assert.equal(await (await fetch(`${origin}/hello`)).text(), 'hello')
      const outside = await fetch(`${origin}/api/v1/tags`, { headers: { authorization } })
      assert.equal(outside.status, 404)
      assert.match(await outside.text(), /the host knows no such page/)
    })
  })
}

describe('a mounted API', () => {
  const onExpress = hosts['Express 5']!

  test('takes the raw body of a parser in another realm, as tests with jsdom have it', async (t) => {
    const { call, kit } = await mounted(t, (t, options) => {
      const handler = createHandler(options)
      return listen(t, async (req, res) => {
        const chunks: Buffer[] = []
        for await (const chunk of req) chunks.push(chunk)
        const body = runInNewContext(`new Uint8Array([${Buffer.concat(chunks).join()}])`)
        await handler(Object.assign(req, { body }), res)
      })
    })
    assert.equal((await call('POST', '/lists', { name: 'News' })).status, 201)
    assert.equal((await kit.client.lists.list()).data[0]?.name, 'News')
  })

  test('passes on requests below /api/v1 for paths that it does not know', async (t) => {
    const { origin } = await mounted(t, onExpress)
    const answer = await fetch(`${origin}/api/v1/orders`)
    assert.deepEqual([answer.status, await answer.text()], [404, 'the host knows no such page'])
  })

  test('answers unknown paths itself where the host passes no next', async (t) => {
    const { call } = await mounted(t, (t, options) => listen(t, createHandler(options)))
    assert.equal((await call('GET', '/orders')).status, 404)
  })

  test('authenticates through the host, with the host’s own request', async (t) => {
    const kit = await testMailkeep()
    t.after(() => kit.close())
    const users: Record<string, () => unknown> = {
      ada: () => ({ clientId: kit.clientId, role: 'admin' }),
      bob: () => ({ clientId: kit.clientId, role: 'member' }),
      mad: () => ({ clientId: 0, role: 'member' }),
      odd: () => ({ clientId: kit.clientId, role: 'member', tokenId: 'x' }),
      all: () => ({ clientId: kit.clientId, role: 'member', scope: 'all' }),
      off: () => {
        throw new MailkeepError('forbidden', 'Your account is closed.')
      },
      ill: () => {
        throw new MailkeepError('internal', 'The password of the session store is wrong.')
      },
    }
    const app = express()
    app.use((req, _res, next) => {
      req.app.locals = { user: req.headers.cookie }
      next()
    })
    const errors: object[] = []
    const authenticate = async (req: express.Request) => users[req.app.locals.user as string]?.() as never
    const logger = { error: (fields: object) => void errors.push(fields) }
    app.use(createHandler({ mailkeep: kit.mailkeep, authenticate, logger }))
    const origin = await listen(t, app)
    const statusFor = async (cookie: string, path: string) =>
      (await fetch(`${origin}/api/v1${path}`, { headers: { cookie } })).status
    assert.equal(await statusFor('ada', '/webhook-endpoints'), 200)
    assert.equal(await statusFor('bob', '/webhook-endpoints'), 403)
    assert.equal(await statusFor('bob', '/tags'), 200)
    assert.equal(await statusFor('eve', '/tags'), 401)
    assert.equal(await statusFor('off', '/tags'), 403)
    assert.deepEqual(errors, [])
    for (const user of ['mad', 'odd', 'all', 'ill']) assert.equal(await statusFor(user, '/tags'), 500, user)
    assert.equal(errors.length, 4)
    assert.doesNotMatch(await (await fetch(`${origin}/api/v1/tags`, { headers: { cookie: 'ill' } })).text(), /password/)
  })

  test('without a logger logs an unexpected error to the Mailkeep’s own logger', async (t) => {
    const said: string[] = []
    const note = (fields: object, message: string) => void said.push(`${message} ${JSON.stringify(fields)}`)
    const kit = await testMailkeep({ logger: { debug() {}, info() {}, warn() {}, error: note } })
    t.after(() => kit.close())
    const authenticate = () => {
      throw new Error('the session store is down')
    }
    const origin = await listen(t, createHandler({ mailkeep: kit.mailkeep, authenticate }))
    assert.equal((await fetch(`${origin}/api/v1/tags`)).status, 500)
    assert.match(said.join(), /^request failed .*the session store is down/)
    const handler = createFetchHandler({ mailkeep: kit.mailkeep, authenticate })
    assert.equal((await handler(new Request('https://app.example/api/v1/tags'))).status, 500)
    assert.equal(said.length, 2)
  })

  test('logs an unexpected error to the console when there is no logger', async (t) => {
    const kit = await testMailkeep()
    t.after(() => kit.close())
    const error = t.mock.method(console, 'error', () => {})
    const authenticate = () => {
      throw new Error('the session store is down')
    }
    const handler = createFetchHandler({ mailkeep: kit.mailkeep, authenticate })
    const answer = await handler(new Request('https://app.example/api/v1/tags', { headers: { 'X-Request-Id': 'r1' } }))
    assert.equal(answer.status, 500)
    assert.equal(error.mock.callCount(), 1)
    const [message, fields] = error.mock.calls[0]!.arguments as [string, { requestId: string; stack: string }]
    assert.equal(message, 'mailkeep: request failed')
    assert.deepEqual([fields.requestId, /the session store is down/.test(fields.stack)], ['r1', true])
    const silent = createFetchHandler({ mailkeep: kit.mailkeep, authenticate, logger: { error: () => {} } })
    await silent(new Request('https://app.example/api/v1/tags'))
    assert.equal(error.mock.callCount(), 1)
  })

  test('refuses a value that is not a Mailkeep immediately, and says what to do', async (t) => {
    const kit = await testMailkeep()
    t.after(() => kit.close())
    const { mailkeep } = kit
    for (const wrong of [Promise.resolve(mailkeep), {}, undefined, null, 5, 'x', kit, mailkeep.forClient(1)]) {
      for (const make of [createHandler, createFetchHandler, createApi]) {
        assert.throws(
          () => make({ mailkeep: wrong as never }),
          (error) =>
            isMailkeepError(error, 'validation_failed') && /await createMailkeep\(…\) first/.test(error.message),
        )
      }
    }
    assert.throws(() => createHandler(undefined as never), isMailkeepError)
  })

  test('refuses wrong options immediately, and names them', async (t) => {
    const { mailkeep, close } = await testMailkeep()
    t.after(close)
    const wrong: readonly object[] = [
      { prefix: 'mail' }, // without a slash no path would match
      { prefix: true },
      ...['/a?b', '/a#b', '/a b', '/größe'].map((prefix) => ({ prefix })), // a request's path has them encoded
      ...[5, 'x', '/mail', 'ftp://host', 'https://host?a', 'https://host/?', 'https://host/#', 'https://user@host'].map(
        (publicUrl) => ({ publicUrl }),
      ),
      { authenticate: 'ada' },
      { bodyBytes: Number.NaN }, // would not limit bodies
      ...['1048576', 1.5, -1, Number.POSITIVE_INFINITY].map((bodyBytes) => ({ bodyBytes })),
      { logger: {} },
      { logger: { info() {} } },
    ]
    for (const options of wrong) {
      const [name] = Object.keys(options)
      for (const make of [createHandler, createFetchHandler]) {
        assert.throws(
          () => make({ mailkeep, ...options }),
          (error) => isMailkeepError(error, 'validation_failed') && error.issues[0]?.path === name,
          JSON.stringify(options),
        )
      }
    }
    assert.throws(() => createContactPages({ mailkeep, prefix: 'mail' }), isMailkeepError)
    assert.throws(() => createContactPages({ mailkeep, trustProxy: 'yes' as never }), isMailkeepError)
    assert.ok(createHandler({ mailkeep, prefix: '', bodyBytes: undefined as never }))
  })

  test('passes a Web request to the host’s authentication, too', async (t) => {
    const kit = await testMailkeep()
    t.after(() => kit.close())
    const handler = createFetchHandler({
      mailkeep: kit.mailkeep,
      authenticate: (request) =>
        request.headers.get('cookie') === 'ada' ? { clientId: kit.clientId, role: 'admin' } : undefined,
    })
    const call = (cookie: string, body: string) =>
      handler(new Request('https://app.example/api/v1/lists', { method: 'POST', headers: { cookie, ...json }, body }))
    assert.equal((await call('ada', '{"name":"News"}')).status, 201)
    assert.equal((await call('ada', '{"name":')).status, 400)
    assert.equal((await call('ada', 'x'.repeat(1024 * 1024 + 1))).status, 413)
    assert.equal((await call('eve', '{"name":"News"}')).status, 401)
    const request = new Request('https://app.example/api/v1/lists', { headers: { cookie: 'ada' } })
    const { meta } = (await (await handler(request)).json()) as { meta: { path: string } }
    assert.equal(meta.path, 'https://app.example/api/v1/lists')
  })

  test('builds https links if the host reports https, and uses the public URL if there is one', async (t) => {
    const trusting: OpenHost = (t, options) => {
      const app = express().set('trust proxy', true)
      app.use(createHandler(options))
      return listen(t, app)
    }
    const pathOf = async (options: object) => {
      const { call } = await mounted(t, trusting, '', options)
      const answer = await call('GET', '/tags', undefined, { 'X-Forwarded-Proto': 'https' })
      return ((await answer.json()) as { meta: { path: string } }).meta.path
    }
    assert.match(await pathOf({}), /^https:\/\/127\.0\.0\.1:\d+\/api\/v1\/tags$/)
    assert.equal(await pathOf({ publicUrl: 'https://app.example/mail/' }), 'https://app.example/mail/api/v1/tags')
  })

  test('accepts a body that the host has decompressed', async (t) => {
    const { origin, authorization } = await mounted(t, hosts['Express 5 after express.json()']!)
    const answer = await fetch(`${origin}/api/v1/lists`, {
      method: 'POST',
      headers: { authorization, ...json, 'Content-Encoding': 'gzip' },
      body: gzipSync('{"name":"News"}'),
    })
    assert.equal(answer.status, 201)
  })

  test('applies the size limit to every body, whether host or API read it', async (t) => {
    for (const name of ['Express 5', 'Express 5 after express.json()', 'Koa after a body parser', 'Hono']) {
      const { call } = await mounted(t, hosts[name]!, '', { bodyBytes: 1000 })
      assert.equal((await call('POST', '/lists', { name: 'x'.repeat(1000) })).status, 413, name)
      assert.equal((await call('POST', '/lists', { name: 'x'.repeat(100) })).status, 201, name)
    }
  })

  test('keeps the connection usable after an answer that did not read the whole body', async (t) => {
    for (const name of ['Hono', 'Express 5', 'Koa', 'node:http']) {
      const { origin, authorization } = await mounted(t, hosts[name]!)
      const agent = new Agent({ keepAlive: true, maxSockets: 1 })
      t.after(() => agent.destroy())
      const status = async (method: string, path: string, bytes: number): Promise<number> => {
        const headers = { authorization, 'content-type': 'application/json', 'content-length': bytes }
        const req = request(`${origin}/api/v1${path}`, { agent, method, headers })
        req.end(Buffer.alloc(bytes, 0x20))
        const [res] = await once(req, 'response')
        for await (const _ of res);
        return res.statusCode
      }
      for (const bytes of [1.2e6, 3e6]) {
        assert.equal(await status('POST', '/tags', bytes), 413, name)
        assert.equal(await status('GET', '/tags', 0), 200, `${name} after 413`)
      }
      assert.equal(await status('POST', '/tags/none', 1e6), 404, name)
      assert.equal(await status('GET', '/tags', 0), 200, `${name} after 404`)
    }
  })

  test('keeps names such as __proto__ through the host’s parser', async (t) => {
    const { call, kit } = await mounted(t, hosts['Express 5 after express.json()']!)
    const { id } = await kit.list()
    const body = '{"email":"ada@example.org","__proto__":"a","constructor":"b"}'
    assert.equal((await call('POST', `/lists/${id}/contacts`, body)).status, 201)
    const { extra_attributes } = (await kit.client.contacts.list()).data[0]!
    assert.deepEqual(Object.entries(extra_attributes).sort(), [
      ['__proto__', 'a'],
      ['constructor', 'b'],
    ])
  })

  test('takes a JSON text for a text, also where the host parses JSON', async (t) => {
    const names = ['Fastify', 'Koa after a body parser', 'an API route of Next.js', 'Express 5 after express.text()']
    const parsesTexts: OpenHost = (t, options) => {
      const app = express()
      app.use(express.json({ strict: false }), createHandler(options))
      return listen(t, app)
    }
    for (const open of [...names.map((name) => hosts[name]!), parsesTexts]) {
      const { call } = await mounted(t, open)
      for (const text of ['x', '{"name":"News"}', '']) {
        const answer = await call('POST', '/lists', JSON.stringify(text))
        assert.equal(answer.status, 422, `${text}: ${await answer.text()}`)
      }
      assert.equal((await call('POST', '/lists', ' {"name":"\\u0041 \\"é\\""} ')).status, 201)
    }
  })

  test('logs an error when the host has read the body and not kept it', async (t) => {
    const wasteful: OpenHost = (t, options) => {
      const handler = createHandler(options)
      return listen(t, async (req: IncomingMessage, res) => {
        for await (const _ of req);
        await handler(req, res)
      })
    }
    const { call, errors } = await mounted(t, wasteful)
    assert.equal((await call('POST', '/lists', { name: 'News' })).status, 500)
    assert.match(JSON.stringify(errors), /neither as req\.body nor as req\.rawBody/)
  })

  test('accepts an absolute URL as the request’s target', async (t) => {
    const { origin, authorization } = await mounted(t, (t, options) => listen(t, createHandler(options)))
    const { hostname, port } = new URL(origin)
    const path = 'http://mail.example/api/v1/tags'
    const answer = await new Promise<IncomingMessage>((resolve) => {
      get({ hostname, port, path, headers: { authorization } }, resolve)
    })
    const { meta } = JSON.parse((await answer.setEncoding('utf8').toArray()).join(''))
    assert.equal(meta.path, path)
  })

  test('accepts an absolute URL below a prefix, too', async (t) => {
    const { origin, authorization } = await mounted(t, (t, options) =>
      listen(t, createHandler({ ...options, prefix: '/mail' })),
    )
    const { hostname, port } = new URL(origin)
    const path = 'http://mail.example/mail/api/v1/tags'
    const answer = await new Promise<IncomingMessage>((resolve) => {
      get({ hostname, port, path, headers: { authorization } }, resolve)
    })
    const { meta } = JSON.parse((await answer.setEncoding('utf8').toArray()).join(''))
    assert.equal(meta.path, path)
  })

  /** A fetch handler whose callers are admins, and the fields of the errors that it logs, as JSON. */
  async function openLogged(t: TestContext) {
    const kit = await testMailkeep()
    t.after(() => kit.close())
    const errors: string[] = []
    const logger = { error: (fields: object) => void errors.push(JSON.stringify(fields)) }
    const authenticate = () => ({ clientId: kit.clientId, role: 'admin' }) as const
    const handler = createFetchHandler({ mailkeep: kit.mailkeep, logger, authenticate })
    return { handler, errors }
  }

  test('logs an error when the host has read, or is reading, the body of a Web request', async (t) => {
    const { handler, errors } = await openLogged(t)
    for (const read of [(request: Request) => request.text(), (request: Request) => request.body!.getReader()]) {
      const body = '{"name":"News"}'
      const request = new Request('https://app.example/api/v1/lists', { method: 'POST', headers: json, body })
      await read(request)
      assert.equal((await handler(request)).status, 500)
      assert.match(errors.pop()!, /hand in request\.clone\(\)/)
    }
  })

  test('logs an error when the body of a Web request has chunks that are not bytes', async (t) => {
    const { handler, errors } = await openLogged(t)
    for (const chunk of ['{"name":"News"}', new ArrayBuffer(2)]) {
      const body = ReadableStream.from([chunk]) as never
      const request = new Request('https://app.example/api/v1/lists', {
        ...{ method: 'POST', headers: json, body, duplex: 'half' },
      })
      assert.equal((await handler(request)).status, 500)
      assert.match(errors.pop()!, /TypeError/)
    }
  })

  test('answers errors that its logger cannot log', async (t) => {
    const kit = await testMailkeep()
    t.after(() => kit.close())
    const broken = () => {
      throw new Error('broken')
    }
    const rejecting = async () => broken()
    const shown = t.mock.method(console, 'error', () => {})
    for (const [n, error] of [broken, rejecting].entries()) {
      const handler = createFetchHandler({ mailkeep: kit.mailkeep, logger: { error }, authenticate: broken })
      assert.equal((await handler(new Request('https://app.example/api/v1/tags'))).status, 500)
      assert.equal(shown.mock.callCount(), n + 1)
    }
  })
})

describe('mounted in Fastify', () => {
  test('answers requests that Fastify injects without a socket', async () => {
    await using kit = await testMailkeep()
    const app = fastify()
    app.all(
      '/api/v1/*',
      createHandler({ mailkeep: kit.mailkeep, authenticate: () => ({ clientId: kit.clientId, role: 'admin' }) }),
    )
    const { statusCode, body } = await app.inject({ method: 'POST', url: '/api/v1/lists', payload: { name: 'News' } })
    assert.equal(statusCode, 201)
    assert.equal(JSON.parse(body).data.name, 'News')
    await app.close()
  })

  test('passes requests outside the API to Fastify', async () => {
    await using kit = await testMailkeep()
    const app = fastify()
    app.setNotFoundHandler((_request, reply) => void reply.code(404).send('not here'))
    app.all('/api/v1/*', createHandler({ mailkeep: kit.mailkeep }))
    assert.equal((await app.inject('/api/v1/orders')).body, 'not here')
    await app.close()
  })
})
