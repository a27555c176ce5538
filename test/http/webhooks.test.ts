/** Webhook endpoints: shapes, rules, secrets, and test deliveries. */
import assert from 'node:assert/strict'
import { Webhook } from 'standardwebhooks'
import { test } from '../support/databases.ts'
import { overHttp } from '../support/harness.ts'
import { assertInvalid } from '../support/http-call.ts'
import {
  assertShape,
  changedEndpoint,
  endpoint,
  eventTypes,
  meta,
  newEndpoint,
  newSecret,
  offset,
  queuedTest,
} from '../support/http-shapes.ts'
import { assertSigned, openHook } from './hook.ts'

const url = 'http://127.0.0.1:9/hook'
const events = ['newsletter.sent']

/** Bodies of POST, and their invalid fields. */
const badCreations: readonly [body: object, ...fields: string[]][] = [
  [{}, 'url', 'events'],
  [{ url }, 'events'],
  [{ events }, 'url'],
  [{ url, events: [] }, 'events'],
  [{ url, events: null }, 'events'],
  [{ url, events: 'newsletter.sent' }, 'events'],
  [{ url, events: { 0: 'newsletter.sent' } }, 'events'],
  [{ url, events: ['newsletter.sent', 'contact.changed', 'webhook.test', ''] }, 'events.1', 'events.3'],
  [{ url, events: ['*'] }, 'events.0'],
  [{ url, events: ['NEWSLETTER.SENT'] }, 'events.0'],
  [{ url, events: [7, null, ['newsletter.sent']] }, 'events.0', 'events.1', 'events.2'],
  [{ url, events: ['__proto__', 'toString'] }, 'events.0', 'events.1'],
  [{ url: '', events }, 'url'],
  [{ url: null, events }, 'url'],
  [{ url: 7, events }, 'url'],
  [{ url: [url], events }, 'url'],
  [{ url: 'no url', events }, 'url'],
  [{ url: 'ftp://127.0.0.1/', events }, 'url'],
  [{ url: 'http://user:pass@127.0.0.1/', events }, 'url'],
  [{ url: `${url}#fragment`, events }, 'url'],
  [{ url: `${url}\0`, events }, 'url'],
  [{ url: `${url}${'x'.repeat(2048)}`, events }, 'url'],
  [{ url, events, description: null }, 'description'],
  [{ url, events, description: 7 }, 'description'],
  [{ url, events, description: ['x'] }, 'description'],
  [{ url, events, description: 'a\0b' }, 'description'],
  [{ url, events, active: true }, 'active'],
  [{ url, events, secret: 'x' }, 'secret'],
  [{ url: 7, events: [], description: 7 }, 'url', 'events', 'description'],
]

const badChanges: readonly [body: object, ...fields: string[]][] = [
  [{ url }, 'url'],
  [{ events }, 'events'],
  [{ url, events, active: false, description: 'x' }, 'url', 'events'],
  [{ active: 'true' }, 'active'],
  [{ active: 1 }, 'active'],
  [{ active: null }, 'active'],
  [{ description: null }, 'description'],
  [{ description: 7, active: false }, 'description'],
  [{ description: '\ud800' }, 'description'],
  [{ secret: 'x', active: false }, 'secret'],
  [{ disabled_reason: 'manual' }, 'disabled_reason'],
  [{ consecutive_failures: 0 }, 'consecutive_failures'],
  [{ id: 1 }, 'id'],
]

