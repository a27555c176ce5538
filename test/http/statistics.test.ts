/** The series of statistics: what was delivered and failed, and the contacts gained and lost. */
import assert from 'node:assert/strict'
import { test } from '../support/databases.ts'
import { needsClock, overHttp } from '../support/harness.ts'
import { assertInvalid } from '../support/http-call.ts'

type Point = Record<string, number>
const total = (series: Point[], name: string) => series.reduce((sum, point) => sum + point[name]!, 0)

overHttp('statistics', (open) => {
  test('count delivered, retried and failed attempts, of all endpoints and of one', async (t) => {
    const { data, client, mailkeep, receiver } = await open(t, {
      dispatch: false,
      webhooks: { retryScheduleSeconds: [] },
    })
    const [good, bad] = [await receiver(), await receiver()]
    bad.replies(500)
    const events = ['contact.subscribed']
    const first = await data(201, 'POST', '/webhook-endpoints', { body: { url: good.url(), events } })
    const second = await data(201, 'POST', '/webhook-endpoints', { body: { url: bad.url(), events } })
    const list = await client.lists.create({ name: 'News' })
    for (const name of ['ada', 'bob', 'cyd']) await client.contacts.addToList(list.id, { email: `${name}@example.org` })
    await mailkeep.deliverDue()

    for (const step of ['minute', 'hour', 'day']) {
      const all = await data(200, 'GET', '/stats/deliveries', { query: { step } })
      assert.deepEqual([total(all.series, 'delivered'), total(all.series, 'failed')], [3, 3], step)
      const now = all.series.find(({ delivered }: Point) => delivered! > 0)
      assert.ok(now.p95_ms >= 0)
      const one = await data(200, 'GET', '/stats/deliveries', { query: { step, endpoint_id: first.id } })
      assert.deepEqual([total(one.series, 'delivered'), total(one.series, 'failed')], [3, 0])
      const other = await data(200, 'GET', '/stats/deliveries', { query: { step, endpoint_id: second.id } })
      assert.deepEqual([total(other.series, 'delivered'), total(other.series, 'failed')], [0, 3])
    }
  })

  test('are the same before and after past minutes are summarized', needsClock, async (t) => {
    const { data, client, mailkeep, receiver, advance, addTenant } = await open(t, {
      dispatch: false,
      webhooks: { retryScheduleSeconds: [] },
    })
    const other = await addTenant()
    const endpoints: Record<string, unknown>[] = []
    for (let n = 0; n < 15; n++) {
      const to = await receiver()
      if (n % 3 === 0) to.replies(500)
      const body = { url: to.url(), events: ['contact.created'] }
      endpoints.push({ endpoint_id: (await data(201, 'POST', '/webhook-endpoints', { body })).id })
    }
    const day = 86_400_000
    const sums = async (tenant: Pick<typeof other, 'data'>, query: Record<string, unknown>) => {
      const to = new Date(Date.now() + 2 * day).toISOString()
      const { series } = await tenant.data(200, 'GET', '/stats/deliveries', { query: { ...query, to } })
      return series.filter((point: Point) => point.delivered! + point.failed! > 0)
    }
    const everything = async () => {
      const shown = [await sums(other, { step: 'day' })]
      for (const step of ['hour', 'day']) {
        const from = new Date(Date.now() - 2 * day).toISOString()
        for (const of of [{}, ...endpoints]) shown.push(await sums({ data }, { step, from, ...of }))
      }
      return shown
    }
    for (let minute = 0; minute < 8; minute++) {
      await client.contacts.upsert({ email: `contact-${minute}@example.org` })
      await mailkeep.deliverDue()
      if (minute < 7) advance(60_000)
    }
    const before = await everything()
    const [ofOther, ofAllByHour] = before
    assert.deepEqual(ofOther, [])
    assert.deepEqual([total(ofAllByHour!, 'delivered'), total(ofAllByHour!, 'failed')], [80, 40])
    advance(60_000)
    await mailkeep.deliverDue()
    assert.deepEqual(await everything(), before)
    await client.contacts.upsert({ email: 'last@example.org' })
    await mailkeep.deliverDue()
    const [, after] = await everything()
    assert.deepEqual([total(after!, 'delivered'), total(after!, 'failed')], [90, 45])
  })

  test('leave out what came at the end of their range, before and after it is summarized', needsClock, async (t) => {
    const { data, client, mailkeep, receiver, advance } = await open(t, { dispatch: false })
    const body = { url: (await receiver()).url(), events: ['contact.created'] }
    await data(201, 'POST', '/webhook-endpoints', { body })
    await client.contacts.upsert({ email: 'ada@example.org' })
    await mailkeep.deliverDue()
    const { series } = await data(200, 'GET', '/stats/deliveries', { query: { step: 'minute' } })
    const atMs = Date.parse(series.find(({ delivered }: Point) => delivered === 1).at)
    const until = async (ms: number) => {
      const query = { from: new Date(atMs - 60_000).toISOString(), to: new Date(ms).toISOString(), step: 'minute' }
      return total((await data(200, 'GET', '/stats/deliveries', { query })).series, 'delivered')
    }
    for (const passMs of [0, 120_000]) {
      advance(passMs)
      await mailkeep.deliverDue()
      assert.deepEqual([await until(atMs), await until(atMs + 60_000)], [0, 1])
    }
  })

  test('count the endpoints by state, and name the first that fail', async (t) => {
    const { data, client, mailkeep, receiver, addTenant } = await open(t, {
      dispatch: false,
      webhooks: { retryScheduleSeconds: [], disableAfterFailures: 2, disableAfterHours: 0 },
    })
    const other = await addTenant()
    const [good, bad] = [await receiver(), await receiver()]
    bad.replies(500)
    const addTo = async (url: string, events: string[]) =>
      (await data(201, 'POST', '/webhook-endpoints', { body: { url, events } })).id
    const healthy = await addTo(good.url(), ['contact.created'])
    const failing = await addTo(bad.url(), ['contact.created'])
    const disabled = await addTo(bad.url(), ['contact.created', 'contact.updated'])
    const manual = await addTo(bad.url(), ['contact.created'])
    const { contact } = await client.contacts.upsert({ email: 'ada@example.org' })
    await mailkeep.deliverDue()
    await client.contacts.update(contact.id, { name: 'Ada' })
    await mailkeep.deliverDue()
    await data(200, 'PATCH', `/webhook-endpoints/${manual}`, { body: { active: false } })

    const statesOf = async (query = {}, tenant: Pick<typeof other, 'data'> = { data }) =>
      (await tenant.data(200, 'GET', '/stats/deliveries', { query })).endpoints
    const { first_failing, ...states } = await statesOf()
    assert.deepEqual(states, { healthy: 1, failing: 2, switched_off: 1 })
    assert.deepEqual(first_failing, [
      { id: failing, url: bad.url(), active: true, disabled_reason: null, consecutive_failures: 1 },
      { id: disabled, url: bad.url(), active: false, disabled_reason: 'auto_failures', consecutive_failures: 2 },
    ])
    const none = { healthy: 0, failing: 0, switched_off: 0, first_failing: [] }
    assert.deepEqual(await statesOf({ endpoint_id: healthy }), { ...none, healthy: 1 })
    assert.deepEqual(await statesOf({}, other), none)
  })

  test('show since when the oldest due delivery waits, of all endpoints and of one', needsClock, async (t) => {
    const { data, client, mailkeep, receiver, advance, addTenant } = await open(t, {
      dispatch: false,
      webhooks: { retryScheduleSeconds: [3600] },
    })
    const other = await addTenant()
    const broken = await receiver()
    broken.replies(500)
    const dueAt = async (query = {}, tenant: typeof other = { ...other, data }) =>
      (await tenant.data(200, 'GET', '/stats/deliveries', { query })).oldest_due_at
    assert.equal(await dueAt(), null)
    const body = { url: broken.url(), events: ['contact.created'] }
    const first = await data(201, 'POST', '/webhook-endpoints', { body })
    await client.contacts.upsert({ email: 'ada@example.org' })
    const since = await dueAt()
    assert.match(since, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\+00:00$/)
    assert.ok(Math.abs(Date.parse(since) - Date.now()) < 60_000)
    const second = await data(201, 'POST', '/webhook-endpoints', { body: { ...body, events: ['contact.deleted'] } })
    assert.equal(await dueAt({ endpoint_id: first.id }), since)
    assert.equal(await dueAt({ endpoint_id: second.id }), null)
    assert.equal(await dueAt({}, other), null)
    await mailkeep.deliverDue()
    assert.equal(await dueAt(), null, 'the second attempt is not due yet')
    advance(7_200_000)
    assert.ok(Date.parse(await dueAt()) > Date.parse(since) + 3_000_000)
    broken.replies('hang')
    const delivering = mailkeep.deliverDue()
    const [, attempt] = await broken.next(2)
    assert.equal(await dueAt(), null, 'the attempt is under way')
    attempt!.answer(204)
    await delivering
  })

  test('of another client are not shown', async (t) => {
    const { data, client, mailkeep, receiver, addTenant } = await open(t, { dispatch: false })
    const other = await addTenant()
    const endpoint = await data(201, 'POST', '/webhook-endpoints', {
      body: { url: (await receiver()).url(), events: ['contact.subscribed'] },
    })
    const list = await client.lists.create({ name: 'News' })
    await client.contacts.addToList(list.id, { email: 'ada@example.org' })
    await mailkeep.deliverDue()
    const query = { endpoint_id: endpoint.id }
    const { series } = await other.data(200, 'GET', '/stats/deliveries', { query })
    assert.equal(total(series, 'delivered'), 0)
    const contacts = await other.data(200, 'GET', '/stats/contacts')
    assert.equal(total(contacts.series, 'created'), 0)
  })

  test('count contacts that were created, unsubscribed and erased', async (t) => {
    const { data, client } = await open(t)
    const ids: number[] = []
    for (const name of ['ada', 'bob', 'cyd']) {
      const { contact } = await client.contacts.upsert({ email: `${name}@example.org` })
      ids.push(contact.id)
    }
    await data(200, 'POST', `/contacts/${ids[0]}/unsubscribe`)
    await data(204, 'DELETE', `/contacts/${ids[1]}`)
    const back = await client.contacts.upsert({ email: 'dan@example.org' })
    const twice = await client.contacts.upsert({ email: 'eve@example.org' })
    await client.contacts.batch([
      { op: 'unsubscribe', id: back.contact.id },
      { op: 'unsubscribe', id: twice.contact.id },
      { op: 'resubscribe', id: back.contact.id },
      { op: 'resubscribe', id: ids[2]! }, // is subscribed
    ])
    await client.contacts.merge(twice.contact.id, { into: back.contact.id }) // which unsubscribes it
    await client.contacts.resubscribe(back.contact.id)
    await client.contacts.resubscribe(back.contact.id)
    const { series, from, to } = await data(200, 'GET', '/stats/contacts', { query: { step: 'hour' } })
    assert.equal(series.length, 24)
    assert.deepEqual([series[0].at, Date.parse(to) - Date.parse(from)], [from, 86_400_000])
    const { at: _, ...last } = series.at(-1)
    assert.deepEqual(last, { created: 5, unsubscribed: 3, deleted: 2 }, 'also those that contacts show no more')
    const { subscribed } = await data(200, 'GET', '/stats/contacts', { query: { count: 1 } })
    assert.equal(subscribed, 2)
  })

  test('have every step of the range, and at most 1,500', async (t) => {
    const { call, data } = await open(t)
    const from = '2026-01-02T03:04:05+01:00'
    const { series } = await data(200, 'GET', '/stats/deliveries', {
      query: { from, to: '2026-01-02T05:00:00Z', step: 'hour' },
    })
    assert.deepEqual(
      series.map(({ at }: { at: string }) => at),
      ['2026-01-02T02:00:00+00:00', '2026-01-02T03:00:00+00:00', '2026-01-02T04:00:00+00:00'],
    )
    const most = { from: '2026-01-01T00:00:00Z', step: 'minute' }
    const { series: longest } = await data(200, 'GET', '/stats/contacts', {
      query: { ...most, to: '2026-01-02T01:00:00Z' },
    })
    assert.equal(longest.length, 1500)
    assertInvalid(await call('GET', '/stats/contacts', { query: { ...most, to: '2026-01-02T01:00:01Z' } }), 'step')
    const year = { from: '2025-01-01T00:00:00Z', to: '2026-01-01T00:00:00Z' }
    assertInvalid(await call('GET', '/stats/contacts', { query: { ...year, step: 'minute' } }), 'step')
    assertInvalid(await call('GET', '/stats/contacts', { query: { from: year.to, to: year.from } }), 'from')
    assertInvalid(await call('GET', '/stats/contacts', { query: { step: 'week' } }), 'step')
    assertInvalid(await call('GET', '/stats/contacts', { query: { endpoint_id: 1 } }), 'endpoint_id')
    assertInvalid(await call('GET', '/stats/deliveries', { query: { endpoint_id: 'x' } }), 'endpoint_id')
    assertInvalid(await call('GET', '/stats/deliveries', { query: { endpoint_id: 0 } }), 'endpoint_id')
    assertInvalid(await call('GET', '/stats/deliveries', { query: { from: 'yesterday' } }), 'from')
    for (const path of ['/stats/contacts', '/stats/deliveries']) {
      const [first, last] = ['0000-12-30T00:00:00Z', '9999-12-31T23:59:59Z']
      assertInvalid(
        await call('GET', path, { query: { from: first, to: '0001-01-05T00:00:00Z', step: 'day' } }),
        'from',
      )
      assertInvalid(await call('GET', path, { query: { to: last, step: 'day' } }), 'to')
    }
  })

  test('are deleted after 90 days', needsClock, async (t) => {
    const { data, client, mailkeep, receiver, advance } = await open(t, { dispatch: false })
    const url = (await receiver()).url()
    await data(201, 'POST', '/webhook-endpoints', { body: { url, events: ['contact.subscribed'] } })
    const list = await client.lists.create({ name: 'News' })
    await client.contacts.addToList(list.id, { email: 'ada@example.org' })
    await mailkeep.deliverDue()
    const query = { from: new Date(Date.now() - 86_400_000).toISOString(), step: 'day' }
    const counted = async () => total((await data(200, 'GET', '/stats/deliveries', { query })).series, 'delivered')
    assert.equal(await counted(), 1)
    await client.contacts.delete({ email: 'ada@example.org' })
    const created = async () => total((await data(200, 'GET', '/stats/contacts', { query })).series, 'created')
    assert.equal(await created(), 1, 'also of an erased contact')
    advance(92 * 86_400_000)
    mailkeep.start()
    while ((await counted()) + (await created()) > 0) await new Promise((resolve) => setImmediate(resolve))
  })

  test('are for admins; those of contacts also for viewers', async (t) => {
    const { call, viewer } = await open(t)
    assert.equal((await call('GET', '/stats/deliveries', { token: viewer })).status, 403)
    assert.equal((await call('GET', '/stats/contacts', { token: viewer })).status, 200)
  })
})
