import assert from 'node:assert/strict'
import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import type { TestContext } from 'node:test'
import pg from 'pg'
import { createMailkeep, isMailkeepError, type Mailkeep, type MailkeepOptions } from '../../lib/index.ts'
import { silent } from '../../lib/logger.ts'
import { plainQuery } from '../../lib/storage/connection.ts'
import { Connections, readerOn } from '../../lib/storage/postgres/connections.ts'
import { SharedClock } from '../../lib/storage/postgres/shared-clock.ts'
import { Writes } from '../../lib/storage/postgres/writes.ts'
import { type PostgresOptions, postgres } from '../../lib/storage/postgres.ts'
import { databaseUrl, onPostgres, openPostgres, test } from '../support/databases.ts'
import { until } from '../support/harness.ts'
import { openReceiver, type Received } from '../support/http-receiver.ts'
import { openProxy } from '../support/tcp-proxy.ts'
import { assertFaster } from '../support/timing.ts'

const encryptionKey = Buffer.alloc(32, 7)
const webhooks = { allowPrivate: true }

async function openWorld(t: TestContext) {
  const closing: (() => unknown)[] = []
  t.after(async () => {
    for (const close of closing.reverse()) await close()
  })
  const database = await openPostgres()
  closing.push(database.close)
  const receiver = await openReceiver()
  closing.push(() => receiver.close())
  const add = async (url = database.url, rest: Partial<MailkeepOptions & PostgresOptions> = {}) => {
    const { pooler, ...options } = rest
    // Connections through a pooler get their schema from the role. Here it comes from the URL.
    const source = pooler
      ? postgres(`${url}?options=-c%20search_path%3D${database.schema}`, { pooler })
      : postgres(url, { schema: database.schema })
    const mailkeep = await createMailkeep({ database: source, encryptionKey, webhooks, ...options })
    closing.push(() => mailkeep.close({ timeoutMs: 0 }))
    return mailkeep
  }
  const first = await add()
  const { id } = await first.clients.create({ name: 'Acme' })
  const client = first.forClient(id)
  const endpoint = await client.webhooks.createEndpoint({ url: receiver.url(), events: ['newsletter.sent'] })
  const raise = (by: Mailkeep = first) => by.forClient(id).events.raise({ type: 'newsletter.sent', data: {} })
  return { ...database, receiver, add, first, id, client, endpoint, raise, closing }
}

interface World {
  readonly url: string
  readonly schema: string
  readonly closing: (() => unknown)[]
}

/** Starts a child process, optionally with a wrong clock. */
async function spawn(world: World, aheadMs = 0): Promise<ChildProcess> {
  const file = new URL('../faults/postgres-daemon.ts', import.meta.url)
  const child = fork(file, [world.url, world.schema, String(aheadMs)], { execArgv: ['--import', 'tsx'] })
  world.closing.push(() => kill(child))
  const [message] = await once(child, 'message')
  assert.equal(message, 'ready')
  return child
}

async function kill(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return
  child.kill('SIGKILL')
  await once(child, 'exit')
}

const deliveryOf = ({ headers }: Received) => String(headers['x-service-delivery'])

const different = (received: readonly Received[]) => new Set(received.map(deliveryOf)).size

