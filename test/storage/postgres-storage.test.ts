import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import type { TestContext } from 'node:test'
import { promisify } from 'node:util'
import pg from 'pg'
import { createMailkeep, type DatabaseSource, isMailkeepError, type Mailkeep } from '../../lib/index.ts'
import { silent } from '../../lib/logger.ts'
import { plainQuery } from '../../lib/storage/connection.ts'
import { Connections, readerOn } from '../../lib/storage/postgres/connections.ts'
import { postgres } from '../../lib/storage/postgres.ts'
import type { Work } from '../../lib/storage/transaction.ts'
import { databaseUrl, onPostgres, openPostgres, queryOnce, test } from '../support/databases.ts'
import { until } from '../support/harness.ts'

const run = promisify(execFile)

/** Opens only the storage, with a table `t`. */
async function openStorage(t: TestContext, options: Parameters<typeof openPostgres>[0] = {}) {
  const database = await openPostgres({ schema: `s_${randomBytes(6).toString('hex')}`, ...options })
  const storage = await database.source.open(silent)
  t.after(async () => {
    await storage.close()
    await database.ask(`drop schema if exists "${database.schema}" cascade`)
  })
  await storage.transaction(async (tx) => tx.run(plainQuery('create table t (v text unique, n bigint)')), {
    exclusive: true,
  })
  return {
    ...database,
    storage,
    values: async () => (await database.ask('select v from t order by v')).map(({ v }) => v),
  }
}

async function openMailkeep(t: TestContext, source?: DatabaseSource) {
  const database = await openPostgres()
  const mailkeep = await createMailkeep({ database: source ?? database.source, encryptionKey: Buffer.alloc(32) })
  t.after(async () => {
    await mailkeep.close({ timeoutMs: 0 })
    await database.close()
  })
  return { ...database, mailkeep }
}

const insert =
  (value: string): Work<string> =>
  async (tx) => {
    await tx.run(plainQuery(`insert into t values ('${value}')`))
    return value
  }

/** Terminates connections of the library, like a server that shuts down. */
function terminate(ask: (text: string) => Promise<unknown>, which = '') {
  return ask(`select pg_terminate_backend(pid) from pg_stat_activity
    where application_name = 'mailkeep' and datname = current_database() and pid <> pg_backend_pid() ${which}`)
}

/** Holds an advisory lock on a connection of its own. `waitedFor` resolves when another session waits for the lock. */
async function lockElsewhere(t: TestContext, key: number) {
  const holder = new pg.Client({ connectionString: await databaseUrl() })
  await holder.connect()
  const release = () => holder.end()
  t.after(release)
  await holder.query('select pg_advisory_lock($1)', [key])
  const waiting = `select 1 from pg_locks where locktype = 'advisory' and objid = ${key} and not granted
    and database = (select oid from pg_database where datname = current_database())`
  const waitedFor = () =>
    until(
      () => holder.query(waiting),
      ({ rows }) => rows.length > 0,
    )
  return { release, waitedFor }
}

const unavailable = (error: unknown) => isMailkeepError(error, 'unavailable')

onPostgres('an import into PostgreSQL', () => {
  test('of many contacts updates the statistics, so that listings are planned for them', async (t) => {
    const { mailkeep, ask } = await openMailkeep(t)
    const { contacts, lists } = mailkeep.forClient((await mailkeep.clients.create({ name: 'Acme' })).id)
    const { id } = await lists.create({ name: 'News' })
    const rows = Array.from({ length: 10_000 }, (_, i) => `person${i}@example.org,vip`)
    await contacts.import(id, [['email,tags', ...rows].join('\n')], { format: 'csv' })
    const tables = ['mailkeep_contact', 'mailkeep_contact_list', 'mailkeep_contact_tag']
    const names = tables.map((name) => `'${name}'::regclass`).join()
    const known = await ask(`select reltuples::int as count from pg_class where oid in (${names})`)
    assert.deepEqual(
      known,
      tables.map(() => ({ count: 10_000 })),
    )
  })

  test('updates the statistics before its later batches, so that they are planned for many contacts', async (t) => {
    const { mailkeep, ask } = await openMailkeep(t)
    const { contacts, lists } = mailkeep.forClient((await mailkeep.clients.create({ name: 'Acme' })).id)
    const { id } = await lists.create({ name: 'News' })
    await ask('alter table mailkeep_contact set (autovacuum_enabled = false); analyze mailkeep_contact')
    const rows = Array.from({ length: 3000 }, (_, i) => `person${i}@example.org\n`)
    const counts: unknown[] = []
    await contacts.import(id, ['email\n', ...rows], {
      format: 'csv',
      async onProgress() {
        const [row] = await ask(`select reltuples::int as count from pg_class where oid = 'mailkeep_contact'::regclass`)
        counts.push(row!.count)
      },
    })
    await ask('alter table mailkeep_contact reset (autovacuum_enabled)') // other tests use the schema again
    const first = counts.findIndex((count) => Number(count) > 0)
    assert.ok(first > 0, String(counts))
    assert.equal(counts.at(-1), counts[first], 'not before each batch')
  })
})

