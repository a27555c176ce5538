import assert from 'node:assert/strict'
import type { TestContext } from 'node:test'
import { isMailkeepError } from '../../lib/index.ts'
import { test } from '../support/databases.ts'
import { isInvalid } from '../support/refusal.ts'
import {
  addEndpoint,
  attempted,
  hourMs,
  newest,
  onEveryDatabase,
  onSharedDatabases,
  openManualReceiver,
  openReceiver,
  openSecondInstance,
  raise,
  secondMs,
  withStatus,
} from '../support/webhook-harness.ts'

onEveryDatabase('redeliver', (open) => {
  test('sends a successful delivery again under its uuid', async (t) => {
    const mk = await open(t)
    const receiver = await openReceiver(t)
    const { id } = await addEndpoint(mk, receiver.url())
    await raise(mk, { n: 1 })
    const { id: delivery, uuid } = await withStatus(mk, id, 'success')
    mk.clock.advance(hourMs)
    const queued = await mk.acme.webhooks.redeliver(id, delivery)
    assert.deepEqual([queued.id, queued.uuid, queued.status, queued.delivered_at], [delivery, uuid, 'pending', null])
    const again = await attempted(mk, id, 2)
    assert.deepEqual([again.status, again.attempts], ['success', 2])
    assert.equal(receiver.received[0]!.body, receiver.received[1]!.body)
    assert.deepEqual(
      receiver.received.map(({ headers }) => headers['x-service-delivery']),
      [uuid, uuid],
    )
  })

  test('restarts the schedule of a failed one', async (t) => {
    const mk = await open(t, { webhooks: { retryScheduleSeconds: [5, 300] } })
    const { id } = await addEndpoint(mk, (await openReceiver(t, 500)).url())
    await raise(mk)
    for (const attempts of [1, 2, 3]) {
      await attempted(mk, id, attempts)
      await mk.pass(hourMs)
    }
    const failed = await newest(mk, id)
    assert.deepEqual([failed.status, failed.attempts], ['failed', 3])
    await mk.acme.webhooks.redeliver(id, failed.id)
    const { status, next_attempt_at } = await attempted(mk, id, 4)
    assert.equal(status, 'pending')
    assert.ok(Date.parse(next_attempt_at!) - mk.clock.ms <= 6 * secondMs)
    for (const attempts of [5, 6]) {
      await mk.pass(hourMs)
      await attempted(mk, id, attempts)
    }
    assert.deepEqual([(await newest(mk, id)).status, (await newest(mk, id)).attempts], ['failed', 6])
  })

  test('makes a pending one due now, at its position in the schedule', async (t) => {
    const mk = await open(t, { webhooks: { retryScheduleSeconds: [5, 300] } })
    const receiver = await openReceiver(t, 500)
    const { id } = await addEndpoint(mk, receiver.url())
    await raise(mk)
    const { id: delivery } = await attempted(mk, id, 1)
    await mk.acme.webhooks.redeliver(id, delivery)
    await attempted(mk, id, 2)
    await mk.acme.webhooks.redeliver(id, delivery)
    assert.equal((await attempted(mk, id, 3)).status, 'failed', 'these were all its attempts')
  })

  test('is refused for an inactive endpoint and an erased payload', async (t) => {
    const mk = await open(t, { start: false })
    const { id } = await addEndpoint(mk, 'http://127.0.0.1:9/', 'contact.subscribed')
    const list = await mk.acme.lists.create({ name: 'News' })
    const { contact } = await mk.acme.contacts.addToList(list.id, { email: 'ada@example.org' })
    const delivery = await newest(mk, id)
    await mk.acme.webhooks.updateEndpoint(id, { active: false })
    await assert.rejects(mk.acme.webhooks.redeliver(id, delivery.id), isInvalid('active'))
    await mk.acme.webhooks.updateEndpoint(id, { active: true })
    await mk.acme.contacts.delete(contact.id)
    await assert.rejects(mk.acme.webhooks.redeliver(id, delivery.id), isInvalid('payload'))
    await assert.rejects(mk.acme.webhooks.redeliver(id, 99), (e) => isMailkeepError(e, 'not_found'))
  })
})

