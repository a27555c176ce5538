import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { chmod, chown, mkdir, readdir, readFile, rename, rm, stat, writeFile } from 'node:fs/promises'
import { type IncomingMessage, request } from 'node:http'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { describe, type TestContext, test } from 'node:test'
import Database from 'better-sqlite3'
import { createApi } from '../../daemon/api/index.ts'
import { createMetrics } from '../../daemon/metrics.ts'
import { createMailkeep, type Mailkeep } from '../../lib/index.ts'
import { sqlite } from '../../lib/storage/sqlite.ts'
import { withBody } from '../support/api-request.ts'
import { until } from '../support/harness.ts'
import { openReceiver } from '../support/http-receiver.ts'
import { collect, commandLine, daemon, directory, errorLineOf, listening, run, runJson } from '../support/program.ts'
import { children } from './process-group.ts'

interface Finding {
  check: string
  state: string
  message: string
  remedy?: string
}

const secretAdmin = `secret-admin-${'x'.repeat(32)}`

async function openMailkeep(t: TestContext, database = ':memory:'): Promise<Mailkeep> {
  const mailkeep = await createMailkeep({
    database: sqlite(database),
    encryptionKey: Buffer.alloc(32),
    webhooks: { allowPrivate: true, retryScheduleSeconds: [] },
  })
  t.after(() => mailkeep.close({ timeoutMs: 0 }))
  return mailkeep
}

/** Opens the API without a server, configured like the daemon. */
function apiOf(mailkeep: Mailkeep, token?: string) {
  const { answer } = createApi({ mailkeep, metrics: createMetrics(mailkeep, token) })
  return (target: string, headers: Record<string, string> = {}, method = 'GET') =>
    answer({ method, target, headers, ...withBody() })
}

/** Returns the value of a metric on the page. */
function figure(page: string | undefined, name: string): number {
  const line = page?.split('\n').find((each) => each.startsWith(`${name} `))
  assert.ok(line, `${name} is missing`)
  return Number(line.slice(name.length + 1))
}

/** Starts a daemon on a socket that it inherits, as from systemd. */
async function onInheritedSocket(t: TestContext, processes: number, path?: string) {
  const cwd = await directory(t)
  const socket = createServer()
  if (path === undefined) socket.listen(0, '127.0.0.1')
  else socket.listen(path)
  await once(socket, 'listening')
  const { port } = socket.address() as { port: number }
  const { fd } = (socket as unknown as { _handle: { fd: number } })._handle
  const words = commandLine(['--json', '--port', '1', '--processes', String(processes)]).map((word) => `'${word}'`)
  const child = spawn('/bin/sh', ['-c', `LISTEN_FDS=1 LISTEN_PID=$$ exec ${words.join(' ')}`], {
    cwd,
    stdio: ['ignore', 'pipe', 'pipe', fd],
  })
  t.after(() => {
    child.kill('SIGKILL')
    socket.close()
  })
  const closed = once(child, 'close') as Promise<[number | null, string | null]>
  const running = await listening(child, collect(child), closed, cwd)
  if (path !== undefined) await rename(path, `${path}.kept`) // `close` would delete it
  await new Promise((resolve) => socket.close(resolve)) // from now on only the daemon has it
  if (path !== undefined) await rename(`${path}.kept`, path)
  assert.equal(running.url, path === undefined ? `http://127.0.0.1:${port}` : 'unix:')
  return { child, running, closed }
}

