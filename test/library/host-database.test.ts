import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { describe, type TestContext } from 'node:test'
import Database from 'better-sqlite3'
import { CamelCasePlugin, Kysely, MysqlDialect, PostgresDialect, SqliteAdapter, SqliteDialect, sql } from 'kysely'
import pg from 'pg'
import { createMailkeep, type DatabaseSource, isMailkeepError, kysely } from '../../lib/index.ts'
import { postgres } from '../../lib/storage/postgres.ts'
import { sqlite } from '../../lib/storage/sqlite.ts'
import { databaseUrl, onPostgres, test } from '../support/databases.ts'
import { databaseFolder } from '../support/folders.ts'
import { idsByPagesOfOne } from './pages-of-one.ts'

function sqliteFile(t: TestContext): SqliteDialect {
  const folder = mkdtempSync(join(databaseFolder, 'mailkeep-'))
  t.after(() => rmSync(folder, { recursive: true }))
  return new SqliteDialect({ database: new Database(join(folder, 'mail.db')) })
}

/** Creates a Kysely instance of a host, with a plugin that renames columns. */
function instance(t: TestContext, dialect: SqliteDialect | PostgresDialect): Kysely<unknown> {
  const kysely = new Kysely<unknown>({ dialect, plugins: [new CamelCasePlugin()] })
  t.after(() => kysely.destroy())
  return kysely
}

/**
 * Behaves like a driver other than better-sqlite3. Kysely does not require drivers to return the id of an inserted row.
 */
function withoutIds(file = ':memory:') {
  const handle = new Database(file)
  handle.pragma('foreign_keys = on')
  return {
    close: () => handle.close(),
    prepare(text: string) {
      const statement = handle.prepare(text)
      const run = (values: readonly unknown[]) => ({ changes: statement.run(values).changes })
      return { reader: statement.reader, all: (values: readonly unknown[]) => statement.all(values), run }
    },
  } as unknown as Database.Database
}

const pool = async () => new pg.Pool({ connectionString: await databaseUrl(), max: 4 })

const onSqlite = { dialect: 'sqlite' } as const
const onPostgresql = { dialect: 'postgres' } as const

const databases: Record<string, (t: TestContext) => Promise<DatabaseSource>> = {
  'a Kysely instance on SQLite': async (t) => kysely(instance(t, sqliteFile(t)), onSqlite),
  'a Kysely dialect for SQLite': async (t) => kysely(sqliteFile(t), onSqlite),
  'a Kysely dialect for SQLite in memory': async () =>
    kysely(new SqliteDialect({ database: new Database(':memory:') }), onSqlite),
  'a Kysely dialect for SQLite that returns no ids': async () =>
    kysely(new SqliteDialect({ database: withoutIds() }), onSqlite),
  'a Kysely instance on PostgreSQL': async (t) =>
    kysely(instance(t, new PostgresDialect({ pool: await pool() })), onPostgresql),
  'a Kysely dialect for PostgreSQL': async () => kysely(new PostgresDialect({ pool: await pool() }), onPostgresql),
}

const encryptionKey = randomBytes(32)