onEveryDatabase('redeliver or recover during an attempt', (open) => {
  /** Opens an endpoint whose newest delivery is in flight. */
  async function inFlight(t: TestContext, retryScheduleSeconds: number[]) {
    const mk = await open(t, { webhooks: { retryScheduleSeconds } })
    const { receiver, answers } = await openManualReceiver(t)
    const { id } = await addEndpoint(mk, receiver.url())
    await raise(mk)
    await receiver.count(1)
    const { id: delivery } = await newest(mk, id)
    return {
      mk,
      receiver,
      answers,
      id,
      redeliver: () => mk.acme.webhooks.redeliver(id, delivery),
      recover: () => mk.acme.webhooks.recover(id, { since: new Date(mk.clock.ms).toISOString() }),
      async switchOffAndOn() {
        await mk.acme.webhooks.updateEndpoint(id, { active: false })
        await mk.acme.webhooks.updateEndpoint(id, { active: true })
      },
    }
  }

  test('sends nothing more if the attempt succeeds', async (t) => {
    const { mk, id, receiver, answers, redeliver } = await inFlight(t, [0])
    assert.equal((await redeliver()).status, 'pending')
    answers[0]!(200)
    const { status, attempts } = await attempted(mk, id, 1)
    assert.deepEqual([status, attempts, receiver.received.length], ['success', 1, 1])
  })

  test('sends once more now if the attempt fails, then by the schedule from its start', async (t) => {
    const { mk, id, receiver, answers, redeliver } = await inFlight(t, [3600])
    await redeliver()
    assert.equal((await redeliver()).status, 'pending', 'twice is as good as once')
    answers[0]!({ status: 503, headers: { 'Retry-After': '7200' } })
    await receiver.count(2)
    answers[1]!(500)
    const { status, next_attempt_at } = await attempted(mk, id, 2)
    assert.equal(status, 'pending')
    assert.ok(Date.parse(next_attempt_at!) - mk.clock.ms > 3500 * secondMs)
    await mk.pass(2 * hourMs)
    await receiver.count(3)
    answers[2]!(500)
    assert.equal((await attempted(mk, id, 3)).status, 'failed')
    const { attempts, deliveries } = await mk.mailkeep.stats()
    assert.deepEqual([attempts.failure, deliveries.failed], [3, 1])
  })

  test('sends once more if that was the last attempt of the schedule', async (t) => {
    const { mk, id, receiver, answers, redeliver } = await inFlight(t, [])
    await redeliver()
    answers[0]!(500)
    await receiver.count(2)
    answers[1]!(500)
    const { status, attempts } = await attempted(mk, id, 2)
    assert.deepEqual([status, attempts], ['failed', 2])
  })

  for (const schedule of [[], [3600]]) {
    for (const how of ['redeliver', 'recover'] as const) {
      test(`${how} sends once more what was held since it began, with ${schedule.length} retries`, async (t) => {
        const { mk, id, receiver, answers, switchOffAndOn, ...again } = await inFlight(t, schedule)
        await switchOffAndOn()
        await again[how]()
        await withStatus(mk, id, 'pending')
        answers[0]!(500)
        await receiver.count(2)
        answers[1]!(200)
        assert.equal((await withStatus(mk, id, 'success')).attempts, 2)
      })
    }
  }

  test('leaves the delivery held if the endpoint is switched off after that', async (t) => {
    const { mk, id, answers, redeliver, switchOffAndOn } = await inFlight(t, [])
    await redeliver()
    await switchOffAndOn()
    answers[0]!(500)
    assert.equal((await attempted(mk, id, 1)).status, 'held')
  })

  test('sends nothing more if the receiver answers 410', async (t) => {
    const { mk, id, receiver, answers, redeliver } = await inFlight(t, [0])
    await redeliver()
    answers[0]!(410)
    assert.equal((await attempted(mk, id, 1)).status, 'failed')
    assert.equal(receiver.received.length, 1)
  })
})

onSharedDatabases('redeliver during an attempt', (open) => {
  test('sends once more if its process hangs during the last attempt of the schedule', async (t) => {
    const webhooks = { retryScheduleSeconds: [] }
    const first = await open(t, { webhooks })
    const { receiver, answers } = await openManualReceiver(t)
    const { id } = await addEndpoint(first, receiver.url())
    await raise(first)
    await receiver.count(1)
    await first.acme.webhooks.redeliver(id, (await newest(first, id)).id)
    const second = await openSecondInstance(t, first, { webhooks })
    first.clock.advance(hourMs)
    await second.wake()
    await receiver.count(2)
    answers[1]!(200)
    assert.equal((await withStatus(second, id, 'success')).attempts, 2)
  })
})
