import assert from 'node:assert/strict'
import { randomBytes, randomUUID } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { describe, type TestContext } from 'node:test'
import Database from 'better-sqlite3'
import { CamelCasePlugin, Kysely, PostgresDialect, SqliteDialect, sql } from 'kysely'
import pg from 'pg'
import { createMailkeep, isMailkeepError, type Mailkeep } from '../../lib/index.ts'
import type { DatabaseSource } from '../../lib/storage/database.ts'
import { postgres } from '../../lib/storage/postgres.ts'
import { sqlite } from '../../lib/storage/sqlite.ts'
import { databaseUrl, onPostgres, test } from '../support/databases.ts'
import { databaseFolder } from '../support/folders.ts'
import { idsByPagesOfOne } from './pages-of-one.ts'

/** A way for a host to run a transaction: `run` commits unless its work throws. */
interface Host {
  readonly database: DatabaseSource
  run(work: (transaction: unknown, insertOrder: (id: string) => Promise<void>) => Promise<void>): Promise<void>
  orders(): Promise<string[]>
}

function file(t: TestContext): string {
  const folder = mkdtempSync(join(databaseFolder, 'mailkeep-'))
  t.after(() => rmSync(folder, { recursive: true }))
  return join(folder, 'mail.db')
}

function bareSqlite(source: DatabaseSource, handle: Database.Database): Host {
  handle.exec('create table if not exists shop_order (id text)')
  return {
    database: source,
    run: async (work) => {
      handle.exec('begin immediate')
      try {
        await work(handle, async (id) => void handle.prepare('insert into shop_order values (?)').run(id))
        handle.exec('commit')
      } catch (error) {
        handle.exec('rollback')
        throw error
      }
    },
    orders: async () => handle.prepare('select id from shop_order').pluck().all() as string[],
  }
}

/** Has a plugin that renames columns, which must not affect our columns. */
function throughKysely(source: DatabaseSource, kysely: Kysely<{ shopOrder: { id: string } }>): Host {
  return {
    database: source,
    run: (work) =>
      kysely
        .transaction()
        .execute((trx) => work(trx, async (id) => void (await trx.insertInto('shopOrder').values({ id }).execute()))),
    orders: async () => (await kysely.selectFrom('shopOrder').select('id').execute()).map(({ id }) => id),
  }
}

const hosts: Record<string, (t: TestContext) => Promise<Host>> = {
  'a bare better-sqlite3 handle of a file': async (t) => {
    const path = file(t)
    const handle = new Database(path)
    t.after(() => handle.close())
    return bareSqlite(sqlite(path), handle)
  },
  'a bare better-sqlite3 handle in memory, shared': async () => {
    const handle = new Database(':memory:')
    return bareSqlite(sqlite(handle), handle)
  },
  'Kysely on SQLite': async (t) => {
    const path = file(t)
    const dialect = new SqliteDialect({ database: new Database(path) })
    const kysely = new Kysely<{ shopOrder: { id: string } }>({ dialect, plugins: [new CamelCasePlugin()] })
    t.after(() => kysely.destroy())
    await sql`pragma journal_mode = wal`.execute(kysely)
    await sql`create table shop_order (id text)`.execute(kysely)
    return throughKysely(sqlite(path), kysely)
  },
  'a bare pg client, on PostgreSQL': async (t) => {
    const { url, connections, table } = await pool(t)
    await connections.query(`create table ${table} (id text)`)
    return {
      database: postgres(url),
      run: async (work) => {
        const client = await connections.connect()
        try {
          await client.query('begin')
          await work(client, async (id) => void (await client.query(`insert into ${table} values ($1)`, [id])))
          await client.query('commit')
        } catch (error) {
          await client.query('rollback')
          throw error
        } finally {
          client.release()
        }
      },
      orders: async () => (await connections.query(`select id from ${table}`)).rows.map(({ id }) => id),
    }
  },
  'Kysely on PostgreSQL': async (t) => {
    const { url, connections } = await pool(t)
    const dialect = new PostgresDialect({ pool: connections })
    const kysely = new Kysely<{ shopOrder: { id: string } }>({ dialect, plugins: [new CamelCasePlugin()] })
    await sql`create table if not exists shop_order (id text)`.execute(kysely)
    await sql`delete from shop_order`.execute(kysely)
    return throughKysely(postgres(url), kysely)
  },
}

