import assert from 'node:assert/strict'
import { describe, type TestContext, test } from 'node:test'
import { assertFaster } from '../support/timing.ts'
import type { Keeper } from './keeper.ts'
import { type Arrival, answering, holding } from './receiver.ts'
import { deliverFirst, reportCounts, type Scene, setScene } from './scene.ts'

const timeout = 300_000
const since = '2020-01-01T00:00:00Z'

interface UnderWay {
  readonly scene: Scene
  readonly keeper: Keeper
  readonly endpointId: number
  readonly arrival: Arrival
}

/** Starts a request to `/hook` that stays open; later requests are answered with 200. */
async function underWay(t: TestContext): Promise<UnderWay> {
  const scene = await setScene(t)
  scene.receiver.behave('/hook', holding)
  const keeper = await scene.spawn()
  await keeper.control.start()
  await keeper.client.events.raise({ type: 'newsletter.sent', data: { key: 'a' } })
  const arrival = await scene.receiver.nth('/hook', 1)
  scene.receiver.behave('/hook', answering(200))
  return { scene, keeper, endpointId: scene.endpoints[0]!.id, arrival }
}

function statuses(scene: Scene): unknown[] {
  return scene.look((handle) => handle.prepare('select distinct status from mailkeep_delivery').pluck().all())
}

/** Waits for the job of a recovery, which runs just after the recovery was accepted. */
async function recoveryDone(scene: Scene): Promise<void> {
  await scene.until(() => scene.count("mailkeep_delivery where status in ('held', 'failed')") === 0, 'queued again')
}

/** Number of pending events: more than one batch. */
const many = 600

async function withMany(t: TestContext): Promise<{ scene: Scene; endpointId: number; acked: string[] }> {
  const scene = await setScene(t)
  const { client, mailkeep } = await scene.restart({ dispatch: false })
  const acked = Array.from({ length: many }, (_, n) => `m-${n}`)
  await Promise.all(acked.map((key) => client.events.raise({ type: 'newsletter.sent', data: { key } })))
  await mailkeep.close()
  return { scene, endpointId: scene.endpoints[0]!.id, acked }
}

describe('an endpoint deleted while a request is under way', { timeout, concurrency: 2 }, () => {
  test('the request is aborted, its deliveries are deleted, and other endpoints still get theirs', async (t) => {
    const { scene, keeper, endpointId, arrival } = await underWay(t)
    const other = await scene.addEndpoint(keeper.client, '/other')
    await keeper.client.webhooks.deleteEndpoint(endpointId)
    const deletedMs = performance.now()
    await arrival.gone
    assertFaster(performance.now() - deletedMs, 20_000, 'aborting, which is not by the time-out,')
    assert.equal(arrival.answered, undefined)
    await keeper.client.events.raise({ type: 'newsletter.sent', data: { key: 'b' } })
    await scene.receiver.nth('/other', 1)
    await scene.drain(keeper)
    assert.equal(scene.count('mailkeep_delivery where endpoint_id <> ?', other.id), 0)
    assert.equal(scene.receiver.to('/hook').length, 1)
    assert.deepEqual(keeper.logged, [])
  })

  test('and the process killed immediately: nothing is sent to it after the restart', async (t) => {
    const { scene, keeper, endpointId } = await underWay(t)
    await keeper.control.setTrap({
      matching: 'delete from "mailkeep_endpoint"',
      nth: 1,
      when: 'committed',
      does: 'kill',
    })
    void keeper.client.webhooks.deleteEndpoint(endpointId)
    await keeper.trapped()
    scene.passLease()
    const restarted = await scene.restart()
    await scene.addEndpoint(restarted.client, '/other')
    await restarted.client.events.raise({ type: 'newsletter.sent', data: { key: 'b' } })
    await scene.receiver.nth('/other', 1)
    await scene.drain(restarted)
    assert.equal(scene.receiver.to('/hook').length, 1)
    assert.equal(scene.count('mailkeep_delivery'), 1)
  })

  test('with more deliveries than one transaction deletes, and the process killed in between: the next process deletes the rest', async (t) => {
    const { scene, endpointId } = await withMany(t)
    const keeper = await scene.spawn()
    await keeper.control.setTrap({
      matching: 'delete from "mailkeep_endpoint"',
      nth: 1,
      when: 'committed',
      does: 'kill',
    })
    void keeper.client.webhooks.deleteEndpoint(endpointId)
    await keeper.trapped()
    assert.ok(scene.count('mailkeep_delivery') >= many - 500)
    scene.passLease()
    await scene.restart()
    await scene.until(
      () => scene.count('mailkeep_delivery') === 0 && scene.count('mailkeep_job where status = ?', 'pending') === 0,
      'everything is deleted',
    )
    assert.equal(scene.receiver.arrivals.length, 0)
  })

  test('by another process: the outcome is recorded nowhere, and no error occurs', async (t) => {
    const { scene, keeper, endpointId, arrival } = await underWay(t)
    const other = await scene.restart({ dispatch: false })
    await other.client.webhooks.deleteEndpoint(endpointId)
    await arrival.answer(200)
    await scene.addEndpoint(other.client, '/other')
    await keeper.client.events.raise({ type: 'newsletter.sent', data: { key: 'b' } })
    await scene.receiver.nth('/other', 1)
    await scene.drain(keeper)
    assert.equal(scene.count('mailkeep_delivery'), 1)
    assert.deepEqual(keeper.logged, [])
  })
})

