import assert from 'node:assert/strict'
import { describe, type TestContext, test } from 'node:test'
import Database from 'better-sqlite3'
import { holding } from './receiver.ts'
import { picker } from './rounds.ts'
import { deliverFirst, reportCounts, type Scene, setScene } from './scene.ts'
import type { Trap } from './statements.ts'

const claims = 'update "mailkeep_delivery" set "claim"'
const settles = 'update mailkeep_delivery set\\s+status = '
const timeout = 300_000

/** Recovers after a kill: restarts, drains the queue, audits and reports the counts. */
async function recovered(t: TestContext, scene: Scene, acked: Iterable<string>) {
  await scene.drain(await scene.restart())
  const counts = scene.audit({ acked })
  reportCounts(t, counts)
  return counts
}

describe('a process killed at a known moment', { timeout, concurrency: 2 }, () => {
  test('after the commit and before its dispatcher runs: the next process delivers', async (t) => {
    const scene = await setScene(t)
    const keeper = await scene.spawn()
    await keeper.control.load({ prefix: 'a', listId: scene.listId, writers: 8, most: 20 })
    await keeper.kill()
    scene.auditContacts(keeper.acked)
    const counts = await recovered(t, scene, keeper.acked)
    assert.equal(counts.acked, 23)
    assert.equal(counts.requests, counts.deliveries, 'once each')
  })

  test('after the commit and before the claim: the next process delivers, once', async (t) => {
    const scene = await setScene(t)
    const keeper = await scene.spawn()
    await keeper.control.start()
    await keeper.control.setTrap({ matching: claims, nth: 1, when: 'before', does: 'kill' })
    void keeper.client.events.raise({ type: 'newsletter.sent', data: { key: 'a' } }).then(() => keeper.acked.add('a'))
    await keeper.trapped()
    assert.deepEqual([...keeper.acked], ['a'], 'the write was answered before the claim')
    const counts = await recovered(t, scene, keeper.acked)
    assert.deepEqual([counts.requests, counts.attempts, counts.interrupted], [1, 1, 0])
  })

  test('after the claim and before the request: the attempt is interrupted, and made again', async (t) => {
    const scene = await setScene(t)
    const keeper = await scene.spawn()
    await keeper.control.start()
    await keeper.control.setTrap({ matching: claims, nth: 1, when: 'committed', does: 'kill' })
    void keeper.client.events.raise({ type: 'newsletter.sent', data: { key: 'a' } })
    await keeper.trapped()
    assert.equal(scene.count('mailkeep_delivery where claim is not null and attempts = 1'), 1)
    const counts = await recovered(t, scene, ['a'])
    assert.deepEqual([counts.requests, counts.attempts, counts.interrupted, counts.repeats], [1, 2, 1, 0])
  })

  test('while a request is in flight: it is sent again as soon as the next process starts', async (t) => {
    const scene = await setScene(t)
    scene.receiver.behave('/hook', holding)
    const keeper = await scene.spawn()
    await keeper.control.start()
    await keeper.client.events.raise({ type: 'newsletter.sent', data: { key: 'a' } })
    await scene.receiver.nth('/hook', 1)
    await keeper.kill()

    const next = await scene.restart()
    const second = await scene.receiver.nth('/hook', 2)
    scene.receiver.behave('/hook', (arrival) => arrival.answer(200))
    await second.answer(200)
    await scene.drain(next)
    const counts = scene.audit({ acked: ['a'] })
    assert.deepEqual([counts.interrupted, counts.repeats], [1, 0])
    const [first, again] = scene.receiver.to('/hook').filter(({ key }) => key === 'a')
    assert.equal(first!.deliveryId, again!.deliveryId, 'receivers can recognise repeats')
  })

  test("after the receiver's 200 and before the outcome is stored: one repeat, under the same delivery id", async (t) => {
    const scene = await setScene(t)
    scene.receiver.behave('/hook', holding)
    const keeper = await scene.spawn()
    await keeper.control.start()
    await keeper.client.events.raise({ type: 'newsletter.sent', data: { key: 'a' } })
    const arrival = await scene.receiver.nth('/hook', 1)
    await keeper.control.setTrap({ matching: settles, nth: 1, when: 'before', does: 'kill' })
    await arrival.answer(200)
    await keeper.trapped()
    scene.receiver.behave('/hook', (again) => again.answer(200))
    const counts = await recovered(t, scene, ['a'])
    assert.deepEqual([counts.requests, counts.interrupted, counts.repeats], [2, 1, 1])
  })

  test("after the receiver's 200, while another process prevents the outcome from being stored", async (t) => {
    const scene = await setScene(t, { webhooks: { endpointConcurrency: 8 } })
    const keeper = await scene.spawn()
    await keeper.control.start()
    await deliverFirst(scene, keeper)
    scene.receiver.behave('/hook', holding)
    await keeper.control.load({ prefix: 'a', listId: scene.listId, writers: 8, most: 8 })
    await scene.receiver.nth('/hook', 9)
    const arrivals = scene.receiver.to('/hook').slice(1, 9)
    const other = new Database(scene.file)
    t.after(() => other.close())
    other.exec('begin immediate')
    await Promise.all(arrivals.map((one) => one.answer(200)))
    await keeper.client.lists.list() // when a read is answered, the answers of the receiver have been received as well
    await keeper.kill()
    other.exec('rollback')
    scene.receiver.behave('/hook', (again) => again.answer(200))
    const counts = await recovered(t, scene, [...keeper.acked, 'first'])
    assert.deepEqual([counts.interrupted, counts.repeats], [8, 8])
  })

  test('on its last attempt: the delivery is visibly failed, and not sent an eleventh time', async (t) => {
    const scene = await setScene(t, { webhooks: { retryScheduleSeconds: [0, 0] } })
    scene.receiver.behave('/hook', (arrival) => scene.receiver.arrivals.length < 3 && arrival.answer(500))
    const keeper = await scene.spawn()
    await keeper.control.start()
    await keeper.client.events.raise({ type: 'newsletter.sent', data: { key: 'a' } })
    await scene.receiver.nth('/hook', 3)
    await keeper.kill()
    const counts = await recovered(t, scene, ['a'])
    assert.deepEqual([counts.requests, counts.attempts, counts.interrupted, counts.failed], [3, 3, 1, 1])
  })

  test('repeatedly during a request: every attempt is counted, and the schedule ends', async (t) => {
    const scene = await setScene(t, { webhooks: { retryScheduleSeconds: [0, 0] } })
    scene.receiver.behave('/hook', holding)
    for (let kills = 1; kills <= 3; kills += 1) {
      const keeper = await scene.spawn()
      await keeper.control.start()
      if (kills === 1) await keeper.client.events.raise({ type: 'newsletter.sent', data: { key: 'a' } })
      await scene.receiver.nth('/hook', kills)
      await keeper.kill()
    }
    const counts = await recovered(t, scene, ['a'])
    assert.deepEqual([counts.requests, counts.interrupted, counts.failed], [3, 3, 1])
  })
})

