import assert from 'node:assert/strict'
import { describe, type TestContext, test } from 'node:test'
import Database from 'better-sqlite3'
import { isMailkeepError } from '../../lib/index.ts'
import { assertFaster } from '../support/timing.ts'
import { holding } from './receiver.ts'
import { reportCounts, type Scene, setScene } from './scene.ts'

const timeout = 300_000

/** Holds a write transaction open in a second process: this parent. The child runs mailkeep. */
function lock(t: TestContext, scene: Scene): () => void {
  const handle = new Database(scene.file)
  t.after(() => handle.close())
  handle.exec('begin immediate')
  return () => handle.exec('rollback')
}

const after = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms))

describe('another process locks the database', { timeout, concurrency: true }, () => {
  test('for 1 s: writes wait and then succeed, reads continue, no delivery is sent twice', async (t) => {
    const scene = await setScene(t)
    const keeper = await scene.spawn()
    await keeper.control.start()
    const loaded = keeper.control.load({ prefix: 'a', listId: scene.listId, writers: 8, most: 300 })
    await scene.receiver.nth('/hook', 20)
    const release = lock(t, scene)
    const locked = after(1000)
    await keeper.client.lists.list() // when this is answered, all earlier messages have been received
    const ackedBefore = keeper.acked.size
    let reads = 0
    let free = false
    void locked.then(() => {
      free = true
    })
    while (!free) {
      await keeper.client.lists.list()
      reads += 1
    }
    assert.ok(keeper.acked.size <= ackedBefore + 64, 'no write was committed during the lock')
    release()
    await loaded
    t.diagnostic(`${reads} reads in the second`)
    assert.ok(reads > 5)
    assert.deepEqual([...keeper.refused], [])
    assert.deepEqual(keeper.broken, [])
    await scene.drain(keeper)
    const counts = scene.audit({ acked: keeper.acked })
    reportCounts(t, counts)
    assert.equal(counts.requests, counts.deliveries)
  })

  test('for longer than 5 s: writes are refused as unavailable, reads continue, outcomes are recorded later', async (t) => {
    const scene = await setScene(t)
    scene.receiver.behave('/hook', holding)
    const keeper = await scene.spawn()
    await keeper.control.start()
    await keeper.client.events.raise({ type: 'newsletter.sent', data: { key: 'a' } })
    const arrival = await scene.receiver.nth('/hook', 1)
    const release = lock(t, scene)
    await arrival.answer(200)
    const began = performance.now()
    const writes = ['b', 'c'].map((key) => keeper.client.events.raise({ type: 'newsletter.sent', data: { key } }))
    const refused = Promise.allSettled(writes)
    let done = false
    void refused.then(() => {
      done = true
    })
    let slowestMs = 0
    let reads = 0
    while (!done) {
      const askedMs = performance.now()
      assert.equal((await keeper.client.lists.get(scene.listId)).name, 'News')
      slowestMs = Math.max(slowestMs, performance.now() - askedMs)
      reads += 1
    }
    const tookMs = performance.now() - began
    for (const one of await refused) {
      assert.ok(one.status === 'rejected' && isMailkeepError(one.reason, 'unavailable'), JSON.stringify(one))
    }
    assert.ok(tookMs > 4900, `refused after ${Math.round(tookMs)} ms`)
    assertFaster(tookMs, 8000, 'the refusal')
    assertFaster(slowestMs, 2000, 'a read')
    // Recording the outcome is refused too, and retried.
    await keeper.waitUntil(() => keeper.logged.some((line) => line.includes('could not claim or record deliveries')))
    release()
    await scene.until(() => scene.count("mailkeep_delivery where status = 'success'") === 1, 'the outcome is recorded')
    scene.receiver.behave('/hook', (one) => one.answer(200))
    await keeper.client.events.raise({ type: 'newsletter.sent', data: { key: 'd' } })
    await scene.drain(keeper)
    const counts = scene.audit({ acked: ['a', 'd'] })
    t.diagnostic(
      `${reads} reads during the lock, the slowest ${Math.round(slowestMs)} ms; refused after ${Math.round(tookMs)} ms`,
    )
    reportCounts(t, counts)
    assert.deepEqual(
      [counts.events, counts.requests],
      [2, 2],
      'refused writes are not stored, and each delivery is sent once',
    )
  })

  test('and the disk was full just before: a write that is retried is refused after 5 s too', async (t) => {
    const scene = await setScene(t)
    const keeper = await scene.spawn()
    // The COMMIT fails. Before the write is retried alone, the other process locks the database.
    await keeper.control.setTrap({ matching: '^commit$', nth: 1, when: 'before', does: 'full, freeze' })
    const write = keeper.client.events.raise({ type: 'newsletter.sent', data: { key: 'a' } })
    await keeper.waitUntil(() => keeper.triggered > 0)
    const release = lock(t, scene)
    // The child announces the stop before it stops, so a single SIGCONT could come too early. Repeat it.
    const thawing = setInterval(() => keeper.thaw(), 20)
    t.after(() => clearInterval(thawing))
    const ended = write.then(
      () => 'written',
      (error) => (isMailkeepError(error, 'unavailable') ? 'unavailable' : String(error)),
    )
    assert.equal(await Promise.race([ended, after(8000)]), 'unavailable')
    release()
    assert.equal(scene.count('mailkeep_event'), 0)
  })
})
