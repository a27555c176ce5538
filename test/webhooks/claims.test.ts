import assert from 'node:assert/strict'
import { test } from '../support/databases.ts'
import { onSqlite } from '../support/kinds.ts'
import { assertFaster } from '../support/timing.ts'
import {
  addEndpoint,
  hourMs,
  newest,
  type Opened,
  onEveryDatabase,
  onSharedDatabases,
  open,
  openManualReceiver,
  openReceiver,
  openSecondInstance,
  raise,
  share,
  until,
  withStatus,
} from '../support/webhook-harness.ts'

const pending = `mailkeep_delivery where status = 'pending'`
const leaseMs = 30_000 // the time-out and 15 s

/** The time-out is longer than tests wait for a change, so a request that ends was aborted. */
const longTimeout = { webhooks: { timeoutSeconds: 60 } }

/** Waits for the end of an exchange, for less time than `longTimeout`. */
async function soon(gone: Promise<unknown>): Promise<void> {
  let isGone = false
  void gone.then(() => {
    isGone = true
  })
  await until('the request has ended', () => isGone || undefined)
}

test('claims share a commit with the outcomes of earlier attempts', async (t) => {
  const mk = await open(t, { place: share(onSqlite('a SQLite file')), webhooks: { concurrency: 16 }, start: false })
  const receiver = await openReceiver(t)
  for (let i = 0; i < 4; i++) await addEndpoint(mk, receiver.url(`/${i}`))
  for (let n = 0; n < 100; n++) await raise(mk, { n })
  const sizes = async () => (await mk.mailkeep.stats()).database.groupSizes!
  const before = await sizes()
  mk.mailkeep.start()
  await receiver.count(400)
  await until('all are recorded', async () => (await mk.count(pending)) === 0 || undefined)
  const commits = (await sizes()).map((count, size) => count - before[size]!).reduce((sum, count) => sum + count, 0)
  assert.ok(commits < 200, `${commits} commits for 400 deliveries`)
})

onSharedDatabases('two instances on one database', (open) => {
  test('never send a delivery twice while both run', async (t) => {
    const webhooks = { concurrency: 16 }
    const first = await open(t, { webhooks })
    const second = await openSecondInstance(t, first, { webhooks })
    const receiver = await openReceiver(t)
    const ids = []
    for (let i = 0; i < 4; i++) ids.push((await addEndpoint(first, receiver.url(`/${i}`))).id)
    await Promise.all(Array.from({ length: 60 }, (_, n) => raise(n % 2 ? first : second, { n })))
    await receiver.count(240)
    for (const mk of [first, second]) await mk.wake()
    await until('all are recorded', async () => (await first.count(pending)) === 0 || undefined)
    const uuids = receiver.received.map(({ headers }) => headers['webhook-id'])
    assert.equal(uuids.length, 240)
    assert.equal(new Set(uuids).size, 240)
    const attempts = await first.ask(
      'select attempts, cast(count(*) as integer) as count from mailkeep_delivery group by attempts',
    )
    assert.deepEqual(
      attempts.filter((row) => (row as { attempts: number }).attempts > 0),
      [{ attempts: 1, count: 240 }],
    )
    const sent = await Promise.all(
      [first, second].map(async ({ mailkeep }) => (await mailkeep.stats()).attempts.success),
    )
    assert.ok(sent[0]! > 0 && sent[1]! > 0 && sent[0]! + sent[1]! === 240, `${sent} were sent by each`)
    for (const id of ids) assert.equal((await second.acme.webhooks.getEndpoint(id)).consecutive_failures, 0)
  })

  test('notice each other’s commits immediately, and those of any other handle', async (t) => {
    const first = await open(t)
    const writer = await openSecondInstance(t, first, { start: false })
    const receiver = await openReceiver(t)
    const { id } = await addEndpoint(first, receiver.url())
    const started = performance.now()
    for (let n = 1; n <= 6; n++) {
      await raise(writer)
      await receiver.count(n)
      await withStatus(first, id, 'success')
    }
    await writer.ask(`update mailkeep_delivery set status = 'pending'
      where id = (select max(id) from mailkeep_delivery where endpoint_id = ${id})`)
    await receiver.count(7)
    const tookMs = performance.now() - started
    assertFaster(tookMs, 3500, 'noticing 7 commits, which takes 7 s by polls,')
  })

  test('leave a claim of the other alone until its lease has expired, and then take it over', async (t) => {
    const { receiver, answers } = await openManualReceiver(t)
    const first = await open(t)
    const { id } = await addEndpoint(first, receiver.url())
    const claimedMs = first.clock.ms
    await raise(first)
    await receiver.count(1)
    const second = await openSecondInstance(t, first)
    const marker = await openReceiver(t)
    const other = await addEndpoint(second, marker.url(), 'sequence.completed')
    first.clock.advance(leaseMs - 1)
    await raise(second, {}, 'sequence.completed')
    await withStatus(second, other.id, 'success')
    assert.equal((await newest(first, id)).attempts, 1)
    first.clock.advance(1)
    await second.wake()
    await receiver.count(2)
    answers[1]!(201)
    const taken = await withStatus(second, id, 'success')
    assert.deepEqual([taken.attempts, taken.response_status], [2, 201])
    // The outcome of the first comes late: another process has claimed the delivery.
    answers[0]!(500)
    await receiver.received[0]!.gone
    await raise(first, {}, 'sequence.completed')
    await marker.count(2)
    await until(
      'the outcome was discarded',
      async () => (await newest(first, other.id)).status === 'success' || undefined,
    )
    const { status, attempts, attempt_log } = await newest(first, id)
    assert.deepEqual([status, attempts], ['success', 2])
    assert.equal(attempt_log.length, 2)
    const [interrupted, success] = attempt_log
    assert.deepEqual([interrupted!.number, interrupted!.duration_ms, interrupted!.response_status], [1, null, null])
    assert.match(interrupted!.error!, /interrupted/)
    assert.equal(Date.parse(interrupted!.started_at), Math.floor(claimedMs / 1000) * 1000)
    assert.deepEqual([success!.number, success!.response_status, success!.error], [2, 201, null])
    assert.equal((await first.acme.webhooks.getEndpoint(id)).consecutive_failures, 0)
  })
})

