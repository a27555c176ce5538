import assert from 'node:assert/strict'
import type { Socket } from 'node:net'
import type { TestContext } from 'node:test'
import { test } from '../support/databases.ts'
import {
  addEndpoint,
  attempted,
  dayMs,
  hourMs,
  moment,
  newest,
  type Opened,
  onEveryDatabase,
  onSharedDatabases,
  openReceiver,
  openSocket,
  type Reply,
  raise,
  until,
  withStatus,
} from '../support/webhook-harness.ts'

const schedule = [5, 300, 1800, 7200, 18_000, 36_000, 50_400, 72_000, 86_400]

/** Makes the dispatcher poll, and waits until it has: a delivery of another endpoint is claimed in the same poll. */
async function openMarker(t: TestContext, mk: Opened) {
  const receiver = await openReceiver(t)
  const { id } = await addEndpoint(mk, receiver.url(), 'sequence.completed')
  return async () => {
    await raise(mk, {}, 'sequence.completed')
    await withStatus(mk, id, 'success')
  }
}

/** Asserts that the newest delivery's next attempt comes between `atLeastMs` and `atMostMs`. */
async function nextComes(mk: Opened, id: number, look: () => Promise<void>, atLeastMs: number, atMostMs: number) {
  const { attempts } = await newest(mk, id)
  mk.clock.advance(atLeastMs - 1)
  await look()
  assert.equal((await newest(mk, id)).attempts, attempts, `not within ${atLeastMs} ms`)
  await mk.pass(atMostMs - atLeastMs + 1)
  await attempted(mk, id, attempts + 1)
}

onEveryDatabase('the schedule', (open) => {
  test('has ten attempts, each at its delay after the end of the last and up to a fifth later; then the delivery fails', async (t) => {
    const mk = await open(t)
    const receiver = await openReceiver(t, () => {
      mk.clock.advance(3000) // the attempt takes this long
      return 500
    })
    const look = await openMarker(t, mk)
    const { id } = await addEndpoint(mk, receiver.url())
    const startedMs = mk.clock.ms
    await raise(mk)
    await attempted(mk, id, 1)
    for (const [index, seconds] of schedule.entries()) {
      const { attempts, status, next_attempt_at } = await newest(mk, id)
      assert.deepEqual([attempts, status], [index + 1, 'pending'])
      const waitsMs = Date.parse(next_attempt_at!) - mk.clock.ms
      assert.ok(waitsMs > seconds * 1000 - 1000 && waitsMs <= seconds * 1200, `${waitsMs} for ${seconds} s`)
      await nextComes(mk, id, look, seconds * 1000, seconds * 1200)
    }
    const { attempts, status, next_attempt_at, error } = await newest(mk, id)
    assert.deepEqual([attempts, status, next_attempt_at], [10, 'failed', null])
    assert.match(error!, /500/)
    assert.ok(mk.clock.ms - startedMs > 75 * hourMs)
    mk.clock.advance(3 * dayMs)
    await look()
    assert.equal(receiver.received.length, 10)
  })

  test('the fields of a delivery and its endpoint follow the attempts', async (t) => {
    const mk = await open(t, { start: false })
    const replies: Reply[] = [500, 'hang', 204]
    const receiver = await openReceiver(t, () => {
      mk.clock.advance(2000)
      return replies.shift()!
    })
    const { id } = await addEndpoint(mk, receiver.url())
    await raise(mk)
    const fields = async () => {
      const { attempts, response_status, delivered_at } = await newest(mk, id)
      const { last_triggered_at, consecutive_failures } = await mk.acme.webhooks.getEndpoint(id)
      return { attempts, response_status, delivered_at, last_triggered_at, consecutive_failures }
    }
    const before = { attempts: 0, response_status: null, delivered_at: null }
    assert.deepEqual(await fields(), { ...before, last_triggered_at: null, consecutive_failures: 0 })
    const firstMs = mk.clock.ms
    mk.mailkeep.start()
    await attempted(mk, id, 1)
    const failed = { attempts: 1, response_status: 500, delivered_at: null }
    assert.deepEqual(await fields(), { ...failed, last_triggered_at: moment(firstMs), consecutive_failures: 1 })
    await mk.pass(6000)
    await receiver.count(2)
    await until('the claim counts', async () => ((await fields()).attempts === 2 ? true : undefined))
    assert.equal((await fields()).response_status, 500, 'what the receiver answered last')
  })

  test('a success has the time of its attempt, and resets the count of failures', async (t) => {
    const mk = await open(t)
    const replies: Reply[] = [503, 200]
    const receiver = await openReceiver(t, () => {
      mk.clock.advance(2000)
      return replies.shift()!
    })
    const { id } = await addEndpoint(mk, receiver.url())
    await raise(mk)
    await attempted(mk, id, 1)
    await mk.pass(6000)
    const delivery = await attempted(mk, id, 2)
    assert.equal(delivery.status, 'success')
    assert.deepEqual([delivery.attempts, delivery.response_status, delivery.error], [2, 200, null])
    assert.equal(delivery.delivered_at, moment(mk.clock.ms))
    assert.equal(delivery.next_attempt_at, null)
    const endpoint = await mk.acme.webhooks.getEndpoint(id)
    assert.equal(endpoint.consecutive_failures, 0)
    assert.equal(endpoint.last_triggered_at, moment(mk.clock.ms - 2000))
  })
})