onPostgres('a transaction on PostgreSQL', () => {
  test('may take as long as its statements do', async (t) => {
    const { storage } = await openStorage(t)
    await storage.transaction(async (tx) => void (await tx.run(plainQuery('select pg_sleep(0.1)'))))
  })

  test('that swallowed an error is not reported as committed', async (t) => {
    const { storage, values } = await openStorage(t)
    const swallowing: Work<void> = async (tx) => {
      await insert('a')(tx)
      await Promise.resolve(tx.run(plainQuery('select nonsense'))).catch(() => {})
    }
    await assert.rejects(storage.transaction(swallowing), /was rolled back/)
    assert.deepEqual(await values(), [])
  })

  test('that deadlocks with another is retried, and both commit', async (t) => {
    const { storage, ask } = await openStorage(t)
    await ask(`insert into t values ('a', 0), ('b', 0)`)
    await ask('create sequence arrived') // other transactions see its value before the commit
    const bothArrived = plainQuery(`do $$ begin
      perform nextval('arrived');
      while (select last_value from arrived) < 2 loop perform pg_sleep(0.001); end loop;
    end $$`)
    let runs = 0
    const both = (first: string, second: string): Work<void> => {
      return async (tx) => {
        runs += 1
        await tx.run(plainQuery(`update t set n = n + 1 where v = '${first}'`))
        await tx.run(bothArrived)
        await tx.run(plainQuery(`update t set n = n + 1 where v = '${second}'`))
      }
    }
    await Promise.all([storage.transaction(both('a', 'b')), storage.transaction(both('b', 'a'))])
    assert.ok(runs > 2, 'one was rolled back')
    assert.deepEqual(await ask('select n::int from t'), [{ n: 2 }, { n: 2 }])
  })

  test('that cannot be serialised is retried, a bounded number of times', async (t) => {
    const { storage } = await openStorage(t)
    let runs = 0
    const hopeless: Work<void> = async (tx) => {
      runs += 1
      await tx.run(plainQuery(`do $$ begin raise exception 'no' using errcode = '40001'; end $$`))
    }
    await assert.rejects(storage.transaction(hopeless), unavailable)
    assert.equal(runs, 8)
  })

  test('that finds a concurrently inserted row is retried, and sees it', async (t) => {
    const { storage } = await openStorage(t)
    const ensure: Work<string> = async (tx) => {
      const { rows } = await tx.run(plainQuery(`select 1 from t where v = 'a'`))
      await tx.run(plainQuery('select pg_sleep(0.05)'))
      if (rows.length > 0) return 'found'
      await insert('a')(tx)
      return 'made'
    }
    assert.deepEqual((await Promise.all([storage.transaction(ensure), storage.transaction(ensure)])).sort(), [
      'found',
      'made',
    ])
    await assert.rejects(storage.transaction(insert('a')), (error) => isMailkeepError(error, 'conflict'))
  })

  test('shows no SQLSTATE to the caller', async (t) => {
    const { storage } = await openStorage(t)
    for (const ask of [
      () => storage.transaction(async (tx) => tx.run(plainQuery('select nonsense'))),
      () => storage.read(plainQuery('select nonsense')),
    ]) {
      await assert.rejects(ask, (error) => isMailkeepError(error, 'internal') && !('severity' in error))
    }
  })

  test('that runs alone waits for others of its kind', async (t) => {
    const { storage } = await openStorage(t)
    let inside = 0
    const alone = () =>
      storage.transaction(
        async (tx) => {
          inside += 1
          assert.equal(inside, 1)
          await tx.run(plainQuery('select pg_sleep(0.02)'))
          inside -= 1
        },
        { exclusive: true },
      )
    await Promise.all([alone(), alone(), alone()])
  })
})