onEveryDatabase('deliveries that are claimed', (open) => {
  test('are never more than may be in flight', async (t) => {
    const concurrency = 4
    const mk = await open(t, { webhooks: { concurrency, retryScheduleSeconds: [0, 0] }, start: false })
    let most = 0
    const receiver = await openReceiver(t, async () => {
      most = Math.max(most, await mk.count('mailkeep_delivery where lease_until is not null'))
      return 200
    })
    for (let i = 0; i < 8; i++) await addEndpoint(mk, receiver.url(`/${i}`))
    for (let n = 0; n < 10; n++) await raise(mk, { n })
    mk.mailkeep.start()
    await receiver.count(80)
    assert.ok(most > 0 && most <= concurrency, `${most} were claimed`)
  })
})

onSharedDatabases('interrupted attempts', (open) => {
  /** Simulates a claim of a dead process by changing the row. */
  async function claimFor(mk: Opened, id: number, untilMs: number): Promise<void> {
    const iso = (ms: number) => new Date(ms).toISOString().replace('Z', '000Z')
    await mk.ask(
      `update mailkeep_delivery set claim = 'dead', attempts = attempts + 1, claimed_at = ?, lease_until = ?
        where endpoint_id = ?`,
      iso(untilMs - leaseMs),
      iso(untilMs),
      id,
    )
  }

  test('count as attempts: after the last one the delivery has visibly failed', async (t) => {
    const mk = await open(t, { start: false, webhooks: { retryScheduleSeconds: [5] } })
    const receiver = await openReceiver(t)
    const { id } = await addEndpoint(mk, receiver.url())
    await raise(mk)
    await claimFor(mk, id, mk.clock.ms)
    await claimFor(mk, id, mk.clock.ms)
    mk.mailkeep.start()
    const { attempts, error, attempt_log, next_attempt_at } = await withStatus(mk, id, 'failed')
    assert.deepEqual([attempts, attempt_log.length, next_attempt_at], [2, 1, null])
    assert.match(error!, /interrupted/)
    assert.equal(receiver.received.length, 0)
  })

  test('a lease that began in the future is void, because the clock was moved back', async (t) => {
    const mk = await open(t, { start: false })
    const receiver = await openReceiver(t)
    const void_ = await addEndpoint(mk, receiver.url('/void'))
    const held = await addEndpoint(mk, receiver.url('/held'))
    await raise(mk)
    await claimFor(mk, void_.id, mk.clock.ms + leaseMs + 3000)
    await claimFor(mk, held.id, mk.clock.ms + leaseMs)
    mk.mailkeep.start()
    await withStatus(mk, void_.id, 'success')
    assert.deepEqual(
      receiver.received.map(({ path }) => path),
      ['/void'],
    )
    assert.equal((await newest(mk, held.id)).status, 'pending')
  })
})

