import assert from 'node:assert/strict'
import { rmSync, statfsSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { describe, type TestContext, test } from 'node:test'
import Database from 'better-sqlite3'
import { isMailkeepError } from '../../lib/index.ts'
import type { Arrival } from './receiver.ts'
import { deliverFirst, mountFailure, reportCounts, type Scene, setScene } from './scene.ts'

const timeout = 300_000
const load = { writers: 16, most: 100_000, ballast: 2000 }

/** Recording this answer needs a new page, which a full disk refuses. */
const longAnswer = 'x'.repeat(4096)

/** Holds the answers to the first `count` requests. */
function holdFirst(scene: Scene, count: number): Arrival[] {
  const held: Arrival[] = []
  scene.receiver.behave('/hook', (arrival) => (held.length < count ? held.push(arrival) : arrival.answer(200)))
  return held
}

/** Checks that everything acknowledged was delivered without repeats, because the process was never interrupted. */
async function accountWithoutRepeats(t: TestContext, scene: Scene, acked: Iterable<string>) {
  const counts = scene.audit({ acked })
  reportCounts(t, counts)
  assert.deepEqual([counts.requests, counts.interrupted], [counts.deliveries, 0], 'once each')
}

describe('a full disk under load', { timeout, concurrency: 2 }, () => {
  test("on a host's handle in memory: writes are refused as unavailable, and work continues when there is space again", async (t) => {
    const handle = new Database(':memory:')
    t.after(() => handle.close())
    const scene = await setScene(t, { handle })
    const running = await scene.restart()
    await deliverFirst(scene, running)
    const held = holdFirst(scene, 5)
    const loading = running.load({ prefix: 'a', listId: scene.listId, ...load })
    await scene.receiver.until(() => held.length === 5, 'five requests to hold open')
    handle.pragma(`max_page_count = ${handle.pragma('page_count', { simple: true })}`)
    await scene.until(() => running.refused.size >= 50, 'refusals')
    const ackedWhenFull = running.acked.size
    await Promise.all(held.map((arrival) => arrival.answer(200, longAnswer)))
    assert.equal((await running.client.lists.list()).data.length, 1, 'reads continue')
    await scene.until(() => running.refused.size >= 200, 'more refusals')
    assert.deepEqual(running.broken, [])
    scene.auditContacts(running.acked)
    assert.ok(scene.count("mailkeep_delivery where status = 'pending'") >= 5, 'outcomes wait')

    handle.pragma('max_page_count = 4294967294')
    await scene.until(() => running.acked.size >= ackedWhenFull + 50, 'writes continue')
    running.stopLoad()
    await loading
    await scene.drain(running)
    assert.deepEqual(running.broken, [])
    t.diagnostic(`${running.refused.size} refused`)
    await accountWithoutRepeats(t, scene, ['first', ...running.acked])
  })

  test('on a file that may not grow: the same, in a child process', async (t) => {
    const scene = await setScene(t)
    const keeper = await scene.spawn()
    await keeper.control.start()
    await deliverFirst(scene, keeper)
    const held = holdFirst(scene, 5)
    const loading = keeper.control.load({ prefix: 'a', listId: scene.listId, ...load })
    await scene.receiver.until(() => held.length === 5, 'five requests to hold open')
    await keeper.control.setMaxPages('as many as now')
    await keeper.waitUntil(() => keeper.refused.size >= 50)
    const ackedWhenFull = keeper.acked.size
    await Promise.all(held.map((arrival) => arrival.answer(200, longAnswer)))
    await keeper.waitUntil(() => keeper.logged.some((line) => line.includes('could not claim or record deliveries')))
    assert.equal((await keeper.client.lists.list()).data.length, 1, 'reads continue')
    assert.deepEqual(keeper.broken, [])

    await keeper.control.setMaxPages('unlimited')
    await keeper.waitUntil(() => keeper.acked.size >= ackedWhenFull + 50)
    await keeper.control.stopLoad()
    await loading
    await scene.drain(keeper)
    assert.deepEqual(keeper.broken, [])
    t.diagnostic(`${keeper.refused.size} refused`)
    await accountWithoutRepeats(t, scene, ['first', ...keeper.acked])
  })

  test('on a full file system: the same, and a kill at that moment loses nothing', async (t) => {
    const refusal = mountFailure()
    if (refusal) {
      t.diagnostic(`NOT TESTED: this machine allows no mount; run the suite as root. ${refusal}`)
      t.skip('this machine allows no mount')
      return
    }
    const scene = await setScene(t, { diskBytes: 12 * 2 ** 20 })
    const keeper = await scene.spawn()
    await keeper.control.start()
    await deliverFirst(scene, keeper)
    const held = holdFirst(scene, 5)
    const loading = keeper.control.load({ prefix: 'a', listId: scene.listId, ...load })
    await scene.receiver.until(() => held.length === 5, 'five requests to hold open')
    const filler = fill(scene)
    await keeper.waitUntil(() => keeper.refused.size >= 50)
    const ackedWhenFull = keeper.acked.size
    await Promise.all(held.map((arrival) => arrival.answer(200, longAnswer)))
    await keeper.waitUntil(() => keeper.refused.size >= 200)
    assert.equal((await keeper.client.lists.list()).data.length, 1, 'reads continue')
    assert.deepEqual(keeper.broken, [])
    empty(filler)
    await keeper.waitUntil(() => keeper.acked.size >= ackedWhenFull + 50)
    t.diagnostic(`${keeper.refused.size} refused, ${keeper.logged.length} faults logged`)
    await keeper.control.stopLoad()
    await loading
    await scene.drain(keeper)
    await accountWithoutRepeats(t, scene, ['first', ...keeper.acked])

    const again = keeper.control.load({ prefix: 'b', listId: scene.listId, ...load })
    await keeper.waitUntil(() => keeper.acked.size >= ackedWhenFull + 100)
    const refusedBefore = keeper.refused.size
    const secondFiller = fill(scene)
    await keeper.waitUntil(() => keeper.refused.size >= refusedBefore + 50)
    await keeper.kill()
    await assert.rejects(again, /gone/)
    scene.passLease()
    const whileFull = await scene.restart().catch((error) => {
      assert.ok(isMailkeepError(error, 'unavailable'), String(error))
    })
    t.diagnostic(`restarted on the full disk: ${whileFull ? 'it runs' : 'unavailable'}`)
    await whileFull?.mailkeep.close({ timeoutMs: 0 })
    empty(secondFiller)
    scene.passLease()
    await scene.drain(await scene.restart())
    assert.deepEqual(keeper.broken, [])
    reportCounts(t, scene.audit({ acked: ['first', ...keeper.acked] }))
  })
})

test('a disk that is full at any single statement of a transaction causes no loss and no repeat', {
  timeout,
}, async (t) => {
  const scene = await setScene(t)
  const keeper = await scene.spawn()
  await keeper.control.start()
  let triggered = 0
  // Ends when a round of writes, claims and outcomes has fewer statements than `nth`.
  for (let nth = 1, missed = 0; missed < 5; nth += 1) {
    await keeper.control.setTrap({ matching: '', nth, when: 'before', does: 'full' })
    await keeper.control.load({ prefix: `f${nth}`, listId: scene.listId, writers: 3, most: 3 })
    await scene.drain(keeper)
    missed = keeper.triggered > triggered ? 0 : missed + 1
    triggered = keeper.triggered
  }
  t.diagnostic(`${triggered} places, ${keeper.refused.size} refused`)
  assert.ok(triggered > 40)
  assert.deepEqual(keeper.broken, [])
  await accountWithoutRepeats(t, scene, keeper.acked)
})

/** Fills the disk completely. */
function fill(scene: Scene): string {
  const disk = dirname(scene.file)
  assert.notEqual(disk, tmpdir())
  const filler = join(disk, 'filler')
  writeFileSync(filler, '')
  for (let free = freeBytes(disk); free > 0; free = freeBytes(disk)) {
    try {
      writeFileSync(filler, Buffer.alloc(Math.min(free, 2 ** 20)), { flag: 'a' })
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ENOSPC') throw error
    }
  }
  return filler
}

function freeBytes(disk: string): number {
  const { bavail, bsize } = statfsSync(disk)
  return bavail * bsize
}

function empty(filler: string): void {
  rmSync(filler)
}
