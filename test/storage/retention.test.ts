/** The deletion of expired rows. */
import assert from 'node:assert/strict'
import { test } from '../support/databases.ts'
import { addEndpoint, dayMs, onEveryDatabase, openReceiver, raise } from '../support/webhook-harness.ts'

onEveryDatabase('tokens', (open) => {
  test('are deleted 90 days after they expired or were revoked', async (t) => {
    const mk = await open(t, { start: false })
    const { tokens } = mk.mailkeep
    const ids: number[] = []
    for (const expiresInMs of [dayMs, 30 * dayMs, undefined, undefined]) {
      ids.push((await tokens.create({ clientId: mk.acmeId, role: 'member', ...(expiresInMs && { expiresInMs }) })).id)
    }
    await tokens.revoke(ids[2]!)
    const left = async () => (await tokens.list()).flatMap(({ id }) => (ids.includes(id) ? [ids.indexOf(id)] : []))
    mk.clock.advance(89 * dayMs)
    await mk.mailkeep.deliverDue()
    assert.deepEqual(await left(), [0, 1, 2, 3])
    mk.clock.advance(3 * dayMs)
    await mk.mailkeep.deliverDue()
    assert.deepEqual(await left(), [1, 3])
    mk.clock.advance(3650 * dayMs)
    await mk.mailkeep.deliverDue()
    assert.deepEqual(await left(), [3])
  })
})

onEveryDatabase('what is kept for a time', (open) => {
  test('stays until that is over', async (t) => {
    const mk = await open(t, { start: false, publicUrl: 'https://mail.example.org' })
    const { acme, mailkeep, clock } = mk
    const startMs = clock.ms
    const sweepAt = async (days: number) => {
      clock.advance(startMs + days * dayMs - clock.ms)
      await mailkeep.deliverDue()
    }
    const endpoint = await addEndpoint(mk, (await openReceiver(t)).url())
    await raise(mk)
    await sweepAt(0)
    const recovery = await acme.webhooks.recover(endpoint.id, { since: new Date(startMs).toISOString() })
    const list = await acme.lists.create({ name: 'News', double_opt_in: true })
    let importId = 0
    const onStart = (id: number) => {
      importId = id
    }
    await acme.contacts.import(list.id, ['email\nada@example.org\n'], { format: 'csv', onStart })
    await acme.contacts.upsert({ email: 'bob@example.org' })
    await acme.contacts.delete({ email: 'bob@example.org' })
    const once = (n: number) => acme.withIdempotencyKey('key', {}, async () => ({ n }))
    await once(1)

    await sweepAt(0.99)
    assert.deepEqual((await once(2)).answer, { n: 1 })
    await sweepAt(29)
    assert.equal((await acme.imports.get(importId)).status, 'finished')
    assert.equal((await acme.webhooks.getRecovery(endpoint.id, recovery.id)).status, 'done')
    assert.equal((await acme.webhooks.listDeliveries(endpoint.id)).data.length, 1)
    assert.equal((await acme.contacts.confirm(list.id, { email: 'ada@example.org' })).lists.length, 1)
    await sweepAt(89)
    assert.equal((await acme.auditLog.list({ type: 'list.created' })).data.length, 1)
    const range = { from: new Date(startMs - dayMs).toISOString(), step: 'day' } as const
    const { series: attempts } = await acme.stats.deliveries(range)
    assert.deepEqual(
      attempts.flatMap(({ delivered }) => delivered || []),
      [1],
    )
    const { series: contacts } = await acme.stats.contacts(range)
    assert.deepEqual(
      contacts.flatMap(({ created }) => created || []),
      [2],
    )
  })
})

onEveryDatabase('rows that were written while the clock was ahead', (open) => {
  test('do not keep later ones from being deleted', async (t) => {
    const mk = await open(t, { start: false })
    const { id } = await addEndpoint(mk, 'http://127.0.0.1:9/')
    await mk.acme.webhooks.updateEndpoint(id, { active: false })
    /** Writes deliveries, entries of the audit log and results of idempotency keys, more than a batch deletes. */
    const write = async (prefix: string, count: number) => {
      await mk.acme.events.raiseMany(Array.from({ length: count }, () => ({ type: 'newsletter.sent', data: {} })))
      await mk.acme.contacts.batch(
        Array.from({ length: count }, (_, at) => ({ op: 'upsert', email: `${prefix}${at}@example.org` })),
      )
      for (let at = 0; at < count / 10; at++) {
        await mk.acme.withIdempotencyKey(`${prefix}${at}`, {}, async () => ({ answer: {} }))
      }
    }
    const tables = ['delivery', 'event', 'audit', 'kept_answer']
    const now = () => `${new Date(mk.clock.ms).toISOString().slice(0, -1)}000Z`
    const counts = (condition: string) =>
      Promise.all(tables.map((table) => mk.count(`mailkeep_${table} where created_at ${condition} '${now()}'`)))
    mk.clock.advance(3650 * dayMs)
    await write('future', 600)
    mk.clock.advance(-3650 * dayMs)
    await write('present', 20)
    const written = await counts('<=')
    assert.ok(
      written.every((count) => count > 0),
      String(written),
    )
    mk.clock.advance(100 * dayMs)
    await mk.mailkeep.deliverDue()
    assert.deepEqual(await counts('<='), [0, 0, 0, 0])
    assert.ok((await counts('>')).every((count) => count > 0))
  })
})
