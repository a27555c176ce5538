/** The promises of `Database`, `SearchIndex` and `ChangeFeed`, on every kind of database. */
import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { describe, type TestContext } from 'node:test'
import Database from 'better-sqlite3'
import { Kysely, PostgresDialect, SqliteDialect, sql } from 'kysely'
import pg from 'pg'
import { type DatabaseSource, isMailkeepError, kysely } from '../../lib/index.ts'
import { silent } from '../../lib/logger.ts'
import { plainQuery } from '../../lib/storage/connection.ts'
import { migrate } from '../../lib/storage/migrate.ts'
import { postgres } from '../../lib/storage/postgres.ts'
import { sqlite } from '../../lib/storage/sqlite.ts'
import { statement, text } from '../../lib/storage/statement.ts'
import type { Work } from '../../lib/storage/transaction.ts'
import { databaseUrl, onPostgres, queryOnce, test } from '../support/databases.ts'
import { databaseFolder } from '../support/folders.ts'

interface Place {
  readonly source: DatabaseSource
  /** Inserts a row through a connection that is not mailkeep's. Undefined if no other connection can exist. */
  readonly commitElsewhere?: (value: string) => Promise<unknown>
  /** Returns something of the host that has no transaction open. */
  readonly idle: () => unknown
}

function sqliteFile(t: TestContext): string {
  const folder = mkdtempSync(join(databaseFolder, 'mailkeep-'))
  t.after(() => rmSync(folder, { recursive: true }))
  return join(folder, 'mail.db')
}

function openHandle(t: TestContext, file: string): Database.Database {
  const handle = new Database(file)
  for (const pragma of ['journal_mode = wal', 'foreign_keys = on']) handle.pragma(pragma)
  t.after(() => handle.close())
  return handle
}

const insertInto = (handle: Database.Database) => async (value: string) =>
  handle.prepare('insert into t values (?)').run(value)

/** Creates a schema, and a pool of the host whose connections use it. */
async function postgresSchema(t: TestContext) {
  const schema = `c_${randomBytes(6).toString('hex')}`
  const url = await databaseUrl()
  await queryOnce(url, `create schema ${schema}`)
  const pool = new pg.Pool({ connectionString: `${url}?options=-c%20search_path%3D${schema}`, max: 4 })
  pool.on('error', () => {})
  t.after(async () => {
    await pool.end()
    await queryOnce(url, `drop schema ${schema} cascade`)
  })
  return { url, schema, pool, insert: (value: string) => pool.query('insert into t values ($1)', [value]) }
}

const places: Record<string, (t: TestContext) => Promise<Place>> = {
  'a SQLite file': async (t) => {
    const file = sqliteFile(t)
    const other = openHandle(t, file)
    return { source: sqlite(file), commitElsewhere: insertInto(other), idle: () => other }
  },
  'SQLite in memory': async (t) => ({ source: sqlite(':memory:'), idle: () => openHandle(t, ':memory:') }),
  'a handle of a SQLite file': async (t) => {
    const handle = openHandle(t, sqliteFile(t))
    return { source: sqlite(handle), commitElsewhere: insertInto(handle), idle: () => handle }
  },
  'a handle of SQLite in memory': async (t) => {
    const handle = openHandle(t, ':memory:')
    return { source: sqlite(handle), commitElsewhere: insertInto(handle), idle: () => handle }
  },
  'Kysely on SQLite': async (t) => {
    const host = new Kysely<unknown>({ dialect: new SqliteDialect({ database: openHandle(t, sqliteFile(t)) }) })
    return {
      source: kysely(host, { dialect: 'sqlite' }),
      commitElsewhere: (value) => sql`insert into t values (${value})`.execute(host),
      idle: () => host,
    }
  },
  'Kysely on PostgreSQL': async (t) => {
    const { pool, insert } = await postgresSchema(t)
    const host = new Kysely<unknown>({ dialect: new PostgresDialect({ pool }) })
    return { source: kysely(host, { dialect: 'postgres' }), commitElsewhere: insert, idle: () => host }
  },
  'a pool of PostgreSQL': async (t) => {
    const { pool, insert } = await postgresSchema(t)
    return { source: postgres(pool), commitElsewhere: insert, idle: () => pool }
  },
  'a URL of PostgreSQL': async (t) => {
    const { url, schema, pool, insert } = await postgresSchema(t)
    return { source: postgres(url, { schema }), commitElsewhere: insert, idle: () => pool }
  },
}

const insert =
  (value: string): Work<string> =>
  async (tx) => {
    await tx.run(plainQuery(`insert into t values ('${value}')`))
    return value
  }

