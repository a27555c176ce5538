/** Idempotency keys over HTTP. */
import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { describe } from 'node:test'
import { CapturingTransport } from '../../lib/testing/mail.ts'
import { test } from '../support/databases.ts'
import { needsClock, type Open, openService, overHttp } from '../support/harness.ts'
import { type Answer, assertInvalid, type CallOptions } from '../support/http-call.ts'
import { eventTypes } from '../support/http-shapes.ts'
import { bodyOf, openWorld, pathTo, routes, titleOf } from '../support/http-world.ts'
import { openHook } from './hook.ts'

const hourMs = 3_600_000

const keyed = (key: string, more: CallOptions = {}): CallOptions => ({
  ...more,
  headers: { ...more.headers, 'idempotency-key': key },
})

function assertReplays({ status, text, headers, what }: Answer, first: Answer): void {
  assert.deepEqual([status, text], [first.status, first.text], what)
  assert.equal(first.headers['idempotency-replayed'], undefined, first.what)
  assert.equal(headers['idempotency-replayed'], 'true', what)
  assert.notEqual(headers['x-request-id'], first.headers['x-request-id'])
}

function assertDone({ status, headers, what }: Answer, expected: number): void {
  assert.equal(status, expected, what)
  assert.equal(headers['idempotency-replayed'], undefined, what)
}

function assertCode({ status, body, what }: Answer, expected: number, code: string): void {
  assert.deepEqual([status, body.code], [expected, code], what)
}

async function openList(open: Open, t: Parameters<Open>[0], options?: Parameters<Open>[1]) {
  const service = await open(t, options)
  const { id } = await service.data(201, 'POST', '/lists', { body: { name: 'list' } })
  return { ...service, path: `/lists/${id}/contacts` }
}

const ada = { email: 'ada@example.org', name: 'Ada', tags: ['vip'], company: 'Engines' }

