import assert from 'node:assert/strict'
import type { TestContext } from 'node:test'
import { isMailkeepError, unchecked } from '../../lib/index.ts'
import { test } from '../support/databases.ts'
import { isInvalid } from '../support/refusal.ts'
import {
  addEndpoint,
  attempted,
  copies,
  hourMs,
  newest,
  type Opened,
  onEveryDatabase,
  onSharedDatabases,
  openReceiver,
  openSecondInstance,
  type Reply,
  raise,
  until,
  withStatus,
} from '../support/webhook-harness.ts'

/** Counts the deliveries of an endpoint by status. */
async function statuses({ acme }: Opened, id: number): Promise<Record<string, number>> {
  const counts: Record<string, number> = {}
  let cursor: string | null | undefined
  do {
    const page = await acme.webhooks.listDeliveries(id, { per_page: 100, ...(cursor ? { cursor } : {}) })
    for (const { status } of page.data) counts[status] = (counts[status] ?? 0) + 1
    cursor = page.meta.next_cursor
  } while (cursor)
  return counts
}

/** Waits until this many deliveries have the status. */
async function countOf(mk: Opened, status: string, count: number): Promise<void> {
  const counted = () => mk.count('mailkeep_delivery where status = ?', status)
  await until(`${count} are ${status}`, async () => (await counted()) === count || undefined)
}

/** Records each delivery that is queued again in a table. */
async function recordQueued({ place }: Opened): Promise<void> {
  const note = 'insert into queued values (new.id)'
  const change = `after update of status on mailkeep_delivery for each row
    when (old.status <> 'pending' and new.status = 'pending')`
  await place.ask('create table queued (id integer)')
  if (place.kind !== 'PostgreSQL') return void (await place.ask(`create trigger note ${change} begin ${note}; end`))
  await place.ask(`create function note() returns trigger language plpgsql as 'begin ${note}; return new; end'`)
  await place.ask(`create trigger note ${change} execute function note()`)
}

/** Switches the endpoint off in the database when this many of its deliveries are queued again. */
async function switchOffAt({ place }: Opened, endpointId: number, count: number): Promise<void> {
  const off = `update mailkeep_endpoint set active = ${place.kind === 'PostgreSQL' ? 'false' : '0'},
    disabled_reason = 'manual' where id = ${endpointId}`
  const when = `(select count(*) from queued) = ${count}`
  if (place.kind !== 'PostgreSQL') {
    return void (await place.ask(`create trigger off after insert on queued when ${when} begin ${off}; end`))
  }
  await place.ask(`create function off() returns trigger language plpgsql as
    'begin if ${when} then ${off.replaceAll("'", "''")}; end if; return new; end'`)
  await place.ask('create trigger off after insert on queued for each row execute function off()')
}

const since = (mk: Opened, agoMs = 0) => ({ since: new Date(mk.clock.ms - agoMs).toISOString() })

async function recovered(mk: Opened, endpointId: number, id: number) {
  return await until('the recovery is done', async () => {
    const recovery = await mk.acme.webhooks.getRecovery(endpointId, id)
    return recovery.status === 'done' || recovery.status === 'stopped' ? recovery : undefined
  })
}

onEveryDatabase('an inactive endpoint', (open) => {
  test('gets its pending deliveries held with the change, and later ones recorded as held', async (t) => {
    const mk = await open(t, { start: false })
    const receiver = await openReceiver(t)
    const { id } = await addEndpoint(mk, receiver.url())
    await raise(mk)
    const off = await mk.acme.webhooks.updateEndpoint(id, { active: false })
    assert.deepEqual([off.active, off.disabled_reason], [false, 'manual'])
    assert.deepEqual(await statuses(mk, id), { held: 1 })
    await raise(mk)
    await raise(mk, {}, 'sequence.completed')
    assert.deepEqual(await statuses(mk, id), { held: 2 })
    const events = await mk.count(`mailkeep_event where type = 'sequence.completed'`)
    assert.equal(events, 0, 'an event without an endpoint leaves no row')
    const { attempts, next_attempt_at } = await newest(mk, id)
    assert.deepEqual([attempts, next_attempt_at], [0, null])
    await assert.rejects(mk.acme.webhooks.testEndpoint(id), isInvalid('active'))
  })

  test('sends nothing after it is enabled again, however much was pending, until it is recovered', async (t) => {
    const mk = await open(t, { start: false })
    const receiver = await openReceiver(t)
    const { id } = await addEndpoint(mk, receiver.url())
    await raise(mk)
    await copies(mk, 599)
    assert.equal((await mk.acme.webhooks.updateEndpoint(id, { active: false })).active, false)
    assert.equal((await mk.acme.webhooks.updateEndpoint(id, { active: true })).active, true)
    assert.deepEqual(await statuses(mk, id), { held: 600 })
    mk.mailkeep.start()
    const last = await addEndpoint(mk, receiver.url('/last'), 'sequence.completed')
    await raise(mk, {}, 'sequence.completed')
    await withStatus(mk, last.id, 'success')
    assert.deepEqual(
      receiver.received.map(({ path }) => path),
      ['/last'],
    )
    const recovery = await mk.acme.webhooks.recover(id, since(mk))
    assert.deepEqual({ ...recovery, id: 0 }, { id: 0, status: 'pending', total: 600, done: 0 })
    await until('all are sent', () => (receiver.received.length === 601 ? true : undefined))
    assert.deepEqual(await recovered(mk, id, recovery.id), { ...recovery, status: 'done', done: 600 })
  })
})