/** Creates a table of the host, and connections to it. */
async function pool(t: TestContext) {
  const url = await databaseUrl()
  const connections = new pg.Pool({ connectionString: url, max: 4 })
  t.after(() => connections.end())
  const table = `shop_${randomUUID().replaceAll('-', '')}`
  return { url, connections, table }
}

async function open(t: TestContext, makeHost: (t: TestContext) => Promise<Host>) {
  const host = await makeHost(t)
  const webhooks = { allowPrivate: true }
  const mailkeep = await createMailkeep({ database: host.database, encryptionKey: key, webhooks })
  t.after(() => mailkeep.close())
  const client = await mailkeep.clients.create({ name: 'Acme' })
  const acme = mailkeep.forClient(client.id)
  const list = await acme.lists.create({ name: 'News' })
  const endpoint = await acme.webhooks.createEndpoint({ url: 'http://127.0.0.1:9/', events: ['contact.subscribed'] })
  const stored = async () => ({
    orders: await host.orders(),
    contacts: (await acme.contacts.list({})).data.map(({ email }) => email),
    found: (await acme.contacts.list({ search: 'example' })).data.map(({ email }) => email),
    deliveries: (await acme.webhooks.listDeliveries(endpoint.id)).data.length,
  })
  const inside = (transaction: unknown) => mailkeep.using(transaction).forClient(client.id)
  return { host, mailkeep, acme, list, stored, inside }
}

const key = randomBytes(32)

