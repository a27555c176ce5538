/** Endpoints that are switched off and on, by hand and by failures, and deleted. */
import assert from 'node:assert/strict'
import { test } from '../support/databases.ts'
import { needsClock, overHttp, until } from '../support/harness.ts'
import { type Delivery, openHook } from './hook.ts'

const statuses = (deliveries: Delivery[]) => deliveries.map(({ status }) => status).reverse()
const never = { retryScheduleSeconds: [3600] }

overHttp('endpoints', (open) => {
  test('switched off by hand hold pending and later deliveries', async (t) => {
    const { deliveries, endpoint, failed, hook, patch, wakeDispatcher, raise, settled } = await openHook(open, t, never)
    hook.replies(200, 500)
    await raise()
    await hook.next()
    await settled()
    await raise()
    await hook.next()
    await failed(1)
    await patch({ active: false })
    assert.deepEqual(statuses(await deliveries()), ['success', 'held'])
    await raise()
    const [held] = await deliveries()
    assert.deepEqual([held!.status, held!.attempts, held!.response_status], ['held', 0, null])
    const { active, disabled_reason } = await endpoint()
    assert.deepEqual([active, disabled_reason], [false, 'manual'])
    await patch({ active: false })
    assert.equal((await endpoint()).disabled_reason, 'manual')
    await wakeDispatcher()
    assert.equal(hook.received.length, 2)
  })

  test('hold their deliveries in the transaction of the change, without waiting for the dispatcher', async (t) => {
    const { call, data } = await open(t, { dispatch: false })
    const body = { url: 'http://127.0.0.1:9/', events: ['newsletter.sent'] }
    const path = `/webhook-endpoints/${(await data(201, 'POST', '/webhook-endpoints', { body })).id}`
    const raise = () => call('POST', '/events', { body: { type: 'newsletter.sent', data: {} } })
    const recorded = async () => statuses(await data(200, 'GET', `${path}/deliveries`))
    await raise()
    assert.deepEqual(await recorded(), ['pending'])
    await data(200, 'PATCH', path, { body: { active: false } })
    await raise()
    assert.deepEqual(await recorded(), ['held', 'held'])
    await data(200, 'PATCH', path, { body: { active: true } })
    await raise()
    assert.deepEqual(await recorded(), ['held', 'held', 'pending'])
  })

  test('enabled again start without failures, and send none of the held deliveries', async (t) => {
    const { advance, deliveries, endpoint, failed, hook, patch, wakeDispatcher, raise, settled } = await openHook(
      open,
      t,
      never,
    )
    hook.replies(500, 200)
    await raise()
    await hook.next()
    await failed(1)
    await patch({ active: false })
    await raise()
    await patch({ active: true })
    const { active, disabled_reason, consecutive_failures } = await endpoint()
    assert.deepEqual([active, disabled_reason, consecutive_failures], [true, null, 0])
    advance(24 * 3_600_000)
    await wakeDispatcher()
    assert.deepEqual(statuses(await deliveries()), ['held', 'held'])
    await raise()
    await hook.next()
    assert.deepEqual(statuses(await settled()), ['held', 'held', 'success'])
    assert.equal(hook.received.length, 2)
  })

  test('set to active while they are active forget their failures too', async (t) => {
    const { endpoint, failed, hook, patch, raise } = await openHook(open, t, never)
    hook.replies(500)
    await raise()
    await hook.next()
    await failed(1)
    await patch({ active: true })
    assert.equal((await endpoint()).consecutive_failures, 0)
  })

  test('that fail often enough for long enough are switched off', async (t) => {
    const settings = { retryScheduleSeconds: Array(9).fill(0), disableAfterFailures: 3, disableAfterHours: 0 }
    const { deliveries, endpoint, hook, patch, wakeDispatcher, raise } = await openHook(open, t, settings)
    hook.replies(500)
    await raise()
    await hook.next(3)
    const { active, disabled_reason } = await until(endpoint, (each) => !each.active)
    assert.deepEqual([active, disabled_reason], [false, 'auto_failures'])
    await raise()
    assert.deepEqual(statuses(await deliveries()), ['held', 'held'])
    assert.deepEqual(
      (await deliveries()).map(({ attempts }) => attempts),
      [0, 3],
    )
    await wakeDispatcher()
    assert.equal(hook.received.length, 3)
    await patch({ active: true })
    const { consecutive_failures, disabled_reason: none } = await endpoint()
    assert.deepEqual([consecutive_failures, none], [0, null])
  })

  test('are not switched off before the first failure is long enough ago', async (t) => {
    const settings = { disableAfterFailures: 3, disableAfterHours: 24 }
    const { advance, endpoint, failed, hook, raise } = await openHook(open, t, settings)
    hook.replies(500)
    for (const times of [1, 2, 3, 4]) {
      await raise()
      await hook.next()
      assert.equal((await failed(times)).active, true)
    }
    advance(23 * 3_600_000)
    await raise()
    await hook.next()
    assert.equal((await failed(5)).active, true)
    advance(3_600_000)
    await raise()
    await hook.next()
    const { disabled_reason } = await until(endpoint, ({ active }) => !active)
    assert.equal(disabled_reason, 'auto_failures')
  })

  test('count failures since the last success only', async (t) => {
    const settings = { disableAfterFailures: 3, disableAfterHours: 0 }
    const { endpoint, failed, hook, raise, settled } = await openHook(open, t, settings)
    hook.replies(500, 'reset', 200, 404, 500, 200)
    for (const failures of [1, 2, 0, 1, 2, 0]) {
      await raise()
      await hook.next()
      await settled()
      assert.equal((await failed(failures)).active, true)
    }
    assert.equal((await endpoint()).disabled_reason, null)
  })

  test('that answer 410 are switched off immediately', async (t) => {
    const { deliveries, endpoint, failed, hook, wakeDispatcher, raise } = await openHook(open, t, never)
    hook.replies(500, 410)
    await raise()
    await hook.next()
    await failed(1)
    await raise()
    await hook.next()
    const { disabled_reason } = await until(endpoint, ({ active }) => !active)
    assert.equal(disabled_reason, 'auto_failures')
    const [gone, waiting] = await deliveries()
    assert.deepEqual([gone!.status, gone!.attempts, gone!.response_status], ['failed', 1, 410])
    assert.deepEqual([waiting!.status, waiting!.attempts], ['held', 1])
    await raise()
    await wakeDispatcher()
    assert.deepEqual([hook.received.length, statuses(await deliveries())], [2, ['held', 'failed', 'held']])
  })

  test('show when they were last tried', needsClock, async (t) => {
    const { advance, endpoint, failed, hook, raise, settled } = await openHook(open, t, never)
    assert.equal((await endpoint()).last_triggered_at, null)
    await raise()
    await hook.next()
    await settled()
    const first = (await endpoint()).last_triggered_at!
    assert.ok(Math.abs(Date.parse(first) - Date.now()) < 60_000)
    advance(3_600_000)
    hook.replies(500)
    await raise()
    await hook.next()
    await failed(1)
    assert.ok(Date.parse((await endpoint()).last_triggered_at!) - Date.parse(first) >= 3_599_000, 'failures count too')
  })

  test('that are deleted get nothing more, and requests in flight are aborted', async (t) => {
    const { addEndpoint, call, data, failed, hook, path, wakeDispatcher, raise, receiver } = await openHook(open, t, {
      retryScheduleSeconds: [0, 3600],
      timeoutSeconds: 600,
    })
    hook.replies(500, 'hang')
    await raise()
    const [, second] = await hook.next(2)
    await failed(1)
    assert.equal((await call('DELETE', path)).status, 204)
    await second!.gone()
    for (const [method, at] of [
      ['GET', path],
      ['GET', `${path}/deliveries`],
      ['POST', `${path}/test`],
      ['POST', `${path}/secret`],
      ['DELETE', path],
    ] as const) {
      assert.equal((await call(method, at)).status, 404, `${method} ${at}`)
    }
    const other = await receiver()
    const later = await addEndpoint(other.url())
    await raise()
    await other.next()
    await wakeDispatcher()
    assert.equal(hook.received.length, 2)
    assert.equal((await data(200, 'GET', `/webhook-endpoints/${later.id}/deliveries`)).length, 2)
  })

  test('do not change the number and order of their deliveries by holding or retrying them', async (t) => {
    const { deliveries, patch, raise } = await openHook(open, t, never)
    await patch({ active: false })
    for (const type of ['newsletter.sent', 'sequence_step.sent', 'newsletter.sent']) await raise(type)
    const before = await deliveries()
    await patch({ description: 'changed' })
    await patch({ active: true })
    await patch({ active: false })
    assert.deepEqual(await deliveries(), before)
  })
})