onPostgres('connections to PostgreSQL', () => {
  test('that end while idle are replaced', async (t) => {
    const { storage, ask } = await openStorage(t)
    await Promise.all([1, 2, 3].map((n) => storage.transaction(insert(String(n)))))
    await terminate(ask)
    await Promise.all([4, 5, 6].map((n) => storage.transaction(insert(String(n)))))
    assert.equal((await storage.read(plainQuery('select v from t'))).rows.length, 6)
  })

  test('that end during a transaction cause one retry of it each', async (t) => {
    const { storage, ask, values } = await openStorage(t)
    let runs = 0
    const work: Work<void> = async (tx) => {
      runs += 1
      await insert('a')(tx)
      if (runs === 1) await tx.run(plainQuery('select pg_terminate_backend(pg_backend_pid())'))
    }
    await storage.transaction(work)
    assert.equal(runs, 2)
    assert.deepEqual(await values(), ['a'])
    await assert.rejects(
      storage.transaction(async (tx) => tx.run(plainQuery('select pg_terminate_backend(pg_backend_pid())'))),
      unavailable,
    )
    await ask('select 1')
  })

  test('that end during the commit leave its outcome unknown, and it is not retried', async (t) => {
    const { storage, ask } = await openStorage(t)
    await ask(`create function end_me() returns trigger language plpgsql as
      'begin perform pg_terminate_backend(pg_backend_pid()); return null; end'`)
    await ask(
      'create constraint trigger last after insert on t deferrable initially deferred for each row execute function end_me()',
    )
    let runs = 0
    const work: Work<void> = async (tx) => {
      runs += 1
      await insert('a')(tx)
    }
    await assert.rejects(storage.transaction(work), unavailable)
    assert.equal(runs, 1)
  })

  test('that are all in use are waited for, up to a time limit', async (t) => {
    const pool = new pg.Pool({ connectionString: await databaseUrl(), max: 1 })
    const connections = new Connections(pool, silent, true, {
      waiting: 10,
      waitingOfClient: 10,
      waitMs: 200,
      answerMs: 30_000,
    })
    t.after(() => connections.close(true))
    const reader = readerOn(connections)
    const lock = await lockElsewhere(t, 4711)
    const long = reader.run(plainQuery('select pg_advisory_lock(4711)'))
    await assert.rejects(reader.run(plainQuery('select 1')), unavailable)
    await lock.waitedFor() // the first one still has the connection
    await lock.release()
    await long
    await reader.run(plainQuery('select 1'))
  })

  test('are lent from a pool that has no maximum', async (t) => {
    const pool = new pg.Pool({ connectionString: await databaseUrl() })
    Object.assign(pool.options, { max: undefined })
    const connections = new Connections(pool, silent, true)
    t.after(() => connections.close(true))
    const { rows } = await readerOn(connections).run(plainQuery('select 1 as one'))
    assert.equal(rows.length, 1)
  })

  test('are waited for when closing, and refused afterwards', async (t) => {
    const { storage, values } = await openStorage(t)
    const lock = await lockElsewhere(t, 4712)
    const under = storage.transaction(async (tx) => {
      await tx.run(plainQuery('select pg_advisory_xact_lock(4712)'))
      return await insert('a')(tx)
    })
    await lock.waitedFor()
    const closed = storage.close()
    await lock.release()
    await closed
    assert.equal(await under, 'a')
    await assert.rejects(storage.transaction(insert('b')), unavailable)
    await assert.rejects(storage.read(plainQuery('select 1')), unavailable)
    assert.deepEqual(await values(), ['a'])
  })

  test('that the server ends while they are being closed cause no error', async () => {
    const pool = new pg.Pool({ connectionString: await databaseUrl() })
    const connections = new Connections(pool, silent, true)
    await readerOn(connections).run(plainQuery('select 1'))
    await connections.close(true)
    pool.emit('error', new Error('terminating connection due to administrator command'), {} as never) // else it throws
  })

  test('do not depend on the settings of the role or the URL', async (t) => {
    const { url, schema } = await openStorage(t)
    const options = '-c DateStyle=German -c TimeZone=Asia/Kolkata -c default_transaction_isolation=serializable'
    const storage = await postgres(`${url}?options=${encodeURIComponent(options)}`, { schema }).open(silent)
    t.after(() => storage.close())
    const settings = plainQuery(`select current_setting('transaction_isolation') as isolation,
      current_setting('DateStyle') as dates, current_schema() as schema`)
    const { rows } = await storage.transaction(async (tx) => tx.run(settings))
    assert.deepEqual({ ...(rows[0] as object) }, { isolation: 'read committed', dates: 'ISO, DMY', schema })
  })

  test('use named statements, but none behind a pooler', async (t) => {
    const { mailkeep, url } = await openMailkeep(t)
    const kept = async (source: DatabaseSource) => {
      const storage = await source.open(silent)
      t.after(() => storage.close())
      const text = {
        ...plainQuery('select name from pg_prepared_statements where length($1::text) > 0'),
        parameters: ['x'],
      }
      await storage.read(text)
      return (await storage.read(text)).rows.length
    }
    assert.ok(mailkeep)
    assert.equal(await kept(postgres(url, { connections: 1 })), 1)
    assert.equal(await kept(postgres(url, { connections: 1, pooler: true })), 0)
  })

  test('with statements that a migration has made stale are replaced', async (t) => {
    const { storage, ask } = await openStorage(t)
    const all = { ...plainQuery('select * from t where v <> $1'), parameters: ['x'] }
    await storage.transaction(insert('a'))
    const columnsOf = ({ rows }: { rows: object[] }) => Object.keys(rows[0]!)
    const columns = async () => columnsOf(await storage.read<object>(all))
    assert.deepEqual(await columns(), ['v', 'n'])
    await ask('alter table t add column more text')
    assert.deepEqual(await columns(), ['v', 'n', 'more'])
    await ask('alter table t add column still text')
    assert.deepEqual(await storage.transaction(async (tx) => columnsOf(await tx.run<object>(all))), [
      'v',
      'n',
      'more',
      'still',
    ])
  })

  test('whose statements a host or pooler has deallocated are replaced', async (t) => {
    const { storage } = await openStorage(t, { connections: 1 })
    const one = { ...plainQuery('select cast($1 as text) as one'), parameters: ['1'] }
    await storage.read(one)
    await storage.read(plainQuery('deallocate all'))
    assert.deepEqual((await storage.read(one)).rows.length, 1)
  })
})

