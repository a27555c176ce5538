/** When events are raised, which endpoints get them, and with which data. */
import assert from 'node:assert/strict'
import type { TestContext } from 'node:test'
import { test } from '../support/databases.ts'
import { type Open, overHttp } from '../support/harness.ts'
import { assertInvalid } from '../support/http-call.ts'
import { eventTypes, utc } from '../support/http-shapes.ts'

/** Opens a service with two lists, a topic on the first, and an inactive endpoint for every event. */
async function openEvents(open: Open, t: TestContext) {
  const service = await open(t)
  const { call, data } = service
  const [one, two] = [
    await data(201, 'POST', '/lists', { body: { name: 'one' } }),
    await data(201, 'POST', '/lists', { body: { name: 'two' } }),
  ]
  const topic = await data(201, 'POST', `/lists/${one.id}/topics`, { body: { name: 'topic' } })
  const { id: endpointId } = await data(201, 'POST', '/webhook-endpoints', {
    body: { url: 'http://127.0.0.1:9/', events: eventTypes },
  })
  await data(200, 'PATCH', `/webhook-endpoints/${endpointId}`, { body: { active: false } })
  const recorded = async (id = endpointId): Promise<string[]> => {
    const deliveries = await data(200, 'GET', `/webhook-endpoints/${id}/deliveries`, { query: { per_page: 100 } })
    return deliveries.map(({ event_type }: { event_type: string }) => event_type).reverse()
  }
  let contacts = 0
  /** Creates a new contact, and the steps that can be applied to it. */
  const person = () => {
    const email = `person${++contacts}@example.org`
    let id = 0
    const join = async (list = one, more: object = {}) => {
      const { status, body, what } = await call('POST', `/lists/${list.id}/contacts`, { body: { email, ...more } })
      assert.ok(status === 200 || status === 201, what)
      id = body.data.id
    }
    const act = (method: string, path: string, body?: object) =>
      data(200, method, path.replace(':id', String(id)), { body })
    return {
      join,
      joinTwo: () => join(two),
      joinShouting: () => join(one, { email: email.toUpperCase() }),
      leave: () => act('DELETE', `/lists/${one.id}/contacts/:id`),
      put: () => act('PUT', '/contacts/:id', { name: 'x', tags: ['x'], city: 'x' }),
      unsubscribe: () => act('POST', '/contacts/:id/unsubscribe'),
      resubscribe: () => act('POST', '/contacts/:id/resubscribe'),
      followTopic: () => act('PUT', `/contacts/:id/topics/${topic.id}`),
      leaveTopic: () => act('DELETE', `/contacts/:id/topics/${topic.id}`),
      goByThemselves: () => service.client.contacts.unsubscribe(id, { byContact: true }),
      erase: () => data(204, 'DELETE', `/contacts/${id}`),
      get: () => data(200, 'GET', `/contacts/${id}`),
      refusedJoin: () => data(422, 'POST', `/lists/${two.id}/contacts`, { body: { email, city: 7 } }),
      lostJoin: () => data(404, 'POST', '/lists/999999/contacts', { body: { email } }),
    }
  }
  return { ...service, one, two, topic, endpointId, recorded, person }
}

type Step = keyof ReturnType<Awaited<ReturnType<typeof openEvents>>['person']>

const [s, u, r] = ['contact.subscribed', 'contact.unsubscribed', 'contact.resubscribed'] as const

