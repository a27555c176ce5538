import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { describe, test } from 'node:test'
import Database from 'better-sqlite3'
import { createMailkeep } from '../../lib/index.ts'
import { silent } from '../../lib/logger.ts'
import { migrate } from '../../lib/storage/migrate.ts'
import { sqlite } from '../../lib/storage/sqlite.ts'
import { bool, int, ints, nullable, statement, text, texts, time } from '../../lib/storage/statement.ts'
import { transact } from '../../lib/storage/transaction.ts'

/** Opens a database with mailkeep's tables, and records every statement that is prepared on it. */
async function open() {
  const handle = new Database(':memory:')
  const prepared: string[] = []
  const prepare = handle.prepare.bind(handle)
  handle.prepare = ((sql: string) => {
    prepared.push(sql)
    return prepare(sql)
  }) as typeof handle.prepare
  const source = sqlite(handle)
  const storage = await source.open(silent)
  await migrate(storage, source.migrations, Date.now)
  return { scope: { storage }, handle, prepared }
}

const client = { uuid: 'u', name: 'Acme', created_at: '2026-01-01T00:00:00.000000Z' }

const insertClient = statement({ uuid: text, name: text, created_at: time }, (db, row) =>
  db.insertInto('mailkeep_client').values(row).returningAll(),
)

const findClient = statement({ id: int }, (db, p) =>
  db.selectFrom('mailkeep_client').selectAll().where('id', '=', p.id),
)

describe('a statement', () => {
  test('is built once for a kind of database, and only gets new parameters afterwards', async () => {
    let builds = 0
    const count = statement({ id: int }, (db, p) => {
      builds += 1
      return db.selectFrom('mailkeep_client').select('name').where('id', '=', p.id)
    })
    const { scope, prepared } = await open()
    await insertClient(scope, client)
    const before = prepared.length
    assert.deepEqual(await count(scope, { id: 1 }), { name: 'Acme' })
    assert.equal(await count(scope, { id: 2 }), undefined)
    assert.deepEqual([builds, prepared.length - before], [1, 1])
    const other = await open()
    assert.equal(await count(other.scope, { id: 1 }), undefined)
    assert.equal(builds, 1, 'another database of the kind has the same text')
  })

  test('has a text for each combination of its flags', async () => {
    const list = statement.all(
      { limit: int },
      (db, p, _, { desc }) =>
        db
          .selectFrom('mailkeep_client')
          .select('id')
          .orderBy('id', desc ? 'desc' : 'asc')
          .limit(p.limit),
      ['desc'],
    )
    const { scope } = await open()
    for (const uuid of ['a', 'b', 'c']) await insertClient(scope, { ...client, uuid })
    assert.deepEqual(await list(scope, { limit: 2 }, { desc: false }), [{ id: 1 }, { id: 2 }])
    assert.deepEqual(await list(scope, { limit: 2 }, { desc: true }), [{ id: 3 }, { id: 2 }])
  })

  test('takes a list as one parameter, whatever its length', async () => {
    const byIds = statement.all({ ids: ints, names: texts }, (db, p, dialect) =>
      db
        .selectFrom('mailkeep_client')
        .select('id')
        .where((eb) => eb.and([dialect.inList(eb.ref('id'), p.ids), dialect.inList(eb.ref('name'), p.names)])),
    )
    const { scope, prepared } = await open()
    for (const uuid of ['a', 'b', 'c']) await insertClient(scope, { ...client, uuid })
    const before = prepared.length
    assert.deepEqual(await byIds(scope, { ids: [1, 3, 9], names: ['Acme'] }), [{ id: 1 }, { id: 3 }])
    assert.deepEqual(await byIds(scope, { ids: [], names: [] }), [])
    assert.equal(prepared.length - before, 1)
  })

  test('counts the rows it wrote, and runs inside a transaction', async () => {
    const rename = statement.affected({ name: text, ids: ints }, (db, p, dialect) =>
      db
        .updateTable('mailkeep_client')
        .set({ name: p.name })
        .where((eb) => dialect.inList(eb.ref('id'), p.ids)),
    )
    const { scope } = await open()
    const written = await transact(scope, async (tx) => {
      for (const uuid of ['a', 'b']) await insertClient(tx, { ...client, uuid })
      return await rename(tx, { name: 'New', ids: [1, 2, 3] })
    })
    assert.equal(written, 2)
    assert.equal((await findClient(scope, { id: 2 }))?.name, 'New')
  })

  test('binds whole numbers as integers, null as null, booleans as 0 and 1', async () => {
    const echo = statement({ id: int, maybe: nullable(int), yes: bool, list: ints }, (db, p) =>
      db.selectNoFrom([
        db.fn<string>('typeof', [p.id]).as('id'),
        db.fn<string>('typeof', [p.maybe]).as('maybe'),
        db.fn<string>('typeof', [p.yes]).as('yes'),
        db.fn<string>('typeof', [p.list]).as('list'),
      ]),
    )
    const { scope } = await open()
    const types = await echo(scope, { id: 7, maybe: null, yes: true, list: [1] })
    assert.deepEqual(types, { id: 'integer', maybe: 'null', yes: 'integer', list: 'text' })
  })

  test('refuses a missing parameter at run time', async () => {
    const { scope } = await open()
    await assert.rejects(async () => await findClient(scope, {} as { id: number }), /The parameter id is missing/)
  })

  test('refuses missing, misnamed or wrongly typed parameters at compile time', () => {
    const scope = null as never
    const calls = [
      // @ts-expect-error: the parameter is missing
      () => findClient(scope, {}),
      // @ts-expect-error: the parameter has another name
      () => findClient(scope, { uuid: 1 }),
      // @ts-expect-error: the parameter is a number
      () => findClient(scope, { id: '1' }),
      // @ts-expect-error: there is one parameter too many
      () => findClient(scope, { id: 1, name: 'x' }),
      // @ts-expect-error: the builder asks for a parameter that is not declared
      () => statement({ id: int }, (db, p) => db.selectFrom('mailkeep_client').where('id', '=', p.other)),
      // @ts-expect-error: the column is not the table's
      () => statement({ id: int }, (db, p) => db.selectFrom('mailkeep_client').where('ident', '=', p.id)),
    ]
    assert.equal(calls.length, 6)
  })
})