overHttp('a request with an idempotency key', (open) => {
  test('is executed once: repeats get the first answer, byte for byte', async (t) => {
    const { call, data, deliveries } = await openHook(open, t)
    const { id } = await data(201, 'POST', '/lists', { body: { name: 'list' } })
    const send = () => call('POST', `/lists/${id}/contacts`, keyed('k', { body: ada }))
    const first = await send()
    assertDone(first, 201)
    await data(200, 'PUT', `/contacts/${first.body.data.id}`, { body: { name: 'Countess' } })
    for (let n = 0; n < 3; n++) assertReplays(await send(), first)
    assert.equal((await data(200, 'GET', '/contacts')).length, 1)
    assert.equal((await data(200, 'GET', '/contacts'))[0].name, 'Countess')
    assert.equal((await deliveries()).length, 1)
  })

  test('is accepted by every POST that supports one', async (t) => {
    const service = await open(t)
    const world = await openWorld(service, 'mine')
    const endpoint = `/webhook-endpoints/${world.endpointId}`
    await service.data(200, 'PATCH', endpoint, { body: { active: true } })
    const all = routes.filter(({ method, key }) => method === 'POST' && key !== 'none')
    // A merge deletes the contact that the others need.
    const posts = [
      ...all.filter(({ name }) => name !== 'mergeContact'),
      ...all.filter(({ name }) => name === 'mergeContact'),
    ]
    assert.ok(posts.length >= 9)
    for (const route of posts) {
      const send = () =>
        service.call('POST', pathTo(route, world), keyed(titleOf(route).replace(' ', '-'), { body: bodyOf(route) }))
      const first = await send()
      assert.ok(first.status < 300, first.what)
      assertReplays(await send(), first)
    }
  })

  test('sends the test of a newsletter once, also when it is repeated while it runs', async (t) => {
    const transport = new CapturingTransport(Date.now)
    const service = await open(t, { mail: { transport } })
    const { newsletterId } = await openWorld(service, 'mine')
    const path = `/newsletters/${newsletterId}/test`
    const send = (email: string) => service.call('POST', path, keyed('k', { body: { emails: [email] } }))
    const answers = await Promise.all(Array.from({ length: 10 }, () => send('ada@example.org')))
    const first = answers.find(({ status, headers }) => status === 200 && !headers['idempotency-replayed'])!
    for (const answer of answers.filter((one) => one !== first)) {
      if (answer.status === 409) assertCode(answer, 409, 'conflict')
      else assertReplays(answer, first)
    }
    assertReplays(await send('ada@example.org'), first)
    assertCode(await send('grace@example.org'), 422, 'idempotency_mismatch')
    assert.deepEqual(
      transport.captured.map(({ to }) => to.email),
      ['ada@example.org'],
    )
  })

  test('is separate for each client, also while the test of a newsletter is sent', async (t) => {
    const transport = new CapturingTransport(Date.now)
    const service = await open(t, { mail: { transport } })
    const other = await service.addTenant()
    const send = async (tenant: typeof other, email: string) => {
      const { newsletterId } = await openWorld(tenant, 'mine')
      return tenant.call('POST', `/newsletters/${newsletterId}/test`, keyed('k', { body: { emails: [email] } }))
    }
    const answers: number[] = []
    transport.reply = async ({ to }) => {
      if (to.email === 'ada@example.org') answers.push((await send(other, 'grace@example.org')).status)
      return 'sent' as const
    }
    answers.push((await send(service, 'ada@example.org')).status)
    assert.deepEqual(answers, [200, 200])
  })

  test('is refused as a mismatch with another body or another path, and not executed', async (t) => {
    const { call, data, path } = await openList(open, t)
    const first = await call('POST', path, keyed('k', { body: ada }))
    const other = await call('POST', path, keyed('k', { body: { ...ada, name: 'Grace' } }))
    assertCode(other, 422, 'idempotency_mismatch')
    assertCode(await call('POST', '/tags', keyed('k', { body: ada })), 422, 'idempotency_mismatch')
    assertCode(await call('POST', '/tags', keyed('k', { body: { name: 'x' } })), 422, 'idempotency_mismatch')
    assertCode(await call('POST', path, keyed('k')), 422, 'idempotency_mismatch')
    assert.equal((await data(200, 'GET', '/contacts'))[0].name, 'Ada')
    const { name, ...rest } = ada
    assertReplays(await call('POST', path, keyed('k', { body: { ...rest, name } })), first)
    const spaced = { 'content-type': 'application/json' }
    const raw = JSON.stringify(ada, null, 2)
    assertReplays(await call('POST', path, keyed('k', { raw, headers: spaced })), first)
  })

  test('is executed once when sent many times in parallel; the others get its answer, or 409 while it runs', async (t) => {
    const { call, data, deliveries } = await openHook(open, t)
    const { id } = await data(201, 'POST', '/lists', { body: { name: 'list' } })
    const send = () => call('POST', `/lists/${id}/contacts`, keyed('k', { body: ada }))
    const answers = await Promise.all(Array.from({ length: 30 }, send))
    const done = answers.filter(({ status, headers }) => status === 201 && !headers['idempotency-replayed'])
    assert.equal(done.length, 1)
    for (const answer of answers.filter((one) => one !== done[0])) {
      if (answer.status === 409) assertCode(answer, 409, 'conflict')
      else assertReplays(answer, done[0]!)
    }
    assertReplays(await send(), done[0]!)
    assert.equal((await deliveries()).length, 1)
  })

  test('that fails stores no key: a retry is executed', async (t) => {
    const { call, data, path } = await openList(open, t)
    assertCode(await call('POST', '/lists/999/contacts', keyed('k', { body: ada })), 404, 'not_found')
    assertInvalid(await call('POST', path, keyed('k', { body: { ...ada, age: 7 } })), 'age')
    assertDone(await call('POST', path, keyed('k', { body: ada })), 201)
    await data(201, 'POST', '/tags', { body: { name: 'taken' } })
    assertInvalid(await call('POST', '/tags', keyed('t', { body: { name: 'taken' } })), 'name')
    const [{ id }] = (await data(200, 'GET', '/tags')).filter(({ name }: { name: string }) => name === 'taken')
    await data(204, 'DELETE', `/tags/${id}`)
    assertDone(await call('POST', '/tags', keyed('t', { body: { name: 'taken' } })), 201)
  })

  test('is stored for 24 hours and no longer', needsClock, async (t) => {
    const { advance, call, path } = await openList(open, t, { dispatch: false })
    const send = () => call('POST', path, keyed('k', { body: ada }))
    const first = await send()
    advance(24 * hourMs - 60_000)
    assertReplays(await send(), first)
    assertCode(await call('POST', path, keyed('k')), 422, 'idempotency_mismatch')
    advance(60_000)
    const again = await send()
    assertDone(again, 200)
    assertReplays(await send(), again)
  })

  test('returns no data of an erased contact: the request is executed again', async (t) => {
    const { call, data, path } = await openList(open, t)
    const { id, email } = await data(201, 'POST', path, keyed('k', { body: ada }))
    const one = (what: string) => call('POST', `/contacts/${id}/${what}`, keyed(what))
    for (const what of ['unsubscribe', 'resubscribe']) {
      const first = await one(what)
      assertReplays(await one(what), first)
    }
    await data(204, 'DELETE', `/contacts/${id}`)
    for (const what of ['unsubscribe', 'resubscribe']) assertCode(await one(what), 404, 'not_found')
    const again = await call('POST', path, keyed('k', { body: { ...ada, name: 'Someone else' } }))
    assertDone(again, 201)
    assert.notEqual(again.body.data.id, id)
    assert.deepEqual([again.body.data.email, again.body.data.name], [email, 'Someone else'])
  })

  test('returns no suppression that shows the address of an erased contact', async (t) => {
    const { call, data, path } = await openList(open, t)
    const { id } = await data(201, 'POST', path, { body: ada })
    const suppress = () => call('POST', '/suppressions', keyed('s', { body: { email: ada.email.toUpperCase() } }))
    const first = await suppress()
    assertReplays(await suppress(), first)
    await data(204, 'DELETE', `/contacts/${id}`)
    const again = await suppress()
    assertDone(again, 201)
    assert.notEqual(again.body.data.id, first.body.data.id)
  })

  test('belongs to its client alone, whichever token is used', async (t) => {
    const { addTenant, call, member, path } = await openList(open, t)
    const first = await call('POST', path, keyed('k', { body: ada }))
    assertReplays(await call('POST', path, keyed('k', { body: ada, token: member })), first)
    const other = await addTenant()
    const { id } = await other.data(201, 'POST', '/lists', keyed('k', { body: { name: 'list' } }))
    assertDone(await other.call('POST', `/lists/${id}/contacts`, keyed('l', { body: ada })), 201)
    assertCode(await other.call('POST', path, keyed('m', { body: ada })), 404, 'not_found')
    assertReplays(await call('POST', path, keyed('k', { body: ada })), first)
  })

  test('is not stored where the answer is a secret: these routes ignore the key', async (t) => {
    const { call } = await open(t)
    const body = { url: 'http://127.0.0.1:9/', events: eventTypes }
    const [one, two] = [
      await call('POST', '/webhook-endpoints', keyed('k', { body })),
      await call('POST', '/webhook-endpoints', keyed('k', { body })),
    ]
    for (const each of [one, two]) assertDone(each!, 201)
    assert.notEqual(one!.body.data.id, two!.body.data.id)
    const rotate = () => call('POST', `/webhook-endpoints/${one!.body.data.id}/secret`, keyed('k'))
    const [first, second] = [await rotate(), await rotate()]
    for (const each of [first, second]) assertDone(each!, 200)
    assert.notEqual(first!.body.data.secret, second!.body.data.secret)
    assertDone(await call('POST', '/tags', keyed('k', { body: { name: 'free' } })), 201)
  })
})

