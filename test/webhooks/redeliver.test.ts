import assert from 'node:assert/strict'
import { isMailkeepError } from '../../lib/index.ts'
import { test } from '../support/databases.ts'
import { isInvalid } from '../support/refusal.ts'
import {
  addEndpoint,
  attempted,
  hourMs,
  newest,
  onEveryDatabase,
  openReceiver,
  type Reply,
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

  test('does not affect a delivery that is in flight', async (t) => {
    const mk = await open(t)
    let answer = (_: Reply) => {}
    const receiver = await openReceiver(t, () => new Promise<Reply>((resolve) => (answer = resolve)))
    const { id } = await addEndpoint(mk, receiver.url())
    await raise(mk)
    await receiver.count(1)
    const { status } = await mk.acme.webhooks.redeliver(id, (await newest(mk, id)).id)
    assert.equal(status, 'pending')
    answer(200)
    assert.equal((await attempted(mk, id, 1)).status, 'success')
    assert.equal(receiver.received.length, 1)
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
