/** Iteration over contacts, and signals that stop what runs long. */
import assert from 'node:assert/strict'
import type { ContactInput } from '../../lib/index.ts'
import { test } from '../support/databases.ts'
import { onEveryDatabase } from '../support/webhook-harness.ts'

const people = (count: number): ContactInput[] =>
  Array.from({ length: count }, (_, n) => ({ email: `p${n}@example.org`, tags: [`t${n % 2}`] }))

const reason = new Error('enough')

/** Returns a signal that is aborted after some calls of `count`. */
function abortAfter(calls: number) {
  const controller = new AbortController()
  let seen = 0
  return {
    signal: controller.signal,
    count() {
      seen += 1
      if (seen === calls) controller.abort(reason)
    },
  }
}

const isReason = (error: unknown) => error === reason

onEveryDatabase('long-running operations', (open) => {
  test('iterate returns every contact of the filters once, by ascending id', async (t) => {
    const { acme } = await open(t)
    const list = await acme.lists.create({ name: 'News' })
    await acme.contacts.addManyToList(list.id, people(250))
    const tag = (await acme.tags.list()).data.find(({ name }) => name === 't1')!
    const found = []
    for await (const contact of acme.contacts.iterate({ tags: [tag.id] })) found.push(contact)
    assert.equal(found.length, 125)
    assert.deepEqual(found[0], await acme.contacts.get(found[0]!.id))
    const ids = found.map(({ id }) => id)
    assert.deepEqual(
      ids,
      ids.toSorted((a, b) => a - b),
    )
    let all = 0
    for await (const _ of acme.contacts.iterate()) all += 1
    assert.equal(all, 250)
    await assert.rejects(acme.contacts.iterate({ tag: 1 } as never).next(), { code: 'validation_failed' })
    await assert.rejects(acme.contacts.iterate({ signal: 1 } as never).next(), { code: 'validation_failed' })
  })

  test('a signal stops iterations and exports', async (t) => {
    const { acme } = await open(t)
    const list = await acme.lists.create({ name: 'News' })
    await acme.contacts.addManyToList(list.id, people(150))
    const { signal, count } = abortAfter(3)
    const iterating = (async () => {
      for await (const _ of acme.contacts.iterate({ signal })) count()
    })()
    await assert.rejects(iterating, isReason)
    const exported = abortAfter(1)
    const exporting = (async () => {
      for await (const _ of acme.contacts.export({ format: 'csv', signal: exported.signal })) exported.count()
    })()
    await assert.rejects(exporting, isReason)
  })

  test('a signal stops an import that waits for its source; what was saved stays', async (t) => {
    const { acme } = await open(t)
    const list = await acme.lists.create({ name: 'News' })
    const controller = new AbortController()
    async function* stuck() {
      yield people(1500)
        .map((person) => `${JSON.stringify(person)}\n`)
        .join('')
      await new Promise(() => {})
    }
    const importing = acme.contacts.import(list.id, stuck(), {
      format: 'ndjson',
      signal: controller.signal,
      onProgress: ({ total }) => total >= 1000 && controller.abort(reason),
    })
    await assert.rejects(importing, isReason)
    assert.ok((await acme.contacts.count()) >= 1000)
  })

  test('the record and the results of an import that is stopped between two transactions have what was saved', async (t) => {
    const controller = new AbortController()
    const { acme } = await open(t, { start: false, onEvent: () => controller.abort(reason) })
    const list = await acme.lists.create({ name: 'News' })
    const file = people(900).map((person) => `${JSON.stringify(person)}\n`)
    const lines: number[] = []
    const importing = acme.contacts.import(list.id, file, {
      format: 'ndjson',
      signal: controller.signal,
      onResults: (results) => void lines.push(...results.map(({ line }) => line)),
    })
    await assert.rejects(importing, isReason)
    const [record] = (await acme.imports.list()).data
    const count = await acme.contacts.count()
    assert.deepEqual([record!.error, record!.created, record!.rows], ['aborted', count, count])
    assert.ok(count > 0 && count < 900, `${count} contacts`)
    assert.deepEqual(
      lines,
      Array.from({ length: count }, (_, at) => at + 1),
    )
  })

  test('an aborted signal stops the others before they begin', async (t) => {
    const { acme, mailkeep } = await open(t, { start: false })
    const list = await acme.lists.create({ name: 'News' })
    const options = { signal: AbortSignal.abort(reason) }
    await assert.rejects(acme.contacts.addManyToList(list.id, people(3), options), isReason)
    await assert.rejects(acme.contacts.batch([{ op: 'upsert', email: 'a@example.org' }], options), isReason)
    await assert.rejects(acme.events.raiseMany([{ type: 'newsletter.sent', data: {} }], options), isReason)
    await assert.rejects(mailkeep.deliverDue(options), isReason)
    await assert.rejects(mailkeep.resealSecrets(options), isReason)
    assert.equal(await acme.contacts.count(), 0)
    await assert.rejects(mailkeep.deliverDue({ signal: true } as never), { code: 'validation_failed' })
  })

  test('a signal stops deliverDue, which records the attempt in flight', async (t) => {
    const controller = new AbortController()
    const sender = {
      send: () => {
        controller.abort(reason)
        return { outcome: Promise.resolve({ kind: 'answered' as const, status: 200, body: '' }), abort: () => {} }
      },
      close: async () => {},
    }
    const { acme, mailkeep } = await open(t, { start: false, sender: sender as never })
    const { id } = await acme.webhooks.createEndpoint({ url: 'https://example.org/', events: ['newsletter.sent'] })
    await acme.events.raise({ type: 'newsletter.sent', data: {} })
    await assert.rejects(mailkeep.deliverDue({ signal: controller.signal }), isReason)
    const [delivery] = (await acme.webhooks.listDeliveries(id)).data
    assert.equal(delivery!.attempts, 1)
    assert.notEqual(delivery!.status, 'pending')
  })

  test('a signal stops deliverDue that waits for a handler; the event is handled again', async (t) => {
    const { acme, mailkeep } = await open(t, { start: false })
    const controller = new AbortController()
    let calls = 0
    const handler = () => {
      calls += 1
      if (calls > 1) return undefined
      controller.abort(reason)
      return new Promise(() => {})
    }
    const { listDeliveries } = await mailkeep.on('newsletter.sent', handler, { name: 'stuck' })
    await acme.events.raise({ type: 'newsletter.sent', data: {} })
    await assert.rejects(mailkeep.deliverDue({ signal: controller.signal }), isReason)
    assert.equal((await listDeliveries()).data[0]!.status, 'pending')
    await mailkeep.deliverDue()
    assert.deepEqual([calls, (await listDeliveries()).data[0]!.status], [2, 'success'])
  })

  test('a signal stops deliverDue that waits for a stored job', async (t) => {
    const { acme, mailkeep } = await open(t, { start: false })
    const list = await acme.lists.create({ name: 'News' })
    await acme.contacts.addManyToList(list.id, people(1500))
    await acme.lists.delete(list.id)
    const controller = new AbortController()
    const delivering = mailkeep.deliverDue({ signal: controller.signal })
    controller.abort(reason)
    await assert.rejects(delivering, isReason)
    await mailkeep.deliverDue()
  })

  test('what the caller changes after a call is not saved', async (t) => {
    const { acme } = await open(t)
    const list = await acme.lists.create({ name: 'News' })
    const given = people(3)
    const saving = acme.contacts.addManyToList(list.id, given)
    given[1] = { email: 'changed@example.org' }
    Object.assign(given[2]!, { email: 'late@example.org' })
    given.push({ email: 'more@example.org' })
    assert.equal((await saving).length, 3)
    const { data } = await acme.contacts.list()
    assert.deepEqual(
      data.map(({ email }) => email),
      people(3).map(({ email }) => email),
    )
    const { id } = await acme.webhooks.createEndpoint({ url: 'https://example.org/', events: ['newsletter.sent'] })
    const event = { type: 'newsletter.sent' as const, data: { count: 1 as unknown } }
    const raising = [acme.events.raise(event), acme.events.raiseMany([event])]
    event.data.count = 2n
    await Promise.all(raising)
    for (const delivery of (await acme.webhooks.listDeliveries(id)).data) {
      const { payload } = await acme.webhooks.getDelivery(id, delivery.id)
      assert.deepEqual((payload as { data: object }).data, { count: 1 })
    }
  })
})
