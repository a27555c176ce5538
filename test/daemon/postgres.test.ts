import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { readdir, readFile, stat, writeFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { needsPostgres } from '../support/databases.ts'
import { openReceiver } from '../support/http-receiver.ts'
import { openKnownPlace, openPlace, running } from '../support/postgres-program.ts'
import { errorLineOf, run, runJson } from '../support/program.ts'
import { openProxy } from '../support/tcp-proxy.ts'
import { until } from '../support/webhook-harness.ts'

const statusOf = async (url: string, path: string) => (await fetch(url + path)).status

describe('the daemon on PostgreSQL', { ...needsPostgres, concurrency: 4 }, () => {
  test('first start writes an admin token into the working directory; a second start does not mention it', async (t) => {
    const place = await openPlace(t)
    const first = await running(t, place)
    const path = join(place.cwd, 'mailkeep.admin-token')
    assert.equal(JSON.parse(first.said.out).admin_token_file, path)
    assert.equal((await stat(path)).mode & 0o777, 0o600)
    const made = (await readFile(path, 'utf8')).trim()
    const tags = `${first.url}/api/v1/tags`
    assert.equal((await fetch(tags, { headers: { authorization: `Bearer ${made}` } })).status, 200)
    assert.deepEqual(await first.stop(), [0, null])
    const second = await running(t, place)
    assert.doesNotMatch(second.said.out, /admin_token/)
    assert.deepEqual(await readdir(place.cwd), ['mailkeep.admin-token'], 'no other file is left')
  })

  test('first starts at the same time create one client with one token', async (t) => {
    const place = await openPlace(t)
    const all = await Promise.all([1, 2, 3].map(() => running(t, place)))
    assert.equal(all.filter(({ said }) => said.out.includes('admin_token')).length, 1)
    const made = (await readFile(join(place.cwd, 'mailkeep.admin-token'), 'utf8')).trim()
    for (const { url } of all) {
      assert.equal((await fetch(`${url}/api/v1/tags`, { headers: { authorization: `Bearer ${made}` } })).status, 200)
    }
    assert.deepEqual(await place.ask('select id, name from mailkeep_client'), [{ id: '1', name: 'default' }])
    assert.deepEqual(await place.ask('select count(*)::int as count from mailkeep_token'), [{ count: 1 }])
  })

  test('reads its URL from a file; the password is in no process list and in no log', async (t) => {
    const place = await openKnownPlace(t)
    const { PGPASSWORD: password = 'geheim' } = process.env
    const url = new URL(place.url)
    url.password = password
    const path = join(place.cwd, 'database-url')
    await writeFile(path, `${url.href}\n`, { mode: 0o600 })
    const { MAILKEEP_DATABASE: _, ...env } = place.env
    const inFile = { ...place, env: { ...env, MAILKEEP_DATABASE_FILE: path, MAILKEEP_LOG_LEVEL: 'trace' } }
    const daemon = await running(t, inFile)
    assert.equal((await daemon.api('GET', '/tags')).status, 200)
    assert.doesNotMatch(
      execFileSync('ps', ['-o', 'args=', '-p', String(daemon.child.pid)]).toString(),
      new RegExp(`${password}|postgres:`),
    )
    const others = await Promise.all(['migrate', 'doctor', 'client list'].map((name) => run(name.split(' '), inFile)))
    await daemon.stop()
    for (const { out, err } of [daemon.said, ...others]) assert.ok(!(out + err).includes(password))
    assert.match(others[0]!.out, /^postgres(?:ql)?:\/\/\S+ is up to date\n$/)
  })

  test('all commands work beside it', async (t) => {
    const place = await openKnownPlace(t)
    const daemon = await running(t, place)
    const json = <T>(...args: string[]) => runJson<T>(args, place)
    assert.deepEqual((await json<{ migrated: boolean }>('migrate')).migrated, true)
    const { id } = await json<{ id: number }>('client', 'create', 'Acme')
    const client = ['--client', String(id)]
    const made = await json<{ id: number; token: string }>('token', 'create', ...client, '--role', 'admin')
    const headers = { authorization: `Bearer ${made.token}` }
    assert.equal((await fetch(`${daemon.url}/api/v1/tags`, { headers })).status, 200)
    assert.equal((await json<unknown[]>('token', 'list', ...client)).length, 1)
    await json('token', 'revoke', String(made.id))
    await until(
      'the token is refused',
      async () => (await fetch(`${daemon.url}/api/v1/tags`, { headers })).status === 401,
    )
    const list = await json<{ id: number; name: string }>('list', 'create', 'News', ...client)
    assert.equal(list.name, 'News')
    await writeFile(join(place.cwd, 'people.csv'), 'email\nada@example.org\n')
    assert.equal((await json<{ created: number }>('import', 'people.csv', '--list', String(list.id))).created, 1)
    await json('identity', 'add', ...client, '--email', 'ada@example.org', '--name', 'Ada')
    assert.equal((await json<unknown[]>('identity', 'list', ...client)).length, 1)
    assert.equal((await json<unknown[]>('client', 'list')).length, 2)
    assert.deepEqual(await json('secrets', 'reseal'), { resealed: 0 })
    assert.match(await errorLineOf(['backup', 'copy.db'], place), /pg_dump/)
    assert.match(await errorLineOf(['restore', 'copy.db'], place), /pg_restore/)
  })

  test('reports its health and its metrics', async (t) => {
    const daemon = await running(t, await openKnownPlace(t))
    assert.equal(await statusOf(daemon.url, '/readyz'), 200)
    const page = await (await fetch(`${daemon.url}/metrics`)).text()
    assert.match(page, /^mailkeep_database_connections\{state="total"\} [1-9]/m)
    assert.match(page, /^mailkeep_oldest_due_delivery_seconds 0/m)
    assert.doesNotMatch(page, /mailkeep_write_group_size/)
  })

  test('does not start, and gives the reason in one line, when the database or its key is wrong', async (t) => {
    const place = await openKnownPlace(t)
    assert.equal((await run(['migrate'], place)).code, 0)
    const closedPort = createServer().listen(0, '127.0.0.1')
    await new Promise((resolve) => closedPort.once('listening', resolve))
    const { port } = closedPort.address() as { port: number }
    await new Promise((resolve) => closedPort.close(resolve))
    const elsewhere = new URL(place.url)
    elsewhere.pathname = '/mailkeep_not_there'
    const wrong: [Record<string, string>, RegExp][] = [
      [{ MAILKEEP_DATABASE: `postgres://u:geheim@127.0.0.1:${port}/d` }, /cannot be opened: .*ECONNREFUSED/],
      [{ MAILKEEP_DATABASE: elsewhere.href }, /cannot be opened: database "mailkeep_not_there" does not exist/],
      [{ MAILKEEP_DATABASE: 'postgres://u@host.invalid/d' }, /cannot be opened: getaddrinfo .* host.invalid/],
      [{ MAILKEEP_ENCRYPTION_KEY: '' }, /MAILKEEP_ENCRYPTION_KEY is needed with PostgreSQL/],
      [{ MAILKEEP_ENCRYPTION_KEY: Buffer.alloc(32, 8).toString('base64') }, /key is not this database's/],
      [{ MAILKEEP_DATABASE_POOLER: 'true' }, /schema: Behind a pooler/],
    ]
    for (const [env, said] of wrong) {
      const line = await errorLineOf(['--port', '0'], { ...place, env: { ...place.env, ...env } })
      assert.match(line, said)
      assert.doesNotMatch(line, /geheim/)
    }
  })

  test('answers 503 while the server is down, and recovers automatically when it is back', async (t) => {
    const place = await openKnownPlace(t)
    const { hostname, port } = new URL(place.url)
    const proxy = await openProxy({ host: hostname, port: Number(port || 5432) })
    t.after(() => proxy.close())
    const receiver = await openReceiver()
    t.after(() => receiver.close())
    const through = new URL(place.url)
    through.host = `127.0.0.1:${proxy.port}`
    const daemon = await running(t, { ...place, env: { ...place.env, MAILKEEP_DATABASE: through.href } })
    const hook = { url: receiver.url(), events: ['newsletter.sent'] }
    assert.equal((await daemon.api('POST', '/webhook-endpoints', hook)).status, 201)
    proxy.cut()
    await until('it is not ready', async () => (await statusOf(daemon.url, '/readyz')) === 503)
    const refused = await daemon.api('POST', '/tags', { name: 'vip' })
    assert.equal(refused.status, 503)
    assert.ok(refused.headers.has('retry-after'))
    assert.equal(await statusOf(daemon.url, '/healthz'), 200)
    proxy.mend()
    await until('it is ready', async () => (await statusOf(daemon.url, '/readyz')) === 200)
    assert.equal((await daemon.api('POST', '/tags', { name: 'vip' })).status, 201)
    assert.equal((await daemon.api('POST', '/events', { type: 'newsletter.sent', data: {} })).status, 202)
    await receiver.next()
    assert.deepEqual(await daemon.stop(), [0, null])
  })
})

describe('processes with one role each', { ...needsPostgres, concurrency: 2 }, () => {
  test('one answers HTTP and delivers nothing, one delivers and has no API', async (t) => {
    const place = await openKnownPlace(t)
    const receiver = await openReceiver()
    t.after(() => receiver.close())
    const http = await running(t, { ...place, env: { ...place.env, MAILKEEP_DISPATCH: 'false' } })
    const hook = { url: receiver.url(), events: ['newsletter.sent'] }
    assert.equal((await http.api('POST', '/webhook-endpoints', hook)).status, 201)
    assert.equal((await http.api('POST', '/events', { type: 'newsletter.sent', data: {} })).status, 202)
    const env = { ...place.env, MAILKEEP_METRICS_TOKEN: 'metrics-token' }
    const delivering = await running(t, { ...place, env }, ['dispatch', '--health-port', '0'])
    await receiver.next()
    assert.equal(receiver.received.length, 1)
    const before = await (await fetch(`${http.url}/metrics`)).text()
    assert.match(before, /^mailkeep_deliveries_total\{outcome="success"\} 0$/m)
    await until('the delivery is counted', async () => {
      const headers = { authorization: 'Bearer metrics-token' }
      const page = await (await fetch(`${delivering.url}/metrics`, { headers })).text()
      return page.includes('mailkeep_deliveries_total{outcome="success"} 1\n')
    })
    assert.equal(await statusOf(delivering.url, '/metrics'), 401)
    assert.equal(await statusOf(delivering.url, '/healthz'), 200)
    assert.equal(await statusOf(delivering.url, '/readyz'), 200)
    assert.equal((await delivering.api('GET', '/tags')).status, 404)
    assert.deepEqual(await delivering.stop(), [0, null])
  })

  test('one that delivers listens only if configured to, and creates no first token', async (t) => {
    const place = await openKnownPlace(t)
    const delivering = await running(t, place, ['dispatch'])
    assert.deepEqual(JSON.parse(delivering.said.out), { delivering: true })
    assert.deepEqual(await place.ask('select 1 from mailkeep_client'), [])
    assert.deepEqual(await delivering.stop('SIGINT'), [0, null])
    const { code, err } = await run(['dispatch', '--health-port', 'x'], place)
    assert.deepEqual([code, err], [2, 'mailkeep: --health-port must be a whole number from 0 to 65535.\n'])
  })
})