onSharedDatabases('the definition of success', (open) => {
  test('2xx is a success; everything else is a failure that is retried, and no redirect is followed', async (t) => {
    const mk = await open(t)
    const successes = [200, 201, 202, 204, 206, 226, 299]
    const failures = [300, 301, 302, 303, 304, 307, 308, 400, 401, 403, 404, 413, 418, 429, 500, 502, 503, 504, 599]
    const elsewhere = await openReceiver(t)
    const receiver = await openReceiver(t, ({ path }) => {
      const status = Number(path.slice(1))
      return status < 400 && status >= 300 ? { status, headers: { location: elsewhere.url() } } : status
    })
    const endpoints = new Map<number, number>()
    for (const status of [...successes, ...failures]) {
      endpoints.set(status, (await addEndpoint(mk, receiver.url(`/${status}`))).id)
    }
    await raise(mk)
    for (const [status, id] of endpoints) {
      const delivery = await attempted(mk, id, 1)
      assert.equal(delivery.status, successes.includes(status) ? 'success' : 'pending', String(status))
      assert.equal(delivery.response_status, status)
      const failuresCounted = (await mk.acme.webhooks.getEndpoint(id)).consecutive_failures
      assert.equal(failuresCounted, successes.includes(status) ? 0 : 1, String(status))
    }
    assert.equal(receiver.received.length, endpoints.size)
    assert.equal(elsewhere.received.length, 0)
  })

  test('410 ends the delivery, switches the endpoint off immediately and holds its pending deliveries', async (t) => {
    const mk = await open(t)
    const receiver = await openReceiver(t, ({ body }) => (JSON.parse(body).data.gone ? 410 : 500))
    const { id } = await addEndpoint(mk, receiver.url())
    await raise(mk)
    const waiting = await attempted(mk, id, 1)
    await raise(mk, { gone: true })
    const gone = await withStatus(mk, id, 'failed')
    assert.deepEqual([gone.attempts, gone.response_status], [1, 410])
    const { active, disabled_reason } = await mk.acme.webhooks.getEndpoint(id)
    assert.deepEqual([active, disabled_reason], [false, 'auto_failures'])
    assert.equal((await mk.acme.webhooks.getDelivery(id, waiting.id)).status, 'held')
  })
})