/** Steps in the life of a contact, and all events that they raise. */
const lives: readonly [steps: string, ...events: string[]][] = [
  ['join', s],
  ['join join', s],
  ['join joinShouting', s],
  ['join joinTwo', s, s],
  ['join joinTwo join joinTwo', s, s],
  ['join leave', s],
  ['join leave leave join', s, s],
  ['join put put', s],
  ['join followTopic followTopic leaveTopic leaveTopic', s],
  ['join followTopic leave', s],
  ['join unsubscribe', s, u],
  ['join unsubscribe unsubscribe', s, u],
  ['join goByThemselves unsubscribe goByThemselves', s, u],
  ['join unsubscribe join', s, u],
  ['join unsubscribe joinTwo', s, u],
  ['join unsubscribe leave join', s, u],
  ['join unsubscribe put followTopic leaveTopic', s, u],
  ['join resubscribe', s],
  ['join unsubscribe resubscribe', s, u, r],
  ['join unsubscribe resubscribe resubscribe', s, u, r],
  ['join unsubscribe joinTwo resubscribe joinTwo', s, u, r],
  ['join unsubscribe resubscribe joinTwo unsubscribe', s, u, r, s, u],
  ['join leave unsubscribe resubscribe', s, u, r],
  ['join erase', s],
  ['join unsubscribe erase', s, u],
  ['join erase join', s, s],
  ['refusedJoin lostJoin'],
  ['join refusedJoin lostJoin', s],
]

const hostTypes = ['newsletter.sent', 'sequence_step.sent', 'sequence.completed']

/** Data of host events, stored as sent. */
const givenData = [
  {},
  { id: 7, subject: 'Grüße 😀', sent: true, none: null, nested: [{ a: [1.5, -0.1, 1e21] }], '': '' },
  JSON.parse('{"__proto__":{"a":1},"constructor":"x","toString":[],"toJSON":"x"}'),
  { contact: { email: 'x' }, html: '</script>\u2028\u0000\ud83d' },
]

