import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { isMailkeepError } from 'mailkeep'
import { verifyDelivery } from 'mailkeep/receiver'
import { type TestKit, testMailkeep } from 'mailkeep/testing'
import { onDemand } from '../support/timing.ts'

const hook = { url: 'https://example.org/hook', events: ['contact.subscribed' as const] }

/** Adds an endpoint for new contacts to a kit, and saves a contact whose event is still pending. */
async function withDelivery(kit: TestKit) {
  const endpoint = await kit.client.webhooks.createEndpoint(hook)
  await kit.contact({ email: 'ada@example.org' })
  return endpoint
}

const newest = async ({ client }: TestKit, endpointId: number) =>
  (await client.webhooks.listDeliveries(endpointId)).data[0]!

describe('the test kit', () => {
  test('opens in less than 20 ms', onDemand, async () => {
    const times: number[] = []
    for (let i = 0; i < 10; i++) {
      const started = performance.now()
      await using _ = await testMailkeep()
      times.push(performance.now() - started)
    }
    assert.ok(Math.min(...times) < 20, `${times.map(Math.round).join(', ')} ms`)
  })

  test('creates lists and contacts with unique names, and uses the given fields', async () => {
    await using kit = await testMailkeep()
    const news = await kit.list('News')
    const [a, b, c] = [
      await kit.contact(),
      await kit.contact(),
      await kit.contact({ tags: ['vip'], age: '36' }, { list: news }),
    ]
    assert.equal(new Set([a.email, b.email, c.email]).size, 3)
    assert.equal(a.lists[0]!.id, b.lists[0]!.id)
    assert.deepEqual(c.lists, [news])
    assert.equal(c.tags[0]!.name, 'vip')
    assert.deepEqual(c.extra_attributes, { age: '36' })
  })

  test('shows every event by type, also events without an endpoint', async () => {
    await using kit = await testMailkeep()
    const { id, email } = await kit.contact()
    await kit.client.contacts.unsubscribe(id)
    await kit.client.events.raise({ type: 'newsletter.sent', data: { issue: 7 } })
    const types = () => kit.events().map(({ type }) => type)
    assert.deepEqual(types(), ['contact.subscribed', 'contact.unsubscribed', 'newsletter.sent'])
    assert.equal(kit.events('contact.subscribed')[0]!.data.contact.email, email)
    assert.equal(kit.events('contact.subscribed')[0]!.clientId, kit.clientId)
    kit.forget()
    assert.deepEqual(types(), [])
  })

  test('shows no event of a change that failed', async () => {
    await using kit = await testMailkeep()
    await assert.rejects(kit.contact({ email: 'no address' }), (error) => isMailkeepError(error, 'validation_failed'))
    assert.deepEqual(kit.events(), [])
  })

  test('captures deliveries, signed like those that a receiver gets', async () => {
    await using kit = await testMailkeep()
    const { secret } = await withDelivery(kit)
    assert.deepEqual(kit.deliveries(), [], 'no delivery is sent automatically')
    const [delivery, ...others] = await kit.deliver()
    assert.deepEqual(others, [])
    assert.equal(delivery!.url, hook.url)
    assert.equal(delivery!.attempt, 1)
    const event = verifyDelivery(delivery!.headers, delivery!.body, secret, { now: kit.clock.now })
    assert.deepEqual(event, delivery!.event)
    assert.equal(event.type === 'contact.subscribed' && event.data.contact.email, 'ada@example.org')
    assert.deepEqual(await kit.deliver(), [])
    assert.deepEqual(kit.deliveries(), [delivery])
  })

  test('runs retries that become due while the clock moves, each at its time', async () => {
    await using kit = await testMailkeep({ now: Date.UTC(2026, 0, 2) })
    const { id } = await withDelivery(kit)
    kit.answer(503)
    await kit.clock.advance('3 days')
    assert.equal(kit.clock.now(), Date.UTC(2026, 0, 5))
    const sent = kit.deliveries().map(({ sentMs }) => sentMs)
    assert.equal(sent.length, 9, 'the tenth comes after 75 hours')
    const waits = sent.slice(1).map((ms, i) => (ms - sent[i]!) / 1000)
    for (const [i, seconds] of [5, 300, 1800, 7200, 18_000, 36_000, 50_400, 72_000].entries()) {
      assert.ok(waits[i]! >= seconds && waits[i]! <= seconds * 1.2 + 1, `${waits[i]} s before attempt ${i + 2}`)
    }
    assert.deepEqual(
      kit.deliveries().map(({ attempt }) => attempt),
      [1, 2, 3, 4, 5, 6, 7, 8, 9],
    )
    assert.equal((await newest(kit, id)).status, 'pending')
    await kit.clock.advance('2 days')
    assert.equal((await newest(kit, id)).status, 'failed')
    assert.equal(kit.deliveries().length, 10)
  })

  test('keeps the times of retries with a clock that has fractions of a millisecond', { timeout: 20_000 }, async () => {
    for (const [now, ms] of [
      [Date.UTC(2026, 0, 2), 0.5],
      [Date.UTC(2026, 0, 2) + 0.5, 0],
    ] as const) {
      await using kit = await testMailkeep({ now })
      await kit.clock.advance(ms)
      await withDelivery(kit)
      kit.answer(503)
      await kit.clock.advance('3 days')
      assert.equal(kit.deliveries().length, 9)
    }
  })

  test('fails on request: by attempt, by time-out, unreachable, until reset', async () => {
    await using kit = await testMailkeep()
    const { id } = await withDelivery(kit)
    kit.answer(
      ({ attempt }) => (['timeout', 'unreachable', { status: 500, body: 'oh' }, 200] as const)[attempt - 1] ?? 200,
    )
    await kit.clock.advance('1 day')
    const { id: deliveryId, status } = await newest(kit, id)
    assert.equal(status, 'success')
    const { attempt_log } = await kit.client.webhooks.getDelivery(id, deliveryId)
    assert.deepEqual(
      attempt_log.map(({ response_status }) => response_status),
      [null, null, 500, 200],
    )
    assert.equal(attempt_log[2]!.response_body, 'oh')
    kit.answer(410)
    await kit.contact()
    await kit.deliver()
    assert.equal((await kit.client.webhooks.getEndpoint(id)).disabled_reason, 'auto_failures')
  })

  test('throws the error of an answer function, so that its assertions count', async () => {
    await using kit = await testMailkeep()
    await withDelivery(kit)
    kit.answer(() => assert.fail('of the test'))
    await assert.rejects(kit.deliver(), /of the test/)
    kit.answer((() => {}) as () => number) // forgets to return an answer
    await assert.rejects(kit.clock.advance('1 hour'), { code: 'validation_failed', message: /^reply must be/ })
    kit.answer()
    await kit.clock.advance('3 days')
    assert.equal(kit.deliveries().at(-1)!.event.type, 'contact.subscribed')
  })

  test('throws the error of a function that answers mails', async () => {
    await using kit = await testMailkeep()
    await kit.client.identities.add({ email: 'news@example.org' })
    await kit.contact()
    const html = '<a href="{{ unsubscribe_url }}">Unsubscribe</a>'
    const { id } = await kit.client.newsletters.create({ subject: 'News', html })
    await kit.client.newsletters.send(id)
    kit.answerMail(({ to }) => assert.fail(`mail to ${to.email}`))
    await assert.rejects(kit.deliver(), /mail to contact1@example.org/)
    kit.answerMail()
    await kit.clock.advance('1 hour')
    assert.equal((await kit.client.newsletters.get(id)).status, 'sent')
  })

  test('waits as long as a receiver requests', async () => {
    await using kit = await testMailkeep()
    await withDelivery(kit)
    kit.answer({ status: 429, retryAfterSeconds: 3600 })
    await kit.clock.advance('59 minutes')
    assert.equal(kit.deliveries().length, 1)
    kit.answer()
    await kit.clock.advance('2 minutes')
    assert.equal(kit.deliveries().length, 2)
  })

  test('recovers deliveries that failed', async () => {
    await using kit = await testMailkeep()
    const { id } = await withDelivery(kit)
    kit.answer(500)
    await kit.clock.advance('1 week')
    kit.answer()
    await kit.client.webhooks.updateEndpoint(id, { active: true })
    await kit.client.webhooks.recover(id, { since: '2000-01-01T00:00:00Z' })
    await kit.deliver()
    assert.equal((await newest(kit, id)).status, 'success')
  })

  test('works with a host that starts mailkeep itself', async () => {
    await using kit = await testMailkeep()
    kit.mailkeep.start()
    kit.answer(500)
    const { id } = await withDelivery(kit)
    await kit.clock.advance('1 hour')
    assert.equal((await newest(kit, id)).attempts, kit.deliveries().length)
    assert.ok(kit.deliveries().length >= 4)
  })

  test('works with a test whose timers are mocked', { timeout: 5000 }, async (t) => {
    t.mock.timers.enable()
    await using kit = await testMailkeep()
    const { id } = await withDelivery(kit)
    kit.answer(503)
    await kit.clock.advance('3 days')
    assert.equal(kit.deliveries().length, 9)
    await kit.client.webhooks.recover(id, { since: '2000-01-01T00:00:00Z' })
    await kit.client.lists.delete((await kit.list()).id)
    await kit.deliver()
  })

  test('works in Jest with jsdom, which replaces and hides globals of Node', { timeout: 5000 }, async (t) => {
    const { setTimeout, setInterval, setImmediate, clearImmediate, TextDecoder } = globalThis
    t.after(() => Object.assign(globalThis, { setTimeout, setInterval, setImmediate, clearImmediate, TextDecoder }))
    const hidden = { setImmediate: undefined, clearImmediate: undefined, TextDecoder: undefined }
    const timers = {
      setTimeout: (run: () => void, ms: number) => Number(setTimeout(run, ms)),
      setInterval: (run: () => void, ms: number) => Number(setInterval(run, ms)),
    }
    Object.assign(globalThis, hidden, timers)
    await using kit = await testMailkeep()
    kit.mailkeep.start()
    const { secret } = await withDelivery(kit)
    const { id } = await kit.list()
    assert.equal((await kit.client.contacts.import(id, ['email\nbob@example.org'], { format: 'csv' })).created, 1)
    await kit.deliver()
    const { headers, body } = kit.deliveries()[0]!
    assert.equal(verifyDelivery(headers, Buffer.from(body), secret).type, 'contact.subscribed')
  })

  test('refuses a value that is not a duration', async () => {
    await using kit = await testMailkeep()
    for (const wrong of ['3 fortnights', '-1 days', -1, Number.NaN, undefined]) {
      await assert.rejects(kit.clock.advance(wrong as never), (error) => isMailkeepError(error, 'validation_failed'))
    }
    const before = kit.clock.now()
    await kit.clock.advance(1500)
    await kit.clock.advance('1 minute')
    await kit.clock.advance('1.5 hours')
    assert.equal(kit.clock.now() - before, 1500 + 60_000 + 5_400_000)
  })

  test('shares no state: a hundred parallel kits do not see each other', async () => {
    const kits = await Promise.all(Array.from({ length: 100 }, () => testMailkeep()))
    await Promise.all(
      kits.map(async (kit, i) => {
        await withDelivery(kit)
        kit.answer(i % 2 === 0 ? 200 : 500)
        await kit.clock.advance(i * 1000)
      }),
    )
    for (const [i, kit] of kits.entries()) {
      assert.equal(kit.events().length, 1)
      const retried = i % 2 === 1 && i > 6
      assert.equal(kit.deliveries().length > 1, retried, `kit ${i}`)
      const { meta, data } = await kit.client.contacts.list()
      assert.equal(meta.next_cursor, null)
      assert.equal(data.length, 1)
    }
    await Promise.all(kits.map((kit) => kit.close()))
  })

  test('leaves no open handle', async () => {
    const kit = await testMailkeep()
    const before = process.getActiveResourcesInfo().length
    await withDelivery(kit)
    await kit.deliver()
    await kit.close()
    await kit.close()
    assert.ok(process.getActiveResourcesInfo().length <= before)
    await assert.rejects(kit.contact(), (error) => isMailkeepError(error, 'unavailable'))
  })

  test('captures mails, and sends a sequence of months in milliseconds', async () => {
    await using kit = await testMailkeep()
    const { client } = kit
    await client.identities.add({ email: 'news@example.org', name: 'News' })
    const list = await kit.list()
    const html = '<a href="{{ unsubscribe_url }}">Unsubscribe</a>'
    const { id } = await client.sequences.create({ name: 'Year', list_id: list.id })
    const steps = Array.from({ length: 12 }, (_, at) => ({
      subject: `Month ${at + 1}`,
      html,
      delay_seconds: 30 * 86_400,
    }))
    await client.sequences.setSteps(id, { steps })
    await kit.contact({ email: 'ada@example.org' }, { list })
    await kit.clock.advance('400 days')
    assert.deepEqual(
      kit.mail().map(({ subject }) => subject),
      steps.map(({ subject }) => subject),
    )
    assert.equal(kit.events('sequence.completed').length, 1)
    kit.forget()
    assert.deepEqual(kit.mail(), [])
  })

  test('simulates the mail server', async () => {
    await using kit = await testMailkeep()
    const { client } = kit
    await client.identities.add({ email: 'news@example.org' })
    await kit.contact({ email: 'gone@example.org' })
    kit.answerMail(({ to }) => (to.email === 'gone@example.org' ? 'unknown mailbox' : 'sent'))
    const html = '<a href="{{ unsubscribe_url }}">Unsubscribe</a>'
    const { id } = await client.newsletters.create({ subject: 'News', html })
    await client.newsletters.send(id)
    await kit.deliver()
    assert.equal((await client.newsletters.get(id)).counts.failed, 1)
    assert.equal((await client.suppressions.list()).data[0]!.reason, 'hard_bounce')
    const second = await client.newsletters.create({ subject: 'More', html })
    await client.newsletters.send(second.id)
    await kit.deliver()
    assert.equal((await client.newsletters.messages(second.id)).data[0]!.reason, 'suppressed')
    assert.equal(kit.mail().length, 1)
  })
})