onEveryDatabase('recover', (open) => {
  test('queues all deliveries again that failed or were held since then, and no others', async (t) => {
    const mk = await open(t, { webhooks: { retryScheduleSeconds: [] } })
    const replies: Reply[] = [500, 200, 500]
    const receiver = await openReceiver(t, () => replies.shift() ?? 200)
    const { id } = await addEndpoint(mk, receiver.url())
    await raise(mk, { what: 'failed before' })
    await withStatus(mk, id, 'failed')
    mk.clock.advance(hourMs)
    await raise(mk, { what: 'sent' })
    await withStatus(mk, id, 'success')
    await raise(mk, { what: 'failed' })
    await withStatus(mk, id, 'failed')
    await mk.acme.webhooks.updateEndpoint(id, { active: false })
    await raise(mk, { what: 'held' })
    await assert.rejects(mk.acme.webhooks.recover(id, since(mk)), isInvalid('active'))
    await mk.acme.webhooks.updateEndpoint(id, { active: true })
    const { id: recovery, total } = await mk.acme.webhooks.recover(id, since(mk, hourMs - 1))
    assert.equal(total, 2)
    await receiver.count(5)
    const again = receiver.received.slice(3).map(({ body }) => JSON.parse(body).data.what)
    assert.deepEqual(again.sort(), ['failed', 'held'])
    assert.equal((await recovered(mk, id, recovery)).done, 2)
    await countOf(mk, 'success', 3)
    assert.deepEqual(await statuses(mk, id), { failed: 1, success: 3 })
  })

  test('queues no delivery twice, not even one that fails again during the recovery', async (t) => {
    const resolver = { resolve4: async () => ['10.0.0.1'], resolve6: async () => [] }
    const mk = await open(t, { webhooks: { allowPrivate: false }, lookup: { resolver } })
    const { id } = await addEndpoint(mk, 'https://hook.example/')
    await mk.acme.webhooks.updateEndpoint(id, { active: false })
    await raise(mk)
    await copies(mk, 599)
    await mk.acme.webhooks.updateEndpoint(id, { active: true })
    await recordQueued(mk)
    const { id: recovery } = await mk.acme.webhooks.recover(id, since(mk))
    assert.equal((await recovered(mk, id, recovery)).done, 600)
    await countOf(mk, 'failed', 600)
    assert.equal(await mk.count('queued'), 600)
    assert.equal(await mk.count('(select distinct id from queued) as different'), 600)
  })

  test('refuses an invalid time, and recovers only its own deliveries', async (t) => {
    const mk = await open(t)
    const receiver = await openReceiver(t)
    const { id } = await addEndpoint(mk, receiver.url())
    const noTimes = ['yesterday', '2026-01-02', '2026-13-02T00:00:00Z', '2026-02-30T00:00:00Z', '2026-01-02T03:04:05']
    const inTheYear10000 = '9999-12-31T23:59:59-01:00'
    for (const bad of [...noTimes, inTheYear10000, 7, null, undefined]) {
      await assert.rejects(unchecked(mk.acme).webhooks.recover(id, { since: bad }), isInvalid('since'), String(bad))
    }
    const { id: recovery, ...rest } = await mk.acme.webhooks.recover(id, since(mk))
    assert.deepEqual(rest, { status: 'done', total: 0, done: 0 }, 'nothing to do')
    const other = await addEndpoint(mk, receiver.url())
    await assert.rejects(mk.acme.webhooks.getRecovery(other.id, recovery), (e) => isMailkeepError(e, 'not_found'))
    await assert.rejects(mk.acme.webhooks.recover(99, since(mk)), (e) => isMailkeepError(e, 'not_found'))
  })

  test('ends with a total of what it has queued, if another recovery has queued the rest', async (t) => {
    const mk = await open(t, { start: false })
    const { id } = await addEndpoint(mk, 'http://127.0.0.1:9/')
    await mk.acme.webhooks.updateEndpoint(id, { active: false })
    await raise(mk)
    await copies(mk, 599)
    await mk.acme.webhooks.updateEndpoint(id, { active: true })
    const { answer } = await mk.acme.withIdempotencyKey('both', {}, async ({ webhooks }) => [
      await webhooks.recover(id, since(mk)),
      await webhooks.recover(id, since(mk)),
    ])
    assert.deepEqual(
      answer.map(({ total }) => total),
      [600, 600],
    )
    const ended = []
    for (const recovery of answer) ended.push(await recovered(mk, id, recovery.id))
    assert.deepEqual(
      ended.map(({ status, total, done }) => [status, total - done]),
      [
        ['done', 0],
        ['done', 0],
      ],
    )
    assert.equal(ended[0]!.done + ended[1]!.done, 600)
  })

  test('stops when the endpoint is switched off in the middle', async (t) => {
    const mk = await open(t, { start: false })
    const { id } = await addEndpoint(mk, 'http://127.0.0.1:9/')
    await mk.acme.webhooks.updateEndpoint(id, { active: false })
    await raise(mk)
    await copies(mk, 2999)
    await mk.acme.webhooks.updateEndpoint(id, { active: true })
    await recordQueued(mk)
    await switchOffAt(mk, id, 700)
    const { id: recovery } = await mk.acme.webhooks.recover(id, since(mk))
    assert.deepEqual(await recovered(mk, id, recovery), { id: recovery, status: 'stopped', total: 3000, done: 1000 })
    mk.mailkeep.start() // the claim holds what was queued
    await countOf(mk, 'held', 3000)
  })
})