onPostgres('several processes on PostgreSQL', () => {
  test('migrate at the same time: one of them does it', async () => {
    const world = { url: await databaseUrl(), schema: `raced_${process.pid}`, closing: [] }
    const children = await Promise.all([1, 2, 3, 4].map(() => spawn(world)))
    await Promise.all(children.map(kill))
    const database = await openPostgres({ schema: world.schema })
    const applied = await database.ask('select name from mailkeep_migration')
    assert.equal(new Set(applied.map(({ name }) => name)).size, applied.length)
    await database.ask(`drop schema ${world.schema} cascade`)
  })

  test('share the work, and send no delivery twice', async (t) => {
    const { receiver, add, first, raise, ask } = await openWorld(t)
    const others = [await add(), await add()]
    const total = 300
    await Promise.all(Array.from({ length: total }, () => raise()))
    for (const mailkeep of [first, ...others]) mailkeep.start()
    await receiver.next(total)
    await until(
      () => ask(`select 1 from mailkeep_delivery where status <> 'success'`),
      (rows) => rows.length === 0,
    )
    assert.equal(different(receiver.received), total)
    assert.equal(receiver.received.length, total)
    assert.deepEqual(await ask('select distinct attempts from mailkeep_delivery'), [{ attempts: 1 }])
  })

  test('are notified immediately of events that another process raised', async (t) => {
    const { receiver, add, raise } = await openWorld(t)
    const dispatching = await add()
    dispatching.start()
    await raise()
    await receiver.next()
    const took: number[] = []
    for (let round = 0; round < 9; round++) {
      await new Promise((resolve) => setTimeout(resolve, 30))
      const began = performance.now()
      await raise()
      await receiver.next()
      took.push(performance.now() - began)
    }
    const median = took.sort((a, b) => a - b)[4]!
    assertFaster(median, 150, 'the median, sooner than any poll,')
  })

  test('send notifications after their commits, on one connection, and at most every 20 ms', async (t) => {
    const { url, schema, raise } = await openWorld(t)
    const listener = new pg.Client({ connectionString: url })
    t.after(() => listener.end())
    await listener.connect()
    await listener.query('listen mailkeep')
    const heard: { readonly processId: number; readonly seen: Promise<number> }[] = []
    const count = async () => {
      const { rows } = await listener.query(`select count(*)::int as n from "${schema}".mailkeep_delivery`)
      return rows[0].n as number
    }
    listener.on('notification', ({ payload, processId }) => {
      if (payload === schema) heard.push({ processId, seen: count() })
    })
    const began = performance.now()
    for (let round = 0; round < 25; round++) {
      await Promise.all(Array.from({ length: 8 }, () => raise()))
    }
    const tookMs = performance.now() - began
    const seen = await until(
      async () => await Promise.all(heard.map((one) => one.seen)),
      (counts) => counts.includes(25 * 8), // the last notification comes when all are stored
    )
    assert.ok(seen[0]! > 0, 'the first notification comes after its commit')
    assert.ok(heard.length > 2 && heard.length <= tookMs / 20 + 3, `${heard.length} in ${tookMs} ms`)
    assert.equal(new Set(heard.map(({ processId }) => processId)).size, 1)
  })

  test('behind a pooler learn of events by a poll', async (t) => {
    const { receiver, add, raise } = await openWorld(t)
    const dispatching = await add(undefined, { pooler: true })
    dispatching.start()
    await raise()
    await receiver.next()
    const began = performance.now()
    await raise()
    await receiver.next()
    assertFaster(performance.now() - began, 900, 'noticing it, sooner than by the regular poll,')
  })

  test('take over the claims of a killed process as soon as it is dead', async (t) => {
    const world = await openWorld(t)
    const { receiver, raise, ask, first } = world
    receiver.replies('hang', 200)
    await raise()
    const child = await spawn(world)
    child.send('start')
    const begun = await receiver.next()
    first.start()
    await kill(child)
    assert.equal(deliveryOf(await receiver.next()), deliveryOf(begun))
    const [attempts] = await until(
      () => ask('select array_agg(duration_ms is null order by number) as interrupted from mailkeep_attempt'),
      ([row]) => (row!.interrupted as unknown[] | null)?.length === 2,
    )
    assert.deepEqual(attempts!.interrupted, [true, false])
  })

  for (const aheadMs of [3_600_000, -3_600_000]) {
    test(`with a clock that is ${aheadMs > 0 ? 'fast' : 'slow'} by an hour use the database’s clock`, async (t) => {
      const world = await openWorld(t)
      const { receiver, raise, ask, first } = world
      receiver.replies('hang')
      await raise()
      const child = await spawn(world, aheadMs)
      child.send('start')
      await receiver.next()
      const [lease] = await ask(
        'select extract(epoch from lease_until - now())::float8 as seconds from mailkeep_delivery',
      )
      assert.ok((lease!.seconds as number) > 20 && (lease!.seconds as number) <= 30, `${lease!.seconds} s`)
      first.start() // polls all leases, and this one is valid
      child.send('raise')
      await receiver.next()
      await new Promise((resolve) => setTimeout(resolve, 300))
      assert.equal(different(receiver.received), receiver.received.length, 'no delivery was sent twice')
    })
  }
})

onPostgres('the database’s clock', () => {
  test('is cached between comparisons, and read again after a sleep', async (t) => {
    let nowMs = 1000
    t.mock.method(performance, 'now', () => nowMs)
    let aheadMs = 5_000_000_000
    let delayMs = 0
    const ask = async () => {
      nowMs += delayMs
      return [{ micros: (nowMs + aheadMs) * 1000 }]
    }
    const clock = new SharedClock()
    const error = () => Math.abs(clock.now() - nowMs - aheadMs)
    await clock.compare(ask)
    assert.ok(error() < 1)
    delayMs = 20
    await clock.compare(ask)
    assert.ok(error() < 1, 'ignores a slow answer')
    aheadMs += 3_600_000 // the processor slept
    await clock.compare(ask)
    assert.ok(error() <= 21)
    delayMs = 0
    await clock.compare(ask)
    assert.ok(error() < 1)
  })

  test('gives records their timestamps, in microseconds', async (t) => {
    const { first, ask } = await openWorld(t)
    for (let i = 0; i < 5; i++) await first.clients.create({ name: 'Acme' })
    const rows = await ask(`select abs(extract(epoch from created_at - now())) < 10 as near,
      extract(microseconds from created_at)::bigint % 1000 <> 0 as fine from mailkeep_client`)
    assert.ok(rows.every(({ near }) => near))
    assert.ok(rows.some(({ fine }) => fine))
  })
})

