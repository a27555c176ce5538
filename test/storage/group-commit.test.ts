import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, type TestContext, test } from 'node:test'
import Database from 'better-sqlite3'
import { createMailkeep, isMailkeepError, type Logger } from '../../lib/index.ts'
import { type Connection, plainQuery } from '../../lib/storage/connection.ts'
import { GroupCommit, type GroupLimits, groupLimits } from '../../lib/storage/sqlite/group.ts'
import { sqlite } from '../../lib/storage/sqlite.ts'
import type { Work } from '../../lib/storage/transaction.ts'
import { assertFaster } from '../support/timing.ts'

type Fault = (sql: string) => Error | undefined

/** Opens group commit on a real database, optionally with an injected fault; `log` has every statement that ran. */
function open({
  fault = () => undefined,
  limits = {},
  locked = () => false,
  checkFiles = () => {},
  isShared = false,
}: {
  fault?: Fault
  limits?: Partial<GroupLimits>
  locked?: () => boolean
  checkFiles?: () => void
  /** Whether the host uses the connection too. */
  isShared?: boolean
} = {}) {
  const handle = new Database(':memory:')
  handle.exec('create table t (v text unique)')
  const changes = handle.prepare('select total_changes()').pluck()
  const log: string[] = []
  const connection: Connection = {
    run(query) {
      const error = fault(query.sql)
      if (error) {
        if ('endsTransaction' in error && handle.inTransaction) handle.exec('rollback')
        throw error
      }
      log.push(query.sql)
      const statement = handle.prepare(query.sql)
      if (statement.reader) return { rows: statement.all() as never[] }
      statement.run()
      return { rows: [] }
    },
  }
  const group = new GroupCommit(
    {
      connection,
      countChanges: isShared ? undefined : () => changes.get() as number,
      inTransaction: () => handle.inTransaction,
      toMailkeepError: (error) => error,
      checkFiles,
      indexSearch: async (_, changes) => {
        for (const { contactId } of changes) log.push(`index ${contactId}`)
      },
      begin: async () => {
        if (locked()) return false
        log.push('begin')
        handle.exec('begin immediate')
        return true
      },
    },
    { ...groupLimits, groupMs: 60_000, ...limits },
  )
  const rows = () => handle.prepare('select v from t order by v').pluck().all()
  return { group, log, rows, handle }
}

const insert =
  (value: string): Work<string> =>
  async (tx) => {
    await tx.run(plainQuery(`insert into t values ('${value}')`))
    return value
  }

/** Fails after it has changed a row. */
const failing: Work<never> = async (tx) => {
  await tx.run(plainQuery("insert into t values ('half')"))
  throw new Error('no')
}

const fatal = (code: string) => Object.assign(new Error(code), { code, endsTransaction: true })

/** Returns the values that were inserted, in order. */
const insertedIn = (log: readonly string[]) => log.flatMap((sql) => /'(\w+)'/.exec(sql)?.[1] ?? [])

const count = (log: readonly string[], sql: string) => log.filter((one) => one === sql).length

