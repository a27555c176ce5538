/** The requests that the dispatcher has in flight at one endpoint, seen from the receiver and the database. */
import assert from 'node:assert/strict'
import type { TestContext } from 'node:test'
import { test } from '../support/databases.ts'
import {
  addEndpoint,
  attempted,
  copies,
  moment,
  newest,
  type Opened,
  onSharedDatabases,
  openManualReceiver,
  openReceiver,
  openSecondInstance,
  type Reply,
  raise,
  secondMs,
  until,
  withStatus,
} from '../support/webhook-harness.ts'

/** Resolves when no transaction holds a lock. On a file every writer locks the whole database. */
async function nothingIsLocked({ ask, count, place }: Opened): Promise<void> {
  if (place.kind !== 'PostgreSQL') return void (await ask('begin immediate; rollback'))
  const locks = `pg_locks join pg_class as c on c.oid = relation join pg_namespace as n on n.oid = relnamespace
    where nspname = ? and pid <> pg_backend_pid()`
  await until('nothing is locked', async () => (await count(locks, place.env.SCHEMA)) === 0 || undefined)
}

/** Opens an endpoint with 200 due deliveries whose receiver answers on request. */
async function openBusy(t: TestContext, mk: Opened) {
  const { receiver, answers } = await openManualReceiver(t)
  const marker = await addEndpoint(mk, (await openReceiver(t)).url(), 'sequence.completed')
  const { id } = await addEndpoint(mk, receiver.url())
  await raise(mk)
  await copies(mk, 199, 'pending')
  await mk.wake()
  let ended = 0
  return {
    answer(reply: Reply, times: number) {
      for (let i = 0; i < times; i++) answers[ended++]!(reply)
    },
    timedOut(times: number) {
      ended += times
    },
    /**
     * Asserts that exactly this many are in flight and claimed: a later delivery of another endpoint has been sent
     * since.
     */
    async expectInFlight(expected: number) {
      await receiver.count(ended + expected)
      await raise(mk, {}, 'sequence.completed')
      await withStatus(mk, marker.id, 'success')
      assert.equal(receiver.received.length, ended + expected)
      assert.equal(await mk.count('mailkeep_delivery where endpoint_id = ? and claim is not null', id), expected)
    },
  }
}

onSharedDatabases('while requests are in flight', (open) => {
  test('no transaction is open', async (t) => {
    const mk = await open(t)
    const { receiver, answers } = await openManualReceiver(t)
    const { id } = await addEndpoint(mk, receiver.url())
    await raise(mk)
    await receiver.count(1)
    await nothingIsLocked(mk)
    answers[0]!(200)
    await withStatus(mk, id, 'success')
  })

  test('last_triggered_at of an endpoint is the start of its latest request, whichever ends last', async (t) => {
    const mk = await open(t)
    const { receiver, answers } = await openManualReceiver(t)
    const { id } = await addEndpoint(mk, receiver.url())
    await raise(mk) // the endpoint has one request in flight until it has answered
    await receiver.count(1)
    answers[0]!(200)
    await withStatus(mk, id, 'success')
    await raise(mk)
    await receiver.count(2)
    const { id: slow } = await newest(mk, id)
    mk.clock.advance(2 * secondMs)
    const latest = moment(mk.clock.ms)
    await raise(mk)
    await receiver.count(3)
    answers[2]!(200)
    await withStatus(mk, id, 'success')
    answers[1]!(200)
    const delivered = async () => (await mk.acme.webhooks.getDelivery(id, slow)).status === 'success' || undefined
    await until('the slow one is delivered, too', delivered)
    assert.equal((await mk.acme.webhooks.getEndpoint(id)).last_triggered_at, latest)
  })

  test('an endpoint has one of them before its first answer, then as many as the setting says', async (t) => {
    const mk = await open(t, { webhooks: { endpointConcurrency: 12 } })
    const { answer, expectInFlight } = await openBusy(t, mk)
    await expectInFlight(1)
    answer(500, 1)
    await expectInFlight(12)
    answer(200, 5)
    await expectInFlight(12)
  })

  test('an endpoint whose last attempt failed has one of them after a restart', async (t) => {
    const first = await open(t)
    const { receiver, answers } = await openManualReceiver(t)
    const marker = await addEndpoint(first, (await openReceiver(t)).url(), 'sequence.completed')
    const { id } = await addEndpoint(first, receiver.url())
    await raise(first)
    await receiver.count(1)
    answers[0]!(500)
    await attempted(first, id, 1)
    await first.mailkeep.close()
    await copies(first, 20, 'pending')
    const second = await openSecondInstance(t, first)
    await receiver.count(2)
    await raise(second, {}, 'sequence.completed')
    await withStatus(second, marker.id, 'success')
    assert.equal(receiver.received.length, 2)
  })

  test('a delivery that is put on hold stays so when its attempt fails, although its endpoint is active again', async (t) => {
    const mk = await open(t)
    const { receiver, answers } = await openManualReceiver(t)
    const { id } = await addEndpoint(mk, receiver.url())
    await raise(mk)
    await receiver.count(1)
    for (const active of [false, true]) await mk.acme.webhooks.updateEndpoint(id, { active })
    answers[0]!(500)
    const { status, next_attempt_at } = await attempted(mk, id, 1)
    assert.deepEqual([status, next_attempt_at], ['held', null])
  })

  test('an endpoint with a time-out has one at a time until it answers', async (t) => {
    const mk = await open(t, { webhooks: { timeoutSeconds: 1, endpointConcurrency: 12 } })
    const { answer, timedOut, expectInFlight } = await openBusy(t, mk)
    await expectInFlight(1)
    timedOut(1)
    await expectInFlight(1)
    answer(200, 1)
    await expectInFlight(12)
  })
})

onSharedDatabases('of the requests in flight', (open) => {
  /**
   * Opens clients with four endpoints each. Their receiver answers immediately or, after `hold`, at the end of the
   * test.
   */
  async function openClients(t: TestContext, names: readonly string[], reply: Reply) {
    const mk = await open(t, { webhooks: { concurrency: 32 } })
    let answer = reply
    const receiver = await openReceiver(t, () => answer)
    const clients: Pick<Opened, 'acme'>[] = []
    for (const name of names) {
      const acme = mk.mailkeep.forClient((await mk.mailkeep.clients.create({ name })).id)
      for (let i = 0; i < 4; i++) await addEndpoint({ acme }, receiver.url())
      clients.push({ acme })
    }
    for (const client of clients) await raise(client)
    const total = 4 * names.length
    await until('all have answered', async () => (await mk.count('mailkeep_attempt')) === total || undefined)
    const marker = await addEndpoint(mk, (await openReceiver(t)).url())
    return {
      ...mk,
      clients,
      hold: () => {
        answer = 'hang'
      },
      /** Asserts that exactly this many requests come: another client's delivery has been sent since. */
      async expectRequests(expected: number) {
        await receiver.count(total + expected)
        await raise(mk)
        await withStatus(mk, marker.id, 'success')
        assert.equal(receiver.received.length, total + expected)
      },
    }
  }

  test('one client has a quarter at most, over all its endpoints', async (t) => {
    const { clients, expectRequests, hold } = await openClients(t, ['Large'], 200)
    hold()
    for (let i = 0; i < 5; i++) await raise(clients[0]!)
    await expectRequests(8)
  })
})