for (const [name, makeHost] of Object.entries(hosts)) {
  const declare = name.endsWith('PostgreSQL') ? onPostgres : describe
  declare(`the host's own transaction: ${name}`, () => {
    test('the host’s row, the contact and the webhook event commit together', async (t) => {
      const { host, list, stored, inside } = await open(t, makeHost)
      await host.run(async (transaction, insertOrder) => {
        await insertOrder('o1')
        const { contact } = await inside(transaction).contacts.addToList(list.id, {
          email: 'ada@example.org',
          tags: ['vip'],
          company: 'Engines',
        })
        assert.deepEqual(contact.extra_attributes, { company: 'Engines' })
        assert.equal((await inside(transaction).contacts.get(contact.id)).email, 'ada@example.org')
        assert.match(contact.created_at, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z$/)
        assert.match((await inside(transaction).lists.get(list.id)).created_at, /\.\d{6}Z$/)
      })
      assert.deepEqual(await stored(), {
        orders: ['o1'],
        contacts: ['ada@example.org'],
        found: ['ada@example.org'],
        deliveries: 1,
      })
    })

    test('a walk by pages of one inside it returns each contact once, unsubscribed ones too', async (t) => {
      const { host, list, inside } = await open(t, makeHost)
      await host.run(async (transaction) => {
        const acme = inside(transaction)
        const ids: number[] = []
        for (let n = 0; n < 6; n++) {
          ids.push((await acme.contacts.addToList(list.id, { email: `c${n}@example.org` })).contact.id)
        }
        for (const id of ids.slice(0, 3)) await acme.contacts.unsubscribe(id)
        assert.deepEqual(await idsByPagesOfOne(acme, 20), ids)
      })
    })

    test('they are rolled back together', async (t) => {
      const { host, list, stored, inside } = await open(t, makeHost)
      const work = host.run(async (transaction, insertOrder) => {
        await insertOrder('o1')
        await inside(transaction).contacts.addToList(list.id, { email: 'ada@example.org' })
        throw new Error('no order')
      })
      await assert.rejects(work, /no order/)
      assert.deepEqual(await stored(), { orders: [], contacts: [], found: [], deliveries: 0 })
    })

    test('an operation that fails inside leaves nothing behind, and the rest is kept', async (t) => {
      const { host, acme, list, stored, inside } = await open(t, makeHost)
      await host.run(async (transaction, insertOrder) => {
        await insertOrder('o1')
        const within = inside(transaction)
        const tooMany = Object.fromEntries(Array.from({ length: 101 }, (_, i) => [`a${i}`, 'x']))
        const results = await Promise.allSettled([
          within.contacts.addToList(list.id, { email: 'ada@example.org', tags: ['one'] }),
          within.contacts.addToList(list.id, { email: 'bob@example.org', tags: ['two'], ...tooMany }),
          within.contacts.addToList(999_999, { email: 'eve@example.org' }),
          within.contacts.addToList(list.id, { email: 'cid@example.org' }),
        ])
        assert.deepEqual(
          results.map((one) => one.status === 'fulfilled' || isMailkeepError(one.reason)),
          [true, true, true, true],
        )
      })
      const { contacts, deliveries, orders } = await stored()
      assert.deepEqual([contacts, deliveries, orders], [['ada@example.org', 'cid@example.org'], 2, ['o1']])
      assert.deepEqual(
        (await acme.tags.list()).data.map((tag) => tag.name),
        ['one'],
      )
    })

    test('simultaneous calls through several using() of one transaction run one after another', async (t) => {
      const { host, acme, list, stored, inside } = await open(t, makeHost)
      await host.run(async (transaction) => {
        const tooMany = Object.fromEntries(Array.from({ length: 101 }, (_, i) => [`a${i}`, 'x']))
        const add = (name: string, fields = {}) =>
          inside(transaction).contacts.addToList(list.id, { email: `${name}@example.org`, tags: [name], ...fields })
        const calls = [
          add('ada'),
          add('bob', tooMany),
          add('cid'),
          add('dan', tooMany),
          add('eve'),
          add('fay', tooMany),
        ]
        const results = await Promise.allSettled(calls)
        assert.deepEqual(
          results.map((one) => (one.status === 'fulfilled' ? 'saved' : one.reason.code)),
          ['saved', 'validation_failed', 'saved', 'validation_failed', 'saved', 'validation_failed'],
        )
      })
      const { contacts, deliveries } = await stored()
      assert.deepEqual(contacts, ['ada@example.org', 'cid@example.org', 'eve@example.org'])
      assert.equal(deliveries, 3)
      assert.deepEqual((await acme.tags.list()).data.map((tag) => tag.name).sort(), ['ada', 'cid', 'eve'])
    })

    test('an idempotency key commits with it, and is rolled back with it', async (t) => {
      const { host, acme, list, stored, inside } = await open(t, makeHost)
      const key = randomUUID()
      const order = (client: typeof acme) =>
        client.withIdempotencyKey(key, { order: 1 }, async ({ contacts }) => {
          const { contact } = await contacts.addToList(list.id, { email: 'ada@example.org' })
          return contact.id
        })
      const failing = host.run(async (transaction) => {
        assert.equal((await order(inside(transaction))).replayed, false)
        assert.equal((await order(inside(transaction))).replayed, true)
        throw new Error('no order')
      })
      await assert.rejects(failing, /no order/)
      assert.deepEqual((await stored()).contacts, [])
      await host.run(async (transaction, insertOrder) => {
        const { replayed } = await order(inside(transaction))
        assert.equal(replayed, false)
        await insertOrder('o1')
        const failed = inside(transaction).withIdempotencyKey('fails', 1, async ({ contacts }) => {
          await contacts.addToList(list.id, { email: 'bob@example.org' })
          throw new Error('second thoughts')
        })
        await assert.rejects(failed, /second thoughts/)
      })
      assert.equal((await order(acme)).replayed, true)
      const { contacts, deliveries, orders } = await stored()
      assert.deepEqual([contacts, deliveries, orders], [['ada@example.org'], 1, ['o1']])
    })

    test('an idempotent call inside that awaits an outer client is refused, and blocks nothing', {
      timeout: 20_000,
    }, async (t) => {
      const { host, list, stored, inside } = await open(t, makeHost)
      await host.run(async (transaction) => {
        const outer = inside(transaction)
        const call = outer.withIdempotencyKey('k', 1, () => outer.lists.create({ name: 'Outer' }))
        await assert.rejects(call, /only the client that `work` is given/)
        await outer.contacts.addToList(list.id, { email: 'ada@example.org' })
      })
      assert.deepEqual((await stored()).contacts, ['ada@example.org'])
    })

    test('the dispatcher notices the commit automatically', async (t) => {
      const { host, mailkeep, acme, list, inside } = await open(t, makeHost)
      mailkeep.start()
      await host.run(async (transaction) => {
        await inside(transaction).contacts.addToList(list.id, { email: 'ada@example.org' })
      })
      await attempted(mailkeep, acme)
    })
  })
}

