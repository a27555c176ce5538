import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { holding } from './receiver.ts'
import { picker, rounds } from './rounds.ts'
import { deliverFirst, leaseMs, reportCounts, setScene } from './scene.ts'

const timeout = 600_000

describe('two processes that dispatch from one file', { timeout, concurrency: 2 }, () => {
  test('send each delivery once', async (t) => {
    const scene = await setScene(t, { paths: ['/one', '/two'] })
    const both = await Promise.all([scene.spawn(), scene.spawn()])
    await Promise.all(both.map(({ control }) => control.start()))
    const load = { listId: scene.listId, writers: 8, most: 150 }
    await Promise.all(both.map(({ control }, index) => control.load({ prefix: `p${index}`, ...load })))
    await scene.drain(both[0]!)
    assert.deepEqual(
      both.flatMap(({ broken, refused }) => [...broken, ...refused]),
      [],
    )
    const counts = scene.audit({ acked: both.flatMap(({ acked }) => [...acked]) })
    reportCounts(t, counts)
    assert.deepEqual([counts.requests, counts.interrupted], [counts.deliveries, 0])
  })

  test('and one is killed repeatedly: the other takes over, and repeats only requests that were in flight', async (t) => {
    const pick = picker(t)
    const scene = await setScene(t, { paths: ['/one', '/two'] })
    const staying = await scene.spawn()
    await staying.control.start()
    const acked = new Set<string>()
    const load = { listId: scene.listId, writers: 6, most: 100 }
    for (let round = 0; round < Math.max(2, rounds / 4); round += 1) {
      const dying = await scene.spawn()
      await dying.control.start()
      const loaded = staying.control.load({ prefix: `s${round}`, ...load })
      void dying.control.load({ prefix: `d${round}`, ...load })
      const killAt = pick.between(1, 80)
      await dying.waitUntil(() => dying.acked.size >= killAt)
      await dying.kill()
      assert.deepEqual(dying.broken, [])
      for (const key of dying.acked) acked.add(key)
      await staying.advance(leaseMs + 1000)
      scene.passLease()
      await loaded
    }
    for (const key of staying.acked) acked.add(key)
    assert.deepEqual(staying.broken, [])
    await scene.drain(staying)
    reportCounts(t, scene.audit({ acked }))
  })

  test('and one is frozen past its leases: the other delivers, and outcomes that the first gets later are not recorded', async (t) => {
    const scene = await setScene(t)
    const frozen = await scene.spawn()
    await frozen.control.start()
    await deliverFirst(scene, frozen)
    scene.receiver.behave('/hook', holding)
    const keys = ['a', 'b', 'c', 'd', 'e']
    for (const key of keys) await frozen.client.events.raise({ type: 'newsletter.sent', data: { key } })
    await scene.receiver.nth('/hook', 1 + keys.length)
    const first = scene.receiver.to('/hook').slice(1)
    frozen.freeze()
    scene.receiver.behave('/hook', (arrival) => arrival.answer(200))
    scene.passLease()
    const other = await scene.restart()
    await scene.until(
      () => scene.count("mailkeep_delivery where status = 'success'") === 1 + keys.length,
      'all are delivered',
    )
    await Promise.all(first.map((arrival) => arrival.answer(500)))
    frozen.thaw()
    await frozen.control.close(10_000) // it tries to record its outcomes, and all are rejected
    await scene.drain(other)
    const counts = scene.audit({ acked: ['first', ...keys] })
    reportCounts(t, counts)
    assert.deepEqual([counts.requests, counts.interrupted, counts.failed], [11, 5, 0])
    assert.equal((await other.client.webhooks.getEndpoint(scene.endpoints[0]!.id)).consecutive_failures, 0)
  })
})