describe('health', () => {
  test('is answered without a token, for GET and HEAD only', async (t) => {
    const ask = apiOf(await openMailkeep(t))
    for (const [path, body] of [
      ['/healthz', '{"status":"ok"}'],
      ['/readyz', '{"status":"ready"}'],
    ] as const) {
      const answer = await ask(path)
      assert.deepEqual([answer.status, answer.body, answer.route], [200, body, path])
      assert.equal((await ask(path, {}, 'HEAD')).body, undefined)
      const { status, headers } = await ask(path, {}, 'POST')
      assert.deepEqual([status, headers.Allow], [405, 'GET, HEAD'])
      assert.equal((await ask(`${path}/x`)).status, 404)
    }
  })

  test('fails with the reason while the database takes no writes, and recovers after that', async (t) => {
    const file = join(await directory(t), 'a.db')
    const mailkeep = await openMailkeep(t, file)
    const ask = apiOf(mailkeep)
    const other = new Database(file)
    t.after(() => other.close())
    other.exec('begin immediate')
    const { status, body, headers } = await ask('/readyz')
    assert.equal(status, 503)
    assert.match(JSON.parse(body!).errors.database[0], /^The database was locked/)
    assert.ok(headers['Retry-After'])
    assert.equal((await ask('/healthz')).status, 200)
    other.exec('rollback')
    await until(
      () => ask('/readyz'),
      (answer) => answer.status === 200,
    )
  })

  test('costs one write per second, however often it is requested', async (t) => {
    const mailkeep = await openMailkeep(t)
    const ask = apiOf(mailkeep)
    const writes = async () => (await mailkeep.stats()).database.groupSizes!.reduce((sum, n, size) => sum + n * size, 0)
    const before = await writes()
    const startedMs = performance.now()
    for (let at = 0; at < 200; at++) await ask('/readyz')
    const seconds = Math.ceil((performance.now() - startedMs) / 1000)
    const made = (await writes()) - before
    assert.ok(made >= 1 && made <= seconds, `${made} writes in ${seconds} s`)
  })
})