onEveryDatabase('while a request is in flight', (open) => {
  test('deleting its endpoint aborts it long before its time-out, and nothing is sent again', async (t) => {
    const mk = await open(t, longTimeout)
    const { receiver } = await openManualReceiver(t)
    const { id } = await addEndpoint(mk, receiver.url())
    await raise(mk)
    const { gone } = await receiver.count(1)
    await mk.acme.webhooks.deleteEndpoint(id)
    await soon(gone)
    assert.equal(await mk.count('mailkeep_delivery where endpoint_id = ?', id), 0)
    const other = await addEndpoint(mk, (await openReceiver(t)).url())
    await mk.pass(hourMs)
    await raise(mk)
    await withStatus(mk, other.id, 'success')
    assert.equal(receiver.received.length, 1)
  })

  test('a new secret does not change its signature', async (t) => {
    const mk = await open(t)
    const { receiver, answers } = await openManualReceiver(t)
    const { id } = await addEndpoint(mk, receiver.url())
    await raise(mk)
    await receiver.count(1)
    await mk.acme.webhooks.rotateSecret(id)
    answers[0]!(200)
    assert.equal((await withStatus(mk, id, 'success')).attempts, 1)
  })

  test('closing waits for it and records its outcome', async (t) => {
    const mk = await open(t)
    const { receiver, answers } = await openManualReceiver(t)
    const { id } = await addEndpoint(mk, receiver.url())
    await raise(mk)
    await receiver.count(1)
    const closed = mk.mailkeep.close()
    setImmediate(() => answers[0]!(200))
    await closed
    const rows = await mk.ask('select status, attempts, claim from mailkeep_delivery where endpoint_id = ?', id)
    assert.deepEqual({ ...rows[0] }, { status: 'success', attempts: 1, claim: null })
  })
})

test('an outcome that meets a full disk is recorded once there is space, and nothing is sent again', async (t) => {
  let failed = () => {}
  const isFull = new Promise<void>((resolve) => (failed = resolve))
  const quiet = () => {}
  const logger = { debug: quiet, info: quiet, warn: quiet, error: () => failed() }
  const place = share(onSqlite('SQLite in memory'))
  const { handle } = place
  const mk = await open(t, { logger, place })
  const { receiver, answers } = await openManualReceiver(t)
  const { id } = await addEndpoint(mk, receiver.url())
  await raise(mk)
  await receiver.count(1)
  handle.exec('vacuum') // leaves no free page
  handle.pragma(`max_page_count = ${handle.pragma('page_count', { simple: true })}`)
  answers[0]!({ status: 200, body: 'x'.repeat(4096) })
  await isFull
  assert.equal((await newest(mk, id)).status, 'pending')
  handle.pragma('max_page_count = 1000000')
  const { attempts, attempt_log } = await withStatus(mk, id, 'success')
  assert.deepEqual([attempts, attempt_log.length, receiver.received.length], [1, 1, 1])
})

onSharedDatabases('closing', (open) => {
  test('aborts a request that takes too long; it is sent again after opening', async (t) => {
    const first = await open(t, longTimeout)
    const { receiver, answers } = await openManualReceiver(t)
    const { id } = await addEndpoint(first, receiver.url())
    await raise(first)
    const { gone } = await receiver.count(1)
    await first.mailkeep.close({ timeoutMs: 50 })
    await soon(gone)
    const second = await openSecondInstance(t, first)
    await receiver.count(2)
    answers[1]!(200)
    const { attempts, attempt_log } = await withStatus(second, id, 'success')
    assert.equal(attempts, 2, 'an interrupted one counts')
    assert.deepEqual([attempt_log[0]!.duration_ms, attempt_log[1]!.response_status], [null, 200])
    assert.equal(
      (await second.acme.webhooks.getEndpoint(id)).consecutive_failures,
      0,
      'it is not counted as a failure of the endpoint',
    )
  })
})

onSharedDatabases('an endpoint that is disabled', (open) => {
  test('by another instance while events are raised has no delivery left pending', async (t) => {
    const first = await open(t)
    const second = await openSecondInstance(t, first)
    const receiver = await openReceiver(t)
    const { id } = await addEndpoint(first, receiver.url())
    const raised = Promise.all(Array.from({ length: 200 }, (_, n) => raise(n % 2 ? first : second)))
    await receiver.count(5)
    await second.acme.webhooks.updateEndpoint(id, { active: false })
    await raised
    const counted = (status: string) =>
      first.count('mailkeep_delivery where endpoint_id = ? and status = ?', id, status)
    await until('nothing is pending', async () => (await counted('pending')) === 0 || undefined)
    const claimed = () => first.count('mailkeep_delivery where claim is not null')
    await until('all outcomes are recorded', async () => (await claimed()) === 0 || undefined)
    const [success, held] = [await counted('success'), await counted('held')]
    assert.equal(success + held, 200)
    assert.equal(receiver.received.length, success)
  })

  test('is detected by the claim itself: deliveries still pending become held', async (t) => {
    const mk = await open(t, { start: false })
    const receiver = await openReceiver(t)
    const { id } = await addEndpoint(mk, receiver.url())
    await raise(mk)
    await mk.ask(`update mailkeep_endpoint set active = false, disabled_reason = 'manual' where id = ${id}`)
    assert.equal((await newest(mk, id)).status, 'held', 'even before its row says so')
    mk.mailkeep.start()
    const held = () => mk.count(`mailkeep_delivery where endpoint_id = ? and status = 'held'`, id)
    await until('it is held', async () => (await held()) === 1 || undefined)
    assert.equal(receiver.received.length, 0)
  })
})