onPostgres('the schema of the tables', () => {
  test('is created if missing', async (t) => {
    const database = await openPostgres()
    const { mailkeep } = await openMailkeep(t, database.source)
    await mailkeep.clients.create({ name: 'Acme' })
    assert.deepEqual(await database.ask('select name from mailkeep_client'), [{ name: 'Acme' }])
    const [row] = await database.ask(`select count(*)::int as n from information_schema.tables
      where table_schema = 'public' and table_name like 'mailkeep%'`)
    assert.equal(row!.n, 0)
  })

  test('is created although transactions can only read by default', async (t) => {
    const { url } = await openPostgres()
    const options = encodeURIComponent('-c default_transaction_read_only=on')
    const { mailkeep } = await openMailkeep(t, postgres(`${url}?options=${options}`, { schema: 'read_only' }))
    assert.equal((await mailkeep.clients.create({ name: 'Acme' })).id, 1)
  })

  test('is refused if its name is not a plain identifier', async () => {
    for (const schema of ['a b', 'x"; drop table t', '', 'ä', '1a', 'a'.repeat(64)]) {
      assert.throws(
        () => postgres('postgres://x', { schema }),
        (error) => isMailkeepError(error, 'validation_failed'),
      )
    }
    assert.throws(
      () => postgres('postgres://x', { schema: 'a', pooler: true }),
      (e) => isMailkeepError(e, 'validation_failed'),
    )
  })

  test('a host’s pool is used and left open; its clients keep one error listener, without which an error ends the process', async (t) => {
    const { url, schema, ask } = await openPostgres()
    const pool = new pg.Pool({ connectionString: `${url}?options=-c%20search_path%3D${schema}`, max: 3 })
    t.after(() => pool.end())
    await ask(`create schema if not exists "${schema}"`)
    const mailkeep = await createMailkeep({ database: postgres(pool), encryptionKey: Buffer.alloc(32) })
    await Promise.all(Array.from({ length: 20 }, (_, i) => mailkeep.clients.create({ name: String(i) })))
    assert.ok(pool.totalCount > 0 && pool.totalCount <= 3)
    await mailkeep.close()
    assert.deepEqual([pool.listenerCount('error'), pool.listenerCount('acquire')], [0, 0])
    const client = await pool.connect()
    const listeners = client.listenerCount('error')
    client.release()
    assert.equal(listeners, 1)
    assert.equal((await pool.query('select count(*)::int as n from mailkeep_client')).rows[0].n, 20)
  })

  test('a host’s pool with another schema is not used: only its settings are copied', async (t) => {
    const { url, schema } = await openPostgres()
    const pool = new pg.Pool({ connectionString: url })
    t.after(() => pool.end())
    const mailkeep = await createMailkeep({ database: postgres(pool, { schema }), encryptionKey: Buffer.alloc(32) })
    await mailkeep.clients.create({ name: 'Acme' })
    await mailkeep.close()
    assert.equal(pool.totalCount, 0)
    assert.equal((await pool.query('select current_schema() as name')).rows[0].name, 'public')
  })

  test('a missing or unusable database is reported as such', async () => {
    const open = (url: string) => createMailkeep({ database: postgres(url), encryptionKey: Buffer.alloc(32) })
    const url = new URL(await databaseUrl())
    url.pathname = '/nowhere'
    await assert.rejects(open(url.href), (error) => unavailable(error) && /nowhere/.test((error as Error).message))
    await assert.rejects(open('postgres://postgres@127.0.0.1:1/x'), unavailable)
    const name = `mailkeep_test_${Date.now()}_latin`
    await queryOnce(await databaseUrl(), `create database ${name} encoding 'LATIN1' locale 'C' template template0`)
    url.pathname = `/${name}`
    await assert.rejects(open(url.href), (error) => isMailkeepError(error, 'conflict') && /UTF8/.test(error.message))
    await queryOnce(await databaseUrl(), `drop database ${name} with (force)`)
  })

  test('a host’s pool with dates that mailkeep cannot read is refused when it is opened', async (t) => {
    const pool = new pg.Pool({ connectionString: await databaseUrl(), options: '-c DateStyle=SQL,DMY' })
    t.after(() => pool.end())
    await assert.rejects(
      createMailkeep({ database: postgres(pool), encryptionKey: Buffer.alloc(32) }),
      (error) => isMailkeepError(error, 'conflict') && /DateStyle ISO.*SQL, DMY/.test(error.message),
    )
  })
})