describe('metrics', () => {
  test('are public, or require the metrics token if there is one', async (t) => {
    const mailkeep = await openMailkeep(t)
    assert.equal((await apiOf(mailkeep)('/metrics')).status, 200)
    const ask = apiOf(mailkeep, 'metrics-token')
    const { token } = await mailkeep.tokens.create({
      clientId: (await mailkeep.clients.create({ name: 'a' })).id,
      role: 'admin',
    })
    for (const headers of [{}, { authorization: 'Bearer other' }, { authorization: `Bearer ${token}` }]) {
      const { status, body } = await ask('/metrics', headers as Record<string, string>)
      assert.equal(status, 401)
      assert.equal(JSON.parse(body!).code, 'unauthenticated')
    }
    assert.equal((await ask('/metrics', { authorization: 'Bearer metrics-token' })).status, 200)
  })

  test('have values that the text format knows, also where nothing was measured yet', async (t) => {
    const ask = apiOf(await openMailkeep(t))
    const pages = [await ask('/metrics'), await ask('/metrics')] // the second follows before a sample
    const lines = pages.flatMap(({ body }) => body!.split('\n')).filter((line) => line !== '' && !line.startsWith('#'))
    for (const line of lines) assert.match(line, /^[a-z_\d]+(?:\{.*\})? (?:NaN|\+Inf|-?\d[\d.e+-]*)$/)
  })

  test('are not served without a renderer', async (t) => {
    const { answer } = createApi({ mailkeep: await openMailkeep(t) })
    assert.equal((await answer({ method: 'GET', target: '/metrics', headers: {}, ...withBody() })).status, 404)
  })

  test('count deliveries by their outcome, attempts, and endpoints by their state', async (t) => {
    const mailkeep = await openMailkeep(t)
    const receiver = await openReceiver()
    t.after(() => receiver.close())
    receiver.replies(200, 500)
    const client = mailkeep.forClient((await mailkeep.clients.create({ name: 'a' })).id)
    const { id } = await client.webhooks.createEndpoint({ url: receiver.url(), events: ['newsletter.sent'] })
    const other = await client.webhooks.createEndpoint({ url: receiver.url(), events: ['webhook.test'] })
    await client.webhooks.updateEndpoint(other.id, { active: false })
    for (let at = 0; at < 2; at++) await client.events.raise({ type: 'newsletter.sent', data: {} })
    const waiting = await mailkeep.stats()
    assert.deepEqual([waiting.endpointsDue, waiting.endpoints], [1, { active: 1, manual: 1, auto_failures: 0 }])
    assert.ok(waiting.oldestDueSeconds >= 0 && waiting.oldestDueSeconds < 60)
    mailkeep.start()
    await receiver.next(2)
    const stats = await until(
      () => mailkeep.stats(),
      ({ deliveries }) => deliveries.success + deliveries.failed === 2,
    )
    assert.deepEqual(stats.deliveries, { success: 1, failed: 1 })
    assert.deepEqual(stats.attempts, { success: 1, failure: 1, timeout: 0, refused: 0, interrupted: 0, fault: 0 })
    const { body } = await apiOf(mailkeep)('/metrics')
    assert.equal(figure(body, 'mailkeep_deliveries_total{outcome="failed"}'), 1)
    assert.equal(figure(body, 'mailkeep_delivery_attempts_total{outcome="success"}'), 1)
    assert.equal(figure(body, 'mailkeep_delivery_attempt_duration_seconds_count'), 2)
    assert.equal(figure(body, 'mailkeep_endpoints{state="manual"}'), 1)
    assert.equal(figure(body, 'mailkeep_writes_waiting'), 0)
    assert.ok(id && figure(body, 'mailkeep_write_group_size_count') > 0)
  })

  test('count requests by route, never by values that the caller sent', async (t) => {
    const cwd = await directory(t)
    const { url, data } = await daemon(t, { cwd, env: { MAILKEEP_METRICS_TOKEN: 'm' } })
    await data('POST', '/lists', { name: 'News' })
    await data('GET', '/lists/1')
    await fetch(`${url}/nothing/ann@example.com`)
    const page = await (await fetch(`${url}/metrics`, { headers: { authorization: 'Bearer m' } })).text()
    const name = 'mailkeep_http_requests_total'
    assert.equal(figure(page, `${name}{method="POST",route="/api/v1/lists",status="201"}`), 1)
    assert.equal(figure(page, `${name}{method="GET",route="/api/v1/lists/:listId",status="200"}`), 1)
    assert.equal(figure(page, `${name}{method="GET",route="unknown",status="404"}`), 1)
    assert.doesNotMatch(page, /ann|lists\/1/)
    assert.match(page, /^process_resident_memory_bytes /m)
  })
})