/** Waits for the first attempt; the endpoint refuses connections. */
async function attempted(mailkeep: Mailkeep, acme: ReturnType<Mailkeep['forClient']>): Promise<void> {
  for (const ends = performance.now() + 5000; performance.now() < ends; ) {
    const [endpoint] = (await acme.webhooks.listEndpoints()).data
    if (endpoint!.last_triggered_at !== null) return
    await new Promise((resolve) => setImmediate(resolve))
  }
  assert.fail(`nothing was attempted: ${mailkeep}`)
}

onPostgres('a pg client', () => {
  test('that is not connected is refused', async (t) => {
    const url = await databaseUrl()
    const mailkeep = await createMailkeep({ database: postgres(url), encryptionKey: key })
    t.after(() => mailkeep.close())
    assert.throws(() => mailkeep.using(new pg.Client(url)), /not connected: await its connect\(\) and BEGIN first/)
  })

  test('reads only while its transaction is open', async (t) => {
    const url = await databaseUrl()
    const mailkeep = await createMailkeep({ database: postgres(url), encryptionKey: key })
    t.after(() => mailkeep.close())
    const { id } = await mailkeep.clients.create({ name: 'Acme' })
    const client = new pg.Client(url)
    await client.connect()
    t.after(() => client.end())
    const within = mailkeep.using(client)
    const reads = [
      () => within.clients.list(),
      () => within.forClient(id).contacts.list(),
      () => within.forClient(id).contacts.count(),
    ]
    const refused = (error: unknown) =>
      isMailkeepError(error, 'validation_failed') && /No transaction is open/.test(error.message)
    for (const read of reads) await assert.rejects(read(), refused)
    for (const end of ['commit', 'rollback']) {
      await client.query('begin')
      await Promise.all(reads.map((read) => read()))
      await client.query(end)
      for (const read of reads) await assert.rejects(read(), refused)
    }
  })
})

test('a handle without an open transaction is refused with a line that says what to do', async (t) => {
  const path = file(t)
  const mailkeep = await createMailkeep({ database: sqlite(path), encryptionKey: key })
  t.after(() => mailkeep.close())
  const handle = new Database(path)
  t.after(() => handle.close())
  for (const wrong of [handle, {}, null, 'x', undefined]) {
    assert.throws(
      () => mailkeep.using(wrong),
      (error) => isMailkeepError(error, 'validation_failed'),
    )
  }
  assert.throws(() => mailkeep.using(handle), /begin one first/)
})

test('a call outside `using` while the host holds the database says what to do', { timeout: 20_000 }, async () => {
  const handle = new Database(':memory:')
  const mailkeep = await createMailkeep({ database: sqlite(handle), encryptionKey: key })
  handle.exec('begin immediate')
  const outside = mailkeep.clients.create({ name: 'Acme' })
  await assert.rejects(outside, (error) => isMailkeepError(error, 'unavailable') && /using\(trx\)/.test(error.message))
  handle.exec('rollback')
  await mailkeep.close()
})

const handles: Record<string, (t: TestContext) => { handle: Database.Database; source: DatabaseSource }> = {
  'of a file': (t) => {
    const path = file(t)
    const handle = new Database(path)
    t.after(() => handle.close())
    return { handle, source: sqlite(path) }
  },
  'in memory, shared': () => {
    const handle = new Database(':memory:')
    return { handle, source: sqlite(handle) }
  },
}

/** Numbers of transactions with `using()` that the handle has committed before. */
const commits = [0, 1]