overHttp('events', (open) => {
  test('are raised exactly when a contact’s state changes', async (t) => {
    const { person, recorded } = await openEvents(open, t)
    let before: string[] = []
    for (const [steps, ...events] of lives) {
      const someone = person()
      for (const step of steps.split(' ')) await someone[step as Step]()
      const after = await recorded()
      assert.deepEqual(after.slice(before.length), events, steps)
      before = after
    }
    assert.equal(before.length, lives.flatMap(([, ...events]) => events).length, 'all fit on one page')
  })

  test('are not raised by changes of lists, topics, tags and endpoints, or by listings', async (t) => {
    const { call, data, endpointId, one, person, recorded, topic } = await openEvents(open, t)
    const someone = person()
    await someone.join(one, { tags: ['a'] })
    await someone.followTopic()
    const [{ id: tagId }] = await data(200, 'GET', '/tags')
    for (const [method, path, body] of [
      ['PATCH', `/tags/${tagId}`, { name: 'b' }],
      ['PATCH', `/topics/${topic.id}`, { name: 'b' }],
      ['PATCH', `/lists/${one.id}`, { name: 'b' }],
      ['PATCH', `/webhook-endpoints/${endpointId}`, { description: 'b' }],
      ['POST', `/webhook-endpoints/${endpointId}/secret`],
      ['DELETE', `/tags/${tagId}`],
      ['DELETE', `/topics/${topic.id}`],
      ['DELETE', `/lists/${one.id}`],
      ['GET', '/contacts'],
    ] as const) {
      const { status, what } = await call(method, path, { body })
      assert.ok(status < 300, what)
    }
    assert.deepEqual(await recorded(), [s])
  })

  test('are raised once for simultaneous requests', async (t) => {
    const { person, recorded } = await openEvents(open, t)
    const someone = person()
    const many = (act: () => Promise<unknown>) => Promise.all(Array.from({ length: 8 }, act))
    await many(() => someone.join())
    await many(someone.unsubscribe)
    await many(someone.resubscribe)
    assert.deepEqual(await recorded(), [s, u, r])
  })

  test('carry the contact as it is after the change, with the new list', async (t) => {
    const { data, one, person, receiver, two } = await openEvents(open, t)
    const hook = await receiver()
    await data(201, 'POST', '/webhook-endpoints', { body: { url: hook.url(), events: eventTypes } })
    const someone = person()
    const steps: readonly [Step, string, object][] = [
      ['join', s, { list: one }],
      ['followTopic', '', {}],
      ['put', '', {}],
      ['joinTwo', s, { list: two }],
      ['unsubscribe', u, {}],
      ['resubscribe', r, {}],
      ['goByThemselves', u, {}],
    ]
    for (const [step, type, more] of steps) {
      await someone[step]()
      if (type === '') continue
      const { body } = await hook.next()
      assert.deepEqual(Object.keys(body), ['id', 'type', 'created_at', 'data'])
      assert.match(body.id, /^[\da-f-]{36}$/)
      assert.match(body.created_at, utc)
      assert.deepEqual([body.type, body.data], [type, { contact: await someone.get(), ...more }])
    }
    const { lists, topics, extra_attributes, unsubscribed_by_contact } = await someone.get()
    assert.deepEqual(
      [lists.length, topics.length, extra_attributes, unsubscribed_by_contact],
      [2, 1, { city: 'x' }, true],
    )
  })

  test('of the host application are accepted with their data unchanged', async (t) => {
    const { data, receiver, recorded } = await openEvents(open, t)
    const hook = await receiver()
    await data(201, 'POST', '/webhook-endpoints', { body: { url: hook.url(), events: hostTypes } })
    for (const type of hostTypes) {
      for (const given of givenData) {
        await data(202, 'POST', '/events', { body: { type, data: given } })
        const { body } = await hook.next()
        assert.equal(body.type, type)
        assert.equal(JSON.stringify(body.data), JSON.stringify(given))
      }
    }
    assert.deepEqual(
      await recorded(),
      hostTypes.flatMap((type) => givenData.map(() => type)),
    )
  })

  for (const path of ['/events', '/events/batch']) {
    test(`of the host application that show a contact are erased with it, from ${path}`, async (t) => {
      const { call, data, endpointId, person } = await openEvents(open, t)
      const [erased, kept] = [person(), person()]
      const contacts = []
      for (const someone of [erased, kept]) {
        await someone.join()
        contacts.push(await someone.get())
      }
      const events = contacts.map((contact) => ({ type: 'newsletter.sent', data: { contact } }))
      if (path === '/events') for (const body of events) await data(202, 'POST', path, { body })
      else await data(202, 'POST', path, { body: { events } })
      const at = `/webhook-endpoints/${endpointId}/deliveries`
      const [other, own] = await data(200, 'GET', at, { query: { event_type: 'newsletter.sent' } })
      const { deliveries } = await data(200, 'GET', `/contacts/${contacts[0].id}/data`)
      assert.deepEqual(
        deliveries.map(({ event_type }: { event_type: string }) => event_type),
        [s, 'newsletter.sent'],
      )
      await erased.erase()
      await data(200, 'PATCH', `/webhook-endpoints/${endpointId}`, { body: { active: true } })
      assertInvalid(await call('POST', `${at}/${own.id}/redeliver`), 'payload')
      const { status, payload } = await data(200, 'GET', `${at}/${own.id}`)
      assert.deepEqual([status, payload], ['failed', null])
      assert.deepEqual((await data(200, 'GET', `${at}/${other.id}`)).payload.data.contact, contacts[1])
    })
  }

  test('of the host application with an id that is no contact of the client are sent', async (t) => {
    const { addTenant, data, receiver } = await openEvents(open, t)
    const hook = await receiver()
    await data(201, 'POST', '/webhook-endpoints', { body: { url: hook.url(), events: hostTypes } })
    const foreign = await (await addTenant()).data(200, 'POST', '/contacts', { body: { email: 'x@example.org' } })
    for (const id of [foreign.id, 999999, 0, -1, 1.5, '1', null, [1], { id: 1 }]) {
      const given = { contact: { id } }
      await data(202, 'POST', '/events', { body: { type: 'newsletter.sent', data: given } })
      await data(202, 'POST', '/events/batch', { body: { events: [{ type: 'newsletter.sent', data: given }] } })
      for (let n = 0; n < 2; n++) assert.deepEqual((await hook.next()).body.data, given)
    }
  })

  test('that the host application may not raise, or with invalid data, are refused and not recorded', async (t) => {
    const { call, recorded } = await openEvents(open, t)
    const [type, data] = ['newsletter.sent', {}]
    for (const wrong of [
      s,
      u,
      r,
      'webhook.test',
      'newsletter',
      'Newsletter.sent',
      '*',
      '',
      7,
      null,
      [type],
      '__proto__',
    ]) {
      assertInvalid(await call('POST', '/events', { body: { type: wrong, data } }), 'type')
    }
    for (const wrong of [null, 7, 'x', true, [], [{}]]) {
      assertInvalid(await call('POST', '/events', { body: { type, data: wrong } }), 'data')
    }
    assertInvalid(await call('POST', '/events', { body: { data } }), 'type')
    assertInvalid(await call('POST', '/events', { body: { type } }), 'data')
    assertInvalid(await call('POST', '/events', { body: {} }), 'data', 'type')
    assertInvalid(await call('POST', '/events', { body: { type, data, contact_id: 1 } }), 'contact_id')
    assert.deepEqual(await recorded(), [])
  })

  test('have bodies of at most 64 KiB', async (t) => {
    const { addTenant, call, data, receiver, recorded } = await openEvents(open, t)
    const hook = await receiver()
    await data(201, 'POST', '/webhook-endpoints', { body: { url: hook.url(), events: eventTypes } })
    const raise = (text: string) => call('POST', '/events', { body: { type: 'newsletter.sent', data: { text } } })
    await raise('')
    const spare = 64 * 1024 - (await hook.next()).raw.length
    for (const fitting of ['x'.repeat(spare), 'é'.repeat(spare / 2) + 'x'.repeat(spare % 2)]) {
      assert.equal((await raise(fitting)).status, 202)
      assert.equal((await hook.next()).raw.length, 64 * 1024)
      assertInvalid(await raise(`${fitting}x`), 'data')
    }
    assert.equal((await recorded()).length, 3)
    const lonely = await addTenant()
    const body = { type: 'newsletter.sent', data: { text: 'x'.repeat(64 * 1024) } }
    assertInvalid(await lonely.call('POST', '/events', { body }), 'data')
  })

  test('never prevent a contact’s change, however large the contact', async (t) => {
    const { data, one, receiver } = await openEvents(open, t)
    const hook = await receiver()
    await data(201, 'POST', '/webhook-endpoints', { body: { url: hook.url(), events: eventTypes } })
    const many = Object.fromEntries(Array.from({ length: 100 }, (_, i) => [`k${i}`, 'x'.repeat(2_600)]))
    const created = await data(201, 'POST', `/lists/${one.id}/contacts`, {
      body: { email: 'large@example.org', ...many },
    })
    assert.equal(Object.keys(created.extra_attributes).length, 100)
    const { body, raw } = await hook.next()
    assert.ok(raw.length <= 64 * 1024)
    assert.deepEqual([body.type, body.data.contact.email, body.data.list], [s, 'large@example.org', one])
  })

  test('go to the endpoints that subscribed to their type, each with its own delivery', async (t) => {
    const { data, person, receiver } = await openEvents(open, t)
    const hook = await receiver()
    for (const type of eventTypes) {
      for (const place of ['first', 'second']) {
        await data(201, 'POST', '/webhook-endpoints', { body: { url: hook.url(`/${place}/${type}`), events: [type] } })
      }
    }
    await data(201, 'POST', '/webhook-endpoints', {
      body: { url: hook.url('/some'), events: [u, 'sequence.completed'] },
    })
    const someone = person()
    for (const step of ['join', 'unsubscribe', 'resubscribe'] as const) await someone[step]()
    for (const type of hostTypes) await data(202, 'POST', '/events', { body: { type, data: {} } })
    const came = await hook.next(14)
    const raised = [s, u, r, ...hostTypes]
    const expected = raised.flatMap((type) => [`/first/${type}`, `/second/${type}`])
    assert.deepEqual(came.map(({ path }) => path).sort(), [...expected, '/some', '/some'].sort())
    for (const { path, body } of came) assert.ok(path === '/some' || path.endsWith(`/${body.type}`))
    assert.equal(new Set(came.map(({ headers }) => headers['x-service-delivery'])).size, 14)
    assert.equal(new Set(came.map(({ body }) => body.id)).size, raised.length, 'all deliveries carry the same event')
  })
})