describe('an endpoint disabled while a request is under way', { timeout, concurrency: 2 }, () => {
  test('and answered with 200: delivered', async (t) => {
    const { scene, keeper, endpointId, arrival } = await underWay(t)
    await keeper.client.webhooks.updateEndpoint(endpointId, { active: false })
    assert.deepEqual(statuses(scene), ['held'])
    await arrival.answer(200)
    await scene.until(() => statuses(scene)[0] === 'success', 'the outcome is recorded')
    reportCounts(t, scene.audit({ acked: ['a'] }))
  })

  test('and answered with 500: held, and recover sends it', async (t) => {
    const { scene, keeper, endpointId, arrival } = await underWay(t)
    await keeper.client.webhooks.updateEndpoint(endpointId, { active: false })
    await arrival.answer(500)
    await scene.until(() => scene.count('mailkeep_attempt') === 1, 'the outcome is recorded')
    assert.deepEqual(statuses(scene), ['held'])
    await keeper.client.webhooks.updateEndpoint(endpointId, { active: true })
    assert.equal((await keeper.client.webhooks.recover(endpointId, { since })).total, 1)
    await recoveryDone(scene)
    await scene.drain(keeper)
    const counts = scene.audit({ acked: ['a'] })
    reportCounts(t, counts)
    assert.deepEqual([statuses(scene), counts.requests], [['success'], 2])
  })

  test('and answered with 500 after the next scheduled attempt would begin: recover still finds it', async (t) => {
    const scene = await setScene(t, { webhooks: { retryScheduleSeconds: [86_400] } })
    scene.receiver.behave('/hook', holding)
    const keeper = await scene.spawn()
    await keeper.control.start()
    await keeper.client.events.raise({ type: 'newsletter.sent', data: { key: 'a' } })
    const arrival = await scene.receiver.nth('/hook', 1)
    const endpointId = scene.endpoints[0]!.id
    await keeper.client.webhooks.updateEndpoint(endpointId, { active: false })
    await arrival.answer(500)
    await scene.until(() => scene.count('mailkeep_attempt') === 1, 'the outcome is recorded')
    await keeper.client.webhooks.updateEndpoint(endpointId, { active: true })
    assert.equal((await keeper.client.webhooks.recover(endpointId, { since })).total, 1)
    await (await scene.receiver.nth('/hook', 2)).answer(200)
    await scene.drain(keeper)
    reportCounts(t, scene.audit({ acked: ['a'] }))
  })

  test('and the process killed: held, visibly; recover sends it, and its attempts add up', async (t) => {
    const { scene, keeper, endpointId } = await underWay(t)
    await keeper.client.webhooks.updateEndpoint(endpointId, { active: false })
    await keeper.kill()
    scene.passLease()
    const restarted = await scene.restart()
    assert.deepEqual(statuses(scene), ['held'])
    await restarted.client.webhooks.updateEndpoint(endpointId, { active: true })
    assert.equal((await restarted.client.webhooks.recover(endpointId, { since })).total, 1)
    await recoveryDone(scene)
    await scene.drain(restarted)
    const counts = scene.audit({ acked: ['a'] })
    reportCounts(t, counts)
    assert.deepEqual([statuses(scene), counts.requests, counts.interrupted], [['success'], 2, 1])
  })

  for (const how of ['recover', 'redeliver'] as const) {
    for (const status of [200, 500]) {
      test(`and enabled again, with ${how}, before the receiver answers ${status}: the attempts add up`, async (t) => {
        const { scene, keeper, endpointId, arrival } = await underWay(t)
        await keeper.client.webhooks.updateEndpoint(endpointId, { active: false })
        await keeper.client.webhooks.updateEndpoint(endpointId, { active: true })
        if (how === 'recover') {
          const { id } = await keeper.client.webhooks.recover(endpointId, { since })
          const recovery = () => keeper.client.webhooks.getRecovery(endpointId, id)
          await scene.until(async () => (await recovery()).status === 'done', 'the recovery is done')
        } else {
          const [delivery] = (await keeper.client.webhooks.listDeliveries(endpointId)).data
          await keeper.client.webhooks.redeliver(endpointId, delivery!.id)
        }
        await arrival.answer(status)
        await scene.drain(keeper)
        const counts = scene.audit({ acked: ['a'], moreRounds: 1 })
        reportCounts(t, counts)
        assert.deepEqual(statuses(scene), ['success'])
      })
    }
  }

  test('with more deliveries than one batch, and the process killed in between: none is sent, and recover sends all', async (t) => {
    const { scene, endpointId, acked } = await withMany(t)
    const keeper = await scene.spawn()
    await keeper.control.setTrap({ matching: '"disabled_reason" = ', nth: 1, when: 'committed', does: 'kill' })
    void keeper.client.webhooks.updateEndpoint(endpointId, { active: false })
    await keeper.trapped()
    assert.ok(scene.count("mailkeep_delivery where status = 'pending'") > 0, 'all other deliveries are held')
    const restarted = await scene.restart()
    await scene.until(() => scene.count("mailkeep_delivery where status = 'held'") === many, 'all are held')
    assert.equal(scene.receiver.arrivals.length, 0)
    await restarted.client.webhooks.updateEndpoint(endpointId, { active: true })
    assert.equal((await restarted.client.webhooks.recover(endpointId, { since })).total, many)
    await recoveryDone(scene)
    await scene.drain(restarted)
    const counts = scene.audit({ acked })
    reportCounts(t, counts)
    assert.equal(counts.requests, many, 'once each')
  })

  test('by a receiver that answers 410 while other requests are in flight: each outcome is recorded, the rest is held', async (t) => {
    const scene = await setScene(t)
    const endpointId = scene.endpoints[0]!.id
    const keeper = await scene.spawn()
    await keeper.control.start()
    await deliverFirst(scene, keeper)
    scene.receiver.behave('/hook', holding)
    const keys = ['a', 'b', 'c', 'd']
    const acked = ['first', ...keys]
    for (const key of keys) await keeper.client.events.raise({ type: 'newsletter.sent', data: { key } })
    await scene.receiver.nth('/hook', 5)
    const [first, second, third, fourth] = scene.receiver.to('/hook').slice(1)
    await first!.answer(410)
    const disabled = async () => (await keeper.client.webhooks.getEndpoint(endpointId)).disabled_reason
    await scene.until(async () => (await disabled()) === 'auto_failures', 'the endpoint is disabled')
    await second!.answer(200)
    await third!.answer(500)
    await scene.until(() => scene.count('mailkeep_attempt') === 4, 'three more outcomes')
    await keeper.kill()
    await fourth!.gone
    scene.receiver.behave('/hook', answering(200))
    scene.passLease()
    const restarted = await scene.restart()
    await restarted.client.webhooks.updateEndpoint(endpointId, { active: true })
    const { total } = await restarted.client.webhooks.recover(endpointId, { since })
    assert.equal(total, 3, 'all failed and held deliveries')
    await recoveryDone(scene)
    await scene.drain(restarted)
    reportCounts(t, scene.audit({ acked, moreRounds: 1 }))
  })
})

