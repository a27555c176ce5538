/** What a killed process had claimed returns as soon as the process is dead, and what a live one has claimed does not. */
import assert from 'node:assert/strict'
import { readdirSync } from 'node:fs'
import { dirname } from 'node:path'
import type { TestContext } from 'node:test'
import pg from 'pg'
import { postgres } from '../../lib/storage/postgres.ts'
import { Keeper } from '../faults/keeper.ts'
import { onPostgres, test } from '../support/databases.ts'
import { openPlace, type Place } from '../support/kinds.ts'
import { assertFaster } from '../support/timing.ts'
import {
  addEndpoint,
  newest,
  type Opened,
  onSharedDatabases,
  open,
  openManualReceiver,
  openReceiver,
  openSecondInstance,
  type Reply,
  raise,
  share,
  until,
  withStatus,
} from '../support/webhook-harness.ts'

/** Starts processes that send. They end before the database is closed, because the test calls this first. */
function processes(t: TestContext) {
  const children: Keeper[] = []
  t.after(() => Promise.all(children.map((child) => child.kill())))
  return async ({ encryptionKey, place }: Opened): Promise<Keeper> => {
    const { FILE: file, URL: url, SCHEMA: schema } = place.env
    const child = await Keeper.spawn({
      ...(file === undefined ? { postgres: { url: url!, schema: schema! } } : { file }),
      ...{ key: Buffer.from(encryptionKey).toString('base64'), clientId: 1, aheadMs: 0 },
      webhooks: { allowPrivate: true },
    })
    children.push(child)
    await child.control.start()
    return child
  }
}

const idle = { start: false, clock: Date.now }

onSharedDatabases('a process that is killed', (open) => {
  test('leaves its deliveries in flight to another process', async (t) => {
    const startProcess = processes(t)
    const { receiver, answers } = await openManualReceiver(t)
    const prepared = await open(t, idle)
    const { id } = await addEndpoint(prepared, receiver.url())
    await raise(prepared)
    const child = await startProcess(prepared)
    await receiver.count(1)
    const survivor = await openSecondInstance(t, prepared, { clock: Date.now })
    await child.kill()
    const killedMs = performance.now()
    await receiver.count(2)
    assertFaster(performance.now() - killedMs, 2500, 'the second attempt')
    answers[1]!(200)
    const { attempts, attempt_log } = await withStatus(survivor, id, 'success')
    assert.equal(attempts, 2)
    assert.match(attempt_log[0]!.error!, /interrupted/)
    assert.equal(receiver.received[0]!.headers['webhook-id'], receiver.received[1]!.headers['webhook-id'])
  })

  test('amid deliveries and started again at once: all are delivered without waiting for a lease', async (t) => {
    const startProcess = processes(t)
    let reply: Reply = 200
    const receiver = await openReceiver(t, () => reply)
    const prepared = await open(t, idle)
    const endpoints = []
    for (let n = 0; n < 4; n++) endpoints.push(await addEndpoint(prepared, receiver.url(`/${n}`)))
    let expected = 0
    const raiseAll = async () => {
      await Promise.all(Array.from({ length: 20 }, (_, n) => raise(prepared, { n })))
      expected += 20 * endpoints.length
    }
    let child = await startProcess(prepared)
    for (let round = 0; round < 2; round++) {
      reply = 200
      const before = receiver.received.length
      await raiseAll()
      await receiver.count(before + 40)
      reply = 'hang'
      await raiseAll()
      await receiver.count(before + 80 + endpoints.length) // each has at least one place
      await child.kill()
      reply = 200
      child = await startProcess(prepared)
      const startedMs = performance.now()
      await until('all are delivered', async () => {
        return (await prepared.count(`mailkeep_delivery where status = 'success'`)) === expected || undefined
      })
      assertFaster(performance.now() - startedMs, 3000, 'the deliveries after the start')
    }
  })
})