onSharedDatabases('a recovery', (open) => {
  test('continues where it was when the process ends in the middle', async (t) => {
    const first = await open(t, { start: false })
    const receiver = await openReceiver(t)
    const { id } = await addEndpoint(first, receiver.url())
    await first.acme.webhooks.updateEndpoint(id, { active: false })
    await raise(first)
    await copies(first, 4999)
    await first.acme.webhooks.updateEndpoint(id, { active: true })
    const recovery = await first.acme.webhooks.recover(id, since(first))
    await until(
      'it has begun',
      async () => (await first.acme.webhooks.getRecovery(id, recovery.id)).done > 0 || undefined,
    )
    await first.mailkeep.close()
    const queued = await first.count(`mailkeep_delivery where status = 'pending'`)
    assert.ok(queued > 0 && queued < 5000, `${queued} were queued`)
    const second = await openSecondInstance(t, first, { start: false })
    assert.deepEqual(await second.acme.webhooks.getRecovery(id, recovery.id), {
      id: recovery.id,
      status: 'running',
      total: 5000,
      done: queued,
    })
    second.mailkeep.start()
    assert.deepEqual(await recovered(second, id, recovery.id), { ...recovery, status: 'done', done: 5000 })
  })
})

onSharedDatabases('an endpoint disabled while a request is in flight', (open) => {
  /** Disables the endpoint, and if `back` enables it again, before the answer comes. */
  async function underWay(t: TestContext, back: boolean) {
    const mk = await open(t)
    let answer = (_: Reply) => {}
    const receiver = await openReceiver(t, () => new Promise<Reply>((resolve) => (answer = resolve)))
    const { id } = await addEndpoint(mk, receiver.url())
    await raise(mk)
    await receiver.count(1)
    await mk.acme.webhooks.updateEndpoint(id, { active: false })
    assert.equal((await newest(mk, id)).status, 'held')
    if (back) await mk.acme.webhooks.updateEndpoint(id, { active: true })
    return { mk, receiver, id, answer: (reply: Reply) => answer(reply) }
  }

  test('still records a success', async (t) => {
    const { mk, id, answer } = await underWay(t, false)
    answer(200)
    assert.deepEqual([(await attempted(mk, id, 1)).status, (await newest(mk, id)).attempts], ['success', 1])
  })

  test('holds a failure, and recovers it', async (t) => {
    const { mk, id, answer, receiver } = await underWay(t, false)
    answer(500)
    const { status, next_attempt_at } = await attempted(mk, id, 1)
    assert.deepEqual([status, next_attempt_at], ['held', null])
    await mk.acme.webhooks.updateEndpoint(id, { active: true })
    const { total } = await mk.acme.webhooks.recover(id, since(mk))
    assert.equal(total, 1, 'held since its attempt ended, not since the next was due')
    await receiver.count(2)
  })

  for (const [how, again] of [
    ['recover', (mk: Opened, id: number) => mk.acme.webhooks.recover(id, since(mk))],
    ['redeliver', async (mk: Opened, id: number) => mk.acme.webhooks.redeliver(id, (await newest(mk, id)).id)],
  ] as const) {
    test(`${how} does not send it a second time in parallel`, async (t) => {
      const { mk, id, answer, receiver } = await underWay(t, true)
      await again(mk, id)
      await until('it is pending', async () => (await newest(mk, id)).status === 'pending' || undefined)
      answer(200)
      assert.equal((await attempted(mk, id, 1)).status, 'success')
      await mk.pass(hourMs)
      const last = await addEndpoint(mk, (await openReceiver(t)).url())
      await raise(mk, {}, 'newsletter.sent')
      await withStatus(mk, last.id, 'success')
      const uuids = receiver.received.map(({ headers }) => headers['webhook-id'])
      assert.equal(uuids.length, new Set(uuids).size)
    })
  }
})
