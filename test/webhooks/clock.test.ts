import assert from 'node:assert/strict'
import { test } from '../support/databases.ts'
import { onDemand } from '../support/timing.ts'
import {
  addEndpoint,
  attempted,
  hourMs,
  onSharedDatabases,
  openManualReceiver,
  openReceiver,
  openSecondInstance,
  type Reply,
  raise,
  secondMs,
  withStatus,
} from '../support/webhook-harness.ts'

onSharedDatabases('a clock that is changed', (open) => {
  for (const [what, jumpMs] of [
    ['an hour ahead', hourMs],
    ['an hour back', -hourMs],
    ['two days ahead', 48 * hourMs],
    ['two days back', -48 * hourMs],
    ['forty days ahead', 40 * 24 * hourMs],
  ] as const) {
    test(`${what} neither repeats requests in flight nor delays waiting deliveries`, async (t) => {
      const mk = await open(t)
      const { receiver, answers } = await openManualReceiver(t)
      const underWay = await addEndpoint(mk, receiver.url())
      const replies: Record<string, Reply> = { '/500': 500, '/503': 503, '/new': 200 }
      const others = await openReceiver(t, ({ path }) => replies[path]!)
      const waiting = [await addEndpoint(mk, others.url('/500')), await addEndpoint(mk, others.url('/503'))]
      await raise(mk)
      await receiver.count(1)
      for (const { id } of waiting) await attempted(mk, id, 1)
      for (const path in replies) replies[path] = 200
      mk.clock.advance(jumpMs)
      await mk.wake()
      mk.clock.advance(6 * secondMs)
      await mk.wake()
      for (const { id } of waiting) {
        const { attempts } = await withStatus(mk, id, 'success')
        assert.equal(attempts, 2)
      }
      const fresh = await addEndpoint(mk, others.url('/new'), 'sequence.completed')
      await raise(mk, {}, 'sequence.completed')
      await withStatus(mk, fresh.id, 'success')
      assert.equal(receiver.received.length, 1)
      answers[0]!(200)
      const { attempts, attempt_log } = await withStatus(mk, underWay.id, 'success')
      assert.deepEqual([attempts, attempt_log.length], [1, 1])
      assert.ok(attempt_log[0]!.duration_ms! >= 0)
    })
  }

  test('back does not shorten a Retry-After that was just received', async (t) => {
    const mk = await open(t)
    const receiver = await openReceiver(t, { status: 503, headers: { 'retry-after': '3600' } })
    const { id } = await addEndpoint(mk, receiver.url())
    await raise(mk)
    await attempted(mk, id, 1)
    const second = await openSecondInstance(t, mk) // polls all waiting deliveries
    const marker = await addEndpoint(second, (await openReceiver(t)).url(), 'sequence.completed')
    await raise(second, {}, 'sequence.completed')
    await withStatus(second, marker.id, 'success')
    assert.equal(receiver.received.length, 1)
  })
})

onSharedDatabases('a clock with fractions of a millisecond', (open) => {
  test('lets deliverDue end less than a millisecond before a due time', { timeout: 20_000 }, async (t) => {
    const mk = await open(t, { start: false })
    const receiver = await openReceiver(t, { status: 503, headers: { 'retry-after': '10' } })
    await addEndpoint(mk, receiver.url())
    mk.clock.advance(0.5)
    await raise(mk)
    await mk.mailkeep.deliverDue()
    mk.clock.advance(10 * secondMs - 0.5)
    const nextMs = await mk.mailkeep.deliverDue()
    assert.equal(receiver.received.length, 1)
    assert.equal(nextMs, mk.clock.ms + 1)
    mk.clock.advance(1)
    await mk.mailkeep.deliverDue()
    assert.equal(receiver.received.length, 2)
  })
})

onSharedDatabases('an idle dispatcher', (open) => {
  test('uses almost no processor time', onDemand, async (t) => {
    const mk = await open(t, { clock: Date.now })
    const receiver = await openReceiver(t, 500)
    for (let i = 0; i < 20; i++) {
      const { id } = await addEndpoint(mk, receiver.url(`/${i}`), 'sequence.completed')
      await raise(mk, {}, 'sequence.completed')
      await attempted(mk, id, 1)
    }
    await mk.ask(`update mailkeep_delivery set due_at = '2999-01-01T00:00:00.000000Z' where status = 'pending'`)
    const before = process.cpuUsage()
    await new Promise((resolve) => setTimeout(resolve, 2000))
    const { user, system } = process.cpuUsage(before)
    assert.ok((user + system) / 2_000_000 < 0.03, `${(user + system) / 20_000} % of a processor`)
  })
})