describe('group commit', () => {
  for (const isShared of [false, true]) {
    const connection = isShared ? 'that the host uses too, each in a savepoint' : 'of their own without savepoints'
    test(`writes of one turn share a transaction, on a connection ${connection}, and are all answered`, async () => {
      const { group, log, rows } = open({ isShared })
      const answers = await Promise.all(['a', 'b', 'c'].map((value) => group.write(insert(value))))
      assert.deepEqual(answers, ['a', 'b', 'c'])
      assert.deepEqual(rows(), ['a', 'b', 'c'])
      assert.equal(count(log, 'begin'), 1)
      assert.equal(count(log, 'commit'), 1)
      assert.equal(count(log, 'savepoint mailkeep'), isShared ? 3 : 0)
    })

    test(`a write that fails rolls back only itself, on a connection ${connection}`, async () => {
      const { group, rows, log } = open({ isShared })
      const works = [insert('a'), failing, insert('b')]
      const results = await Promise.allSettled(works.map((work) => group.write(work)))
      assert.deepEqual(
        results.map(({ status }) => status),
        ['fulfilled', 'rejected', 'fulfilled'],
      )
      assert.deepEqual(rows(), ['a', 'b'])
      assert.equal(count(log, 'commit'), 1)
    })

    test(`a violated constraint rolls back only the write that violated it, on a connection ${connection}`, async () => {
      const { group, rows } = open({ isShared })
      const results = await Promise.allSettled(['a', 'a', 'b'].map((value) => group.write(insert(value))))
      assert.deepEqual(
        results.map(({ status }) => status),
        ['fulfilled', 'rejected', 'fulfilled'],
      )
      assert.deepEqual(rows(), ['a', 'b'])
    })
  }

  test('many writes that fail after a change run twice, the second time in savepoints', async () => {
    const { group, rows, log } = open()
    const values = Array.from({ length: 20 }, (_, n) => `${n % 2 ? 'odd' : 'even'} ${n + 10}`)
    const works = values.map((value): Work<string> => {
      return async (tx) => {
        await insert(value)(tx)
        if (value.startsWith('odd')) throw new Error('no')
        return value
      }
    })
    const results = await Promise.allSettled(works.map((work) => group.write(work)))
    const even = values.filter((value) => value.startsWith('even'))
    assert.deepEqual(
      results.flatMap((result) => (result.status === 'fulfilled' ? result.value : [])),
      even,
    )
    assert.deepEqual(rows(), even)
    assert.equal(count(log, `insert into t values ('${values[0]}')`), 2)
    assert.equal(count(log, `insert into t values ('${values[1]}')`), 2)
    assert.equal(count(log, `insert into t values ('${values[2]}')`), 1, 'the first time ends with the first failure')
    assert.equal(count(log, 'savepoint mailkeep'), 20)
    assert.equal(count(log, 'commit'), 1)
  })

  test('after a write that failed after a change, the next groups run in savepoints', async () => {
    const { group, log } = open()
    const failing: Work<never> = async (tx) => {
      await insert('half')(tx)
      throw new Error('no')
    }
    await assert.rejects(group.write(failing), { message: 'no' })
    assert.equal(count(log, "insert into t values ('half')"), 2)
    await assert.rejects(group.write(failing), { message: 'no' })
    assert.equal(count(log, "insert into t values ('half')"), 3)
    for (let n = 0; n < 120; n++) await group.write(insert(`${n}`))
    await group.write(insert('a'))
    assert.ok(count(log, 'savepoint mailkeep') <= 101, 'not for ever')
  })

  test('a write that ignores the error which ended the transaction is run again, and commits nothing before', async () => {
    let faults = 1
    const { group, rows } = open({
      fault: (sql) => (sql.includes("'b'") && faults-- > 0 ? fatal('SQLITE_FULL') : undefined),
    })
    let runs = 0
    const ignoring: Work<string> = async (tx) => {
      await insert('a')(tx)
      await insert('b')(tx).catch(() => {})
      if (runs++ === 0) await insert('alone')(tx).catch(() => {}) // outside of a transaction
      return 'done'
    }
    const works = [ignoring, insert('c')]
    assert.deepEqual(await Promise.all(works.map((work) => group.write(work))), ['done', 'c'])
    assert.deepEqual(rows(), ['a', 'b', 'c'])
  })

  test('a write that fails before it changes anything does not make the others run again', async () => {
    const { group, rows, log } = open()
    const failing: Work<never> = async (tx) => {
      await tx.run(plainQuery('select v from t'))
      await tx.run(plainQuery("delete from t where v = 'missing'"))
      throw new Error('no')
    }
    const results = await Promise.allSettled([insert('a'), failing, insert('b')].map((work) => group.write(work)))
    assert.deepEqual(
      results.map(({ status }) => status),
      ['fulfilled', 'rejected', 'fulfilled'],
    )
    assert.deepEqual(rows(), ['a', 'b'])
    assert.equal(count(log, "insert into t values ('a')"), 1)
    assert.equal(count(log, 'savepoint mailkeep'), 0)
  })

  test('if the rollback fails too, all writes of the group are refused', async () => {
    const { group } = open({ fault: (sql) => (sql === 'rollback' ? new Error('the disk is gone') : undefined) })
    const failing: Work<never> = async (tx) => {
      await insert('half')(tx)
      throw new Error('no')
    }
    const results = await Promise.allSettled([insert('a'), failing].map((work) => group.write(work)))
    assert.deepEqual(
      results.map((result) => result.status === 'rejected' && result.reason.message),
      Array(2).fill('cannot start a transaction within a transaction'),
    )
  })

  test('an exclusive write has a transaction of its own, and leaves no table behind when it fails', async () => {
    const { group, rows, handle, log } = open()
    const migration: Work<never> = async (tx) => {
      await tx.run(plainQuery('create table half (v text)'))
      throw new Error('no')
    }
    const results = await Promise.allSettled([
      group.write(insert('a')),
      group.write(migration, { exclusive: true }),
      group.write(insert('b')),
    ])
    assert.deepEqual(
      results.map(({ status }) => status),
      ['fulfilled', 'rejected', 'fulfilled'],
    )
    assert.deepEqual(rows(), ['a', 'b'])
    assert.equal(count(log, 'begin'), 3)
    assert.equal(handle.prepare("select count(*) from sqlite_master where name = 'half'").pluck().get(), 0)
  })

  test('no caller is answered before the commit', async () => {
    const { group, log } = open()
    const seen: number[] = []
    const note = () => seen.push(count(log, 'commit'))
    await Promise.all([group.write(insert('a')).then(note), group.write(insert('b')).then(note)])
    assert.deepEqual(seen, [1, 1])
  })

  test('a file that vanished during the commit is an error for the committed writes, and no write is retried', async () => {
    const lost = new Error('the file is gone')
    const { group, log } = open({
      checkFiles: () => {
        throw lost
      },
    })
    const failing = async () => {
      throw new Error('no')
    }
    const results = await Promise.allSettled([group.write(insert('a')), group.write(failing)])
    assert.deepEqual(
      results.map((result) => result.status === 'rejected' && result.reason.message),
      ['the file is gone', 'no'],
    )
    assert.equal(count(log, 'commit'), 1)
  })

  for (const code of ['SQLITE_FULL', 'SQLITE_IOERR_WRITE']) {
    test(`${code} during the group rolls back the whole transaction, and each write is retried alone`, async () => {
      let faults = 1
      const { group, rows, log } = open({
        fault: (sql) => (sql.includes("'b'") && faults-- > 0 ? fatal(code) : undefined),
      })
      const answers = await Promise.all(['a', 'b', 'c'].map((value) => group.write(insert(value))))
      assert.deepEqual(answers, ['a', 'b', 'c'])
      assert.deepEqual(rows(), ['a', 'b', 'c'])
      assert.equal(count(log, "insert into t values ('a')"), 2, 'the first was rolled back with the group')
    })

    test(`${code} that persists fails only the write that meets it`, async () => {
      const { group, rows } = open({ fault: (sql) => (sql.includes("'b'") ? fatal(code) : undefined) })
      const results = await Promise.allSettled(['a', 'b', 'c'].map((value) => group.write(insert(value))))
      assert.deepEqual(
        results.map(({ status }) => status),
        ['fulfilled', 'rejected', 'fulfilled'],
      )
      assert.deepEqual(rows(), ['a', 'c'])
    })

    test(`${code} at COMMIT answers no caller, and each write is retried alone`, async () => {
      let faults = 1
      const { group, rows, handle } = open({
        fault: (sql) => (sql === 'commit' && faults-- > 0 ? fatal(code) : undefined),
      })
      assert.deepEqual(await Promise.all(['a', 'b'].map((value) => group.write(insert(value)))), ['a', 'b'])
      assert.deepEqual(rows(), ['a', 'b'])
      assert.equal(handle.inTransaction, false)
    })
  }

  test('writes that are retried alone share one time-out for locks', async () => {
    let undone = false
    const fault = (sql: string) => {
      undone ||= sql === 'commit'
      return undone ? fatal('SQLITE_FULL') : undefined
    }
    const { group, rows } = open({ fault, limits: { lockMs: 200 }, locked: () => undone })
    const began = performance.now()
    const results = await Promise.allSettled(Array.from({ length: 20 }, (_, i) => group.write(insert(`${i}`))))
    const tookMs = performance.now() - began
    assert.ok(results.every((one) => one.status === 'rejected' && isMailkeepError(one.reason, 'unavailable')))
    assertFaster(tookMs, 1500, 'refusing all')
    assert.deepEqual(rows(), [])
  })

  test('effects run after the commit, once, and not for writes that were rolled back', async () => {
    let faults = 1
    const { group, log } = open({ fault: (sql) => (sql === 'commit' && faults-- > 0 ? fatal('x') : undefined) })
    const effects: string[] = []
    const work = (value: string): Work<void> => {
      return async (tx) => {
        tx.afterCommit(() => effects.push(`${value} after ${count(log, 'commit')}`))
        await insert(value)(tx)
        if (value === 'b') throw new Error('no')
      }
    }
    await Promise.allSettled([group.write(work('a')), group.write(work('b'))])
    assert.deepEqual(effects, ['a after 1'])
  })

  test('the search index is updated once per group, after the last savepoint, without rolled-back writes', async () => {
    const { group, log } = open({ isShared: true })
    const change = (contactId: number, before: string | null, after: string | null) => ({
      clientId: 1,
      contactId,
      before,
      after,
    })
    const results = await Promise.allSettled([
      group.write(async (tx) => tx.searchChanges.push(change(1, null, 'a'))),
      group.write(async (tx) => tx.searchChanges.push(change(1, 'a', 'b'))),
      group.write(async (tx) => {
        tx.searchChanges.push(change(2, null, 'c'))
        throw new Error('no')
      }),
      group.write(async (tx) => {
        tx.searchChanges.push(change(3, 'd', 'e'))
        tx.searchChanges.push(change(3, 'e', 'd'))
      }),
    ])
    assert.equal(results.filter(({ status }) => status === 'fulfilled').length, 3)
    assert.deepEqual(log.slice(-3), ['release mailkeep', 'index 1', 'commit'])
  })

  test('a write may wait for what ends by itself, such as a module that is loaded', async () => {
    const { group, rows } = open()
    const waits: Work<void> = async (tx) => {
      await tx.waitFor(new Promise((resolve) => setTimeout(resolve, 1)))
      await insert('a')(tx)
    }
    await group.write(waits)
    assert.deepEqual(rows(), ['a'])
  })

  test('a write that awaits anything but statements is aborted with a clear error, the others are not', async () => {
    const { group, rows } = open()
    const waits: Work<void> = async (tx) => {
      await insert('half')(tx)
      await new Promise((resolve) => setTimeout(resolve, 1))
      await insert('never')(tx)
    }
    const results = await Promise.allSettled([group.write(insert('a')), group.write(waits), group.write(insert('b'))])
    assert.match(String((results[1] as PromiseRejectedResult).reason), /only statements may be awaited/)
    assert.deepEqual(rows(), ['a', 'b'])
  })

  test('a transaction cannot be used after its end', async () => {
    const { group, rows } = open()
    const kept = await group.write(async (tx) => tx)
    await assert.rejects(insert('late')(kept), /has ended/)
    assert.deepEqual(rows(), [])
  })

  test('a group ends at its maximum size', async () => {
    const { group, log } = open({ limits: { size: 10 } })
    await Promise.all(Array.from({ length: 25 }, (_, i) => group.write(insert(String(i)))))
    assert.equal(count(log, 'commit'), 3)
  })

  test('a slow write ends its group, so that the others are answered', async () => {
    const { group, log } = open({ limits: { groupMs: 1 } })
    const slow: Work<void> = async () => {
      for (const ends = performance.now() + 3; performance.now() < ends; );
    }
    await Promise.all([group.write(slow), group.write(insert('a')), group.write(insert('b'))])
    // The machine may pause, so the number of writes in the next group is not asserted.
    const [committed, next] = ['commit', "insert into t values ('a')"].map((sql) => log.indexOf(sql)) as [
      number,
      number,
    ]
    assert.ok(committed >= 0 && committed < next, log.join('; '))
  })

  test('the queue is bounded: excess writes are refused immediately as unavailable', async () => {
    const { group } = open({ limits: { waiting: 2 } })
    const results = await Promise.allSettled(['a', 'b', 'c'].map((value) => group.write(insert(value))))
    assert.ok(isMailkeepError((results[2] as PromiseRejectedResult).reason, 'unavailable'))
    assert.equal(results.filter(({ status }) => status === 'fulfilled').length, 2)
  })

  test('clients take turns, and the writes of each keep their order', async () => {
    const { group, log } = open({ limits: { size: 3 } })
    const writes = [
      ...['a1', 'a2', 'a3', 'a4'].map((value) => ({ value, clientId: 1 })),
      ...['b1', 'b2'].map((value) => ({ value, clientId: 2 })),
      { value: 'c1', clientId: undefined },
    ]
    await Promise.all(writes.map(({ value, clientId }) => group.write(insert(value), { clientId })))
    assert.deepEqual(insertedIn(log), ['a1', 'b1', 'c1', 'a2', 'b2', 'a3', 'a4'])
  })

  test('no later write of a client comes before one of no particular client', async () => {
    const { group, log } = open()
    const write = (value: string, clientId?: number) => group.write(insert(value), { clientId })
    await Promise.all([write('a1', 1), write('x'), write('y'), write('b1', 2), write('a2', 1)])
    assert.deepEqual(insertedIn(log), ['a1', 'x', 'y', 'b1', 'a2'])
  })

  test('a group that runs again comes before the writes of other clients', async () => {
    const { group, log } = open({ limits: { size: 2 } })
    const write = (clientId: number, work: Work<unknown>) => group.write(work, { clientId })
    const works = [write(1, insert('a1')), write(1, insert('a2')), write(2, failing), write(3, insert('c1'))]
    await Promise.allSettled(works)
    assert.deepEqual(insertedIn(log), ['a1', 'half', 'a1', 'half', 'c1', 'a2'])
  })

  test('one client cannot fill the queue', async () => {
    const { group } = open({ limits: { waiting: 4, waitingOfClient: 2 } })
    const write = (clientId: number, value: string) => group.write(insert(value), { clientId })
    const results = await Promise.allSettled([write(1, 'a'), write(1, 'b'), write(1, 'c'), write(2, 'd')])
    assert.deepEqual(
      results.map(({ status }) => status),
      ['fulfilled', 'fulfilled', 'rejected', 'fulfilled'],
    )
    await write(1, 'c')
  })

  test('work that needs no open transaction runs between two of them, in queue order', async () => {
    const { group, log, rows } = open({
      limits: { size: 2 },
      fault: (sql) => (sql === 'bad' ? new Error('no') : undefined),
    })
    const writes = ['a', 'b', 'c'].map((value) => group.write(insert(value)))
    const between = [group.between(plainQuery('vacuum')), group.between(plainQuery('bad'))]
    const results = await Promise.allSettled([...writes, ...between, group.write(insert('d'))])
    assert.deepEqual(
      results.map(({ status }) => status),
      ['fulfilled', 'fulfilled', 'fulfilled', 'fulfilled', 'rejected', 'fulfilled'],
    )
    assert.deepEqual(rows(), ['a', 'b', 'c', 'd'])
    assert.equal(count(log, 'vacuum'), 1)
    await group.close()
    await assert.rejects(group.between(plainQuery('vacuum')), (error) => isMailkeepError(error, 'unavailable'))
  })

  test('closing finishes the queued writes and refuses new ones', async () => {
    const { group, rows } = open()
    const waiting = group.write(insert('a'))
    const closed = group.close()
    await assert.rejects(group.write(insert('b')), (error) => isMailkeepError(error, 'unavailable'))
    await Promise.all([waiting, closed])
    assert.deepEqual(rows(), ['a'])
  })
})

