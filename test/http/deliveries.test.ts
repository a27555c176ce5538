/** The requests that a receiver gets, and the states of a delivery. */
import assert from 'node:assert/strict'
import { Webhook } from 'standardwebhooks'
import { test } from '../support/databases.ts'
import { needsClock, overHttp, until } from '../support/harness.ts'
import type { Reply } from '../support/http-receiver.ts'
import { assertShape, deliveriesMeta, delivery, offset } from '../support/http-shapes.ts'
import { assertSigned, type Delivery, openHook } from './hook.ts'

const successes: Reply[] = [200, 201, 202, 204, 299]
const failures: Reply[] = [300, 304, 307, 400, 401, 404, 409, 418, 429, 500, 502, 503, 599]

overHttp('deliveries', (open) => {
  test('arrive with the contract’s headers, signed with the whole secret', async (t) => {
    const { addEndpoint, hook, raise, deliveries } = await openHook(open, t)
    const other = await addEndpoint(hook.url('/hook?a=1&b=%20c'), ['newsletter.sent'])
    hook.received.length = 0
    await raise()
    const came = (await hook.next(2)).find(({ path }) => path === '/hook?a=1&b=%20c')!
    const { method, headers, raw, body } = came
    assert.equal(method, 'POST')
    assert.match(String(headers['content-type']), /^application\/json\b/)
    assert.match(String(headers['user-agent']), /^mailkeep\/\d/)
    assert.equal(headers['x-service-event'], 'newsletter.sent')
    assert.match(String(headers['x-service-timestamp']), /^\d{10}$/)
    assert.ok(Math.abs(Number(headers['x-service-timestamp']) - Date.now() / 1000) < 60)
    assertSigned(came, other.secret)
    assert.deepEqual(new Webhook(other.secret).verify(raw.toString(), headers as Record<string, string>), body)
    const [recorded] = await deliveries(`/webhook-endpoints/${other.id}`)
    assert.equal(headers['x-service-delivery'], recorded!.uuid)
    assert.equal(headers['webhook-id'], recorded!.uuid)
    assert.notEqual(body.id, recorded!.uuid)
    assert.doesNotMatch(JSON.stringify(headers) + raw, /whsec_|mk_/)
  })

  test('are success on 2xx, and failures on everything else', async (t) => {
    const { hook, raise, latestWhen } = await openHook(open, t, { disableAfterFailures: 100 })
    for (const reply of [...successes, ...failures, 'reset'] as const) {
      const answer: Reply =
        typeof reply === 'number' ? { status: reply, headers: { location: hook.url('/elsewhere') } } : reply
      hook.replies(answer)
      await raise()
      await hook.next()
      const { id, uuid, ...outcome } = await latestWhen(({ status }) => status !== 'pending')
      assertShape({ id, uuid, ...outcome }, delivery)
      const success = successes.includes(reply)
      assert.deepEqual(
        { ...outcome, delivered_at: outcome.delivered_at !== null },
        {
          event_type: 'newsletter.sent',
          status: success ? 'success' : 'failed',
          attempts: 1,
          response_status: reply === 'reset' ? null : reply,
          delivered_at: success,
        },
      )
    }
    assert.ok(
      hook.received.every(({ path }) => path === '/hook'),
      'redirects are not followed',
    )
  })

  test('without an answer in time are failures', async (t) => {
    const { hook, raise, latestWhen } = await openHook(open, t, { timeoutSeconds: 0.1 })
    hook.replies('hang')
    await raise()
    const abandoned = await hook.next()
    const { status, attempts, response_status } = await latestWhen(({ status }) => status !== 'pending')
    assert.deepEqual([status, attempts, response_status], ['failed', 1, null])
    await abandoned.gone()
  })

  test('are retried as the same delivery, signed again', async (t) => {
    const { advance, endpoint, hook, latestWhen, raise, secret } = await openHook(open, t, {
      retryScheduleSeconds: [0, 0, 0],
    })
    hook.replies(500, 'reset', 503, { status: 200, body: 'ok' })
    await raise()
    advance(2000)
    const came = await hook.next(4)
    for (const one of came) assertSigned(one, secret)
    assert.equal(new Set(came.map(({ headers }) => headers['x-service-delivery'])).size, 1)
    assert.equal(new Set(came.map(({ raw }) => raw.toString())).size, 1)
    const { status, attempts, response_status, delivered_at } = await latestWhen(({ status }) => status === 'success')
    assert.deepEqual([status, attempts, response_status], ['success', 4, 200])
    assert.match(delivered_at!, offset)
    assert.equal((await endpoint()).consecutive_failures, 0)
  })

  test('are given up when the schedule is exhausted', async (t) => {
    const { endpoint, hook, wakeDispatcher, raise, settled } = await openHook(open, t, { retryScheduleSeconds: [0, 0] })
    hook.replies(500)
    await raise()
    await hook.next(3)
    const [last] = await settled()
    assert.deepEqual(
      [last!.status, last!.attempts, last!.response_status, last!.delivered_at],
      ['failed', 3, 500, null],
    )
    assert.equal((await endpoint()).consecutive_failures, 3)
    await wakeDispatcher()
    assert.equal(hook.received.length, 3)
  })

  test('wait as the schedule says, never less, and up to a fifth more', async (t) => {
    const { advance, failed, hook, latestWhen, latest, wakeDispatcher, raise } = await openHook(open, t, {
      retryScheduleSeconds: [5, 300],
    })
    hook.replies(500)
    await raise()
    await hook.next()
    for (const [attempts, seconds] of [
      [1, 5],
      [2, 300],
    ] as const) {
      await failed(attempts)
      advance(seconds * 1000 - 1500)
      await wakeDispatcher()
      assert.deepEqual([(await latest()).attempts, (await latest()).status], [attempts, 'pending'])
      advance(1500 + seconds * 200 + 1000)
      await wakeDispatcher()
      assert.equal((await latest()).attempts, attempts + 1)
      await hook.next()
    }
    assert.equal((await latestWhen(({ status }) => status !== 'pending')).status, 'failed')
  })

  const waits: readonly [status: number, retryAfter: string, scheduleSeconds: number, seconds: number][] = [
    [503, '120', 0, 120],
    [429, '120', 0, 120],
    [503, '1', 60, 60],
    [429, '999999', 0, 86_400],
    [500, '120', 30, 30],
  ]
  for (const [status, retryAfter, scheduleSeconds, seconds] of waits) {
    test(`wait ${seconds} s after ${status} with Retry-After ${retryAfter} and ${scheduleSeconds} s by schedule`, async (t) => {
      const { advance, failed, hook, latest, wakeDispatcher, raise } = await openHook(open, t, {
        retryScheduleSeconds: [scheduleSeconds],
      })
      hook.replies({ status, headers: { 'retry-after': retryAfter } }, 200)
      await raise()
      await hook.next()
      await failed(1)
      advance(seconds * 1000 - 1500)
      await wakeDispatcher()
      assert.deepEqual([(await latest()).attempts, (await latest()).status], [1, 'pending'])
      advance(1500 + scheduleSeconds * 200 + 1000)
      await wakeDispatcher()
      assert.equal((await latest()).attempts, 2)
    })
  }

  test('are signed with the secret that is valid when they are sent', needsClock, async (t) => {
    const { advance, data, failed, hook, path, wakeDispatcher, raise, secret } = await openHook(open, t, {
      retryScheduleSeconds: [60],
    })
    hook.replies(500, 200)
    await raise()
    assertSigned(await hook.next(), secret)
    await failed(1)
    const rotated = await data(200, 'POST', `${path}/secret`)
    assert.notEqual(rotated.secret, secret)
    advance(73_000)
    await wakeDispatcher()
    const retried = await hook.next()
    assertSigned(retried, rotated.secret)
    assert.throws(() => assertSigned(retried, secret))
    assert.ok(Number(retried.headers['x-service-timestamp']) - Date.now() / 1000 > 60, 'the timestamp is the attempt’s')
    await raise()
    assertSigned(await hook.next(), rotated.secret)
  })

  test('are listed newest first, with the contract’s fields and a meta without path', async (t) => {
    const { call, hook, path, raise, settled } = await openHook(open, t)
    for (const type of ['newsletter.sent', 'sequence_step.sent', 'newsletter.sent']) {
      await raise(type)
      await hook.next()
    }
    await settled()
    const { body } = await call('GET', `${path}/deliveries`)
    assertShape(body.meta, deliveriesMeta)
    for (const one of body.data) assertShape(one, delivery)
    const all: Delivery[] = body.data
    assert.deepEqual(
      all.map(({ event_type }) => event_type),
      ['newsletter.sent', 'sequence_step.sent', 'newsletter.sent'],
    )
    assert.deepEqual(
      all.map(({ id }) => id).sort((a, b) => b - a),
      all.map(({ id }) => id),
    )
    assert.ok(all.every(({ status, delivered_at }) => status === 'success' && offset.test(delivered_at!)))
  })

  test('are shown one by one, sent again on request, and recovered', async (t) => {
    const { data, hook, latestWhen, path, raise } = await openHook(open, t)
    hook.replies({ status: 500, body: 'no' }, 200, { status: 503, body: 'later' }, 200)
    await raise()
    const failed = await latestWhen(({ status }) => status === 'failed')
    const at = `${path}/deliveries/${failed.id}`
    const { payload, error, created_at, next_attempt_at, attempt_log, ...rest } = await data(200, 'GET', at)
    assert.deepEqual(rest, failed)
    assert.deepEqual(payload, (await hook.next()).body)
    assert.match(created_at, offset)
    assert.deepEqual([next_attempt_at, error], [null, 'The receiver answered 500.'])
    const [{ started_at, duration_ms, ...attempt }] = attempt_log
    assert.match(started_at, offset)
    assert.ok(duration_ms >= 0)
    assert.deepEqual(attempt, { number: 1, response_status: 500, error, response_body: 'no' })
    const queued = await data(202, 'POST', `${at}/redeliver`)
    assert.deepEqual(queued, { ...failed, status: 'pending' })
    assert.equal((await hook.next()).headers['x-service-delivery'], failed.uuid)
    await latestWhen(({ status }) => status === 'success')
    await raise()
    const other = await latestWhen(({ status }) => status === 'failed')
    await hook.next()
    const since = created_at
    const { id, ...begun } = await data(202, 'POST', `${path}/recover`, { body: { since } })
    assert.deepEqual(begun, { status: 'pending', total: 1, done: 0 })
    assert.equal((await hook.next()).headers['x-service-delivery'], other.uuid)
    const recovery = await until(
      () => data(200, 'GET', `${path}/recoveries/${id}`),
      ({ status }) => status !== 'pending' && status !== 'running',
    )
    assert.deepEqual(recovery, { id, status: 'done', total: 1, done: 1 })
  })

  test('to a receiver that hangs do not delay those to another', async (t) => {
    const { addEndpoint, hook, raise, receiver } = await openHook(open, t)
    const other = await receiver()
    await addEndpoint(other.url())
    hook.replies('hang')
    for (let i = 0; i < 30; i++) await raise()
    await other.next(30)
    assert.ok(hook.received.length > 0)
  })

  test('to a name that resolves to a private address fail immediately, without an attempt', async (t) => {
    const resolver = { resolve4: async () => ['127.0.0.1'], resolve6: async () => [] }
    const { data } = await open(t, { webhooks: { allowPrivate: false }, lookup: { resolver } })
    const body = { url: 'https://hooks.example.org/', events: ['newsletter.sent'] }
    const { id } = await data(201, 'POST', '/webhook-endpoints', { body })
    const path = `/webhook-endpoints/${id}`
    await data(202, 'POST', '/events', { body: { type: 'newsletter.sent', data: {} } })
    assert.equal((await data(202, 'POST', `${path}/test`)).status, 'pending')
    const all: Delivery[] = await until(
      () => data(200, 'GET', `${path}/deliveries`),
      (each) => each.every(({ status }: Delivery) => status !== 'pending'),
    )
    for (const { status, attempts, response_status } of all) {
      assert.deepEqual([status, attempts, response_status], ['failed', 0, null])
    }
    const { active, consecutive_failures, last_triggered_at } = await data(200, 'GET', path)
    assert.deepEqual([all.length, active, consecutive_failures, last_triggered_at], [2, true, 0, null])
  })
})