for (const [name, makeHandle, committed] of Object.entries(handles).flatMap((one) =>
  commits.map((committed) => [...one, committed] as const),
)) {
  describe(`a better-sqlite3 handle ${name}, with ${committed} commits, whose transaction ends before a call has`, () => {
    const openHandle = async (t: TestContext) => {
      const { handle, source } = makeHandle(t)
      const mailkeep = await createMailkeep({ database: source, encryptionKey: key })
      t.after(() => mailkeep.close())
      const { id } = await mailkeep.clients.create({ name: 'Acme' })
      const acme = mailkeep.forClient(id)
      const list = await acme.lists.create({ name: 'News' })
      for (let n = 0; n < committed; n++) {
        handle.exec('begin immediate')
        await mailkeep.using(handle).clients.list()
        handle.exec('commit')
      }
      const save = (within: ReturnType<Mailkeep['using']>, email = 'ada@example.org') =>
        within.forClient(id).contacts.addToList(list.id, { email, tags: ['vip'] })
      const stored = async () => ({
        contacts: (await acme.contacts.list()).data.map(({ email }) => email),
        tags: (await acme.tags.list()).data.length,
      })
      return { handle, mailkeep, save, stored }
    }
    const refused = (error: unknown) =>
      isMailkeepError(error, 'validation_failed') && /has ended: await every call/.test(error.message)
    const nothing = { contacts: [], tags: 0 }

    for (const end of ['rollback', 'commit'] as const) {
      test(`a call that was not awaited before ${end} is refused, and saves nothing outside the transaction`, async (t) => {
        const { handle, mailkeep, save, stored } = await openHandle(t)
        handle.exec('begin immediate')
        const late = save(mailkeep.using(handle))
        handle.exec(end)
        await assert.rejects(late, refused)
        assert.deepEqual(await stored(), nothing)
      })
    }

    test('a rollback during a call undoes its writes, and refuses the rest', async (t) => {
      for (let turns = 0; turns < 12; turns++) {
        const { handle, mailkeep, save, stored } = await openHandle(t)
        handle.exec('begin immediate')
        const late = save(mailkeep.using(handle))
        for (let turn = 0; turn < turns; turn++) await undefined
        handle.exec('rollback')
        await late.catch((error) => assert.ok(refused(error), error))
        assert.deepEqual(await stored(), nothing, `after ${turns} turns`)
      }
    })

    test('a transaction that begins after a rollback is another one', async (t) => {
      const { handle, mailkeep, save, stored } = await openHandle(t)
      handle.exec('begin immediate')
      const within = mailkeep.using(handle)
      const late = save(within)
      handle.exec('rollback; begin immediate')
      await assert.rejects(late, refused)
      await assert.rejects(save(within), refused)
      await save(mailkeep.using(handle), 'bob@example.org')
      await assert.rejects(within.clients.list(), refused)
      handle.exec('commit')
      assert.deepEqual((await stored()).contacts, ['bob@example.org'])
    })

    test('a call that was not awaited before a rollback is refused in the next transaction, with or without using()', async (t) => {
      const { handle, mailkeep, save, stored } = await openHandle(t)
      handle.exec('begin immediate')
      const within = [mailkeep.using(handle), mailkeep.using(handle)]
      handle.exec('rollback; begin immediate')
      await assert.rejects(save(within[0]!), refused)
      await save(mailkeep.using(handle), 'bob@example.org')
      for (const one of within) await assert.rejects(save(one), refused)
      handle.exec('commit; begin immediate')
      await save(mailkeep.using(handle), 'cid@example.org')
      for (const one of within) await assert.rejects(save(one), refused)
      handle.exec('commit')
      assert.deepEqual((await stored()).contacts, ['bob@example.org', 'cid@example.org'])
    })

    test('a synchronous transaction function cannot be used', async (t) => {
      const { handle, mailkeep, save, stored } = await openHandle(t)
      let late: Promise<unknown> | undefined
      handle.transaction(() => {
        late = save(mailkeep.using(handle))
      })()
      await assert.rejects(late!, /synchronous transaction function.*run BEGIN and COMMIT yourself/)
      assert.deepEqual(await stored(), nothing)
    })

    test('within one transaction using() may be called again, and the host’s savepoints still work', async (t) => {
      const { handle, mailkeep, save, stored } = await openHandle(t)
      handle.exec('begin immediate')
      const first = mailkeep.using(handle)
      await save(first, 'ada@example.org')
      handle.exec('savepoint host')
      await save(mailkeep.using(handle), 'bob@example.org')
      await save(first, 'cid@example.org')
      handle.exec('rollback to host; release host')
      await save(first, 'dan@example.org')
      await save(mailkeep.using(handle), 'eve@example.org')
      await save(first, 'fay@example.org')
      handle.exec('commit')
      const left = ['ada', 'dan', 'eve', 'fay'].map((who) => `${who}@example.org`)
      assert.deepEqual((await stored()).contacts, left)
    })

    test('an operation that fails ends no other using() of the transaction', async (t) => {
      const { handle, mailkeep, save, stored } = await openHandle(t)
      handle.exec('begin immediate')
      let isEnded = false
      const failing = mailkeep.using(handle).clients.rename(999_999, { name: 'Missing' })
      const ended = failing.catch(() => (isEnded = true))
      const others = []
      for (let n = 0; n < 500 && !isEnded; n++) {
        others.push(mailkeep.using(handle))
        await null // some of them begin while the savepoint of the operation is open
      }
      await ended
      for (const other of others) await other.clients.list()
      await save(others.at(-1)!)
      handle.exec('commit')
      assert.deepEqual((await stored()).contacts, ['ada@example.org'])
    })

    test('using() keeps the row id that the host has inserted last', async (t) => {
      const { handle, mailkeep } = await openHandle(t)
      handle.exec(
        'create table shop_order (id integer primary key); begin immediate; insert into shop_order values (7)',
      )
      mailkeep.using(handle)
      assert.equal(handle.prepare('select last_insert_rowid()').pluck().get(), 7)
      handle.exec('commit')
    })

    test('a rollback to a savepoint from before using() ends it with a message that says so', async (t) => {
      const { handle, mailkeep, save, stored } = await openHandle(t)
      handle.exec('begin immediate; savepoint host')
      const within = mailkeep.using(handle)
      await save(within)
      handle.exec('rollback to host')
      await assert.rejects(save(within), /savepoint from before using\(\)/)
      await save(mailkeep.using(handle), 'bob@example.org')
      handle.exec('commit')
      assert.deepEqual((await stored()).contacts, ['bob@example.org'])
    })
  })
}