onPostgres('a PostgreSQL outage', () => {
  const target = async () => {
    const { hostname, port } = new URL(await databaseUrl())
    return { host: hostname, port: Number(port || 5432) }
  }
  const through = (url: string, port: number) => {
    const other = new URL(url)
    other.hostname = '127.0.0.1'
    other.port = String(port)
    return other.href
  }

  test('refuses requests as unavailable, loses no answered write, and ends without a restart', async (t) => {
    const { url, add, id, receiver, raise, ask, closing } = await openWorld(t)
    const proxy = await openProxy(await target())
    closing.push(() => proxy.close())
    const warnings: string[] = []
    const logger = {
      ...silent,
      warn: (_: object, text: string) => warnings.push(text),
      info: (_: object, text: string) => warnings.push(text),
    }
    const mailkeep = await add(through(url, proxy.port), { logger })
    mailkeep.start()
    const tags = mailkeep.forClient(id).tags
    const made: string[] = []
    const refused: unknown[] = []
    let stop = false
    const load = Array.from({ length: 8 }, async (_, worker) => {
      for (let i = 0; !stop; i++) {
        const name = `${worker} ${i}`
        await tags.create({ name }).then(
          () => made.push(name),
          async (error) => {
            refused.push(error)
            await new Promise((resolve) => setTimeout(resolve, 5))
          },
        )
      }
    })
    const wait = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms))
    await wait(200)
    for (let round = 0; round < 2; round++) {
      proxy.cut()
      await wait(300)
      assert.ok(refused.length > 0)
      proxy.mend()
      const before = made.length
      await until(
        async () => made.length,
        (now) => now > before,
      )
      await until(
        async () => warnings.length,
        (count) => count === 2 * (round + 1),
      )
    }
    stop = true
    await Promise.all(load)
    for (const error of refused) {
      // The client cannot know whether a commit succeeded just before the cut. If it did, the name is taken.
      assert.ok(isMailkeepError(error, 'unavailable') || isMailkeepError(error, 'validation_failed'), String(error))
    }
    const stored = new Set((await ask('select name from mailkeep_tag')).map(({ name }) => name))
    assert.deepEqual(
      made.filter((name) => !stored.has(name)),
      [],
    )
    const began = performance.now()
    await raise()
    await receiver.next()
    assertFaster(performance.now() - began, 1500, 'the delivery, of which it is notified again,')
    assert.match(warnings.join('\n'), /was lost\n.*is back/)
  })

  test('without closing its connections: a statement times out, and its connection is closed', async (t) => {
    const proxy = await openProxy(await target())
    t.after(() => proxy.close())
    const pool = new pg.Pool({ connectionString: through(await databaseUrl(), proxy.port), max: 2 })
    const connections = new Connections(pool, silent, true, {
      waiting: 10,
      waitingOfClient: 10,
      waitMs: 300,
      answerMs: 200,
    })
    t.after(() => connections.close(true))
    const [reader, writes] = [readerOn(connections), new Writes(connections, silent)]
    const one = plainQuery('select 1 as one')
    await reader.run(one)
    proxy.mute()
    const began = performance.now()
    await assert.rejects(reader.run(one), (error) => isMailkeepError(error, 'unavailable'))
    await assert.rejects(
      writes.transaction(async (tx) => tx.run(one)),
      (error) => isMailkeepError(error, 'unavailable'),
    )
    assertFaster(performance.now() - began, 3000, 'both refusals')
    proxy.cut()
    proxy.mend()
    assert.equal((await reader.run(one)).rows.length, 1)
    await writes.transaction(async (tx) => tx.run(one))
  })

  test('and more requests than can wait are refused immediately', async (t) => {
    const pool = new pg.Pool({ connectionString: await databaseUrl(), max: 1 })
    const connections = new Connections(pool, silent, true, {
      waiting: 2,
      waitingOfClient: 2,
      waitMs: 2000,
      answerMs: 2000,
    })
    t.after(() => connections.close(true))
    const reader = readerOn(connections)
    const sleeping = plainQuery('select pg_sleep(0.1)')
    const results = await Promise.allSettled([1, 2, 3, 4, 5].map(() => reader.run(sleeping)))
    assert.deepEqual(
      results.map(({ status }) => status),
      ['fulfilled', 'fulfilled', 'fulfilled', 'rejected', 'rejected'],
    )
  })
})