overHttp('webhook endpoints', (open) => {
  test('create, list, read, change, rotate, test and delete answer as the contract shows', async (t) => {
    const { call, data, receiver, url: at } = await open(t)
    const hook = await receiver()
    const created = await data(201, 'POST', '/webhook-endpoints', {
      body: { url: hook.url('/a?b=c'), events: ['webhook.test'] },
    })
    assertShape(created, newEndpoint)
    assert.deepEqual([created.url, created.events, created.active], [hook.url('/a?b=c'), ['webhook.test'], true])
    const path = `/webhook-endpoints/${created.id}`
    const one = await data(200, 'GET', path)
    assertShape(one, endpoint)
    const { secret: _, ...rest } = created
    const fresh = { description: '', disabled_reason: null, consecutive_failures: 0, last_triggered_at: null }
    assert.deepEqual(one, { ...rest, ...fresh })
    const { body } = await call('GET', '/webhook-endpoints')
    assert.deepEqual(body.data, [one])
    assertShape(body.meta, meta)
    assert.equal(body.meta.path, `${at}/api/v1/webhook-endpoints`)
    const changed = await data(200, 'PATCH', path, { body: { description: 'for tests' } })
    assertShape(changed, changedEndpoint)
    assert.deepEqual(await data(200, 'GET', path), { ...one, description: 'for tests' })
    const rotated = await data(200, 'POST', `${path}/secret`)
    assertShape(rotated, newSecret)
    assert.ok(rotated.id === created.id && rotated.secret !== created.secret)
    const queued = await data(202, 'POST', `${path}/test`)
    assertShape(queued, queuedTest)
    await hook.next()
    assert.equal((await data(200, 'GET', `${path}/deliveries`))[0].id, queued.id)
    assert.match((await data(200, 'GET', path)).last_triggered_at ?? '2000-01-01T00:00:00+00:00', offset)
    assert.equal((await call('DELETE', path)).status, 204)
    assert.equal((await call('GET', path)).status, 404)
  })

  test('accept every event type, drop duplicates, and store a description', async (t) => {
    const { data } = await open(t)
    for (const type of eventTypes) {
      const { events: taken } = await data(201, 'POST', '/webhook-endpoints', { body: { url, events: [type, type] } })
      assert.deepEqual(taken, [type])
    }
    const body = { url, events: [...eventTypes, ...eventTypes], description: ' Ünïcode 😀 ' }
    const { id, events: taken } = await data(201, 'POST', '/webhook-endpoints', { body })
    assert.deepEqual([...taken].sort(), [...eventTypes].sort())
    assert.equal((await data(200, 'GET', `/webhook-endpoints/${id}`)).description, ' Ünïcode 😀 ')
  })

  test('with invalid fields are refused, and nothing is stored', async (t) => {
    const { call, data } = await open(t)
    for (const [body, ...fields] of badCreations)
      assertInvalid(await call('POST', '/webhook-endpoints', { body }), ...fields)
    assert.deepEqual(await data(200, 'GET', '/webhook-endpoints'), [])
    const { id } = await data(201, 'POST', '/webhook-endpoints', { body: { url, events } })
    const path = `/webhook-endpoints/${id}`
    const before = await data(200, 'GET', path)
    for (const [body, ...fields] of badChanges) assertInvalid(await call('PATCH', path, { body }), ...fields)
    assert.deepEqual(await data(200, 'PATCH', path, { body: {} }), { id, active: true })
    assert.deepEqual(await data(200, 'GET', path), before)
  })

  test('are switched off and on', async (t) => {
    const { data } = await open(t)
    const { id } = await data(201, 'POST', '/webhook-endpoints', { body: { url, events } })
    const path = `/webhook-endpoints/${id}`
    for (const active of [false, false, true, true, false]) {
      assert.deepEqual(await data(200, 'PATCH', path, { body: { active } }), { id, active })
      const shown = await data(200, 'GET', path)
      assert.deepEqual([shown.active, shown.disabled_reason], [active, active ? null : 'manual'])
    }
    await data(200, 'PATCH', path, { body: { active: true, description: 'both' } })
    const { active, description } = await data(200, 'GET', path)
    assert.deepEqual([active, description], [true, 'both'])
  })

  test('each have their own secret, and a new one with each rotation', async (t) => {
    const { data } = await open(t)
    const secrets = []
    for (let i = 0; i < 3; i++) {
      const { id, secret } = await data(201, 'POST', '/webhook-endpoints', { body: { url, events } })
      secrets.push(secret, (await data(200, 'POST', `/webhook-endpoints/${id}/secret`)).secret)
      secrets.push((await data(200, 'POST', `/webhook-endpoints/${id}/secret`)).secret)
    }
    assert.equal(new Set(secrets).size, 9)
  })

  test('may overlap for at most 72 hours; anything else is 422 and changes nothing', async (t) => {
    const { hook, path, raise, call, data, secret } = await openHook(open, t)
    for (const overlap_hours of [-1, 73, 1.5, '24', null, [1]]) {
      assertInvalid(await call('POST', `${path}/secret`, { body: { overlap_hours } }), 'overlap_hours')
    }
    assertInvalid(await call('POST', `${path}/secret`, { body: { overlap_days: 1 } }), 'overlap_days')
    await raise()
    assertSigned(await hook.next(), secret)
    const rotated = await data(200, 'POST', `${path}/secret`, { body: { overlap_hours: 72 } })
    assertShape(rotated, newSecret)
    await raise()
    const received = await hook.next()
    assertSigned(received, rotated.secret)
    const signatures = String(received.headers['webhook-signature'])
    assert.match(signatures, /^v1,[A-Za-z\d+/]{43}= v1,[A-Za-z\d+/]{43}=$/)
    for (const one of [secret, rotated.secret]) {
      new Webhook(one).verify(received.raw.toString(), received.headers as Record<string, string>)
    }
  })

  test('rotating one keeps the secrets of the others', async (t) => {
    const { addEndpoint, data, hook, path, raise, receiver } = await openHook(open, t)
    const other = await receiver()
    const { secret } = await addEndpoint(other.url())
    const rotated = await data(200, 'POST', `${path}/secret`)
    await raise()
    assertSigned(await other.next(), secret)
    assertSigned(await hook.next(), rotated.secret)
  })
})