onPostgres('a role with few rights', () => {
  /** Creates a database, and a role that may connect to it. */
  async function openAsRole(t: TestContext) {
    const server = await databaseUrl()
    const [current] = await queryOnce(server, 'select rolsuper from pg_roles where rolname = current_user')
    if (!current!.rolsuper) return t.skip('only a superuser may make roles')
    const name = `mailkeep_test_${Date.now()}_${randomBytes(4).toString('hex')}`
    await queryOnce(server, `create database ${name}`)
    await queryOnce(server, `create role ${name} login password 'x'`)
    t.after(async () => {
      await queryOnce(server, `drop database ${name} with (force)`)
      await queryOnce(server, `drop role ${name}`)
    })
    const url = new URL(server)
    url.pathname = `/${name}`
    const owner = url.href
    url.username = name
    url.password = 'x'
    return { role: name, owner, url: url.href }
  }

  const open = (url: string, logger = silent) =>
    createMailkeep({ database: postgres(url, { schema: 'own' }), encryptionKey: Buffer.alloc(32), logger })

  test('works on a schema that another role has migrated', async (t) => {
    const world = await openAsRole(t)
    if (!world) return
    const { role, owner, url } = world
    await (await open(owner)).close()
    await queryOnce(owner, `grant usage on schema own to ${role}`)
    await queryOnce(owner, `grant select, insert, update, delete on all tables in schema own to ${role}`)
    await using mailkeep = await open(url)
    const { client } = (await mailkeep.clients.bootstrap())!
    assert.equal((await mailkeep.forClient(client.id).lists.create({ name: 'News' })).name, 'News')
  })

  test('waits for a connection while it may have no more', async (t) => {
    const world = await openAsRole(t)
    if (!world) return
    await queryOnce(world.owner, `create schema own authorization ${world.role}`)
    await using mailkeep = await open(world.url)
    const { client } = (await mailkeep.clients.bootstrap())!
    await queryOnce(world.owner, `alter role ${world.role} connection limit 3`) // one is for notifications
    const { lists } = mailkeep.forClient(client.id)
    await Promise.all(Array.from({ length: 10 }, (_, n) => lists.create({ name: `List ${n}` })))
  })

  test('searches without the index where it may not create the extension; the log says once what is missing', async (t) => {
    const world = await openAsRole(t)
    if (!world) return
    const { role, owner, url } = world
    await queryOnce(owner, `create schema own authorization ${role}`)
    const missing: unknown[] = []
    const logger = { ...silent, warn: (fields: object) => void missing.push((fields as { missing?: string }).missing) }
    const mailkeep = await open(url, logger)
    const { client } = (await mailkeep.clients.bootstrap())!
    const acme = mailkeep.forClient(client.id)
    const list = await acme.lists.create({ name: 'News' })
    for (const [i, name] of ['Änne 100%', 'Bob_\\', 'Carla'].entries()) {
      await acme.contacts.addToList(list.id, { email: `${i}@x.org`, name })
    }
    const searches = async (mailkeep: Mailkeep) => {
      const found = []
      for (const search of ['ÄNN', '0%', 'b_\\', '%', 'x.org']) {
        const { data } = await mailkeep.forClient(client.id).contacts.list({ search })
        found.push(data.map(({ name }) => name).join())
      }
      return found
    }
    const expected = ['Änne 100%', 'Änne 100%', 'Bob_\\', 'Änne 100%', 'Änne 100%,Bob_\\,Carla']
    assert.deepEqual(await searches(mailkeep), expected)
    await mailkeep.close()
    assert.deepEqual(missing, ['create extension pg_trgm (as an owner of the database)'])
    await queryOnce(owner, 'create extension pg_trgm schema public')
    await using indexed = await open(url, logger)
    assert.equal(missing.length, 1, 'the index is created as soon as the extension exists')
    const index = `select indisvalid from pg_index where indexrelid = 'own.mailkeep_contact_search'::regclass`
    assert.deepEqual(await queryOnce(owner, index), [{ indisvalid: true }])
    assert.deepEqual(await searches(indexed), expected)
  })
})

