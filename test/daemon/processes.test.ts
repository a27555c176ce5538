/** `serve --processes N`: several processes that serve on one port. */
import assert from 'node:assert/strict'
import { readdir } from 'node:fs/promises'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { sumMetrics } from '../../daemon/processes/sum-metrics.ts'
import { databaseUrl, needsPostgres } from '../support/databases.ts'
import { openReceiver } from '../support/http-receiver.ts'
import { openKnownPlace, running } from '../support/postgres-program.ts'
import { daemon, directory, errorLineOf } from '../support/program.ts'
import { openProxy } from '../support/tcp-proxy.ts'
import { until } from '../support/webhook-harness.ts'
import {
  answeredTags,
  ask,
  children,
  figure,
  isAlive,
  metricsOf,
  processesIn,
  startTwo,
  stored,
  two,
  untilBothAnswer,
} from './process-group.ts'

describe('several processes', { concurrency: 2 }, () => {
  test('answer on one port, and the first start prints one line', async (t) => {
    const cwd = await directory(t)
    const { url, said, ask: askAsAdmin, stop, child } = await daemon(t, { cwd }, two)
    const { admin_token_file } = JSON.parse(said.out)
    assert.equal(admin_token_file, join(cwd, 'mailkeep.db.admin-token'))
    await until('both processes answer', async () => {
      await Promise.all(Array.from({ length: 4 }, () => ask(url, 'GET', '/healthz')))
      assert.equal((await askAsAdmin('GET', '/api/v1/tags')).status, 200)
      await Promise.all(Array.from({ length: 4 }, () => ask(url, 'GET', '/api/v1/tags')))
      return processesIn(said.err).join() === '1,2' || undefined
    })
    const ids = children(child.pid!)
    assert.equal(ids.length, 2)
    assert.deepEqual(await stop(), [0, null])
    assert.deepEqual(ids.filter(isAlive), [])
    assert.equal(said.out.trim().split('\n').length, 1)
  })

  test('deliver what any of them stores, once', async (t) => {
    const { url } = await startTwo(t)
    const receiver = await openReceiver()
    t.after(() => receiver.close())
    const hook = { url: receiver.url(), events: ['newsletter.sent'] }
    assert.equal((await ask(url, 'POST', '/api/v1/webhook-endpoints', hook)).status, 201)
    const raise = (n: number) => ask(url, 'POST', '/api/v1/events', { type: 'newsletter.sent', data: { n } })
    for (const { status } of await Promise.all(Array.from({ length: 40 }, (_, n) => raise(n))))
      assert.equal(status, 202)
    const received = await receiver.next(40)
    assert.equal(new Set(received.map(({ body }) => body.data.n)).size, 40)
    await until('all are counted', async () => {
      return figure(await metricsOf(url), 'mailkeep_deliveries_total{outcome="success"}') === 40 || undefined
    })
    assert.equal(receiver.received.length, 40)
  })

  test('add their metrics up, whichever process is asked', async (t) => {
    const { url, said } = await startTwo(t)
    await untilBothAnswer({ url, said })
    const before = figure(await metricsOf(url), answeredTags)
    await Promise.all(Array.from({ length: 20 }, () => ask(url, 'GET', '/api/v1/tags')))
    for (let n = 0; n < 6; n++) {
      const page = await metricsOf(url)
      assert.equal(figure(page, answeredTags), before + 20)
      assert.equal(figure(page, 'mailkeep_processes'), 2)
      assert.equal(figure(page, 'mailkeep_endpoints{state="active"}'), 0)
      assert.equal(page.match(/^# TYPE mailkeep_http_requests_total /gm)?.length, 1)
    }
  })

  test('finish their requests when they are stopped', async (t) => {
    const { url, cwd, stop, said } = await startTwo(t)
    await untilBothAnswer({ url, said })
    let answered = 0
    /** @returns Whether it was saved. A request that comes too late gets 503 or no connection, and nothing is stored for it. */
    const save = async (n: number) => {
      const saved = ask(url, 'POST', '/api/v1/contacts', { email: `p${n}@example.org` })
      const status = await saved.then(
        (answer) => answer.status,
        () => 503,
      )
      if (status === 503) return false
      assert.equal(status, 200)
      answered += 1
      return true
    }
    const load = Promise.all(
      Array.from({ length: 8 }, async (_, caller) => {
        for (let n = caller * 10_000; await save(n); n++);
      }),
    )
    await until('some are saved', () => answered > 50 || undefined)
    assert.deepEqual(await stop(), [0, null])
    await load
    assert.equal(stored(cwd, 'mailkeep_contact'), answered)
  })

  test('end when the first process is killed', async (t) => {
    const { child, closed } = await startTwo(t)
    const ids = await until('both run', () => (children(child.pid!).length === 2 ? children(child.pid!) : undefined))
    child.kill('SIGKILL')
    await closed
    await until('both have ended', () => !ids.some(isAlive) || undefined)
  })

  test('that cannot start say why in one line', async (t) => {
    const cwd = await directory(t)
    const busy = createServer()
    await new Promise<void>((resolve) => busy.listen(0, '127.0.0.1', resolve))
    t.after(() => busy.close())
    const { port } = busy.address() as { port: number }
    assert.match(await errorLineOf([...two, '--port', String(port)], { cwd }), /is in use by another program/)
    assert.deepEqual(await readdir(cwd), [], 'the database was created')
    assert.match(
      await errorLineOf([...two, '--database', ':memory:', '--port', '0'], { cwd }),
      /belongs to one process/,
    )
    for (const wrong of ['0', '65', 'many']) {
      assert.match(await errorLineOf(['--processes', wrong], { cwd }), /must be a whole number from 1 to 64, or auto/)
    }
  })
})

describe('several processes on PostgreSQL', needsPostgres, () => {
  test('answer on one port, deliver, and stop', async (t) => {
    const place = await openKnownPlace(t)
    const receiver = await openReceiver()
    t.after(() => receiver.close())
    const { url, said, stop } = await running(t, { ...place, env: { ...place.env, MAILKEEP_PROCESSES: '2' } })
    const hook = { url: receiver.url(), events: ['newsletter.sent'] }
    assert.equal((await ask(url, 'POST', '/api/v1/webhook-endpoints', hook)).status, 201)
    await untilBothAnswer({ url, said })
    const raise = () => ask(url, 'POST', '/api/v1/events', { type: 'newsletter.sent', data: {} })
    for (const { status } of await Promise.all(Array.from({ length: 20 }, raise))) assert.equal(status, 202)
    await receiver.next(20)
    assert.deepEqual(await stop(), [0, null])
    assert.equal(receiver.received.length, 20)
  })

  test('answer 503 for metrics while the database is away, and work again afterwards', async (t) => {
    const place = await openKnownPlace(t)
    const server = new URL(await databaseUrl())
    const proxy = await openProxy({ host: server.hostname, port: Number(server.port) })
    t.after(() => proxy.close())
    server.host = `127.0.0.1:${proxy.port}`
    const env = { ...place.env, MAILKEEP_DATABASE: server.href, MAILKEEP_PROCESSES: '2' }
    const { url, said, stop } = await running(t, { ...place, env })
    await untilBothAnswer({ url, said })
    proxy.cut()
    for (let n = 0; n < 4; n++) assert.equal((await ask(url, 'GET', '/metrics')).status, 503)
    proxy.mend()
    await until('they answer again', async () => (await ask(url, 'GET', '/metrics')).status === 200 || undefined)
    await untilBothAnswer({ url, said })
    assert.doesNotMatch(said.err, /ended unexpectedly/)
    assert.deepEqual(await stop(), [0, null])
  })
})

test('metrics of processes: counters and histograms add up, ages do not, and ended processes still count', () => {
  const page = (requests: number, age: number, memory: number) =>
    [
      '# HELP a_total A',
      '# TYPE a_total counter',
      `a_total{route="/x y"} ${requests}`,
      '',
      '# HELP mailkeep_oldest_due_delivery_seconds Age',
      '# TYPE mailkeep_oldest_due_delivery_seconds gauge',
      `mailkeep_oldest_due_delivery_seconds ${age}`,
      '# HELP process_resident_memory_bytes Memory',
      '# TYPE process_resident_memory_bytes gauge',
      `process_resident_memory_bytes ${memory}`,
      '',
    ].join('\n')
  const ended = sumMetrics([], [page(1, 9, 1000), page(2, 9, 1000)])
  const all = sumMetrics([page(10, 3, 10), page(20, 4, 20)], [ended])
  assert.equal(figure(all, 'a_total{route="/x y"}'), 33)
  assert.equal(figure(all, 'mailkeep_oldest_due_delivery_seconds'), 4)
  assert.equal(figure(all, 'process_resident_memory_bytes'), 30)
})
