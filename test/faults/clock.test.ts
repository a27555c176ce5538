import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { Arrival } from './receiver.ts'
import { type Scene, setScene, tellCounts } from './scene.ts'

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

describe('the clock is set in mid-flight', { timeout: 300_000, concurrency: 2 }, () => {
  for (const [name, ms] of jumps) {
    for (const killed of [false, true]) {
      const promise = killed
        ? 'and the process is killed: what it had claimed returns at once, by the new clock'
        : 'nothing is sent twice, and nothing freezes'
      test(`by ${name}, ${promise}`, async (t) => {
        // Retries wait for half a minute: after the jump none may be waited for by the old clock.
        const scene = await setScene(t, { paths: ['/hook', '/failing'], webhooks: { retryScheduleSeconds: [30, 300] } })
        const held: Arrival[] = []
        scene.receiver.behave('/hook', (one) => (held.length < 5 ? held.push(one) : one.answer(200)))
        scene.receiver.behave('/failing', (one) => one.answer(scene.receiver.to('/failing').length <= 5 ? 500 : 200))
        const keeper = await scene.spawn()
        await keeper.control.start()
        const load = keeper.control.load({ prefix: 'a', listId: scene.listId, writers: 8, most: 60 })
        await scene.receiver.until(() => held.length === 5, 'five to hold')
        await scene.until(
          () => scene.count("mailkeep_delivery where status = 'pending' and attempts > 0 and claim is null") >= 5,
          'retries that wait',
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
        // No clock is moved any more.
        if (killed) {
          const again = () => held.every(({ deliveryId }) => timesSeen(scene, deliveryId) === 2)
          await scene.until(again, 'what was claimed before the jump')
          await scene.drain(running) // what was claimed after it has a lease that holds
        } else {
          await scene.until(() => scene.count("mailkeep_delivery where status = 'pending'") === 0, 'nothing is pending')
        }
        assert.deepEqual(keeper.broken, [])
        const counts = scene.audit({ acked: [...keeper.acked, 'z'] })
        tellCounts(t, counts)
        if (killed) return
        assert.deepEqual(
          [counts.requests, counts.interrupted],
          [counts.deliveries + 5, 0],
          'once each, and the five again',
        )
      })
    }
  }
})