onPostgres('values', () => {
  test('are as on SQLite whatever the host has set on pg', async (t) => {
    const { url, schema, close } = await openPostgres()
    t.after(close)
    const child = new URL('../faults/postgres-hostile.ts', import.meta.url).pathname
    const { stdout } = await run(process.execPath, ['--import', 'tsx', child, url, schema])
    const { plain, hostile, binary } = JSON.parse(stdout)
    assert.deepEqual(hostile, plain)
    assert.match(binary, /set pg.defaults.binary to false/)
    assert.match(plain.contact.created_at, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z$/)
    assert.deepEqual(Object.keys(plain.contact.extra_attributes), ['zeta', 'alpha', '__proto__'])
  })

  test('that PostgreSQL cannot store are replaced by the nearest ones that it can', async (t) => {
    const { mailkeep } = await openMailkeep(t)
    const client = mailkeep.forClient((await mailkeep.clients.create({ name: 'Acme' })).id)
    const { id } = await client.webhooks.createEndpoint({ url: 'https://example.com/', events: ['newsletter.sent'] })
    for (const since of ['0000-01-01T00:00:00Z', '0000-01-01T14:00:00+14:00', '9999-12-31T23:59:59.999999999Z']) {
      assert.equal((await client.webhooks.recover(id, { since })).status, 'done')
    }
  })

  test('of an unknown client are not found', async (t) => {
    const { mailkeep } = await openMailkeep(t)
    await assert.rejects(mailkeep.forClient(999).tags.create({ name: 'x' }), (error) =>
      isMailkeepError(error, 'not_found'),
    )
  })
})
