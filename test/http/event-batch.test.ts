/** Batches of events of the host. */
import assert from 'node:assert/strict'
import { test } from '../support/databases.ts'
import { overHttp, until } from '../support/harness.ts'
import { assertInvalid } from '../support/http-call.ts'
import { openHook } from './hook.ts'

interface Result {
  readonly status: string
  readonly errors?: Record<string, string[]>
}

overHttp('a batch of events', (open) => {
  test('raises each of them once, and answers in their order', async (t) => {
    const { call, hook, settled } = await openHook(open, t)
    const types = ['newsletter.sent', 'sequence_step.sent']
    const events = Array.from({ length: 1000 }, (_, n) => ({ type: types[n % 2], data: { n } }))
    const { status, body } = await call('POST', '/events/batch', { body: { events } })
    assert.equal(status, 202)
    assert.deepEqual(
      body.data,
      events.map(() => ({ status: 'raised' })),
    )
    const received = new Set<string>()
    for (let n = 0; n < 1000; n++) {
      const { body: event, headers } = await hook.next()
      assert.equal(headers['x-service-event'], types[event.data.n % 2])
      received.add(`${event.type} ${event.data.n}`)
    }
    assert.deepEqual(received, new Set(events.map(({ type, data }) => `${type} ${data.n}`)))
    await settled()
  })

  test('refuses single events with their reasons, and raises the others', async (t) => {
    const { data, hook } = await openHook(open, t)
    const good = { type: 'newsletter.sent', data: { some: 'thing' } }
    const wrong: [unknown, ...string[]][] = [
      [null, 'event'],
      ['newsletter.sent', 'event'],
      [[good], 'event'],
      [{}, 'data', 'type'],
      [{ ...good, type: 'contact.subscribed' }, 'type'],
      [{ ...good, type: '__proto__' }, 'type'],
      [{ ...good, data: [] }, 'data'],
      [{ ...good, contact_id: 1 }, 'contact_id'],
      [{ ...good, data: { text: 'x'.repeat(64 * 1024) } }, 'data'],
    ]
    const events = [good, ...wrong.map(([event]) => event), good]
    const results: Result[] = await data(202, 'POST', '/events/batch', { body: { events } })
    assert.equal(results.length, events.length)
    for (const [at, [event, ...fields]] of wrong.entries()) {
      assert.equal(results[at + 1]!.status, 'refused', JSON.stringify(event).slice(0, 200))
      assert.deepEqual(Object.keys(results[at + 1]!.errors!).sort(), fields)
    }
    assert.deepEqual([results[0], results.at(-1)], [{ status: 'raised' }, { status: 'raised' }])
    for (let n = 0; n < 2; n++) assert.deepEqual((await hook.next()).body.data, good.data)
    assert.equal(hook.received.length, 2)
  })

  test('is refused as a whole if it is no batch', async (t) => {
    const { call, hook } = await openHook(open, t)
    const good = { type: 'newsletter.sent', data: {} }
    const send = (body: object) => call('POST', '/events/batch', { body })
    assertInvalid(await send({}), 'events')
    assertInvalid(await send({ events: good }), 'events')
    assertInvalid(await send({ events: Array.from({ length: 1001 }, () => good) }), 'events')
    assertInvalid(await send({ events: [good], dry_run: true }), 'dry_run')
    assert.deepEqual((await send({ events: [] })).body, { data: [] })
    const large = { ...good, data: { text: 'x'.repeat(60_000) } }
    assert.equal((await send({ events: Array.from({ length: 20 }, () => large) })).status, 413)
    assert.equal(hook.received.length, 0)
  })

  test('with an idempotency key is raised once', async (t) => {
    const { call, data, addEndpoint, deliveries } = await openHook(open, t)
    const sink = await addEndpoint('http://127.0.0.1:9/', ['sequence.completed'])
    await data(200, 'PATCH', `/webhook-endpoints/${sink.id}`, { body: { active: false } })
    const events = [...Array.from({ length: 9 }, (_, n) => ({ type: 'sequence.completed', data: { n } })), {}]
    const send = () => call('POST', '/events/batch', { body: { events }, headers: { 'idempotency-key': 'k' } })
    const first = await send()
    assert.equal(first.status, 202)
    const second = await send()
    assert.deepEqual([second.text, second.headers['idempotency-replayed']], [first.text, 'true'])
    assert.equal((await deliveries(`/webhook-endpoints/${sink.id}`)).length, 9)
  })

  test('goes to every endpoint that asks, and is stored for those that are switched off', async (t) => {
    const { client, addEndpoint, data, deliveries } = await openHook(open, t)
    const paths: string[] = []
    for (let n = 0; n < 3; n++) {
      const { id } = await addEndpoint('http://127.0.0.1:9/', ['sequence.completed'])
      await data(200, 'PATCH', `/webhook-endpoints/${id}`, { body: { active: false } })
      paths.push(`/webhook-endpoints/${id}`)
    }
    const results = await client.events.raiseMany(
      Array.from({ length: 50 }, (_, n) => ({
        type: 'sequence.completed' as const,
        data: { n, pad: 'x'.repeat(60_000) },
      })),
    )
    assert.ok(results.every(({ status }) => status === 'raised'))
    for (const path of paths) {
      const held = await until(
        () => deliveries(path),
        (all) => all.length === 50,
      )
      assert.ok(held.every(({ status }) => status === 'held'))
    }
  })
})