onSharedDatabases('a status whose body breaks off', (open) => {
  const cut = (status: string) => (socket: Socket) =>
    socket.end(`HTTP/1.1 ${status}\r\nRetry-After: 7200\r\nContent-Length: 10\r\n\r\nabc`)

  test('counts as the status does: 410 switches the endpoint off, Retry-After of 429 and 503 is honoured', async (t) => {
    const mk = await open(t)
    const endpoints = new Map<string, number>()
    for (const status of ['410 Gone', '429 Too Many Requests', '503 Service Unavailable', '500 Error', '200 OK']) {
      endpoints.set(status.slice(0, 3), (await addEndpoint(mk, (await openSocket(t, cut(status))).url)).id)
    }
    await raise(mk)
    const found: Record<string, unknown> = {}
    for (const [status, id] of endpoints) {
      const delivery = await attempted(mk, id, 1)
      assert.equal(delivery.response_status, Number(status))
      const waits = delivery.next_attempt_at ? Date.parse(delivery.next_attempt_at) - mk.clock.ms >= 7_000_000 : null
      found[status] = [delivery.status, waits, (await mk.acme.webhooks.getEndpoint(id)).disabled_reason]
    }
    assert.deepEqual(found, {
      200: ['pending', false, null],
      410: ['failed', null, 'auto_failures'],
      429: ['pending', true, null],
      500: ['pending', false, null],
      503: ['pending', true, null],
    })
  })
})

onSharedDatabases('Retry-After', (open) => {
  const scheduled = [5000, 6000] as const
  const cases: [string, number, string | ((nowMs: number) => string), readonly [number, number]][] = [
    ['seconds, on 503', 503, '60', [60_000, 60_000]],
    ['seconds, on 429', 429, ' 60 ', [60_000, 60_000]],
    ['a date', 503, (nowMs) => new Date(Math.ceil(nowMs / 1000) * 1000 + 120_000).toUTCString(), [120_000, 121_000]],
    ['seconds earlier than the schedule', 503, '1', scheduled],
    ['0', 429, '0', scheduled],
    ['a date in the past', 503, 'Sun, 06 Nov 1994 08:49:37 GMT', scheduled],
    ['a month is limited to a day', 503, '2592000', [dayMs, dayMs]],
    ['more digits than seconds need', 503, '99999999999', [dayMs, dayMs]],
    ['a date in the far future', 429, 'Fri, 31 Dec 2100 00:00:00 GMT', [dayMs, dayMs]],
    ['a word', 503, 'soon', scheduled],
    ['a negative number', 503, '-60', scheduled],
    ['a fraction', 503, '60.5', scheduled],
    ['on another status', 500, '60', scheduled],
    ['on a redirect', 302, '60', scheduled],
  ]
  for (const [what, status, value, [atLeastMs, atMostMs]] of cases) {
    test(`${what}: from ${atLeastMs / 1000} s`, async (t) => {
      const mk = await open(t)
      const receiver = await openReceiver(t, () => ({
        status,
        headers: { 'retry-after': typeof value === 'string' ? value : value(mk.clock.ms) },
      }))
      const look = await openMarker(t, mk)
      const { id } = await addEndpoint(mk, receiver.url())
      await raise(mk)
      await attempted(mk, id, 1)
      await nextComes(mk, id, look, atLeastMs, atMostMs)
    })
  }
})