describe('an idempotency key', () => {
  test('has 1–255 visible ASCII characters', async (t) => {
    const { call, data } = await openService(t)
    const name = { name: 'tag' }
    for (const bad of ['', ' ', 'a b', 'é', 'a\tb', 'x'.repeat(256)]) {
      assertInvalid(await call('POST', '/tags', keyed(bad, { body: name })), 'Idempotency-Key')
    }
    const twice = { 'idempotency-key': ['a', 'b'] }
    assertInvalid(await call('POST', '/tags', { body: name, headers: twice }), 'Idempotency-Key')
    assert.deepEqual(await data(200, 'GET', '/tags'), [])
    for (const good of ['x', '~'.repeat(255), '"8e03978e-40d5-43dd-bc93-6894a57f9324"', "';--", '__proto__']) {
      assertDone(await call('POST', '/tags', keyed(good, { body: { name: good.slice(0, 9) } })), 201)
    }
  })

  test('is checked after all other conditions', async (t) => {
    const { call, member } = await openService(t)
    const bad = (more: CallOptions = {}) => keyed('', more)
    assert.equal((await call('POST', '/tags', bad({ token: null }))).status, 401)
    assert.equal((await call('POST', '/nothing', bad())).status, 404)
    assert.equal((await call('POST', '/contacts/export', bad())).status, 405)
    assert.equal((await call('POST', '/events', bad({ token: member }))).status, 403)
    const plain = { 'content-type': 'text/plain' }
    assert.equal((await call('POST', '/tags', bad({ raw: 'x', headers: plain }))).status, 415)
    const type = { 'content-type': 'application/json' }
    assert.equal((await call('POST', '/tags', bad({ raw: '{', headers: type }))).status, 400)
  })

  test('applies to POST only', async (t) => {
    const { call, data } = await openService(t)
    const { id } = await data(201, 'POST', '/tags', keyed('k', { body: { name: 'tag' } }))
    for (const key of ['k', '']) {
      assertDone(await call('GET', '/tags', keyed(key)), 200)
      assertDone(await call('PATCH', `/tags/${id}`, keyed(key, { body: { name: `new ${key}` } })), 200)
    }
    assertDone(await call('DELETE', `/tags/${id}`, keyed('k')), 204)
    assertDone(await call('GET', '/tags', keyed('k')), 200)
  })

  test('is accepted by every POST except these, which the README names', async () => {
    const without = routes.filter(({ key }) => key === 'none').map(titleOf)
    const readme = await readFile(new URL('../../daemon/api/README.md', import.meta.url), 'utf8')
    const section = /^## Idempotency keys$(.*?)^## /ms.exec(readme)?.[1] ?? ''
    for (const title of without) {
      const path = title.replace('POST ', '').replace(/:(\w+)/g, '{$1}')
      assert.ok(section.includes(`\`${path}\``), `the README does not say that ${path} takes no key`)
    }
    assert.deepEqual(without.sort(), [
      'POST /contacts/import',
      'POST /lists/:listId/contacts/import',
      'POST /webhook-endpoints',
      'POST /webhook-endpoints/:endpointId/secret',
    ])
  })

  test('does not prevent the refusal of a body that is nested too deeply', async (t) => {
    const { call } = await openService(t)
    const raw = `{"type":"newsletter.sent","data":${'['.repeat(200_000)}${']'.repeat(200_000)}}`
    const headers = { 'content-type': 'application/json' }
    assert.equal((await call('POST', '/events', keyed('k', { raw, headers }))).status, 422)
    assert.equal((await call('POST', '/events', { raw, headers })).status, 422)
  })
})
