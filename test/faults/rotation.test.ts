import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { describe, test } from 'node:test'
import { createMailkeep } from '../../lib/index.ts'
import { createSealer } from '../../lib/sealing/seal.ts'
import { sqlite } from '../../lib/storage/sqlite.ts'
import { holding } from './receiver.ts'
import { picker, rounds } from './rounds.ts'
import { reportCounts, type Scene, setScene } from './scene.ts'

const timeout = 600_000
const replaces = 'update "mailkeep_endpoint" set "secret"'

/** Returns the secret that the next process will use, even if no caller received it. */
function storedSecret(scene: Scene): string {
  const { secret, uuid } = scene.look((handle) =>
    handle.prepare('select secret, uuid from mailkeep_endpoint').get(),
  ) as {
    secret: string
    uuid: string
  }
  return createSealer(scene.key).open(secret, uuid)
}

describe("a process killed during the rotation of an endpoint's secret", { timeout, concurrency: 2 }, () => {
  for (const when of ['before', 'after', 'committed'] as const) {
    const holds = when === 'committed' ? 'new' : 'old'
    test(`${when === 'committed' ? 'once it is' : `${when} it is written, not`} committed: the ${holds} secret is valid`, async (t) => {
      const scene = await setScene(t)
      const old = scene.endpoints[0]!
      scene.receiver.behave('/hook', holding)
      const keeper = await scene.spawn()
      await keeper.control.start()
      await keeper.client.events.raise({ type: 'newsletter.sent', data: { key: 'a' } })
      await scene.receiver.nth('/hook', 1)
      await keeper.control.setTrap({ matching: replaces, nth: 1, when, does: 'kill' })
      const rotated = keeper.client.webhooks.rotateSecret(old.id)
      await keeper.trapped()
      await assert.rejects(rotated, /gone/, 'no caller received the new one')
      assert.equal(storedSecret(scene) === old.secret, holds === 'old')

      scene.receiver.trust('/hook', storedSecret(scene))
      scene.receiver.trustOnly('/hook', storedSecret(scene))
      scene.receiver.behave('/hook', (arrival) => arrival.answer(200))
      scene.passLease()
      const restarted = await scene.restart()
      await scene.drain(restarted)
      assert.equal(scene.receiver.arrivals.length, 2)
      assert.ok(scene.receiver.isSignedWith(scene.receiver.arrivals[1]!, storedSecret(scene)))

      const { secret } = await restarted.client.webhooks.rotateSecret(old.id)
      scene.receiver.trust('/hook', secret)
      await restarted.client.events.raise({ type: 'newsletter.sent', data: { key: 'b' } })
      await scene.drain(restarted)
      assert.ok(
        scene.receiver.isSignedWith(scene.receiver.arrivals[2]!, secret),
        'a caller that received no answer rotates again',
      )
      reportCounts(t, scene.audit({ acked: ['a', 'b'] }))
    })
  }

  test('during a request, a rotation applies to the next attempt', async (t) => {
    const scene = await setScene(t)
    const { id, secret: old } = scene.endpoints[0]!
    scene.receiver.behave('/hook', holding)
    const keeper = await scene.spawn()
    await keeper.control.start()
    await keeper.client.events.raise({ type: 'newsletter.sent', data: { key: 'a' } })
    const first = await scene.receiver.nth('/hook', 1)
    const { secret } = await keeper.client.webhooks.rotateSecret(id)
    scene.receiver.trust('/hook', secret)
    scene.receiver.trustOnly('/hook', secret)
    scene.receiver.behave('/hook', (arrival) => arrival.answer(200))
    await first.answer(500)
    const second = await scene.receiver.nth('/hook', 2)
    assert.ok(scene.receiver.isSignedWith(first, old))
    assert.ok(scene.receiver.isSignedWith(second, secret))
    await keeper.kill()
    scene.passLease()
    await scene.drain(await scene.restart())
    reportCounts(t, scene.audit({ acked: ['a'] }))
  })

  test('at a random moment of many rotations under load: every request was signed with a secret valid at that moment', async (t) => {
    const pick = picker(t)
    const scene = await setScene(t)
    const acked = new Set<string>()
    let trusted = scene.endpoints[0]!.secret
    const trust = (secret: string, fromMs: number) => {
      scene.receiver.trust('/hook', secret, fromMs)
      scene.receiver.trustOnly('/hook', secret)
      trusted = secret
    }
    let rotations = 0
    for (let round = 0; round < Math.max(3, rounds / 4); round += 1) {
      const killAt = scene.receiver.arrivals.length + pick.between(1, 200)
      const keeper = await scene.spawn()
      await keeper.control.start()
      void keeper.control.load({ prefix: `r${round}`, listId: scene.listId, writers: 4, most: 1000 })
      let lastAskedMs = performance.now()
      const rotating = (async () => {
        for (;;) {
          lastAskedMs = performance.now()
          const { secret } = await keeper.client.webhooks.rotateSecret(scene.endpoints[0]!.id)
          trust(secret, lastAskedMs)
          rotations += 1
        }
      })()
      await scene.receiver.until(() => scene.receiver.arrivals.length >= killAt, `request ${killAt}`)
      await keeper.kill()
      await assert.rejects(rotating, /gone/)
      assert.deepEqual(keeper.broken, [])
      for (const key of keeper.acked) acked.add(key)
      if (storedSecret(scene) !== trusted) trust(storedSecret(scene), lastAskedMs)
      scene.passLease()
    }
    await scene.drain(await scene.restart())
    t.diagnostic(`${rotations} rotations`)
    reportCounts(t, scene.audit({ acked }))
  })
})

test('a process killed while it seals secrets with a new key leaves each readable, and the next one finishes', {
  timeout,
}, async (t) => {
  const scene = await setScene(t, { webhooks: { endpointsPerClient: 2000 } })
  const many = 1200 // more than two batches
  const { client, mailkeep } = await scene.restart({ dispatch: false })
  const input = { url: 'http://127.0.0.1:9/never', events: ['webhook.test' as const] }
  const created = await Promise.all(Array.from({ length: many }, () => client.webhooks.createEndpoint(input)))
  await mailkeep.close()

  const newKey = randomBytes(32).toString('base64')
  const keys = { key: newKey, previousKeys: [scene.key] }
  const keeper = await scene.spawn(keys)
  await keeper.control.setTrap({ matching: replaces, nth: 700, when: 'after', does: 'kill' })
  const resealed = keeper.control.resealSecrets()
  await keeper.trapped()
  await assert.rejects(resealed, /gone/)

  const both = createSealer(newKey, [scene.key])
  const readable = () => {
    const rows = scene.look((handle) => handle.prepare('select id, uuid, secret from mailkeep_endpoint').all()) as {
      id: number
      uuid: string
      secret: string
    }[]
    const secrets = new Map(created.map(({ id, secret }) => [id, secret]))
    for (const { id, uuid, secret } of rows)
      assert.equal(both.open(secret, uuid), secrets.get(id) ?? scene.endpoints[0]!.secret)
    return rows.filter(({ secret }) => secret.split('.')[1] === both.keyId).length
  }
  assert.equal(readable(), 500, 'one batch was committed')
  const second = await scene.spawn(keys)
  assert.equal(await second.control.resealSecrets(), many + 1 - 500)
  assert.equal(readable(), many + 1)
  await second.kill()
  const alone = await createMailkeep({ database: sqlite(scene.file), encryptionKey: newKey })
  await alone.close()
})
