import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { nextStep, retryAfterMs } from '../../lib/webhooks/dispatch/retry.ts'
import type { Outcome } from '../../lib/webhooks/http/send.ts'
import { defaultWebhookSettings } from '../../lib/webhooks/settings.ts'
import { addEndpoint, copies, dayMs, open, openReceiver, raise, until } from '../support/webhook-harness.ts'

process.env.TZ = 'Asia/Kolkata' // a result in local time would show it

const schedule = [5, 300, 1800, 7200, 18_000, 36_000, 50_400, 72_000, 86_400]

describe('the next step after an attempt', () => {
  const settings = { retryScheduleSeconds: schedule }
  const answered = (status: number, retryAfterMs?: number): Outcome =>
    retryAfterMs === undefined
      ? { kind: 'answered', status, body: '' }
      : { kind: 'answered', status, body: '', retryAfterMs }
  const failed: Outcome = { kind: 'failed', error: 'x', timedOut: true }

  test('the default schedule is the example of Standard Webhooks', () => {
    assert.deepEqual(defaultWebhookSettings.retryScheduleSeconds, schedule)
  })

  test('adds up to a fifth to the delay, and never shortens it', () => {
    for (const [index, seconds] of schedule.entries()) {
      for (const random of [0, 0.5, 1]) {
        const disposition = nextStep(failed, index + 1, settings, random)
        assert.deepEqual(disposition, { status: 'pending', delayMs: Math.ceil(seconds * 1000 * (1 + random / 5)) })
      }
    }
    assert.deepEqual(nextStep(failed, 10, settings, 0), { status: 'failed', disable: false })
    assert.deepEqual(nextStep(failed, 1, { retryScheduleSeconds: [] }, 0), { status: 'failed', disable: false })
  })

  test('Retry-After counts up to a day, and never shortens the schedule', () => {
    assert.deepEqual(nextStep(answered(503, 60_000), 1, settings, 1), { status: 'pending', delayMs: 60_000 })
    assert.deepEqual(nextStep(answered(503, 1), 1, settings, 0), { status: 'pending', delayMs: 5000 })
    assert.deepEqual(nextStep(answered(429, 30 * dayMs), 1, settings, 0), { status: 'pending', delayMs: dayMs })
    assert.deepEqual(nextStep(answered(429, 30 * dayMs), 9, settings, 1), { status: 'pending', delayMs: dayMs * 1.2 })
    assert.deepEqual(nextStep(answered(503, 60_000), 10, settings, 0), { status: 'failed', disable: false })
  })

  test('a success, 410 and a refused address end the delivery; an interruption causes an immediate retry', () => {
    assert.deepEqual(nextStep(answered(200), 1, settings, 0), { status: 'success' })
    assert.deepEqual(nextStep(answered(410), 1, settings, 0), { status: 'failed', disable: true })
    assert.deepEqual(nextStep({ kind: 'refused', error: '' }, 1, settings, 0), { status: 'failed', disable: false })
    assert.deepEqual(nextStep({ kind: 'interrupted' }, 1, settings, 0), { status: 'pending', delayMs: 0 })
  })
})

test('deliveries that failed at the same moment are retried at different times', async (t) => {
  const mk = await open(t, { webhooks: { retryScheduleSeconds: [86_400] } })
  const { id } = await addEndpoint(mk, (await openReceiver(t, 500)).url())
  await raise(mk)
  await copies(mk, 9, 'pending')
  await mk.wake()
  await until('all have failed', async () => (await mk.count('mailkeep_attempt')) === 10 || undefined)
  const { data } = await mk.acme.webhooks.listDeliveries(id)
  const details = await Promise.all(data.map((one) => mk.acme.webhooks.getDelivery(id, one.id)))
  const times = new Set(details.map(({ next_attempt_at }) => next_attempt_at))
  assert.ok(times.size > 5, [...times].join())
})

describe('retryAfterMs', () => {
  const nowMs = Date.UTC(1994, 10, 6, 8, 48, 37)
  const cases: [string | undefined, number | undefined][] = [
    [undefined, undefined],
    ['0', 0],
    ['120', 120_000],
    ['Sun, 06 Nov 1994 08:49:37 GMT', 60_000],
    ['Sunday, 06-Nov-94 08:49:37 GMT', 60_000],
    ['Sun Nov  6 08:49:37 1994', 60_000],
    ['Sun, 06 Nov 1994 08:47:37 GMT', 0],
    ['', undefined],
    ['soon', undefined],
    ['Soon, 5', undefined],
    ['1e3', undefined],
    ['0x10', undefined],
    ['-1', undefined],
    ['1.5', undefined],
    ['1994-11-06T08:49:37Z', undefined],
    ['99999999999', 99_999_999_999_000],
    ['99999999999999999999', 1e23],
    ['9'.repeat(400), Number.POSITIVE_INFINITY],
  ]
  for (const [value, expected] of cases) {
    test(`${JSON.stringify(value)} is ${expected}`, () => {
      assert.equal(retryAfterMs(503, value, nowMs), expected)
      assert.equal(retryAfterMs(429, value, nowMs), expected)
      assert.equal(retryAfterMs(500, value, nowMs), undefined)
      assert.equal(retryAfterMs(200, value, nowMs), undefined)
    })
  }
})