const hasCode = (code: Parameters<typeof isMailkeepError>[1]) => (error: unknown) => isMailkeepError(error, code)

const insertEach = statement.each(
  { v: text },
  (item, from) => sql`insert into t (v) select ${item.v} ${from} where true on conflict do nothing`,
)

const touchEach = statement.each(
  { v: text },
  (item, from) => sql`update t set v = t.v ${from} where t.v = ${item.v}`,
  't.v' as 'mailkeep_tag.v',
)

for (const [name, place] of Object.entries(places)) {
  const declare = name.includes('PostgreSQL') ? onPostgres : describe

  const open = async (t: TestContext) => {
    const { source, ...rest } = await place(t)
    const database = await source.open(silent)
    t.after(() => database.close())
    await database.transaction(async (tx) => tx.run(plainQuery('create table t (v text unique)')), { exclusive: true })
    const values = async () =>
      (await database.read<{ v: string }>(plainQuery('select v from t order by v'))).rows.map(({ v }) => v)
    return { database, source, values, ...rest }
  }

  declare(`a transaction on ${name}`, () => {
    test('sees its own changes, commits as a whole, and runs its effects after the commit', async (t) => {
      const { database, values } = await open(t)
      const seen: unknown[] = []
      const result = await database.transaction(async (tx) => {
        tx.afterCommit(() => seen.push('after'))
        await insert('a')(tx)
        await insert('b')(tx)
        seen.push((await tx.run(plainQuery('select v from t'))).rows.length)
        return 'done'
      })
      assert.equal(result, 'done')
      assert.deepEqual(seen, [2, 'after'])
      assert.deepEqual(await values(), ['a', 'b'])
    })

    test('that fails leaves no change, runs no effects, and does not affect concurrent ones', async (t) => {
      const { database, values } = await open(t)
      const failing: Work<void> = async (tx) => {
        tx.afterCommit(() => assert.fail('it was rolled back'))
        await insert('half')(tx)
        throw new Error('no')
      }
      const works: Work<unknown>[] = [insert('a'), failing, insert('b'), insert('c')]
      const results = await Promise.allSettled(works.map((work) => database.transaction(work)))
      assert.deepEqual(
        results.map((result) => (result.status === 'rejected' ? String(result.reason) : result.value)),
        ['a', 'Error: no', 'b', 'c'],
      )
      assert.deepEqual(await values(), ['a', 'b', 'c'])
    })

    test('writes each of some items, and returns those that were written', async (t) => {
      const { database, values } = await open(t)
      const items = ['b', 'a', 'b'].map((v) => ({ v }))
      const written = await database.transaction(async (transaction) => {
        const scope = { storage: database, transaction }
        await insertEach(scope, items)
        return [await touchEach(scope, [{ v: 'a' }, { v: 'x' }]), await touchEach(scope, [])]
      })
      assert.deepEqual(written, [['a'], []])
      assert.deepEqual(await values(), ['a', 'b'])
    })

    test('is not seen by reads before its commit', async (t) => {
      const { database, values } = await open(t)
      let seen: Promise<string[]> | undefined
      const failing = database.transaction(async (tx) => {
        await insert('half')(tx)
        seen = values()
        for (let n = 0; n < 10; n++) await tx.run(plainQuery('select v from t'))
        throw new Error('no')
      })
      await assert.rejects(failing, /^Error: no$/)
      assert.deepEqual(await seen, [])
    })

    test('may await statements only; otherwise it is aborted with a clear error', async (t) => {
      const { database, values } = await open(t)
      const waits: Work<void> = async (tx) => {
        await insert('half')(tx)
        await new Promise((resolve) => setTimeout(resolve, 5))
        await insert('never')(tx)
      }
      const results = await Promise.allSettled([database.transaction(waits), database.transaction(insert('a'))])
      assert.match(String((results[0] as PromiseRejectedResult).reason), /only statements may be awaited/)
      assert.deepEqual(await values(), ['a'])
    })

    test('may run several statements at once, and await them together', async (t) => {
      const { database, values } = await open(t)
      await database.transaction(async (tx) => void (await Promise.all(['a', 'b', 'c'].map((v) => insert(v)(tx)))))
      assert.deepEqual(await values(), ['a', 'b', 'c'])
    })

    test('cannot be used after its end', async (t) => {
      const { database, values } = await open(t)
      const kept = await database.transaction(async (tx) => tx)
      await assert.rejects(insert('late')(kept), /has ended/)
      assert.deepEqual(await values(), [])
    })

    test('that is exclusive waits for others of its kind', async (t) => {
      const { database } = await open(t)
      let inside = 0
      const work: Work<void> = async (tx) => {
        inside += 1
        assert.equal(inside, 1)
        await tx.run(plainQuery('select 1'))
        inside -= 1
      }
      await Promise.all([1, 2, 3].map(() => database.transaction(work, { exclusive: true })))
    })

    test('and a read show no code of the driver', async (t) => {
      const { database } = await open(t)
      const nonsense = plainQuery('select nonsense')
      for (const ask of [() => database.transaction(async (tx) => tx.run(nonsense)), () => database.read(nonsense)]) {
        await assert.rejects(ask, hasCode('internal'))
      }
    })
  })

  declare(`a database: ${name}`, () => {
    test('accepts only a transaction that the host has open', async (t) => {
      const { database, idle } = await open(t)
      for (const handle of [idle(), {}, null, 'x', undefined]) {
        assert.throws(() => database.within(handle), hasCode('validation_failed'))
      }
    })

    test('finishes its writes when it is closed, and then refuses calls', async (t) => {
      const { database } = await open(t)
      const writing = database.transaction(insert('a'))
      await Promise.all([database.close(), writing])
      await assert.rejects(database.transaction(insert('b')), hasCode('unavailable'))
      await assert.rejects(database.read(plainQuery('select 1')), hasCode('unavailable'))
    })

    test('migrates once, and has figures and a clock', async (t) => {
      const { database, source } = await open(t)
      for (let start = 0; start < 2; start++) await migrate(database, source.migrations, database.clock)
      const { rows } = await database.read(plainQuery('select name from mailkeep_migration'))
      assert.equal(rows.length, source.migrations.length)
      assert.equal(typeof database.figures(), 'object')
      assert.ok(Math.abs(database.clock() - Date.now()) < 60_000)
    })
  })

  declare(`the search index: ${name}`, () => {
    test('is created once, updated, purged to the end, and compacted', async (t) => {
      const { database, source } = await open(t)
      const { search } = database
      await migrate(database, source.migrations, database.clock)
      for (let start = 0; start < 2; start++) await search.create({ idle: false })
      const change = { clientId: 1, contactId: 1 }
      await database.transaction(async (tx) =>
        tx.searchChanges.push({ ...change, before: null, after: 'ada lovelace' }),
      )
      await database.transaction(async (tx) =>
        tx.searchChanges.push({ ...change, before: 'ada lovelace', after: null }),
      )
      let progress: number | undefined
      for (let steps = 0; steps === 0 || progress !== undefined; steps++) {
        assert.ok(steps < 100, 'a purge ends')
        progress = await database.transaction((tx) => search.purge(tx, progress))
      }
      assert.equal(await search.isScattered(), false)
      await search.compact(Date.now())
      assert.equal(search.keepsErasedTexts, database.dialect.name === 'sqlite')
    })
  })

  declare(`the change feed: ${name}`, () => {
    test('reports commits of others, until the subscription ends', async (t) => {
      const { database, commitElsewhere } = await open(t)
      let calls = 0
      let wake = () => {}
      const stop = database.changes.subscribe(() => {
        calls += 1
        wake()
      })
      t.after(stop)
      const called = () => new Promise<void>((resolve) => (wake = resolve))
      await called() // the first poll
      if (commitElsewhere) {
        const before = await database.changes.version()
        let next = called()
        await commitElsewhere('a')
        do {
          await next
          next = called()
        } while ((await database.changes.version()) === before) // the call may be of an earlier poll
      }
      database.changes.notify()
      stop()
      const callsBefore = calls
      await commitElsewhere?.('b')
      await new Promise((resolve) => setTimeout(resolve, 300))
      assert.equal(calls, callsBefore)
    })
  })
}

onPostgres('the change feed of two processes on PostgreSQL', () => {
  test('brings notifications from one to the other, without waiting for a poll', async (t) => {
    const { url, schema } = await postgresSchema(t)
    const [one, other] = await Promise.all([1, 2].map(() => postgres(url, { schema }).open(silent)))
    t.after(() => Promise.all([one!.close(), other!.close()]))
    const before = await other!.changes.version()
    const notified = new Promise<void>((resolve) => t.after(other!.changes.subscribe(() => resolve())))
    one!.changes.notify()
    await notified
    const jump = 1e8 // a poll adds 1
    for (let tries = 0; (await other!.changes.version()) - before < jump; tries++) {
      assert.ok(tries < 500, 'no notification came')
      await new Promise((resolve) => setTimeout(resolve, 10))
    }
  })
})