describe('while a request is under way', { timeout, concurrency: 2 }, () => {
  test('its endpoint gets a new description: the outcome is recorded as usual', async (t) => {
    const { scene, keeper, endpointId, arrival } = await underWay(t)
    await keeper.client.webhooks.updateEndpoint(endpointId, { description: 'ours' })
    await arrival.answer(200)
    await scene.drain(keeper)
    assert.equal((await keeper.client.webhooks.getEndpoint(endpointId)).description, 'ours')
    const counts = scene.audit({ acked: ['a'] })
    assert.deepEqual([statuses(scene), counts.requests], [['success'], 1])
  })

  for (const [ending, what] of [
    [200, 'and the receiver answers 200'],
    [500, 'and the receiver answers 500'],
    ['kill', 'and the process is killed'],
  ] as const) {
    const erased = async (t: TestContext) => {
      const scene = await setScene(t)
      scene.receiver.behave('/hook', holding)
      const keeper = await scene.spawn()
      await keeper.control.start()
      const { contact } = await keeper.client.contacts.addToList(scene.listId, { email: 'ann@x.org' })
      const arrival = await scene.receiver.nth('/hook', 1)
      await keeper.client.contacts.delete(contact.id)
      if (ending === 'kill') await keeper.kill()
      else await arrival.answer(ending, 'Thank you, ann@x.org')
      scene.receiver.behave('/hook', answering(200))
      scene.passLease()
      const running = ending === 'kill' ? await scene.restart() : keeper
      await running.client.events.raise({ type: 'newsletter.sent', data: { key: 'b' } })
      await scene.until(() => scene.receiver.arrivals.some(({ key }) => key === 'b'), 'the next event')
      await scene.drain(running)
      return scene
    }

    test(`its contact is erased ${what}: nothing more is sent, and no trace of it remains`, async (t) => {
      const scene = await erased(t)
      assert.equal(scene.receiver.arrivals.filter(({ key }) => key === 'ann').length, 1)
      assert.equal(scene.count("mailkeep_event where body like '%ann%'"), 0)
      assert.equal(scene.count("mailkeep_attempt where response_body like '%ann%'"), 0)
      assert.equal(scene.count('mailkeep_delivery where claim is not null'), 0)
    })

    test(`its contact is erased ${what}: the attempts add up`, async (t) => {
      const scene = await erased(t)
      const unlike = `(select 1 from mailkeep_delivery as d left join mailkeep_attempt as a on a.delivery_id = d.id
        group by d.id having d.attempts <> count(a.number))`
      assert.equal(scene.count(unlike), 0)
    })
  }
})