test('a process killed at any single statement of its transactions keeps every promise', {
  timeout: 600_000,
}, async (t) => {
  const { statements } = await runUnderTrap(t, undefined)
  assert.ok(statements.filter((one) => one === 'commit').length >= 3, 'write, claim and record')
  const places = statements.flatMap((_, index) => [
    { nth: index + 1, when: 'before' as const },
    { nth: index + 1, when: 'after' as const },
  ])
  let kills = 0
  let repeats = 0
  for (const place of picker(t).some(places)) {
    const { killed, counts } = await runUnderTrap(t, { matching: '', does: 'kill', ...place })
    if (killed) kills += 1
    repeats += counts.repeats
  }
  t.diagnostic(`${kills} kills at ${places.length} statements, ${repeats} repeats`)
})

/** Runs three writes and their four deliveries with a trap set. */
async function runUnderTrap(t: TestContext, trap: Trap | undefined) {
  const scene = await setScene(t)
  const keeper = await scene.spawn()
  await keeper.control.logStatements()
  if (trap) await keeper.control.setTrap(trap)
  void keeper.control.start() // the process may be killed before it answers
  void keeper.control.load({ prefix: 'a', listId: scene.listId, writers: 3, most: 3 })
  let killed = false
  void keeper.gone.then(() => {
    killed = true
  })
  const delivered = () => scene.count("mailkeep_delivery where status = 'success'") === 4
  await scene.until(() => killed || delivered(), 'four deliveries')
  // With a trap the process may be dead before the parent knows it. The last statement is the one that marks them
  // delivered.
  const statements = trap ? [] : await keeper.control.loggedStatements()
  const trapped = killed
  await keeper.kill()
  assert.deepEqual(keeper.broken, [])
  scene.auditContacts(keeper.acked)
  await scene.drain(await scene.restart())
  const counts = scene.audit({ acked: keeper.acked })
  await scene.clear()
  return { killed: trapped, statements, counts }
}