describe('mailkeep doctor', { concurrency: 4 }, () => {
  const examine = async (cwd: string, env: Record<string, string> = {}) => {
    const { out, code } = await run(['doctor', '--port', '0', '--json'], { cwd, env })
    const { healthy, findings } = JSON.parse(out) as { healthy: boolean; findings: Finding[] }
    assert.equal(code, healthy ? 0 : 1)
    return { healthy, bad: findings.filter(({ state }) => state !== 'ok') }
  }

  test('finds no fault in a healthy installation, running or not, and changes nothing', async (t) => {
    const cwd = await directory(t)
    assert.deepEqual(await examine(cwd), { healthy: true, bad: [] })
    const { stop, url } = await daemon(t, { cwd })
    assert.deepEqual(await examine(cwd), { healthy: true, bad: [] })
    const { out } = await run(['doctor', '--port', new URL(url).port], { cwd })
    assert.match(out, /^ok +port +a mailkeep answers on 127\.0\.0\.1/m)
    const list = await runJson<{ id: number }>(['list', 'create', 'News', '--client', '1'], { cwd })
    await writeFile(join(cwd, 'people.csv'), 'email\nada@example.org\n')
    await runJson(['import', 'people.csv', '--list', String(list.id)], { cwd })
    const { out: filled } = await run(['doctor', '--port', '0'], { cwd })
    assert.match(filled, /^ok +integrity +the file is whole; 1 contact, 0 deliveries$/m)
    await stop()
    assert.deepEqual(await examine(cwd), { healthy: true, bad: [] })
  })

  const canMount = { skip: process.platform !== 'linux' || process.getuid?.() !== 0 }
  test(
    'says that a file on a read-only file system needs another mount, not a backup or an owner',
    canMount,
    async (t) => {
      const cwd = await directory(t)
      const mount = async (...args: string[]) =>
        (await once(spawn('mount', args, { stdio: 'ignore' }), 'close'))[0] === 0
      if (!(await mount('-t', 'tmpfs', '-o', 'size=4m', 'tmpfs', cwd))) return t.skip('no tmpfs can be mounted')
      try {
        await run(['migrate'], { cwd })
        const path = join(cwd, 'mailkeep.db')
        const expectFault = async () => {
          const found = (await examine(cwd)).bad.filter(({ check }) => check !== 'disk')
          assert.deepEqual([...new Set(found.map(({ check }) => check))], ['permissions'])
          const remedy = 'mount it writable (in a systemd unit: ReadWritePaths=), or set MAILKEEP_DATABASE'
          for (const fault of found) assert.equal(fault.remedy, remedy)
        }
        const db = new Database(path)
        db.exec('select * from mailkeep_client') // creates the -shm
        // The file only, then its index of the log, then its directory too.
        for (const file of [path, `${path}-shm`]) {
          assert.ok((await mount('--bind', file, file)) && (await mount('-o', 'remount,bind,ro', file)))
          await expectFault()
          if (file === path) assert.match(await errorLineOf(['client', 'create', 'Acme'], { cwd }), /cannot be written/)
          await once(spawn('umount', [file], { stdio: 'ignore' }), 'close')
        }
        db.close()
        assert.ok(await mount('-o', 'remount,ro', cwd))
        await expectFault()
      } finally {
        await once(spawn('umount', [cwd], { stdio: 'ignore' }), 'close')
      }
    },
  )

  test('names each fault, and says what to do about it', async (t) => {
    const cwd = await directory(t)
    const path = join(cwd, 'mailkeep.db')
    await run(['migrate'], { cwd })
    const examined = async (env: Record<string, string> = {}) =>
      (await examine(cwd, env)).bad.map(({ check, state, remedy }) => [check, state, typeof remedy])

    assert.deepEqual(await examined({ MAILKEEP_ENCRYPTION_KEY: 'k'.repeat(43) }), [['key', 'fault', 'string']])
    await chmod(path, 0o644)
    assert.deepEqual(await examined(), [['permissions', 'warning', 'string']])
    await chmod(path, 0o600)

    const db = new Database(path)
    db.exec('alter table mailkeep_attempt rename to attempt')
    assert.deepEqual(await examined(), [['schema', 'fault', 'string']])
    db.exec('alter table attempt rename to mailkeep_attempt')
    db.exec(`insert into mailkeep_migration values ('999-future', '2030-01-01T00:00:00.000Z')`)
    db.exec(`insert into mailkeep_client (uuid, name, created_at) values ('u', 'n', '2999-01-01T00:00:00.000Z')`)
    db.close()
    assert.deepEqual(await examined(), [
      ['schema', 'fault', 'string'],
      ['clock', 'fault', 'string'],
    ])

    const key = await readFile(`${path}.key`)
    await rm(`${path}.key`)
    assert.ok((await examined()).some(([check, state]) => check === 'key' && state === 'fault'))
    await writeFile(`${path}.key`, key, { mode: 0o600 })
    const bytes = await readFile(path)
    await writeFile(path, bytes.fill(0xff, 8192, 40_000))
    const broken = await examined()
    assert.doesNotMatch(JSON.stringify((await examine(cwd)).bad), /mailkeep doctor/)
    assert.ok(
      broken.some(([check, state]) => /integrity|database/.test(check!) && state === 'fault'),
      String(broken),
    )
    for (const command of ['serve', 'migrate', 'client list', 'token list', 'export --client 1', 'backup copy.db']) {
      const { err, code } = await run(command.split(' '), { cwd })
      assert.match(
        err,
        /^mailkeep: The database \S*mailkeep\.db is damaged.*mailkeep doctor.*mailkeep restore.*\n$/,
        command,
      )
      assert.equal(code, 1)
    }
  })

  test('warns root of its files in a directory of another user', {
    skip: process.platform === 'win32' || process.getuid?.() !== 0,
  }, async (t) => {
    const cwd = await directory(t)
    await run(['migrate'], { cwd })
    await chown(cwd, 65_534, 65_534)
    const { out } = await run(['doctor', '--port', '0'], { cwd })
    for (const name of ['mailkeep.db', 'mailkeep.db.key']) {
      assert.ok(out.includes(`${join(cwd, name)} belongs to root, and ${cwd} to another user`), out)
    }
    assert.ok(out.includes(`→ chown -R 65534:65534 '${join(cwd, 'mailkeep.db')}'`), out)
    await chown(cwd, 0, 0)
    await chown(join(cwd, 'mailkeep.db'), 65_534, 65_534)
    assert.doesNotMatch((await run(['doctor', '--port', '0'], { cwd })).out, /chown/)
  })

  test('advises to restore a backup only for a file that is damaged or no database', async (t) => {
    const cwd = await directory(t)
    const found = async (MAILKEEP_DATABASE: string) => (await examine(cwd, { MAILKEEP_DATABASE })).bad
    const folder = join(cwd, 'folder')
    await mkdir(folder)
    const isDirectory = { check: 'database', state: 'fault', message: `The database ${folder} is a directory.` }
    assert.deepEqual(await found(folder), [isDirectory])
    const [absent] = await found(join(folder, 'none', 'mailkeep.db'))
    assert.match(`${absent!.message}: ${absent!.remedy}`, /^there is no directory \S*none: create it/)
    const text = join(cwd, 'notes.txt')
    await writeFile(text, 'something else entirely')
    const [foreign] = await found(text)
    assert.match(foreign!.remedy!, /^set MAILKEEP_DATABASE to another file, or .*restore/)
  })

  test("says nothing of mailkeep's schema and key in another program's database", async (t) => {
    const cwd = await directory(t)
    const notes = new Database(join(cwd, 'mailkeep.db'))
    notes.exec('create table notes (text)')
    notes.close()
    const { findings } = JSON.parse((await run(['doctor', '--port', '0', '--json'], { cwd })).out)
    const isAbout = (subject: string) => (findings as Finding[]).filter(({ check }) => check === subject)
    assert.match(isAbout('integrity')[0]!.message, /mailkeep\.db is a database, but not mailkeep's/)
    assert.deepEqual([...isAbout('schema'), ...isAbout('key')], [])
  })

  test('does not promise a database in a directory that is missing', async (t) => {
    const cwd = await directory(t)
    const { out } = await run(['doctor', '--port', '0', '--database', join('none', 'mailkeep.db')], { cwd })
    assert.match(out, /^FAULT +permissions +there is no directory \S*none$/m)
    assert.doesNotMatch(out, /first start creates it/)
  })

  test('says of a key file that cannot be read or has no key what is wrong with it', async (t) => {
    const cwd = await directory(t)
    await run(['migrate'], { cwd })
    const path = join(cwd, 'mailkeep.db.key')
    const found = async () => (await examine(cwd)).bad.find(({ check }) => check === 'key')!
    for (const text of ['', 'no key']) {
      await writeFile(path, text, { mode: 0o600 })
      const { message, remedy } = await found()
      assert.match(message, /mailkeep\.db\.key does not hold the base64 of 32 bytes/)
      assert.match(remedy!, /^restore /)
    }
    await rm(path)
    await mkdir(path)
    const { message, remedy } = await found()
    assert.match(`${message}: ${remedy}`, /cannot be read: EISDIR.*: let the user mailkeep runs as read it/)
  })

  test('reports what keeps a running daemon from its work, such as a file that was moved away', async (t) => {
    const cwd = await directory(t)
    const { url } = await daemon(t, { cwd })
    await rename(join(cwd, 'mailkeep.db'), join(cwd, 'moved.db'))
    const look = () => run(['doctor', '--port', new URL(url).port], { cwd })
    const { out, code } = await until(look, ({ code }) => code !== 0)
    assert.match(
      out,
      /^FAULT +port +the mailkeep on 127\.0\.0\.1:\d+ is not ready: The database file was deleted, moved/m,
    )
    assert.equal(code, 1)
  })

  test('reports a port that another program uses', async (t) => {
    const other = createServer((socket) => socket.destroy()).listen(0, '127.0.0.1')
    await once(other, 'listening')
    t.after(() => other.close())
    const { port } = other.address() as { port: number }
    const { out, code } = await run(['doctor', '--port', String(port)], { cwd: await directory(t) })
    assert.match(out, /^FAULT +port +127\.0\.0\.1:\d+ is taken by another program\n +→ stop that/m)
    assert.equal(code, 1)
  })
})

describe('start and stop', { concurrency: 4 }, () => {
  test('a newer version’s database is refused in one line by every command, and left unchanged', async (t) => {
    const cwd = await directory(t)
    await run(['migrate'], { cwd })
    const db = new Database(join(cwd, 'mailkeep.db'))
    db.exec(`insert into mailkeep_migration values ('999-future', '2030-01-01T00:00:00.000Z')`)
    db.close()
    const before = await readFile(join(cwd, 'mailkeep.db'))
    for (const args of [['serve', '--port', '0'], ['migrate'], ['client', 'list']]) {
      assert.match(await errorLineOf(args, { cwd }), /made by a newer mailkeep \(it has 999-future\): run that version/)
    }
    assert.deepEqual(await readFile(join(cwd, 'mailkeep.db')), before)
  })

  for (const processes of [1, 2]) {
    test(`a socket from systemd is used by ${processes === 1 ? 'one process' : 'two processes'}`, {
      skip: process.platform === 'win32',
    }, async (t) => {
      const { running } = await onInheritedSocket(t, processes)
      assert.equal((await fetch(`${running.url}/healthz`)).status, 200)
      assert.deepEqual(await running.stop(), [0, null])
    })
  }

  for (const processes of [1, 2]) {
    test(`a Unix socket from systemd is used by ${processes === 1 ? 'one process' : 'two processes'}`, {
      skip: process.platform === 'win32',
    }, async (t) => {
      const socketPath = join(await directory(t), 'mailkeep.sock')
      const { running } = await onInheritedSocket(t, processes, socketPath)
      const asked = request({ socketPath, path: '/healthz' }).end()
      const [answer] = (await once(asked, 'response')) as [IncomingMessage]
      assert.equal(answer.resume().statusCode, 200)
      assert.deepEqual(await running.stop(), [0, null])
    })
  }

  test('with a socket from systemd, stopping processes that are starting is no error', {
    skip: process.platform === 'win32',
  }, async (t) => {
    const { running } = await onInheritedSocket(t, 4)
    assert.deepEqual(await running.stop(), [0, null])
    assert.doesNotMatch(running.said.err, /EINVAL|EADDR|Error/)
  })

  test('with a socket from systemd, it ends when all processes have crashed, so that systemd starts it again', {
    skip: process.platform === 'win32',
  }, async (t) => {
    const { child, running, closed } = await onInheritedSocket(t, 2)
    await until(
      async () => children(child.pid!).length,
      (count) => count === 2,
    )
    for (const id of children(child.pid!)) process.kill(id, 'SIGKILL')
    assert.deepEqual(await closed, [1, null])
    assert.match(running.said.err, /mailkeep: All processes have crashed, .*: start mailkeep again\.\n$/)
  })

  test('all files are readable by their owner only, whatever the umask', {
    skip: process.platform === 'win32',
  }, async (t) => {
    const cwd = await directory(t)
    const usual = process.umask(0)
    t.after(() => process.umask(usual))
    const { data, stop } = await daemon(t, { cwd })
    process.umask(0)
    await data('POST', '/lists', { name: 'News' })
    await runJson(['backup', 'copy.db'], { cwd })
    const modes = async () => {
      const files = await readdir(cwd)
      return Promise.all(files.sort().map(async (name) => [name, (await stat(join(cwd, name))).mode & 0o777]))
    }
    const names = ['copy.db', 'copy.db.key', 'mailkeep.db', 'mailkeep.db-shm', 'mailkeep.db-wal']
    const all = [...names, 'mailkeep.db.admin-token', 'mailkeep.db.key', 'mailkeep.db.process-1']
    assert.deepEqual(
      await modes(),
      all.map((name) => [name, 0o600]),
    )
    await stop()
  })

  test('secrets are in no output of a command, and in no error message', async (t) => {
    const cwd = await directory(t)
    const key = randomBytes(32).toString('base64')
    const env = {
      MAILKEEP_ADMIN_TOKEN: secretAdmin,
      MAILKEEP_METRICS_TOKEN: 'secret-metrics',
      MAILKEEP_ENCRYPTION_KEY: key,
    }
    const { url, stop } = await daemon(t, { cwd, env: { ...env, MAILKEEP_LOG_LEVEL: 'trace' } })
    const made = await fetch(`${url}/api/v1/webhook-endpoints`, {
      method: 'POST',
      headers: { authorization: `Bearer ${secretAdmin}`, 'content-type': 'application/json' },
      body: '{"url":"https://example.com/","events":["webhook.test"]}',
    })
    const { secret } = ((await made.json()) as { data: { secret: string } }).data
    assert.match(secret, /^whsec_/)
    // The daemon's port: the start of another daemon on it must fail with a message.
    const taken = { ...env, MAILKEEP_PORT: new URL(url).port }
    const commands = [
      'doctor',
      'client list',
      'token list',
      'migrate',
      'backup copy.db',
      'secrets reseal',
      'nonsense',
      'serve',
    ]
    for (const command of commands) {
      for (const words of [[], ['--json']]) {
        const { out, err } = await run([...command.split(' '), ...words], { cwd, env: taken })
        for (const hidden of [secretAdmin, 'secret-metrics', key, secret]) {
          assert.ok(!`${out}${err}`.includes(hidden), `${command} prints a secret`)
        }
      }
    }
    await stop()
  })

  test('secrets are in no process list and in no log', async (t) => {
    const cwd = await directory(t)
    const secrets = { MAILKEEP_ADMIN_TOKEN: secretAdmin, MAILKEEP_METRICS_TOKEN: 'secret-metrics' }
    const env = { ...secrets, MAILKEEP_ENCRYPTION_KEY: `secretKey${'k'.repeat(34)}`, MAILKEEP_LOG_LEVEL: 'trace' }
    const { child, said, url, stop } = await daemon(t, { cwd, env })
    for (const token of [secretAdmin, 'secret-wrong']) {
      const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' }
      await fetch(`${url}/metrics`, { headers })
      const body = '{"url":"https://example.com/","events":["webhook.test"]}'
      const made = await fetch(`${url}/api/v1/webhook-endpoints`, { method: 'POST', headers, body })
      assert.equal(made.status, token === secretAdmin ? 201 : 401)
    }
    if (process.platform === 'linux') {
      assert.doesNotMatch(await readFile(`/proc/${child.pid}/cmdline`, 'utf8'), /secret/)
    }
    await stop()
    assert.doesNotMatch(said.out + said.err, /secret|whsec_/)
    await assert.rejects(runJson(['client', 'list', '--encryption-key', 'secretKey'], { cwd }), (error: Error) => {
      assert.doesNotMatch(error.message, /secretKey/)
      return true
    })
  })
})
