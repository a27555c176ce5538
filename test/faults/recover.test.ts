import assert from 'node:assert/strict'
import { describe, type TestContext, test } from 'node:test'
import { answering } from './receiver.ts'
import { picker, rounds } from './rounds.ts'
import { reportCounts, type Scene, setScene } from './scene.ts'
import type { Trap } from './statements.ts'

/** More than one batch. */
const held = 600
/** Each batch updates the progress in its job. */
const requeues = 'update "mailkeep_job"'

/** Creates an endpoint that was inactive while events were raised, and is active again. */
async function sceneWithHeld(t: TestContext): Promise<{ scene: Scene; endpointId: number; acked: string[] }> {
  const scene = await setScene(t)
  const endpointId = scene.endpoints[0]!.id
  const { client, mailkeep } = await scene.restart({ dispatch: false })
  await client.webhooks.updateEndpoint(endpointId, { active: false })
  const acked = Array.from({ length: held }, (_, n) => `h-${n}`)
  await Promise.all(acked.map((key) => client.events.raise({ type: 'newsletter.sent', data: { key } })))
  await client.webhooks.updateEndpoint(endpointId, { active: true })
  await mailkeep.close()
  return { scene, endpointId, acked }
}

const since = '2020-01-01T00:00:00Z'

/** After the kill the recovery continues without another call, to its end. */
async function continued(t: TestContext, scene: Scene, endpointId: number, recoveryId: number, acked: string[]) {
  scene.receiver.behave('/hook', answering(200))
  scene.passLease()
  const restarted = await scene.restart()
  const recovery = () => restarted.client.webhooks.getRecovery(endpointId, recoveryId)
  await scene.until(async () => (await recovery()).status === 'done', 'the recovery is done')
  assert.deepEqual(await recovery(), { id: recoveryId, status: 'done', total: held, done: held })
  await scene.drain(restarted)
  const counts = scene.audit({ acked })
  reportCounts(t, counts)
  assert.equal(counts.held, 0)
  assert.ok(counts.repeats <= counts.interrupted)
  return counts
}

describe('a process killed during recover', { timeout: 600_000, concurrency: 2 }, () => {
  const places: [string, Trap][] = [
    ['just before the commit of its last batch', { matching: requeues, nth: 2, when: 'after', does: 'kill' }],
    ['after the commit of its first batch', { matching: requeues, nth: 1, when: 'committed', does: 'kill' }],
    ['after the commit of its last batch', { matching: requeues, nth: 2, when: 'committed', does: 'kill' }],
  ]
  for (const [place, trap] of places) {
    test(`${place}: it continues after the restart, and queues no delivery twice`, async (t) => {
      const { scene, endpointId, acked } = await sceneWithHeld(t)
      const keeper = await scene.spawn()
      await keeper.control.setTrap(trap)
      await keeper.control.start()
      const { id, total } = await keeper.client.webhooks.recover(endpointId, { since })
      assert.equal(total, held)
      await keeper.trapped()
      await continued(t, scene, endpointId, id, acked)
    })
  }

  test('as soon as it is committed, before the caller got an answer: it still runs to its end', async (t) => {
    const { scene, endpointId, acked } = await sceneWithHeld(t)
    const keeper = await scene.spawn()
    await keeper.control.setTrap({ matching: 'insert into "mailkeep_job"', nth: 1, when: 'committed', does: 'kill' })
    const recovered = keeper.client.webhooks.recover(endpointId, { since })
    await keeper.trapped()
    await assert.rejects(recovered, /gone/)
    const id = scene.look((handle) => handle.prepare('select id from mailkeep_job').pluck().get()) as number
    const counts = await continued(t, scene, endpointId, id, acked)
    assert.equal(counts.requests, held)
  })

  test('after any number of its requests: the rest follows', async (t) => {
    const pick = picker(t)
    for (let round = 0; round < Math.max(1, rounds / 10); round += 1) {
      const { scene, endpointId, acked } = await sceneWithHeld(t)
      const kill = pick.between(1, held)
      const keeper = await scene.spawn()
      await keeper.control.start()
      const { id } = await keeper.client.webhooks.recover(endpointId, { since })
      await scene.receiver.until(() => scene.receiver.arrivals.length >= kill, `request ${kill}`)
      await keeper.kill()
      await continued(t, scene, endpointId, id, acked)
      await scene.clear()
    }
  })
})