describe('waiting for another connection', () => {
  function file(t: TestContext): string {
    const folder = mkdtempSync(join(tmpdir(), 'mailkeep-'))
    t.after(() => rmSync(folder, { recursive: true }))
    return join(folder, 'mail.db')
  }

  test('a write waits for it without blocking the thread, and reads do not wait', async (t) => {
    const path = file(t)
    await using mailkeep = await createMailkeep({ database: sqlite(path), encryptionKey: randomBytes(32) })
    const { client } = (await mailkeep.clients.bootstrap())!
    const host = new Database(path)
    host.exec('begin immediate')
    const write = mailkeep.forClient(client.id).tags.create({ name: 'a' })
    assert.deepEqual((await mailkeep.forClient(client.id).tags.list()).data, [], 'a read is answered during the wait')
    host.exec('commit')
    host.close()
    assert.equal((await write).name, 'a')
  })

  test('a full disk refuses the write as unavailable, keeps earlier writes, and later writes succeed', async () => {
    const host = new Database(':memory:')
    const errors: Record<string, unknown>[] = []
    const logger: Logger = { debug() {}, info() {}, warn() {}, error: (fields) => void errors.push({ ...fields }) }
    await using mailkeep = await createMailkeep({ database: sqlite(host), encryptionKey: randomBytes(32), logger })
    const { client } = (await mailkeep.clients.bootstrap())!
    const acme = mailkeep.forClient(client.id)
    const list = await acme.lists.create({ name: 'News' })
    host.pragma(`max_page_count = ${(host.pragma('page_count', { simple: true }) as number) + 1}`)
    const large = { filler: 'x'.repeat(10_000) }
    const saves = Array.from({ length: 20 }, (_, i) =>
      acme.contacts.addToList(list.id, { email: `${i}@x.org`, ...large }),
    )
    const results = await Promise.allSettled(saves)
    const refused = results.filter((one) => one.status === 'rejected')
    assert.ok(refused.length > 0)
    for (const { reason } of refused) assert.ok(isMailkeepError(reason, 'unavailable'), String(reason))
    assert.deepEqual(errors, [{ file: undefined, code: 'SQLITE_FULL' }], 'the log says so once, not for each write')
    const stored = (await acme.contacts.list()).data
    assert.equal(stored.length, results.length - refused.length, 'answered writes are stored, and no others')
    host.pragma('max_page_count = 1000000')
    assert.equal((await acme.contacts.addToList(list.id, { email: 'later@x.org' })).created, true)
  })
})
