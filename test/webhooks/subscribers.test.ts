/** `mailkeep.on`: events handled in the host's own process, as durably as over HTTP. */
import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { EventEmitter, once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { describe, type TestContext, test } from 'node:test'
import Database from 'better-sqlite3'
import {
  createMailkeep,
  type DatabaseSource,
  type HandledEvent,
  type Handling,
  isMailkeepError,
  type Mailkeep,
  MailkeepError,
  type MailkeepOptions,
} from '../../lib/index.ts'
import { sqlite } from '../../lib/storage/sqlite.ts'
import { testMailkeep } from '../../lib/testing.ts'
import { hasPostgres, openPostgres } from '../support/databases.ts'
import { databaseFolder } from '../support/folders.ts'

type OpenDatabase = (t: TestContext) => Promise<{ source: DatabaseSource; ask: (text: string) => Promise<unknown[]> }>

const databases: Record<string, OpenDatabase> = {
  'a SQLite file': async (t) => {
    const folder = mkdtempSync(join(databaseFolder, 'mailkeep-'))
    t.after(() => rmSync(folder, { recursive: true }))
    const file = join(folder, 'mail.db')
    const ask = async (text: string) => {
      const handle = new Database(file)
      const rows = handle.prepare(text).all()
      handle.close()
      return rows
    }
    return { source: sqlite(file), ask }
  },
  ...(hasPostgres && {
    PostgreSQL: async (t) => {
      const { source, ask, close } = await openPostgres()
      t.after(close)
      return { source, ask }
    },
  }),
}

const encryptionKey = randomBytes(32)

/** Opens several instances of one database, with one shared clock that only the test moves. */
async function open(t: TestContext, database: OpenDatabase) {
  const { source, ask } = await database(t)
  let nowMs = Date.now()
  const mailkeeps: Mailkeep[] = []
  t.after(() => Promise.all(mailkeeps.map((mailkeep) => mailkeep.close({ timeoutMs: 0 }))))
  const start = async (options: Partial<MailkeepOptions> = {}) => {
    const mailkeep = await createMailkeep({ database: source, encryptionKey, clock: () => nowMs, ...options })
    mailkeeps.unshift(mailkeep)
    return mailkeep
  }
  const mailkeep = await start()
  const { id } = await mailkeep.clients.create({ name: 'Acme' })
  const client = mailkeep.forClient(id)
  const list = await client.lists.create({ name: 'News' })
  const subscribe = async (email: string) => (await client.contacts.addToList(list.id, { email })).contact
  const advance = (ms: number) => {
    nowMs += ms
  }
  return { mailkeep, start, source, client, clientId: id, list, subscribe, advance, ask }
}

/** Creates a handler that waits until it is released. */
function gate() {
  let release = () => {}
  const released = new Promise<void>((resolve) => {
    release = resolve
  })
  let enter = (_: Handling) => {}
  const entered = new Promise<Handling>((resolve) => {
    enter = resolve
  })
  const handler = async (_: HandledEvent, handling: Handling) => {
    enter(handling)
    await released
  }
  return { handler, entered, release }
}

for (const [name, database] of Object.entries(databases)) {
  describe(`subscribers in the process, on ${name}`, () => {
    test('handle the events of all clients, each once, with the data that a receiver would get', async (t) => {
      const { mailkeep, clientId, subscribe, list } = await open(t, database)
      const seen: HandledEvent<'contact.subscribed'>[] = []
      await mailkeep.on('contact.subscribed', (event) => seen.push(event), { name: 'greeter' })
      const { id: otherId } = await mailkeep.clients.create({ name: 'Other' })
      const other = mailkeep.forClient(otherId)
      const { id: otherList } = await other.lists.create({ name: 'Theirs' })
      const ada = await subscribe('ada@example.org')
      await other.contacts.addToList(otherList, { email: 'bob@example.org' })
      await mailkeep.deliverDue()
      await mailkeep.deliverDue()
      seen.sort((a, b) => a.clientId - b.clientId)
      assert.deepEqual(
        seen.map((event) => [event.clientId, event.type, event.data.contact.email]),
        [
          [clientId, 'contact.subscribed', 'ada@example.org'],
          [otherId, 'contact.subscribed', 'bob@example.org'],
        ],
      )
      assert.deepEqual(seen[0]!.data, { contact: ada, list })
    })

    test('get only the event types they subscribed to, and other types after subscribing again', async (t) => {
      const { mailkeep, client, subscribe } = await open(t, database)
      const seen: string[] = []
      const handler = ({ type }: HandledEvent) => seen.push(type)
      const first = await mailkeep.on('contact.unsubscribed', handler, { name: 'watcher' })
      const { id } = await subscribe('ada@example.org')
      await client.contacts.unsubscribe(id)
      await mailkeep.deliverDue()
      first.stop()
      await mailkeep.on(['contact.resubscribed', 'newsletter.sent'], handler, { name: 'watcher' })
      await client.contacts.resubscribe(id)
      await client.contacts.unsubscribe(id)
      await client.events.raise({ type: 'newsletter.sent', data: { subject: 'Hello' } })
      await mailkeep.deliverDue()
      assert.deepEqual(seen.sort(), ['contact.resubscribed', 'contact.unsubscribed', 'newsletter.sent'])
    })

    test('that throw are called again on the schedule, and the log has the error', async (t) => {
      const { mailkeep, subscribe, advance } = await open(t, database)
      const attempts: [number, string][] = []
      const subscriber = await mailkeep.on(
        'contact.subscribed',
        (_, { attempt, deliveryId }) => {
          attempts.push([attempt, deliveryId])
          if (attempt < 3) throw new Error(`not yet: ${attempt}`)
        },
        { name: 'greeter' },
      )
      await subscribe('ada@example.org')
      await mailkeep.deliverDue()
      advance(4_999)
      await mailkeep.deliverDue()
      assert.equal(attempts.length, 1)
      advance(1_001 + 300_000)
      await mailkeep.deliverDue()
      advance(360_000)
      await mailkeep.deliverDue()
      assert.deepEqual(
        attempts.map(([attempt]) => attempt),
        [1, 2, 3],
      )
      assert.equal(new Set(attempts.map(([, id]) => id)).size, 1)
      const { data } = await subscriber.listDeliveries()
      assert.deepEqual(
        data.map(({ status, attempts }) => [status, attempts]),
        [['success', 3]],
      )
      const { attempt_log } = await subscriber.getDelivery(data[0]!.id)
      assert.deepEqual(
        attempt_log.map(({ error }) => error),
        ['The handler threw an error.', 'The handler threw an error.', null],
      )
      assert.match(attempt_log[1]!.response_body!, /^Error: not yet: 2\n/)
    })

    test('are given up after the last attempt, never switched off, and handle the event again on request', async (t) => {
      const { mailkeep, start, subscribe } = await open(t, database)
      await mailkeep.close()
      const quick = await start({
        webhooks: { retryScheduleSeconds: [0], disableAfterFailures: 1, disableAfterHours: 0 },
      })
      let failing = true
      const handler = () => {
        if (failing) throw new Error('no')
      }
      const subscriber = await quick.on('contact.subscribed', handler, { name: 'greeter' })
      const [client] = await quick.clients.list()
      const acme = quick.forClient(client!.id)
      const [list] = (await acme.lists.list()).data
      await acme.contacts.addToList(list!.id, { email: 'ada@example.org' })
      await quick.deliverDue()
      const [failed] = (await subscriber.listDeliveries()).data
      assert.deepEqual([failed!.status, failed!.attempts], ['failed', 2])
      failing = false
      assert.equal((await subscriber.redeliver(failed!.id)).status, 'pending')
      await quick.deliverDue()
      assert.equal((await subscriber.getDelivery(failed!.id)).status, 'success')
      assert.ok(subscribe)
    })

    test('keep their deliveries: events raised without a running handler wait for the next process', async (t) => {
      const { mailkeep, start, subscribe } = await open(t, database)
      const subscriber = await mailkeep.on('contact.subscribed', () => assert.fail('stopped'), { name: 'greeter' })
      subscriber.stop()
      await subscribe('ada@example.org')
      await mailkeep.deliverDue()
      const other = await start()
      await other.deliverDue() // it has no handler of that name
      const seen: string[] = []
      await other.on('contact.subscribed', ({ data }) => seen.push(data.contact.email), { name: 'greeter' })
      await other.deliverDue()
      await mailkeep.deliverDue()
      assert.deepEqual(seen, ['ada@example.org'])
    })

    test('of several processes share the work: each event is handled by one of them', async (t) => {
      const { mailkeep, start, subscribe } = await open(t, database)
      const other = await start()
      const seen: string[] = []
      for (const each of [mailkeep, other]) {
        await each.on('contact.subscribed', ({ data }) => seen.push(data.contact.email), { name: 'greeter' })
      }
      const emails = Array.from({ length: 40 }, (_, i) => `${String(i).padStart(2, '0')}@example.org`)
      for (const email of emails) await subscribe(email)
      await Promise.all([mailkeep.deliverDue(), other.deliverDue()])
      assert.deepEqual(seen.sort(), emails)
    })

    test('keep their claim for as long as they run', async (t) => {
      t.mock.timers.enable({ apis: ['setInterval'] })
      const { mailkeep, start, subscribe, advance } = await open(t, database)
      const { handler, entered, release } = gate()
      const subscriber = await mailkeep.on('contact.subscribed', handler, { name: 'slow' })
      await subscribe('ada@example.org')
      const delivered = mailkeep.deliverDue()
      await entered
      const other = await start()
      await other.on('contact.subscribed', () => assert.fail('it is being handled'), { name: 'slow' })
      const [{ id } = assert.fail('no delivery')] = (await subscriber.listDeliveries()).data
      for (let i = 0; i < 10; i++) {
        const before = (await subscriber.getDelivery(id)).next_attempt_at
        advance(10_000)
        t.mock.timers.tick(10_000)
        while ((await subscriber.getDelivery(id)).next_attempt_at === before) await new Promise(setImmediate)
        await other.deliverDue()
      }
      release()
      await delivered
      const { status, attempts } = await subscriber.getDelivery(id)
      assert.deepEqual([status, attempts], ['success', 1])
    })

    test('are aborted when their claim was lost, and their outcome then changes nothing', async (t) => {
      t.mock.timers.enable({ apis: ['setInterval'] })
      const { mailkeep, start, subscribe, advance } = await open(t, database)
      const { handler, entered } = gate()
      await mailkeep.on('contact.subscribed', handler, { name: 'slow' })
      await subscribe('ada@example.org')
      const delivered = mailkeep.deliverDue()
      const { signal } = await entered
      advance(60_000) // as if the process had been suspended
      const other = await start()
      const second = await other.on('contact.subscribed', () => {}, { name: 'slow' })
      await other.deliverDue()
      t.mock.timers.tick(10_000)
      if (!signal.aborted) await once(signal, 'abort')
      await delivered
      const [{ status, attempts } = assert.fail('no delivery')] = (await second.listDeliveries()).data
      assert.deepEqual([status, attempts], ['success', 2])
    })

    test('are gone when removed, with their deliveries, in all processes', async (t) => {
      const { mailkeep, start, subscribe, ask } = await open(t, database)
      const other = await start()
      const first = await mailkeep.on('contact.subscribed', () => assert.fail('removed'), { name: 'greeter' })
      await other.on('contact.subscribed', () => assert.fail('removed'), { name: 'greeter' })
      await subscribe('ada@example.org')
      await first.remove()
      await subscribe('bob@example.org')
      await Promise.all([mailkeep.deliverDue(), other.deliverDue()])
      assert.deepEqual(await ask('select id from mailkeep_delivery'), [])
      assert.deepEqual(await ask('select id from mailkeep_event'), [])
      await first.remove() // a repeated removal does nothing
    })

    test('created after a removal are not confused with the removed one by a process that still runs it', async (t) => {
      const { mailkeep, start, subscribe } = await open(t, database)
      const other = await start()
      const seen: string[] = []
      await other.on('contact.subscribed', () => seen.push('removed'), { name: 'old' })
      const removed = await mailkeep.on('contact.subscribed', () => {}, { name: 'old' })
      await removed.remove()
      const made = await mailkeep.on('contact.subscribed', () => seen.push('made'), { name: 'new' })
      await subscribe('ada@example.org')
      await other.deliverDue()
      await mailkeep.deliverDue()
      assert.deepEqual(seen, ['made'])
      assert.deepEqual(
        (await made.listDeliveries()).data.map(({ status }) => status),
        ['success'],
      )
    })

    test('that register after the first poll get deliveries that a clock moved back has left in the future', async (t) => {
      const { mailkeep, start, subscribe, advance } = await open(t, database)
      const early = await mailkeep.on('contact.subscribed', () => {}, { name: 'greeter' })
      early.stop()
      advance(86_400_000)
      await subscribe('ada@example.org')
      advance(-86_400_000)
      const next = await start()
      await next.deliverDue()
      let handled = 0
      await next.on('contact.subscribed', () => void handled++, { name: 'greeter' })
      await next.deliverDue()
      assert.equal(handled, 1)
    })

    test('get these deliveries even if the database failed at the first poll', async (t) => {
      const { mailkeep, start, source, subscribe, advance } = await open(t, database)
      const early = await mailkeep.on('contact.subscribed', () => {}, { name: 'greeter' })
      early.stop()
      advance(86_400_000)
      await subscribe('ada@example.org')
      advance(-86_400_000)
      let fails = false
      const failing: DatabaseSource = {
        ...source,
        open: async (logger) => {
          const storage = await source.open(logger)
          const fault = () => Promise.reject(new MailkeepError('unavailable', 'The disk is full.'))
          return { ...storage, transaction: (work) => (fails ? fault() : storage.transaction(work)) }
        },
      }
      const next = await start({ database: failing })
      let handled = 0
      await next.on('contact.subscribed', () => void handled++, { name: 'greeter' })
      fails = true
      await assert.rejects(next.deliverDue(), (error) => isMailkeepError(error, 'unavailable'))
      fails = false
      await next.deliverDue()
      assert.equal(handled, 1)
    })

    test('lose data of a deleted client or an erased contact', async (t) => {
      const { mailkeep, client, clientId, subscribe, ask } = await open(t, database)
      const subscriber = await mailkeep.on('contact.subscribed', () => assert.fail('erased'), { name: 'greeter' })
      const { id } = await subscribe('ada@example.org')
      await client.contacts.delete(id)
      await mailkeep.deliverDue()
      const [delivery] = (await subscriber.listDeliveries()).data
      assert.equal(delivery!.status, 'failed')
      assert.equal((await subscriber.getDelivery(delivery!.id)).payload, null)
      await assert.rejects(subscriber.redeliver(delivery!.id), (error) => isMailkeepError(error, 'validation_failed'))
      await subscribe('bob@example.org')
      await mailkeep.clients.delete(clientId)
      await mailkeep.deliverDue()
      assert.deepEqual(await ask('select id from mailkeep_event'), [])
    })

    test('are not listed as a client’s endpoint, and no metric counts them as one', async (t) => {
      const { mailkeep, client, subscribe } = await open(t, database)
      await mailkeep.on('contact.subscribed', () => {}, { name: 'greeter' })
      await subscribe('ada@example.org')
      await mailkeep.deliverDue()
      assert.deepEqual((await client.webhooks.listEndpoints()).data, [])
      const { endpoints, deliveries } = await mailkeep.stats()
      assert.deepEqual([endpoints.active, deliveries.success], [0, 1])
      assert.equal(await mailkeep.resealSecrets(), 0)
    })

    test('are registered once, by whichever process is first', async (t) => {
      const { mailkeep, start, ask } = await open(t, database)
      const others = await Promise.all([start(), start(), start()])
      const all = [mailkeep, ...others]
      await Promise.all(all.map((each) => each.on('contact.subscribed', () => {}, { name: 'one' })))
      await Promise.all(all.map((each, i) => each.on('contact.subscribed', () => {}, { name: `own ${i}` })))
      const rows = (await ask('select kind, subscriber from mailkeep_endpoint order by id')) as {
        kind: string
        subscriber: string
      }[]
      assert.ok(rows.every(({ kind }) => kind === 'handler'))
      assert.deepEqual(rows.map(({ subscriber }) => subscriber).sort(), ['one', 'own 0', 'own 1', 'own 2', 'own 3'])
    })
  })
}

describe('a subscriber', () => {
  const refused = (error: unknown) => isMailkeepError(error, 'validation_failed')

  test('needs a unique name, known types and a function; a refused registration leaves nothing behind', async () => {
    await using kit = await testMailkeep()
    const on = kit.mailkeep.on.bind(kit.mailkeep) as (...args: unknown[]) => Promise<unknown>
    for (const name of [undefined, '', '  ', 'x'.repeat(256), 7, 'a\0b']) {
      await assert.rejects(
        on('contact.subscribed', () => {}, { name }),
        refused,
      )
    }
    await assert.rejects(
      on('contact.subscribed', () => {}),
      refused,
    )
    for (const types of ['contact.changed', [], undefined, ['contact.subscribed', 'x']]) {
      await assert.rejects(
        on(types, () => {}, { name: 'x' }),
        refused,
      )
    }
    await assert.rejects(on('contact.subscribed', 'handler', { name: 'x' }), refused)
    await on('contact.subscribed', () => {}, { name: 'x' })
    await assert.rejects(
      on('contact.subscribed', () => {}, { name: 'x' }),
      refused,
    )
  })

  test('keeps its events when its name is registered a second time, which is refused', async (t) => {
    const { mailkeep, subscribe } = await open(t, databases['a SQLite file']!)
    const seen: string[] = []
    const on = (type: 'contact.subscribed' | 'newsletter.sent', name: string) =>
      mailkeep.on<typeof type>(type, (event) => seen.push(`${name}: ${event.type}`), { name })
    await on('contact.subscribed', 'one')
    await assert.rejects(on('newsletter.sent', 'one'), refused)
    const both = await Promise.allSettled([on('contact.subscribed', 'two'), on('newsletter.sent', 'two')])
    assert.deepEqual(
      both.map(({ status }) => status),
      ['fulfilled', 'rejected'],
    )
    await subscribe('ada@example.org')
    await mailkeep.deliverDue()
    assert.deepEqual(seen.sort(), ['one: contact.subscribed', 'two: contact.subscribed'])
  })

  test('stopped twice leaves the handler that was registered later', async (t) => {
    const { mailkeep, subscribe } = await open(t, databases['a SQLite file']!)
    const seen: string[] = []
    const first = await mailkeep.on('contact.subscribed', () => seen.push('first'), { name: 'one' })
    first.stop()
    await mailkeep.on('contact.subscribed', () => seen.push('second'), { name: 'one' })
    first.stop()
    await subscribe('ada@example.org')
    await mailkeep.deliverDue()
    assert.deepEqual(seen, ['second'])
  })

  test('starts automatically once mailkeep is started, without waiting for a poll', async (t) => {
    const { mailkeep, subscribe } = await open(t, databases['a SQLite file']!)
    mailkeep.start()
    const handled = new Promise<HandledEvent>((resolve) => {
      void mailkeep.on('contact.subscribed', resolve, { name: 'greeter' })
    })
    await subscribe('ada@example.org')
    assert.equal((await handled).type, 'contact.subscribed')
  })

  test('is aborted when closing has waited long enough, and is called again by the next process', async (t) => {
    const { mailkeep, start, subscribe, advance } = await open(t, databases['a SQLite file']!)
    const { handler, entered } = gate()
    await mailkeep.on('contact.subscribed', handler, { name: 'slow' })
    await subscribe('ada@example.org')
    const delivered = mailkeep.deliverDue()
    const { signal } = await entered
    await mailkeep.close({ timeoutMs: 0 })
    assert.equal(signal.aborted, true)
    await delivered
    advance(1)
    const next = await start()
    const attempts: number[] = []
    await next.on('contact.subscribed', (_, { attempt }) => attempts.push(attempt), { name: 'slow' })
    await next.deliverDue()
    assert.deepEqual(attempts, [2])
  })

  test('gets an event of the host’s own transaction after its commit, and none after a rollback', async (t) => {
    const folder = mkdtempSync(join(databaseFolder, 'mailkeep-'))
    t.after(() => rmSync(folder, { recursive: true }))
    const handle = new Database(join(folder, 'shop.db'))
    t.after(() => handle.close())
    await using mailkeep = await createMailkeep({ database: sqlite(handle), encryptionKey })
    const { id } = await mailkeep.clients.create({ name: 'Shop' })
    const list = await mailkeep.forClient(id).lists.create({ name: 'News' })
    mailkeep.start()
    const heard = new EventEmitter()
    await mailkeep.on('contact.subscribed', ({ data }) => heard.emit('contact', data.contact.email), {
      name: 'greeter',
    })
    const handled = once(heard, 'contact')
    for (const [email, end] of [
      ['undone@example.org', 'rollback'],
      ['ada@example.org', 'commit'],
    ] as const) {
      handle.exec('begin immediate')
      await mailkeep.using(handle).forClient(id).contacts.addToList(list.id, { email })
      handle.exec(end)
    }
    assert.deepEqual(await handled, ['ada@example.org'])
  })
})

test('a handler may throw anything: the attempt failed, and its log says that the handler threw', async () => {
  await using kit = await testMailkeep()
  const fail = () => assert.fail('it has no text')
  const thrown = [
    Object.create(null),
    { toString: fail },
    Object.assign(new Error('a'), { stack: 5 }),
    Object.defineProperty(new Error('b'), 'stack', { get: fail }),
  ]
  const subscriber = await kit.mailkeep.on('contact.subscribed', () => Promise.reject(thrown.shift()), { name: 'odd' })
  for (let n = thrown.length; n > 0; n--) await kit.contact()
  await kit.deliver()
  for (const { id } of (await subscriber.listDeliveries()).data) {
    const { attempt_log } = await subscriber.getDelivery(id)
    assert.equal(attempt_log[0]!.error, 'The handler threw an error.')
  }
  assert.equal(thrown.length, 0)
})