onPostgres('a process that loses the connection which holds its lock', () => {
  test('keeps its claims, because it takes the lock again', async (t) => {
    const place = share(await openPlace('PostgreSQL'))
    const texts: string[] = []
    const log = (_: object, text: string) => texts.push(text)
    const logger = { debug() {}, info: log, warn: log, error() {} }
    const { receiver, answers } = await openManualReceiver(t)
    const first = await open(t, { place, clock: Date.now, logger })
    const { id } = await addEndpoint(first, receiver.url())
    await raise(first)
    await receiver.count(1)
    const pid = await lockHolder(place)
    const second = await openSecondInstance(t, first, { clock: Date.now })
    const marker = await openReceiver(t)
    const other = await addEndpoint(second, marker.url(), 'sequence.completed')
    await place.ask('select pg_terminate_backend(cast(? as integer))', pid)
    await until('the connection is back', () => texts.some((text) => /is back/.test(text)) || undefined)
    await raise(second, {}, 'sequence.completed')
    await withStatus(second, other.id, 'success')
    answers[0]!(200)
    assert.equal((await withStatus(first, id, 'success')).attempts, 1)
    assert.equal(receiver.received.length, 1)
  })

  for (const [what, statement] of [
    ['cannot open another', 'listen'],
    ['loses another as it opens', 'select cast(extract(epoch'],
  ] as const) {
    test(`and ${what} keeps what it claims from then on`, async (t) => {
      const { place, fail } = await openPlaceThatFails(t)
      const { receiver, answers } = await openManualReceiver(t)
      const first = await open(t, { place, clock: Date.now })
      const { id: before } = await addEndpoint(first, receiver.url('/before'))
      const { id: after } = await addEndpoint(first, receiver.url('/after'), 'sequence.completed')
      await raise(first)
      await receiver.count(1)
      const second = await openSecondInstance(t, first, idle)
      const pid = await lockHolder(place)
      const failed = fail(statement)
      await place.ask('select pg_terminate_backend(cast(? as integer))', pid)
      await failed
      await raise(first, {}, 'sequence.completed')
      await receiver.count(2)
      second.mailkeep.start()
      await receiver.count(3) // the second process takes over what the first had claimed with its lock
      for (const answer of answers) answer(200)
      assert.equal((await withStatus(second, before, 'success')).attempts, 2)
      assert.equal((await withStatus(second, after, 'success')).attempts, 1)
      assert.deepEqual(receiver.received.map(({ path }) => path).sort(), ['/after', '/before', '/before'])
    })
  }
})

/** Returns the server's process that holds the lock of the process which has a claim. */
async function lockHolder(place: Place): Promise<unknown> {
  const [row] = await place.ask(`select pid from pg_locks, mailkeep_delivery
    where locktype = 'advisory' and mode = 'ShareLock' and claim is not null
      and (cast(classid as bigint) << 32) + cast(objid as bigint) = cast(split_part(claim, ' ', 1) as bigint)`)
  return row!.pid
}

/** Opens a database. After `fail`, new connections for notifications fail at a statement that begins like its argument. */
async function openPlaceThatFails(t: TestContext) {
  let failing: string | undefined
  let onFailure = () => {}
  class Client extends pg.Client {
    readonly #failing = failing
    override query(...args: unknown[]) {
      const { text } = args[0] as { text?: string }
      if (this.#failing !== undefined && text?.startsWith(this.#failing)) {
        onFailure()
        return Promise.reject(new Error('Connection terminated')) as never
      }
      return super.query(...(args as [string])) as never
    }
  }
  const place = await openPlace('PostgreSQL')
  const { URL: connectionString, SCHEMA: schema } = place.env
  const pool = new pg.Pool({ connectionString: connectionString!, Client: Client as never })
  t.after(() => pool.end())
  const source = postgres(pool, { schema: schema! })
  /** Resolves at the first failure. */
  const fail = (statement: string) =>
    new Promise<void>((resolve) => {
      failing = statement
      onFailure = resolve
    })
  return { place: share({ ...place, source }), fail }
}

test('the lock of a process on a SQLite file is an empty file beside it, which the next process takes', async (t) => {
  const place = share(await openPlace('a SQLite file'))
  const folder = dirname(place.env.FILE!)
  const locks = () => readdirSync(folder).filter((name) => name.includes('process'))
  const { receiver } = await openManualReceiver(t)
  const first = await open(t, { place })
  const second = await openSecondInstance(t, first)
  const { id } = await addEndpoint(first, receiver.url())
  await raise(first)
  await receiver.count(1)
  await until('both hold a lock', () => locks().length === 2 || undefined)
  assert.deepEqual(locks(), ['mail.db.process-1', 'mail.db.process-2'])
  await Promise.all([first, second].map(({ mailkeep }) => mailkeep.close({ timeoutMs: 0 })))
  const third = await openSecondInstance(t, first)
  await receiver.count(2)
  assert.equal((await newest(third, id)).attempts, 2)
  assert.deepEqual(locks(), ['mail.db.process-1', 'mail.db.process-2'])
})
