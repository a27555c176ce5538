import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { Arrival } from './receiver.ts'
import { deliverFirst, reportCounts, type Scene, setScene } from './scene.ts'

const hourMs = 3_600_000
const jumps: [string, number][] = [
  ['1 h forward', hourMs],
  ['1 h back', -hourMs],
  ['2 days forward', 48 * hourMs],
  ['2 days back', -48 * hourMs],
]

function timesSeen({ receiver }: Scene, deliveryId: string): number {
  return receiver.arrivals.filter((one) => one.deliveryId === deliveryId).length
}

describe('the clock is moved while requests are in flight', { timeout: 300_000, concurrency: 2 }, () => {
  for (const [name, ms] of jumps) {
    for (const killed of [false, true]) {
      const promise = killed
        ? 'and the process is killed: its claims expire immediately by the new clock'
        : 'no delivery is sent twice, and none freezes'
      test(`by ${name}, ${promise}`, async (t) => {
        // Retries wait for half a minute. After the jump they must be due by the new clock.
        const scene = await setScene(t, { paths: ['/hook', '/failing'], webhooks: { retryScheduleSeconds: [30, 300] } })
        const keeper = await scene.spawn()
        await keeper.control.start()
        scene.receiver.behave('/failing', (one) => one.answer(200))
        await deliverFirst(scene, keeper)
        const held: Arrival[] = []
        scene.receiver.behave('/hook', (one) => (held.length < 5 ? held.push(one) : one.answer(200)))
        scene.receiver.behave('/failing', (one) => one.answer(scene.receiver.to('/failing').length <= 6 ? 500 : 200))
        const load = keeper.control.load({ prefix: 'a', listId: scene.listId, writers: 8, most: 60 })
        await scene.receiver.until(() => held.length === 5, 'five requests to hold open')
        await scene.until(
          () => scene.count("mailkeep_delivery where status = 'pending' and attempts > 0 and claim is null") >= 5,
          'all retries are scheduled',
        )

        await keeper.advance(ms)
        scene.aheadMs += ms
        if (killed) await keeper.kill()
        else await load
        const running = killed ? await scene.restart() : keeper
        await running.client.events.raise({ type: 'newsletter.sent', data: { key: 'z' } })
        await scene.receiver.until(
          () => scene.receiver.arrivals.filter(({ key }) => key === 'z').length === 2,
          'the newest',
        )
        await Promise.all(held.map((one) => one.answer(200)))
        // From here on the clocks are not moved.
        if (killed) {
          const again = () => held.every(({ deliveryId }) => timesSeen(scene, deliveryId) === 2)
          await scene.until(again, 'deliveries that were claimed before the jump are sent')
          await scene.drain(running) // deliveries claimed after the jump still have a valid lease
        } else {
          await scene.until(() => scene.count("mailkeep_delivery where status = 'pending'") === 0, 'nothing is pending')
        }
        assert.deepEqual(keeper.broken, [])
        const counts = scene.audit({ acked: ['first', ...keeper.acked, 'z'] })
        reportCounts(t, counts)
        if (killed) return
        assert.deepEqual(
          [counts.requests, counts.interrupted],
          [counts.deliveries + 5, 0],
          'each delivery once, and the five again',
        )
      })
    }
  }
})