overHttp('the test operation', (open) => {
  test('sends a sample to its endpoint, whatever event types that subscribed to', async (t) => {
    const { addEndpoint, data, hook, receiver } = await openHook(open, t)
    const other = await receiver()
    const { id, secret } = await addEndpoint(other.url(), ['sequence.completed'])
    await data(202, 'POST', `/webhook-endpoints/${id}/test`)
    const sample = await other.next()
    assertSigned(sample, secret)
    assert.equal(sample.headers['x-service-event'], 'webhook.test')
    assert.equal(sample.body.type, 'webhook.test')
    assert.deepEqual(Object.keys(sample.body.data), ['message'])
    assert.equal(typeof sample.body.data.message, 'string')
    await data(202, 'POST', '/events', { body: { type: 'newsletter.sent', data: {} } })
    await hook.next()
    assert.deepEqual(
      hook.received.map(({ body }) => body.type),
      ['newsletter.sent'],
    )
  })

  test('on an inactive endpoint is 422, and records nothing', async (t) => {
    const { call, deliveries, patch, path } = await openHook(open, t)
    await patch({ active: false })
    const { status, body } = await call('POST', `${path}/test`)
    assert.deepEqual([status, body.code], [422, 'validation_failed'])
    assert.deepEqual(await deliveries(), [])
  })

  test('is limited to ten per minute and client', async (t) => {
    const { addEndpoint, addTenant, advance, call, deliveries, patch, path, hook } = await openHook(open, t)
    const second = `/webhook-endpoints/${(await addEndpoint()).id}`
    const status = async (at = path) => (await call('POST', `${at}/test`)).status
    const times = async (count: number, expected: number) => {
      for (let i = 0; i < count; i++) assert.equal(await status(i % 2 ? path : second), expected)
    }
    await patch({ active: false })
    for (let i = 0; i < 12; i++) assert.equal(await status(), 422)
    assert.equal(await status('/webhook-endpoints/999999'), 404)
    await patch({ active: true })
    const startedMs = performance.now()
    await times(5, 202)
    const firstFiveMs = performance.now() - startedMs // the test's clock runs, too
    advance(30_000)
    await times(5, 202)
    const recorded = (await deliveries()).length + (await deliveries(second)).length
    await times(12, 429)
    const { body, headers } = await call('POST', `${path}/test`)
    assert.equal(body.code, 'rate_limited')
    assert.deepEqual([headers['ratelimit-limit'], headers['ratelimit-remaining']], ['10', '0'])
    assert.equal(headers['ratelimit-reset'], headers['retry-after'])
    assert.ok(Number(headers['retry-after']) > 20 && Number(headers['retry-after']) <= 30, headers['retry-after'])
    assert.deepEqual([recorded, (await deliveries()).length + (await deliveries(second)).length], [10, 10])
    const other = await addTenant()
    const { id } = await other.data(201, 'POST', '/webhook-endpoints', { body: { url: hook.url(), events } })
    await other.data(202, 'POST', `/webhook-endpoints/${id}/test`)
    advance(Number(headers['retry-after']) * 1000)
    advance(firstFiveMs)
    await times(5, 202)
    await times(1, 429)
  })

  test('has the same limit for simultaneous requests', async (t) => {
    const { call, path } = await openHook(open, t)
    const answers = await Promise.all(Array.from({ length: 25 }, () => call('POST', `${path}/test`)))
    assert.equal(answers.filter(({ status }) => status === 202).length, 10)
    assert.equal(answers.filter(({ status }) => status === 429).length, 15)
  })
})