test('an operation that meets a full disk leaves nothing in the host’s transaction on SQLite', async (t) => {
  const handle = new Database(file(t))
  t.after(() => handle.close())
  const mailkeep = await createMailkeep({ database: sqlite(handle), encryptionKey: randomBytes(32) })
  const { id } = await mailkeep.clients.create({ name: 'Acme' })
  const list = await mailkeep.forClient(id).lists.create({ name: 'News' })
  await mailkeep.forClient(id).webhooks.createEndpoint({ url: 'https://a.example/', events: ['contact.subscribed'] })
  const tables = ['contact', 'contact_list', 'contact_tag', 'contact_history', 'event', 'delivery', 'audit', 'tag']
  const rows = () => tables.map((name) => handle.prepare(`select count(*) from mailkeep_${name}`).pluck().get())
  const before = rows()
  const mostPages = handle.pragma('max_page_count', { simple: true })
  const pages = handle.pragma('page_count', { simple: true }) as number
  for (let free = 0; free < 12; free++) {
    handle.pragma(`max_page_count = ${pages + free}`)
    handle.exec('begin immediate')
    const attributes = Object.fromEntries(Array.from({ length: 20 }, (_, n) => [`k${n}`, 'x'.repeat(2500)]))
    const person = { email: 'ada@example.org', tags: ['a', 'b'], ...attributes }
    const saved = await mailkeep
      .using(handle)
      .forClient(id)
      .contacts.addToList(list.id, person)
      .catch((error: unknown) => error)
    assert.ok(isMailkeepError(saved), `with ${free} free pages`)
    if (handle.inTransaction) handle.exec('rollback')
    assert.deepEqual(rows(), before, `with ${free} free pages`)
  }
  handle.pragma(`max_page_count = ${mostPages}`)
  await mailkeep.close()
})
