import assert from 'node:assert/strict'
import { createHmac } from 'node:crypto'
import { Webhook } from 'standardwebhooks'
import { type ContactInput, isMailkeepError, version } from '../../lib/index.ts'
import { DeliveryVerificationError, verifyDelivery } from '../../lib/webhooks/receiver.ts'
import { test } from '../support/databases.ts'
import { assertWebhookDescribed } from '../support/http-description.ts'
import {
  addEndpoint,
  attempted,
  hourMs,
  newest,
  onEveryDatabase,
  onSharedDatabases,
  openReceiver,
  type Received,
  type Reply,
  raise,
  withStatus,
} from '../support/webhook-harness.ts'

/** Computes the contract's signature independently of the library. */
function contractSignature(secret: string, { headers, body }: Received): string {
  const signed = `${headers['x-service-timestamp']}.${body}`
  return `sha256=${createHmac('sha256', Buffer.from(secret, 'utf8')).update(signed, 'utf8').digest('hex')}`
}

function standardHeaders({ headers }: Received): Record<string, string> {
  const names = ['webhook-id', 'webhook-timestamp', 'webhook-signature']
  return Object.fromEntries(names.map((name) => [name, String(headers[name])]))
}

onEveryDatabase('a delivery', (open) => {
  test('can be verified by the contract, by any Standard Webhooks library, and by ours', async (t) => {
    const mk = await open(t)
    const receiver = await openReceiver(t)
    const { id, secret } = await addEndpoint(mk, receiver.url('/hook?of=acme'))
    await raise(mk, { text: 'Grüße, 世界 ✓', n: 1 })
    const { uuid } = await withStatus(mk, id, 'success')
    const received = receiver.received[0]!
    const { headers, body } = received
    assert.equal(received.path, '/hook?of=acme')
    assert.equal(headers['content-type'], 'application/json')
    assert.equal(headers['user-agent'], `mailkeep/${version}`)
    assert.equal(headers['content-length'], String(Buffer.byteLength(body)))
    assert.equal(headers['x-service-event'], 'newsletter.sent')
    assert.equal(headers['x-service-delivery'], uuid)
    assert.equal(headers['x-service-timestamp'], String(Math.floor(mk.clock.ms / 1000)))
    assert.equal(headers['x-service-signature'], contractSignature(secret, received))
    assert.equal(headers['webhook-id'], uuid)
    assert.deepEqual(new Webhook(secret).verify(body, standardHeaders(received)), JSON.parse(body))
    const now = mk.clock.read
    const event = verifyDelivery(headers, body, secret, { now })
    assert.deepEqual(event.data, { text: 'Grüße, 世界 ✓', n: 1 })
    assert.throws(() => verifyDelivery(headers, `${body} `, secret, { now }), DeliveryVerificationError)
  })

  test('is signed again for each attempt, with the current secret; its id stays the same', async (t) => {
    const mk = await open(t)
    const replies: Reply[] = [500, 500, 200]
    const receiver = await openReceiver(t, () => replies.shift()!)
    const { id, secret } = await addEndpoint(mk, receiver.url())
    await raise(mk)
    await attempted(mk, id, 1)
    await mk.pass(6000)
    await attempted(mk, id, 2)
    const { secret: rotated } = await mk.acme.webhooks.rotateSecret(id)
    assert.notEqual(rotated, secret)
    await mk.pass(hourMs)
    await attempted(mk, id, 3)
    const [first, second, third] = receiver.received as [Received, Received, Received]
    assert.equal(first.headers['x-service-signature'], contractSignature(secret, first))
    assert.equal(second.headers['x-service-signature'], contractSignature(secret, second))
    assert.equal(third.headers['x-service-signature'], contractSignature(rotated, third))
    const seconds = receiver.received.map(({ headers }) => Number(headers['x-service-timestamp']))
    assert.deepEqual([seconds[1]! - seconds[0]!, seconds[2]! - seconds[1]!], [6, 3600])
    for (const { headers, body } of receiver.received) {
      assert.equal(headers['x-service-delivery'], first.headers['x-service-delivery'])
      assert.equal(headers['webhook-timestamp'], headers['x-service-timestamp'])
      assert.equal(body, first.body)
    }
    assert.throws(() => verifyDelivery(third.headers, third.body, secret, { now: mk.clock.read }), {
      code: 'bad_signature',
    })
  })

  test('is signed with both secrets during an overlap, in the header of Standard Webhooks only', async (t) => {
    const mk = await open(t)
    const receiver = await openReceiver(t)
    const { id, secret } = await addEndpoint(mk, receiver.url())
    const next = async () => {
      const { length } = receiver.received
      await raise(mk)
      await receiver.count(length + 1)
      return receiver.received.at(-1)!
    }
    const accepts = (one: string, received: Received) => {
      const { 'webhook-signature': signatures, ...headers } = standardHeaders(received)
      return signatures!.split(' ').some((signature) => {
        const body = `${headers['webhook-id']}.${headers['webhook-timestamp']}.${received.body}`
        const key = Buffer.from(one.slice('whsec_'.length), 'base64')
        return signature === `v1,${createHmac('sha256', key).update(body).digest('base64')}`
      })
    }
    const { secret: second } = await mk.acme.webhooks.rotateSecret(id, { overlap_hours: 2 })
    const both = await next()
    assert.equal(String(both.headers['webhook-signature']).split(' ').length, 2)
    assert.deepEqual([accepts(secret, both), accepts(second, both)], [true, true])
    assert.equal(both.headers['x-service-signature'], contractSignature(second, both))
    assert.deepEqual(new Webhook(secret).verify(both.body, standardHeaders(both)), JSON.parse(both.body))

    assert.equal(await mk.mailkeep.resealSecrets(), 0) // opens both, with the current key
    await mk.pass(2 * hourMs)
    const after = await next()
    assert.deepEqual([accepts(secret, after), accepts(second, after)], [false, true])
    await mk.pass(-2 * hourMs)

    await mk.acme.webhooks.rotateSecret(id, { overlap_hours: 72 })
    const { secret: last } = await mk.acme.webhooks.rotateSecret(id)
    const single = await next()
    assert.deepEqual([accepts(second, single), accepts(last, single)], [false, true])
    assert.equal(String(single.headers['webhook-signature']).split(' ').length, 1)
  })

  test('has a unique id for each endpoint; the event is the same', async (t) => {
    const mk = await open(t)
    const receiver = await openReceiver(t)
    await addEndpoint(mk, receiver.url('/a'))
    await addEndpoint(mk, receiver.url('/b'))
    await raise(mk)
    await receiver.count(2)
    const [a, b] = receiver.received as [Received, Received]
    assert.equal(a.body, b.body)
    assert.notEqual(a.headers['webhook-id'], b.headers['webhook-id'])
  })
})