onSharedDatabases('an endpoint that keeps failing', (open) => {
  test('is switched off once it failed often enough and the first failure is old enough, and not before', async (t) => {
    const mk = await open(t, { webhooks: { disableAfterFailures: 3, disableAfterHours: 2 } })
    const receiver = await openReceiver(t, 500)
    const { id } = await addEndpoint(mk, receiver.url())
    const fail = async (count: number) => {
      await raise(mk)
      await attempted(mk, id, 1)
      const { active, consecutive_failures } = await mk.acme.webhooks.getEndpoint(id)
      assert.equal(consecutive_failures, count, 'each attempt that fails counts')
      return active
    }
    for (let count = 1; count <= 4; count++) assert.equal(await fail(count), true, 'a burst disables no endpoint')
    await mk.ask(`update mailkeep_delivery set status = 'failed' where status = 'pending'`) // no retries in between
    mk.clock.advance(2 * hourMs - 1)
    assert.equal(await fail(5), true, 'a moment too early')
    await mk.ask(`update mailkeep_delivery set status = 'failed' where status = 'pending'`)
    mk.clock.advance(1)
    assert.equal(await fail(6), false)
    assert.equal((await mk.acme.webhooks.getEndpoint(id)).disabled_reason, 'auto_failures')
    assert.equal((await newest(mk, id)).status, 'held', 'pending deliveries are held')
    const byHand = await mk.acme.webhooks.updateEndpoint(id, { active: false })
    assert.equal(byHand.disabled_reason, 'manual')
  })

  test('is by default switched off at its twentieth failure, once the first is 24 h old', async (t) => {
    const mk = await open(t)
    const url = (await openReceiver(t, 500)).url()
    const rare = await addEndpoint(mk, url)
    const burst = await addEndpoint(mk, url, 'sequence.completed')
    const fail = async ({ id, events: [type] }: typeof rare, times: number) => {
      for (let i = 0; i < times; i++) {
        await raise(mk, {}, type as 'newsletter.sent')
        await attempted(mk, id, 1)
      }
      await mk.ask(`update mailkeep_delivery set status = 'failed' where status = 'pending'`) // no retries in between
      return (await mk.acme.webhooks.getEndpoint(id)).active
    }
    assert.deepEqual([await fail(rare, 1), await fail(burst, 20)], [true, true])
    mk.clock.advance(dayMs - 1)
    assert.equal(await fail(burst, 1), true, 'a moment too early')
    mk.clock.advance(1)
    assert.equal(await fail(rare, 18), true, 'one too few')
    assert.deepEqual([await fail(rare, 1), await fail(burst, 1)], [false, false])
  })

  test('is switched off immediately with 0 hours; its retries count', async (t) => {
    const mk = await open(t, { webhooks: { disableAfterFailures: 3, disableAfterHours: 0 } })
    const { id } = await addEndpoint(mk, (await openReceiver(t, 500)).url())
    await raise(mk)
    for (const [failures, active] of [
      [1, true],
      [2, true],
      [3, false],
    ] as const) {
      await attempted(mk, id, failures)
      const endpoint = await mk.acme.webhooks.getEndpoint(id)
      assert.deepEqual([endpoint.consecutive_failures, endpoint.active], [failures, active])
      await mk.pass(hourMs)
    }
  })

  test('starts again from zero after a success, and after it was enabled', async (t) => {
    const mk = await open(t, { webhooks: { disableAfterFailures: 2, disableAfterHours: 0 } })
    const replies: Reply[] = [500, 200, 500, 500]
    const { id } = await addEndpoint(mk, (await openReceiver(t, () => replies.shift() ?? 500)).url())
    const seen = []
    for (let i = 0; i < 4; i++) {
      await raise(mk)
      await attempted(mk, id, 1)
      const { consecutive_failures, active } = await mk.acme.webhooks.getEndpoint(id)
      seen.push([consecutive_failures, active])
    }
    assert.deepEqual(seen, [[1, true], [0, true], [1, true], [2, false]]) // biome-ignore format: a table
    const again = await mk.acme.webhooks.updateEndpoint(id, { active: true })
    assert.deepEqual([again.active, again.disabled_reason, again.consecutive_failures], [true, null, 0])
    await raise(mk)
    await attempted(mk, id, 1)
    const { active, consecutive_failures } = await mk.acme.webhooks.getEndpoint(id)
    assert.deepEqual([active, consecutive_failures], [true, 1])
    const cleared = await mk.acme.webhooks.updateEndpoint(id, { active: true })
    assert.equal(cleared.consecutive_failures, 0, 'also of an endpoint that was active')
  })

  for (const what of ['a success', 'activating it'] as const) {
    test(`${what} also resets the time of the first failure`, async (t) => {
      const mk = await open(t, { webhooks: { disableAfterFailures: 1, disableAfterHours: 1 } })
      const replies: Reply[] = what === 'a success' ? [500, 200, 500] : [500, 500]
      const { id } = await addEndpoint(mk, (await openReceiver(t, () => replies.shift()!)).url())
      while (replies.length > 0) {
        await raise(mk)
        await attempted(mk, id, 1)
        assert.equal((await mk.acme.webhooks.getEndpoint(id)).active, true)
        await mk.ask(`update mailkeep_delivery set status = 'failed' where status = 'pending'`)
        mk.clock.advance(hourMs)
        if (what !== 'a success') await mk.acme.webhooks.updateEndpoint(id, { active: true })
      }
    })
  }
})