for (const [name, makeDatabase] of Object.entries(databases)) {
  const declare = name.endsWith('PostgreSQL') ? onPostgres : describe
  declare(`on ${name}`, () => {
    test('contacts are saved, found, paged and erased, and events wait for their endpoint', async (t) => {
      const mailkeep = await createMailkeep({ database: await makeDatabase(t), encryptionKey })
      t.after(() => mailkeep.close())
      const client = await mailkeep.clients.create({ name: 'Acme' })
      const token = await mailkeep.tokens.create({ clientId: client.id, role: 'member' })
      const caller = { clientId: client.id, role: 'member', tokenId: token.id }
      assert.deepEqual(await mailkeep.tokens.authenticate(token.token), caller)
      const acme = mailkeep.forClient(client.id)
      const list = await acme.lists.create({ name: 'News' })
      const endpoint = await acme.webhooks.createEndpoint({
        url: 'https://example.org/',
        events: ['contact.subscribed'],
      })
      const emails = Array.from({ length: 30 }, (_, i) => `user${i}@example.org`)
      const saved = await Promise.all(
        emails.map((email, i) => acme.contacts.addToList(list.id, { email, tags: [`t${i % 3}`], n: String(i) })),
      )
      assert.ok(saved.every(({ created }) => created))
      const first = await acme.contacts.list({ search: 'USER', tags: [saved[0]!.contact.tags[0]!.id], per_page: 4 })
      assert.equal(first.data.length, 4)
      assert.equal((await acme.webhooks.listDeliveries(endpoint.id, { per_page: 100 })).data.length, 30)
      await acme.contacts.delete(saved[0]!.contact.id)
      assert.equal((await acme.contacts.list({ search: 'user0@' })).data.length, 0)
      const again = await acme.contacts.addToList(list.id, { email: 'USER1@example.org', n: null, __proto__x: 'y' })
      assert.deepEqual([again.created, again.contact.extra_attributes], [false, { __proto__x: 'y' }])
      const many = await acme.contacts.addManyToList(
        list.id,
        emails.map((email) => ({ email, tags: ['t0', 'all'], n: '\u00e9"' })),
      )
      assert.deepEqual(
        many.map((result) => 'created' in result && result.created),
        emails.map((_, i) => i === 0),
      )
      const all = await acme.contacts.list({ search: 'USER', tags: [saved[3]!.contact.tags[0]!.id], per_page: 100 })
      assert.equal(all.data.length, 30)
      assert.equal(all.data[29]!.extra_attributes.n, '\u00e9"')
      assert.equal((await acme.webhooks.listDeliveries(endpoint.id, { per_page: 100 })).data.length, 31)
    })

    test('a walk over all contacts by pages of one returns each once, unsubscribed ones too', async (t) => {
      const mailkeep = await createMailkeep({ database: await makeDatabase(t), encryptionKey })
      t.after(() => mailkeep.close())
      const acme = mailkeep.forClient((await mailkeep.clients.create({ name: 'Acme' })).id)
      const ids: number[] = []
      for (let n = 0; n < 12; n++) ids.push((await acme.contacts.upsert({ email: `c${n}@example.org` })).contact.id)
      for (const id of ids.filter((_, n) => n % 3 === 0)) await acme.contacts.unsubscribe(id)
      assert.deepEqual(await idsByPagesOfOne(acme, 20), ids)
    })

    test('a write that fails rolls back only itself', async (t) => {
      const mailkeep = await createMailkeep({ database: await makeDatabase(t), encryptionKey })
      t.after(() => mailkeep.close())
      const acme = mailkeep.forClient((await mailkeep.clients.create({ name: 'Acme' })).id)
      const names = ['a', 'b', 'a', 'c', 'B']
      const results = await Promise.allSettled(names.map((name) => acme.tags.create({ name })))
      const refused = results.filter((one) => one.status === 'rejected')
      assert.equal(refused.length, 2)
      assert.ok(refused.every(({ reason }) => isMailkeepError(reason, 'validation_failed')))
      assert.deepEqual((await acme.tags.list()).data.map(({ name }) => name.toLowerCase()).sort(), ['a', 'b', 'c'])
    })
  })
}

test('a contact and its event are saved in the host’s transaction when its driver returns no ids', async (t) => {
  const folder = mkdtempSync(join(databaseFolder, 'mailkeep-'))
  t.after(() => rmSync(folder, { recursive: true }))
  const file = join(folder, 'mail.db')
  const mailkeep = await createMailkeep({ database: sqlite(file), encryptionKey })
  t.after(() => mailkeep.close())
  const { id } = await mailkeep.clients.create({ name: 'Acme' })
  const client = mailkeep.forClient(id)
  const endpoint = await client.webhooks.createEndpoint({ url: 'https://example.org/', events: ['contact.subscribed'] })
  const list = await client.lists.create({ name: 'News' })
  const host = new Kysely<unknown>({ dialect: new SqliteDialect({ database: withoutIds(file) }) })
  t.after(() => host.destroy())
  const saved = await host
    .transaction()
    .execute((trx) => mailkeep.using(trx).forClient(id).contacts.addToList(list.id, { email: 'ada@example.org' }))
  assert.deepEqual(await client.contacts.get(saved.contact.id), saved.contact)
  assert.equal((await client.webhooks.listDeliveries(endpoint.id)).data.length, 1)
})

test('a token created in a host’s transaction is valid inside it, and never after a rollback', async (t) => {
  const host = instance(t, sqliteFile(t))
  await sql`pragma foreign_keys = on`.execute(host)
  const mailkeep = await createMailkeep({ database: kysely(host, onSqlite), encryptionKey })
  t.after(() => mailkeep.close())
  const { id: clientId } = await mailkeep.clients.create({ name: 'Acme' })
  const trx = await host.startTransaction().execute()
  const { tokens } = mailkeep.using(trx)
  const { id: tokenId, token } = await tokens.create({ clientId, role: 'admin' })
  assert.deepEqual(await tokens.authenticate(token), { clientId, role: 'admin', tokenId })
  await trx.rollback().execute()
  assert.equal(await mailkeep.tokens.authenticate(token), undefined)
})

