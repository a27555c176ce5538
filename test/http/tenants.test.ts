/** Every resource belongs to one client. The tests are generated from the table of routes. */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { request } from 'node:http'
import { test } from '../support/databases.ts'
import { overHttp, type Tenant } from '../support/harness.ts'
import { bodyOf, openWorld, paramsOf, pathTo, routes, titleOf, viewOf } from '../support/http-world.ts'

/** Routes for admins only, listed independently of the route table. */
const needsAdmin = ({ method, path }: { readonly method: string; readonly path: string }) =>
  /^\/(webhook-endpoints|deliveries|events|tokens(?!\/current)|audit-log|settings|portal-links)\b/.test(path) ||
  /^\/newsletters\/:newsletterId\/(test|send|pause|resume|cancel)$/.test(path) ||
  path === '/stats/deliveries' ||
  (method !== 'GET' && /^\/(sequences|email-identities)\b(?!.*\/preview$)/.test(path))

/** Returns all non-empty subsets. */
function someOf<T>([first, ...others]: readonly T[]): T[][] {
  if (first === undefined) return []
  return [[first], ...someOf(others).flatMap((set) => [set, [first, ...set]])]
}

overHttp('tenants', (open) => {
  test("another client's id is 404 on every route, alone and beside one's own, and changes nothing", async (t) => {
    const service = await open(t)
    const other = await service.addTenant()
    const [mine, theirs] = [await openWorld(service, 'mine'), await openWorld(other, 'theirs')]
    const before = [await viewOf(service, mine), await viewOf(other, theirs)]
    let calls = 0
    for (const route of routes) {
      for (const foreign of someOf(paramsOf(route))) {
        const ids = { ...mine, ...Object.fromEntries(foreign.map((name) => [name, theirs[name]!])) }
        const answer = await service.call(route.method, pathTo(route, ids), { body: bodyOf(route) })
        assert.equal(answer.status, 404, `${titleOf(route)} with the other client's ${foreign}: ${answer.what}`)
        assert.equal(answer.body.code, 'not_found')
        calls += 1
      }
    }
    assert.ok(calls > 25, 'routes with ids were found')
    assert.deepEqual([await viewOf(service, mine), await viewOf(other, theirs)], before)
  })

  test('bodies that one client sends slowly do not keep another client from sending its own', async (t) => {
    const service = await open(t)
    const other = await service.addTenant()
    const { hostname, port } = new URL(service.url)
    const path = '/contacts/batch'
    const slow = Array.from({ length: 64 }, () => {
      const headers = { authorization: `Bearer ${service.admin}`, 'content-type': 'application/json' }
      const length = { 'content-length': 1024 * 1024, expect: '100-continue' }
      const sent = request({
        hostname,
        port,
        path: `/api/v1${path}`,
        method: 'POST',
        headers: { ...headers, ...length },
      })
      sent.on('error', () => {}).flushHeaders()
      t.after(() => sent.destroy())
      return Promise.race([
        once(sent, 'continue').then(() => 'accepted'),
        once(sent, 'response').then(([{ statusCode }]) => statusCode),
      ])
    })
    const outcomes = await Promise.all(slow)
    assert.deepEqual(new Set(outcomes), new Set(['accepted', 503]))
    const body = { operations: [{ op: 'upsert', email: 'ada@example.org', name: 'A'.repeat(20_000) }] }
    assert.equal((await service.call('POST', path, { body })).status, 503)
    assert.equal((await other.call('POST', path, { body })).status, 200)
  })

  test("another client's id is answered like one that never existed", async (t) => {
    const service = await open(t)
    const other = await service.addTenant()
    const [mine, theirs] = [await openWorld(service, 'mine'), await openWorld(other, 'theirs')]
    for (const route of routes) {
      for (const name of paramsOf(route)) {
        const [foreign, unknown] = await Promise.all(
          [theirs[name]!, 999_999].map((id) =>
            service.call(route.method, pathTo(route, { ...mine, [name]: id }), { body: bodyOf(route) }),
          ),
        )
        assert.equal(foreign!.text, unknown!.text, titleOf(route))
      }
    }
  })

  test('listings show the client’s own records only', async (t) => {
    const service = await open(t)
    const other = await service.addTenant()
    const worlds = { mine: await openWorld(service, 'mine'), theirs: await openWorld(other, 'theirs') }
    const views = { mine: await viewOf(service, worlds.mine), theirs: await viewOf(other, worlds.theirs) }
    const text = { mine: JSON.stringify(views.mine), theirs: JSON.stringify(views.theirs) }
    for (const [own, foreign] of [
      ['mine', 'theirs'],
      ['theirs', 'mine'],
    ] as const) {
      for (const record of ['list', 'topic', 'tag', 'contact', 'endpoint']) {
        assert.ok(text[own].includes(`${record} of ${own}`) && !text[own].includes(`${record} of ${foreign}`), record)
      }
      assert.ok(text[own].includes(`@${own}.example`) && !text[own].includes(`@${foreign}.example`))
    }
  })

  test("filters with another client's ids match nothing", async (t) => {
    const service = await open(t)
    const other = await service.addTenant()
    const [mine, theirs] = [await openWorld(service, 'mine'), await openWorld(other, 'theirs')]
    for (const [filter, id] of [
      ['lists', 'listId'],
      ['tags', 'tagId'],
      ['topics', 'topicId'],
    ] as const) {
      const find = async (...ids: number[]) =>
        (await service.data(200, 'GET', '/contacts', { query: ids.map((each) => `${filter}[]=${each}`).join('&') }))
          .length
      assert.deepEqual([await find(mine[id]!), await find(theirs[id]!), await find(theirs[id]!, mine[id]!)], [1, 0, 1])
    }
    assert.deepEqual(await service.data(200, 'GET', '/contacts', { query: { email: 'theirs@example.org' } }), [])
    for (const search of ['theirs', 'theirs@example.org', `contact of ${'theirs'}`]) {
      assert.deepEqual(await service.data(200, 'GET', '/contacts', { query: { search } }), [])
    }
  })

  for (const age of ['an older', 'a newer'] as const) {
    test(`nothing that one client does changes what ${age} one sees`, async (t) => {
      const service = await open(t)
      const added = await service.addTenant()
      const [observer, other] = age === 'an older' ? [service, added] : [added, service]
      const prepare = async (tenant: Tenant, indexed: readonly string[]) => {
        await tenant.data(200, 'PUT', '/settings/attributes', { body: { indexed } })
        await tenant.data(200, 'PUT', '/settings/pages', { body: { name: indexed.join() } })
        assert.deepEqual((await tenant.data(200, 'GET', '/settings/attributes')).indexed, indexed)
        return await openWorld(tenant, 'same')
      }
      const earlier = age === 'a newer' ? await prepare(other, ['city', 'plan']) : undefined
      const mine = await prepare(observer, ['plan'])
      const active = { url: 'http://127.0.0.1:9/active', events: ['contact.created'] }
      await observer.data(201, 'POST', '/webhook-endpoints', { body: active })
      const before = await viewOf(observer, mine)
      const theirs = earlier ?? (await prepare(other, ['city', 'plan']))
      const changing = routes.filter(({ method }) => method !== 'GET')
      for (const route of changing.sort((a, b) => Number(a.method === 'DELETE') - Number(b.method === 'DELETE'))) {
        const { status, what } = await other.call(route.method, pathTo(route, theirs), { body: bodyOf(route) })
        assert.ok(status < 500, what)
      }
      assert.deepEqual(await viewOf(observer, mine), before)
      await service.mailkeep.clients.delete(other.id)
      assert.deepEqual(await viewOf(observer, mine), before)
    })
  }

  test('clients can have records with the same names and addresses', async (t) => {
    const service = await open(t)
    const other = await service.addTenant()
    for (const tenant of [service, other]) await openWorld(tenant, 'same')
    const [mine, theirs] = await Promise.all([service, other].map(({ data }) => data(200, 'GET', '/contacts')))
    assert.notEqual(mine[0].id, theirs[0].id)
    assert.notEqual(mine[0].tags[0].id, theirs[0].tags[0].id)
    await service.data(200, 'POST', `/contacts/${mine[0].id}/unsubscribe`)
    await service.data(204, 'DELETE', `/tags/${mine[0].tags[0].id}`)
    assert.deepEqual(await other.data(200, 'GET', '/contacts'), theirs)
  })

  test('one client’s events go to its own endpoints only', async (t) => {
    const service = await open(t)
    const other = await service.addTenant()
    const [mine, theirs] = [await openWorld(service, 'mine'), await openWorld(other, 'theirs')]
    const path = (id: number) => `/webhook-endpoints/${id}/deliveries`
    const before = await other.data(200, 'GET', path(theirs.endpointId!))
    await service.data(202, 'POST', '/events', { body: { type: 'newsletter.sent', data: { for: 'mine' } } })
    await service.data(200, 'POST', `/contacts/${mine.contactId}/unsubscribe`)
    assert.deepEqual(await other.data(200, 'GET', path(theirs.endpointId!)), before)
    assert.equal((await service.data(200, 'GET', path(mine.endpointId!))).length, 3)
  })

  test('a member token is refused on sending, sequences, webhooks, events, tokens, settings and the audit log, and nowhere else', async (t) => {
    const service = await open(t)
    const { call, member: token } = service
    const world = await openWorld(service, 'mine')
    const before = await viewOf(service, world)
    for (const route of routes) {
      const allowed = !needsAdmin(route)
      const missing = Object.fromEntries(paramsOf(route).map((name) => [name, 999_999]))
      for (const ids of allowed ? [missing] : [world, missing]) {
        const body = allowed && paramsOf(route).length === 0 ? {} : bodyOf(route)
        const { status, what } = await call(route.method, pathTo(route, ids), { token, body })
        const fine = route.body === 'file' ? [200, 404, 415, 422] : [200, 404, 422]
        if (allowed) assert.ok(fine.includes(status), what)
        else assert.equal(status, 403, what)
      }
    }
    assert.deepEqual(await viewOf(service, world), before)
  })

  test('a viewer token reads what a member reads, and changes nothing', async (t) => {
    const service = await open(t)
    const { call, viewer: token } = service
    const world = await openWorld(service, 'mine')
    const before = await viewOf(service, world)
    for (const route of routes) {
      const { status, body, what } = await call(route.method, pathTo(route, world), { token, body: bodyOf(route) })
      if (route.method === 'GET' && !needsAdmin(route)) {
        assert.equal(status, 200, what)
        continue
      }
      assert.deepEqual([status, body.code], [403, 'forbidden'], what)
      const role = needsAdmin(route) ? /the role admin\./ : /the role member or admin\./
      assert.match(body.message, role, titleOf(route))
    }
    assert.deepEqual(await viewOf(service, world), before)
  })

  test('tokens that are expired, revoked, or of a deleted client are refused', async (t) => {
    const { addTenant, advance, call, mailkeep } = await open(t)
    const status = async (token: string) => (await call('GET', '/tags', { token })).status
    const other = await addTenant()
    const revoked = await mailkeep.tokens.create({ clientId: other.id, role: 'admin' })
    const short = await mailkeep.tokens.create({ clientId: other.id, role: 'member', expiresInMs: 60_000 })
    assert.deepEqual(
      [await status(revoked.token), await status(short.token), await status(other.admin)],
      [200, 200, 200],
    )
    await mailkeep.tokens.revoke(revoked.id)
    assert.deepEqual([await status(revoked.token), await status(other.admin)], [401, 200])
    advance(61_000)
    assert.deepEqual([await status(short.token), await status(other.admin)], [401, 200])
    await mailkeep.clients.delete(other.id)
    assert.deepEqual([await status(other.admin), await status(other.member)], [401, 401])
    assert.equal((await call('GET', '/tags')).status, 200)
  })
})