test('prepared statements are cached, in a bounded number', async () => {
  const handle = new Database(':memory:')
  const storage = await sqlite(handle).open(silent)
  let prepared = 0
  const prepare = handle.prepare.bind(handle)
  handle.prepare = ((sql: string) => {
    prepared += 1
    return prepare(sql)
  }) as typeof handle.prepare
  const select = (n: number) => ({
    sql: `select ${n} as n`,
    parameters: [],
    query: null as never,
    queryId: null as never,
  })
  for (let round = 0; round < 2; round++) for (let n = 0; n < 400; n++) await storage.read(select(n))
  assert.equal(prepared, 400)
  for (let n = 400; n < 2000; n++) await storage.read(select(n))
  await storage.read(select(0))
  assert.equal(prepared, 2001, 'the oldest were evicted')
})

test('a file has a write-ahead log, durable commits, and secure deletion', async (t) => {
  const { mkdtempSync, rmSync, statSync } = await import('node:fs')
  const { tmpdir } = await import('node:os')
  const { join } = await import('node:path')
  const folder = mkdtempSync(join(tmpdir(), 'mailkeep-'))
  t.after(() => rmSync(folder, { recursive: true }))
  const file = join(folder, 'mail.db')
  const pragmas = ['journal_mode', 'synchronous', 'foreign_keys', 'secure_delete', 'journal_size_limit', 'busy_timeout']
  const storage = await sqlite(file).open(silent)
  const read = async (pragma: string) => {
    const query = { sql: `pragma ${pragma}`, parameters: [], query: null as never, queryId: null as never }
    return Object.values((await storage.read<object>(query)).rows[0]!)[0]
  }
  const values = await Promise.all(pragmas.map(read))
  assert.deepEqual(values, ['wal', 2, 1, 1, 64 * 1024 * 1024, 0])
  assert.equal(statSync(file).mode & 0o777, 0o600)
  await storage.close()
})

test('two processes that open a new file at the same time both find its schema', async (t) => {
  const { mkdtempSync, rmSync } = await import('node:fs')
  const { tmpdir } = await import('node:os')
  const { join } = await import('node:path')
  const folder = mkdtempSync(join(tmpdir(), 'mailkeep-'))
  t.after(() => rmSync(folder, { recursive: true }))
  const encryptionKey = randomBytes(32)
  const open = () => createMailkeep({ database: sqlite(join(folder, 'mail.db')), encryptionKey })
  const both = await Promise.all([open(), open(), open(), open()])
  const made = await Promise.all(both.map((mailkeep) => mailkeep.clients.bootstrap()))
  assert.equal(made.filter(Boolean).length, 1, 'and only one creates the first client')
  await Promise.all(both.map((mailkeep) => mailkeep.close()))
})