test('a token seen in an uncommitted transaction of the host is not cached', async (t) => {
  const folder = mkdtempSync(join(databaseFolder, 'mailkeep-'))
  t.after(() => rmSync(folder, { recursive: true }))
  const file = join(folder, 'mail.db')
  const mailkeep = await createMailkeep({ database: sqlite(file), encryptionKey })
  t.after(() => mailkeep.close())
  const { id: clientId } = await mailkeep.clients.create({ name: 'Acme' })
  const handle = new Database(file)
  t.after(() => handle.close())
  handle.exec('begin immediate')
  const { tokens } = mailkeep.using(handle)
  const { id: tokenId, token } = await tokens.create({ clientId, role: 'admin' })
  assert.deepEqual(await tokens.authenticate(token), { clientId, role: 'admin', tokenId })
  handle.exec('rollback')
  assert.equal(await mailkeep.tokens.authenticate(token), undefined)
})

test('what is not a database of mailkeep is refused in one clear line', async () => {
  const dialect = new SqliteDialect({ database: new Database(':memory:') })
  const bare = [new Kysely<unknown>({ dialect }), dialect]
  for (const wrong of [...bare, {}, null, 'mail.db', 7]) {
    await assert.rejects(createMailkeep({ database: wrong as never, encryptionKey }), (error: Error) => {
      assert.ok(isMailkeepError(error, 'validation_failed'))
      assert.match(error.message, /kysely\(/)
      if (bare.includes(wrong as never)) assert.match(error.message, /kysely\(db, \{ dialect: 'sqlite' \}\)/)
      return !error.message.includes('\n')
    })
  }
})

test('kysely() refuses other values and other dialects by name', () => {
  const mysql = new MysqlDialect({ pool: {} as never })
  const calls = [
    { call: () => kysely({} as never, onSqlite), says: /Kysely instance or a Kysely dialect/ },
    { call: () => kysely(null as never, onSqlite), says: /Kysely instance or a Kysely dialect/ },
    {
      call: () => kysely(mysql, { dialect: 'mysql' as never }),
      says: /dialect of kysely\(\) must be 'sqlite' or 'postgres'/,
    },
    { call: () => kysely(mysql, {} as never), says: /dialect of kysely\(\) must be 'sqlite' or 'postgres'/ },
    { call: () => kysely(mysql, undefined as never), says: /dialect of kysely\(\) must be/ },
    { call: () => kysely(mysql, { ...onSqlite, schema: 'a' } as never), says: /schema/ },
  ]
  for (const { call, says } of calls) {
    assert.throws(call, (error) => isMailkeepError(error, 'validation_failed') && says.test(error.message))
  }
})

test('kysely() refuses a transaction, and names what takes one', async (t) => {
  await instance(t, sqliteFile(t))
    .transaction()
    .execute(async (transaction) => {
      assert.throws(
        () => kysely(transaction, onSqlite),
        (error) => isMailkeepError(error, 'validation_failed') && /mailkeep\.using\(\)/.test(error.message),
      )
    })
})

test('a Kysely instance of another database than its dialect says is refused when it is opened', async (t) => {
  const host = instance(t, sqliteFile(t))
  await assert.rejects(
    createMailkeep({ database: kysely(host, onPostgresql), encryptionKey }),
    (error) => isMailkeepError(error, 'validation_failed') && /its dialect is 'sqlite'/.test(error.message),
  )
})

onPostgres('kysely() on the wrong dialect', () => {
  test('is refused, and the error names the right one', async (t) => {
    const host = instance(t, new PostgresDialect({ pool: await pool() }))
    await assert.rejects(
      createMailkeep({ database: kysely(host, onSqlite), encryptionKey }),
      (error) => isMailkeepError(error, 'validation_failed') && /its dialect is 'postgres'/.test(error.message),
    )
  })
})

onPostgres('a change whose statement the driver of the host’s Kysely stops waiting for', () => {
  test('is rolled back, so that it is not committed later without its events', async (t) => {
    const open = async (options: pg.PoolConfig) => {
      const host = new pg.Pool({ connectionString: await databaseUrl(), ...options })
      const mailkeep = await createMailkeep({
        database: kysely(new PostgresDialect({ pool: host }), onPostgresql),
        encryptionKey,
      })
      t.after(() => mailkeep.close())
      return mailkeep
    }
    const mailkeep = await open({ lock_timeout: 3000 })
    const client = await mailkeep.clients.create({ name: 'Acme' })
    const acme = mailkeep.forClient(client.id)
    const list = await acme.lists.create({ name: 'News' })
    const endpoint = await acme.webhooks.createEndpoint({
      url: 'https://example.com/',
      events: ['contact.created', 'contact.subscribed'],
    })
    const ada = { email: 'ada@x.org', tags: ['new'] }
    const impatient = await open({ query_timeout: 500, idleTimeoutMillis: 0 })

    const other = new pg.Client({ connectionString: await databaseUrl() })
    await other.connect()
    await other.query('begin')
    await other.query('select id from mailkeep_client where id = $1 for no key update', [client.id])
    await assert.rejects(impatient.forClient(client.id).contacts.addToList(list.id, ada), (error) =>
      isMailkeepError(error, 'unavailable'),
    )
    await other.end()

    assert.equal((await acme.contacts.addToList(list.id, ada)).created, true)
    const { data } = await acme.webhooks.listDeliveries(endpoint.id)
    assert.deepEqual(data.map(({ event_type }) => event_type).sort(), ['contact.created', 'contact.subscribed'])
  })
})

test('classes of Kysely that a bundler has renamed are used like others', async (t) => {
  class a extends SqliteDialect {
    override createAdapter() {
      return new (class b extends SqliteAdapter {})()
    }
  }
  const database = kysely(new a({ database: new Database(':memory:') }), onSqlite)
  const mailkeep = await createMailkeep({ database, encryptionKey })
  t.after(() => mailkeep.close())
  assert.equal((await mailkeep.clients.create({ name: 'Acme' })).id, 1)
})

test('a SQLite connection without foreign keys is refused, because deleting would leave orphans', async () => {
  const database = new Database(':memory:')
  database.pragma('foreign_keys = off')
  const dialect = new SqliteDialect({ database })
  await assert.rejects(
    createMailkeep({ database: kysely(dialect, onSqlite), encryptionKey }),
    /pragma foreign_keys = on/,
  )
})

test('a call outside a host’s transaction, on its only connection, says what to do', {
  timeout: 20_000,
}, async (t) => {
  const host = instance(t, new SqliteDialect({ database: new Database(':memory:') }))
  const mailkeep = await createMailkeep({ database: kysely(host, onSqlite), encryptionKey })
  await host.transaction().execute(async (trx) => {
    const outside = [mailkeep.clients.create({ name: 'Acme' }), mailkeep.clients.list()]
    for (const { status, ...rest } of await Promise.allSettled(outside)) {
      assert.equal(status, 'rejected')
      assert.match(String((rest as PromiseRejectedResult).reason), /using\(trx\)/)
    }
    await mailkeep.using(trx).clients.create({ name: 'Acme' })
  })
  assert.equal((await mailkeep.clients.list()).length, 1)
  await mailkeep.close()
})

for (const [name, declare, dialect, options] of [
  ['SQLite', describe, async (t: TestContext) => sqliteFile(t), onSqlite],
  ['PostgreSQL', onPostgres, async () => new PostgresDialect({ pool: await pool() }), onPostgresql],
] as const) {
  declare(`a Kysely instance on ${name} that the host destroys`, () => {
    test('makes calls fail with an error that says so, and leaves close() working', async (t) => {
      const host = instance(t, await dialect(t))
      const mailkeep = await createMailkeep({ database: kysely(host, options), encryptionKey })
      t.after(() => mailkeep.close())
      mailkeep.start()
      await host.destroy()
      for (const call of [() => mailkeep.clients.list(), () => mailkeep.clients.create({ name: 'Late' })]) {
        await assert.rejects(
          call(),
          (error) => isMailkeepError(error, 'unavailable') && /Kysely instance was destroyed/.test(error.message),
        )
      }
      await mailkeep.close()
    })
  })
}

onPostgres('a pool that the host ends', () => {
  const saysSo = (error: unknown) => isMailkeepError(error, 'unavailable') && /pool was ended/.test(error.message)

  test('before it is given to mailkeep, fails with an error that says so', async () => {
    const host = await pool()
    await host.end()
    await assert.rejects(createMailkeep({ database: postgres(host), encryptionKey }), saysSo)
  })

  test('makes calls fail with an error that says so, and leaves close() working', async (t) => {
    const host = await pool()
    const mailkeep = await createMailkeep({ database: postgres(host), encryptionKey })
    t.after(() => mailkeep.close())
    mailkeep.start()
    await host.end()
    await assert.rejects(mailkeep.clients.list(), saysSo)
    await assert.rejects(mailkeep.clients.create({ name: 'Late' }), saysSo)
    await mailkeep.close()
  })
})