onSharedDatabases('secrets', (open) => {
  test('are whsec_ and base64 of 32 bytes, shown on creation and on rotation only', async (t) => {
    const mk = await open(t, { start: false })
    const { id, secret } = await addEndpoint(mk, 'http://127.0.0.1:9/')
    const rotated = await mk.acme.webhooks.rotateSecret(id)
    assert.deepEqual(Object.keys(rotated), ['id', 'secret'])
    for (const one of [secret, rotated.secret]) {
      assert.match(one, /^whsec_[A-Za-z0-9+/]{43}=$/)
      assert.equal(Buffer.from(one.slice(6), 'base64').length, 32)
    }
    const shown = [await mk.acme.webhooks.getEndpoint(id), (await mk.acme.webhooks.listEndpoints()).data]
    assert.doesNotMatch(JSON.stringify(shown), /whsec|"secret"/)
  })
})

onEveryDatabase('the body', (open) => {
  test('has the event’s uuid, type, time and data; a contact is shown as after the change', async (t) => {
    const mk = await open(t)
    const receiver = await openReceiver(t)
    const events = ['contact.subscribed', 'contact.unsubscribed', 'contact.resubscribed'] as const
    await addEndpoint(mk, receiver.url(), ...events)
    const list = await mk.acme.lists.create({ name: 'News' })
    const input = { email: 'ada@example.org', name: 'Ada', tags: ['vip'], city: 'London' }
    const { contact } = await mk.acme.contacts.addToList(list.id, input)
    const unsubscribed = await mk.acme.contacts.unsubscribe(contact.id)
    await mk.acme.contacts.unsubscribe(contact.id)
    const second = await mk.acme.lists.create({ name: 'More' })
    await mk.acme.contacts.addToList(second.id, { email: 'ada@example.org' }) // unsubscribed: no event
    const resubscribed = await mk.acme.contacts.resubscribe(contact.id)
    await mk.acme.contacts.resubscribe(contact.id)
    await mk.acme.contacts.addToList(list.id, { email: 'ada@example.org' }) // already on the list: no event
    await receiver.count(3)
    const bodies = new Map(receiver.received.map(({ body }) => [JSON.parse(body).type, JSON.parse(body)]))
    assert.deepEqual([...bodies.keys()].sort(), [...events].sort())
    for (const { headers, body } of receiver.received) assertWebhookDescribed(headers, body)
    for (const body of bodies.values()) {
      assert.deepEqual(Object.keys(body), ['id', 'type', 'created_at', 'data'])
      assert.match(body.id, /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/)
      assert.match(body.created_at, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z$/)
    }
    assert.deepEqual(bodies.get('contact.subscribed').data, { contact, list })
    assert.deepEqual(bodies.get('contact.unsubscribed').data, { contact: unsubscribed })
    assert.deepEqual(bodies.get('contact.resubscribed').data, { contact: resubscribed })
    await receiver.count(3)
  })

  test('of a large contact omits the large fields, and names them', async (t) => {
    const mk = await open(t)
    const receiver = await openReceiver(t)
    const { id } = await addEndpoint(mk, receiver.url(), 'contact.subscribed')
    const list = await mk.acme.lists.create({ name: 'News' })
    const large = Object.fromEntries(Array.from({ length: 10 }, (_, i) => [`a${i}`, 'ü'.repeat(10_000)]))
    const tags = Array.from({ length: 150 }, (_, i) => `${i}`.padEnd(255, 'ü'))
    const dataOf = async (input: ContactInput) => {
      const { contact } = await mk.acme.contacts.addToList(list.id, input)
      const { uuid } = await withStatus(mk, id, 'success')
      const { headers, body } = receiver.received.find(({ headers }) => headers['webhook-id'] === uuid)!
      assert.ok(Buffer.byteLength(body) <= 65_536)
      assertWebhookDescribed(headers, body)
      return { contact, data: JSON.parse(body).data }
    }
    const some = await dataOf({ email: 'a@example.org', name: 'A', ...large, tags: ['vip'] })
    const without = { ...some.contact, extra_attributes: {} }
    assert.deepEqual(some.data, { contact: without, list, truncated: ['extra_attributes'] })
    const more = await dataOf({
      email: 'b@example.org',
      ...large,
      tags,
    })
    const bare = { ...more.contact, extra_attributes: {}, tags: [] }
    assert.deepEqual(more.data, { contact: bare, list, truncated: ['extra_attributes', 'tags'] })
    const small = await dataOf({ email: 'c@example.org', tags: ['vip'] })
    assert.deepEqual(small.data, { contact: small.contact, list })
  })

  test('has at most 64 KiB: a larger host event is refused, and nothing is recorded', async (t) => {
    const mk = await open(t)
    const receiver = await openReceiver(t)
    const { id } = await addEndpoint(mk, receiver.url())
    await raise(mk, { x: '' })
    await withStatus(mk, id, 'success')
    const overhead = Buffer.byteLength(receiver.received[0]!.body)
    const isTooLarge = (error: unknown) => isMailkeepError(error, 'validation_failed') && 'data' in error.errors!
    await assert.rejects(raise(mk, { x: 'x'.repeat(65_537 - overhead) }), isTooLarge)
    for (const contact of [{ extra_attributes: { plan: 'x'.repeat(65_536) } }, { tags: ['x'.repeat(65_536)] }]) {
      await assert.rejects(raise(mk, { contact }), isTooLarge)
      const [result] = await mk.acme.events.raiseMany([{ type: 'newsletter.sent', data: { contact } }])
      assert.deepEqual([result!.status, Object.keys(result!.errors ?? {})], ['refused', ['data']])
    }
    const circular: Record<string, unknown> = {}
    circular.self = circular
    await assert.rejects(raise(mk, circular), isTooLarge)
    await raise(mk, { x: 'x'.repeat(65_536 - overhead) })
    const { id: newestId } = await withStatus(mk, id, 'success')
    await receiver.count(2)
    assert.equal(Buffer.byteLength(receiver.received[1]!.body), 65_536)
    assert.equal((await mk.acme.webhooks.listDeliveries(id)).data.length, 2)
    assert.equal(newestId, (await newest(mk, id)).id)
  })

  test('is raised in the transaction of the change: both are committed or neither', async (t) => {
    const mk = await open(t, { start: false })
    await addEndpoint(mk, 'http://127.0.0.1:9/', 'contact.subscribed', 'contact.unsubscribed', 'contact.resubscribed')
    const list = await mk.acme.lists.create({ name: 'News' })
    const join = async (email: string) => (await mk.acme.contacts.addToList(list.id, { email })).contact.id
    const [bob, eve] = [await join('bob@example.org'), await join('eve@example.org')]
    await mk.acme.contacts.unsubscribe(eve)
    const state = async () => [
      (await mk.acme.contacts.list({ include_unsubscribed: true })).data,
      await mk.count('mailkeep_event where client_id = ?', mk.acmeId),
    ]
    const before = await state()
    if (mk.place.kind === 'PostgreSQL') {
      await mk.ask(`create function no() returns trigger language plpgsql as 'begin raise ''no''; end'`)
      await mk.ask('create trigger no before insert on mailkeep_delivery execute function no()')
    } else {
      await mk.ask(`create trigger no before insert on mailkeep_delivery begin select raise(abort, 'no'); end`)
    }
    await assert.rejects(join('ada@example.org'))
    await assert.rejects(mk.acme.contacts.unsubscribe(bob))
    await assert.rejects(mk.acme.contacts.resubscribe(eve))
    assert.deepEqual(await state(), before)
  })
})
