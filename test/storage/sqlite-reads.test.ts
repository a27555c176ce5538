import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, type TestContext, test } from 'node:test'
import Database from 'better-sqlite3'
import { plainQuery } from '../../lib/storage/connection.ts'
import { sqlite } from '../../lib/storage/sqlite.ts'

const silent = { debug() {}, info() {}, warn() {}, error() {} }

async function open(t: TestContext) {
  const folder = mkdtempSync(join(tmpdir(), 'mailkeep-'))
  t.after(() => rmSync(folder, { recursive: true }))
  const file = join(folder, 'mailkeep.db')
  const storage = await sqlite(file).open(silent)
  await storage.transaction(async (tx) => tx.run(plainQuery('create table t (v integer)')))
  const read = async (sql: string) => (await storage.read<{ v: number }>(plainQuery(sql))).rows[0]?.v
  return { file, storage, read }
}

describe('reads requested in one turn', () => {
  test('are each answered, and a read that fails does not affect the others', async (t) => {
    const { storage, read } = await open(t)
    const [first, broken, last] = await Promise.allSettled([
      read('select 1 as v'),
      read('select v from nowhere'),
      read('select 2 as v'),
    ])
    await storage.close()
    assert.equal(first.status === 'fulfilled' && first.value, 1)
    assert.match(broken.status === 'rejected' ? String(broken.reason.cause) : '', /no such table: nowhere/)
    assert.equal(last.status === 'fulfilled' && last.value, 2)
  })

  test('see earlier writes, and hold no lock afterwards', async (t) => {
    const { file, storage, read } = await open(t)
    await storage.transaction(async (tx) => tx.run(plainQuery('insert into t values (7)')))
    assert.deepEqual(await Promise.all([read('select v from t'), read('select count(*) as v from t')]), [7, 1])
    const other = new Database(file)
    // The checkpoint can empty the write-ahead log only when it has no readers.
    assert.deepEqual(other.pragma('wal_checkpoint(truncate)'), [{ busy: 0, log: 0, checkpointed: 0 }])
    other.close()
    await storage.close()
  })

  test('are answered when the database is closed in the same turn', async (t) => {
    const { storage, read } = await open(t)
    const asked = Promise.all([read('select 1 as v'), read('select 2 as v')])
    await Promise.all([storage.close(), assert.doesNotReject(asked)])
    assert.deepEqual(await asked, [1, 2])
  })
})
