import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Keeper } from './keeper.ts'
import type { Arrival } from './receiver.ts'
import { type Picker, picker, rounds } from './rounds.ts'
import { reportCounts, type Scene, setScene } from './scene.ts'

const moments = ['acknowledgement', 'request', 'answer', 'time', 'opening'] as const

test('a process killed at random moments under load loses nothing it acknowledged, round after round', {
  timeout: 1_200_000,
}, async (t) => {
  const pick = picker(t)
  const scene = await setScene(t, { paths: ['/steady', '/flaky', '/slow'] })
  scene.receiver.behave('/flaky', (arrival) => answerByChance(arrival, pick.next()))
  scene.receiver.behave('/slow', (arrival) => setTimeout(() => arrival.answer(200), pick.between(0, 20)))
  const acked = new Set<string>()
  const kills = new Map<string, number>()
  for (let round = 0; round < rounds; round += 1) {
    const moment = pick.of(moments)
    kills.set(moment, (kills.get(moment) ?? 0) + 1)
    const keeper = await scene.begin()
    await killAt(moment, scene, keeper, pick, round)
    assert.deepEqual(keeper.broken, [], `round ${round}`)
    for (const key of keeper.acked) acked.add(key)
    scene.auditContacts(acked)
    if (pick.next() < 0.7) scene.passLease() // else the next process starts while claims are still valid
    if (round % 20 === 19) await waitUntilIdle(scene)
  }
  await waitUntilIdle(scene)
  t.diagnostic([...kills].map(([moment, count]) => `${count} at ${moment}`).join(', '))
  reportCounts(t, scene.audit({ acked }))
})

/** Waits until nothing is pending. */
async function waitUntilIdle(scene: Scene): Promise<void> {
  scene.passLease()
  const running = await scene.restart()
  await scene.drain(running)
  await running.mailkeep.close()
}

/** Most requests succeed. The receiver may or may not have processed the others. */
function answerByChance(arrival: Arrival, chance: number): void {
  if (chance < 0.85) void arrival.answer(200)
  else if (chance < 0.9) void arrival.answer(500)
  else if (chance < 0.93) void arrival.answer(429)
  else if (chance < 0.95) void arrival.answer(302)
  else arrival.cut()
}

async function killAt(moment: (typeof moments)[number], scene: Scene, keeper: Keeper, pick: Picker, round: number) {
  const opened = keeper.control.open(scene.openOptions())
  if (moment === 'opening') {
    await Promise.race([opened, new Promise((resolve) => setTimeout(resolve, pick.between(0, 400)))])
    return await keeper.kill()
  }
  await opened
  await keeper.control.start()
  void keeper.control.load({ prefix: `r${round}`, listId: scene.listId, writers: pick.of([1, 8, 32]), most: 120 })
  const count = pick.between(1, 100)
  const before = scene.receiver.arrivals.length
  if (moment === 'acknowledgement') await keeper.waitUntil(() => keeper.acked.size >= count)
  if (moment === 'request') {
    await scene.receiver.until(() => scene.receiver.arrivals.length >= before + count, `request ${count}`)
  }
  if (moment === 'answer') {
    const answers = () => scene.receiver.arrivals.slice(before).filter(({ answered }) => answered === 200).length
    await scene.receiver.until(() => answers() >= count, `answer ${count}`)
  }
  // The time itself is random here, so there is no event to wait for.
  if (moment === 'time') await new Promise((resolve) => setTimeout(resolve, pick.between(0, 300)))
  await keeper.kill()
}
