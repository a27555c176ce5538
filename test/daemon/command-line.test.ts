import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { mkdir, open, readdir, readFile, stat, writeFile } from 'node:fs/promises'
import { type AddressInfo, connect, createServer } from 'node:net'
import { join } from 'node:path'
import { describe, type TestContext, test } from 'node:test'
import { readArguments } from '../../daemon/arguments.ts'
import { serve } from '../../daemon/commands/serve.ts'
import { type Flags, readConfig } from '../../daemon/config.ts'
import { version } from '../../lib/index.ts'
import * as program from '../support/program.ts'
import { directory, type Environment } from '../support/program.ts'

const ownToken = 'my-own-token-0123456789-0123456789'

const start = (cwd: string, args: readonly string[], env: Environment = {}) => program.start(args, { cwd, env })
const run = (cwd: string, args: readonly string[], env: Environment = {}) => program.run(args, { cwd, env })
const runJson = <T>(cwd: string, args: readonly string[], env: Environment = {}) =>
  program.runJson<T>(args, { cwd, env })

/** Starts a daemon that is stopped after the test, and waits until it listens. */
async function daemon(t: TestContext, cwd: string, args: readonly string[] = [], env: Environment = {}) {
  const { child, said, closed } = start(cwd, ['--port', '0', ...args], env)
  t.after(() => child.kill('SIGKILL'))
  const ready = /listens on (http:\S+)|"url":"([^"]+)".*\n/
  while (!ready.test(said.out)) {
    const ended = await Promise.race([once(child.stdout!, 'data').then(() => false), closed.then(() => true)])
    assert.ok(!ended, `the daemon ended: ${said.err}`)
  }
  const [, text, json] = ready.exec(said.out) ?? []
  const stop = async (signal: NodeJS.Signals = 'SIGTERM') => {
    child.kill(signal)
    return await closed
  }
  return { child, said, url: (text ?? json)!, stop, closed }
}

async function ask(url: string, token: string, path = '/api/v1/tags', init: RequestInit = {}): Promise<Response> {
  return await fetch(url + path, { ...init, headers: { authorization: `Bearer ${token}`, ...init.headers } })
}

/** Starts the service in this process with these flags and variables. */
async function inProcess(t: TestContext, terminal: boolean, flags: Flags, env: Environment = {}) {
  const { config } = readConfig(env, { port: '0', 'log-level': 'silent', ...flags })
  let stop = () => {}
  const stopped = new Promise<void>((resolve) => {
    stop = resolve
  })
  const logger = { debug() {}, info() {}, warn() {}, error() {} }
  let ended: Promise<void> = Promise.resolve()
  const said = await new Promise<{ text: string; json: unknown }>((print, reject) => {
    const output = process.stdout // no test output goes through it
    ended = serve.run({ args: [], flags: {}, config, logger, print, output, json: false, terminal, stopped })
    ended.catch(reject)
  })
  t.after(stop)
  const [, url = ''] = /^mailkeep listens on (\S+)/.exec(said.text) ?? []
  return {
    ...said,
    url,
    stop: () => {
      stop()
      return ended
    },
  }
}

async function modeOf(path: string): Promise<number> {
  return (await stat(path)).mode & 0o777
}

describe('the daemon', { concurrency: 4 }, () => {
  test('first start writes an admin token to a file and shows how to use it; a second start does not mention it', async (t) => {
    const cwd = await directory(t)
    const first = await daemon(t, cwd)
    const path = join(cwd, 'mailkeep.db.admin-token')
    assert.equal(
      first.said.out.split('\n')[3],
      `Try it: curl -H "Authorization: Bearer $(cat ${path})" ${first.url}/api/v1/tags`,
    )
    for (const file of ['mailkeep.db', 'mailkeep.db.admin-token', 'mailkeep.db.key']) {
      assert.equal(await modeOf(join(cwd, file)), 0o600, file)
    }
    const token = (await readFile(path, 'utf8')).trim()
    assert.match(token, /^mk_.{40}/)
    assert.ok(!`${first.said.out}${first.said.err}`.includes(token))
    assert.equal((await ask(first.url, token)).status, 200)
    assert.equal((await ask(first.url, 'mk_other')).status, 401)
    assert.deepEqual(await first.stop(), [0, null])

    const second = await daemon(t, cwd)
    assert.equal(second.said.out, `mailkeep listens on ${second.url}\n`)
    assert.equal((await ask(second.url, token)).status, 200)
    assert.deepEqual(await second.stop('SIGINT'), [0, null])
    assert.deepEqual(await readdir(cwd), [
      'mailkeep.db',
      'mailkeep.db.admin-token',
      'mailkeep.db.key',
      'mailkeep.db.process-1',
    ])
  })

  test('the token file exists as soon as the daemon answers', async (t) => {
    const cwd = await directory(t)
    const server = createServer().listen(0, '127.0.0.1')
    await once(server, 'listening')
    const { port } = server.address() as AddressInfo
    server.close()
    const { child, closed } = start(cwd, ['--port', String(port)])
    t.after(() => child.kill('SIGKILL'))
    const isUp = () =>
      fetch(`http://127.0.0.1:${port}/healthz`).then(
        () => true,
        () => false,
      )
    while (child.exitCode === null && !(await isUp()));
    assert.match(await readFile(join(cwd, 'mailkeep.db.admin-token'), 'utf8'), /^mk_/)
    child.kill('SIGTERM')
    await closed
  })

  test('the token file of an earlier database with the same name is replaced', async (t) => {
    const database = join(await directory(t), 'a.db')
    const path = `${database}.admin-token`
    await writeFile(path, 'stale', { mode: 0o644 })
    const { url, stop } = await inProcess(t, false, { database })
    assert.equal(await modeOf(path), 0o600)
    assert.equal((await ask(url, (await readFile(path, 'utf8')).trim())).status, 200)
    await stop()
  })

  test('a configured admin token is used and never shown', async (t) => {
    const cwd = await directory(t)
    const file = join(cwd, 'my token')
    await writeFile(file, `${ownToken}\n`)
    const configured: [Environment, string][] = [
      [{ MAILKEEP_ADMIN_TOKEN: ownToken }, '$MAILKEEP_ADMIN_TOKEN'],
      [{ MAILKEEP_ADMIN_TOKEN_FILE: file }, `$(cat '${file}')`],
    ]
    for (const [env, inShell] of configured) {
      const database = join(cwd, `${Object.keys(env)}.db`)
      const { url, text, json, stop } = await inProcess(t, true, { database }, env)
      assert.equal(text.split('\n')[2], `Try it: curl -H "Authorization: Bearer ${inShell}" ${url}/api/v1/tags`)
      assert.deepEqual(Object.keys(json as object), ['url', 'host', 'port'])
      assert.equal((await ask(url, ownToken)).status, 200)
      await stop()
    }
    assert.ok(!(await readdir(cwd)).some((name) => name.endsWith('.admin-token')))
  })

  test('the token of a database in memory is shown, because there is no place to store it', async (t) => {
    const { url, json, stop } = await inProcess(t, false, { database: ':memory:' })
    const { admin_token: token, ...rest } = json as Record<string, string>
    assert.deepEqual(rest, { url, host: '127.0.0.1', port: Number(new URL(url).port) })
    assert.equal((await ask(url, token!)).status, 200)
    await stop()
  })

  test('two simultaneous first starts create one client, one key and one token', async (t) => {
    const cwd = await directory(t)
    const both = await Promise.all([daemon(t, cwd), daemon(t, cwd)])
    assert.equal(both.filter(({ said }) => said.out.includes('admin-token')).length, 1)
    const token = (await readFile(join(cwd, 'mailkeep.db.admin-token'), 'utf8')).trim()
    for (const { url } of both) assert.equal((await ask(url, token)).status, 200)
    assert.deepEqual(
      (await runJson<{ id: number }[]>(cwd, ['client', 'list'])).map(({ id }) => id),
      [1],
    )
    for (const { stop } of both) assert.deepEqual(await stop(), [0, null])
  })

  test('on a terminal the first token is shown once', async (t) => {
    const cwd = await directory(t)
    const flags = { database: join(cwd, 'a.db') }
    const first = await inProcess(t, true, flags)
    const [, token = ''] = /The first admin token, not shown again: (mk_.{43})\n/.exec(first.text) ?? []
    assert.equal((await ask(first.url, token)).status, 200)
    assert.ok(first.text.includes(`\nMail is not sent but written to the folder ${join(cwd, 'mail')}\n`), first.text)
    await first.stop()
    const second = await inProcess(t, true, flags)
    assert.equal(second.text, `mailkeep listens on ${second.url}`)
    await second.stop()
    assert.deepEqual(await readdir(cwd), ['a.db', 'a.db.key', 'a.db.process-1'])
  })

  test('a start that fails because its port is in use leaves the first token to the next start', async (t) => {
    const flags = { database: join(await directory(t), 'a.db') }
    const other = createServer().listen(0, '127.0.0.1')
    await once(other, 'listening')
    t.after(() => other.close())
    const { port } = other.address() as { port: number }
    await assert.rejects(inProcess(t, true, { ...flags, port: String(port) }), (error: Error) => {
      assert.match(
        error.message,
        /^Port \d+ of 127\.0\.0\.1 is in use by another program \(EADDRINUSE\): .*MAILKEEP_PORT/,
      )
      return true
    })
    const { text, stop } = await inProcess(t, true, flags)
    assert.match(text, /The first admin token/)
    await stop()
  })

  test('with --json prints one value at the start, and logs requests on standard error without secrets', async (t) => {
    const args = ['--json', '--public-url', 'https://mail.example.com/base/']
    const { url, said, stop } = await daemon(t, await directory(t), args, { MAILKEEP_ADMIN_TOKEN: ownToken })
    assert.deepEqual(JSON.parse(said.out), { url, host: '127.0.0.1', port: Number(new URL(url).port) })
    const listing = await ask(url, ownToken, '/api/v1/contacts?search=ann@example.com')
    const { meta } = (await listing.json()) as { meta: { path: string } }
    assert.equal(meta.path, 'https://mail.example.com/base/api/v1/contacts')
    await ask(url, ownToken, '/api/v1/ann@example.com')
    await stop()
    const lines = said.err
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line))
    const requests = lines.filter(({ msg }) => msg === 'request')
    assert.deepEqual(
      requests.map(({ method, path, status }) => [method, path, status]),
      [
        ['GET', '/api/v1/contacts', 200],
        ['GET', 'unknown', 404],
      ],
    )
    assert.doesNotMatch(`${said.out}${said.err}`, /my-own-token|ann/)
  })

  test('stopping finishes the request in progress; a second signal stops immediately', async (t) => {
    for (const insists of [false, true]) {
      const args = ['--database', ':memory:']
      const { child, url, closed } = await daemon(t, await directory(t), args, { MAILKEEP_ADMIN_TOKEN: ownToken })
      const socket = connect(Number(new URL(url).port), '127.0.0.1')
      let received = ''
      socket.setEncoding('utf8').on('data', (text) => {
        received += text
      })
      socket.on('error', () => {})
      socket.write(`POST /api/v1/tags HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${ownToken}\r\n`)
      socket.write('Expect: 100-continue\r\n')
      socket.write('Content-Type: application/json\r\nContent-Length: 12\r\n\r\n')
      // After 100 Continue the request is certainly in progress.
      await once(socket, 'data')
      child.kill('SIGTERM')
      while (
        await fetch(url).then(
          () => true,
          () => false,
        )
      );
      if (insists) {
        const again = setInterval(() => child.kill('SIGTERM'), 50)
        assert.deepEqual(await closed, [143, null])
        clearInterval(again)
      } else {
        socket.write('{"name":"x"}')
        assert.deepEqual(await closed, [0, null])
        assert.match(received, /HTTP\/1.1 201 .*Connection: close.*"name":"x"/s)
      }
    }
  })
})

const refusedLine = 'mailkeep: 1 row of 2 rows was refused (--allow-refused exits with 0).'

describe('commands', { concurrency: 4 }, () => {
  test('work beside a running daemon', async (t) => {
    const cwd = await directory(t)
    const { url } = await daemon(t, cwd)
    const client = await runJson<{ id: number; name: string }>(cwd, ['client', 'create', '007'])
    assert.deepEqual([client.id, client.name], [2, '007'])
    const forClient = ['--client', '2']
    const made = await runJson<{ id: number; token: string; expires_at: string }>(cwd, [
      'token',
      'create',
      ...forClient,
      '--role',
      'member',
      '--expires-in',
      '90d',
    ])
    assert.ok(Math.abs(Date.parse(made.expires_at) - Date.now() - 90 * 86_400_000) < 60_000)
    assert.equal((await ask(url, made.token)).status, 200)

    const list = await runJson<{ id: number }>(cwd, ['list', 'create', ...forClient, 'News'])
    assert.equal((await ask(url, made.token, `/api/v1/lists/${list.id}`)).status, 200)
    const identity = await runJson(cwd, [
      'identity',
      'add',
      ...forClient,
      '--email',
      'a@example.com',
      '--name',
      'Ann',
      '--status',
      'verified',
    ])
    assert.deepEqual(await runJson(cwd, ['identity', 'list', ...forClient]), [identity])

    const tokens = await runJson<{ id: number }[]>(cwd, ['token', 'list', ...forClient])
    assert.deepEqual(
      tokens.map(({ id }) => id),
      [made.id],
    )
    assert.deepEqual(await runJson(cwd, ['token', 'revoke', String(made.id)]), { id: made.id, revoked: true })
    assert.equal((await ask(url, made.token)).status, 401)
    assert.equal((await runJson<unknown[]>(cwd, ['client', 'list'])).length, 2)
  })

  test('import contacts from files and export them, beside a running daemon', async (t) => {
    const cwd = await directory(t)
    await daemon(t, cwd)
    const { id } = await runJson<{ id: number }>(cwd, ['client', 'create', 'Acme'])
    const list = await runJson<{ id: number }>(cwd, ['list', 'create', 'News', '--client', String(id)])
    await writeFile(join(cwd, 'people.csv'), 'email,tags,city\nada@example.org,vip,Bonn\nnobody,,\n')
    const to = ['--list', String(list.id)]
    const first = await run(cwd, ['import', 'people.csv', ...to, '--json'])
    assert.deepEqual([first.code, first.err], [2, `${refusedLine}\n`])
    assert.deepEqual(JSON.parse(first.out), {
      total: 2,
      created: 1,
      updated: 0,
      refused: 1,
      refused_rows: [{ line: 3, errors: { email: ['This must be an e-mail address.'] } }],
    })
    const again = await run(cwd, ['import', 'people.csv', ...to, '--allow-refused'])
    assert.deepEqual([again.code, again.err], [0, ''])
    assert.equal(again.out, '2 rows: 0 new, 1 there before, 1 refused\nline 3: email must be an e-mail address.\n')
    const of = ['--client', String(id)]
    const [ada, ...others] = await runJson<{ email: string }[]>(cwd, ['export', ...of])
    assert.deepEqual([ada!.email, others], ['ada@example.org', []])
    const lines = await run(cwd, ['export', ...of])
    assert.deepEqual(JSON.parse(lines.out), ada)
    const csv = await run(cwd, ['export', ...of, '--format', 'csv'])
    assert.match(csv.out, /^id,uuid,name,email,.*\r\n\d+,.*,ada@example\.org,"\{""city"":""Bonn""\}",.*\r\n$/)
    assert.deepEqual(await runJson(cwd, ['export', '--client', '1']), [])
    await writeFile(join(cwd, 'moved'), csv.out)
    const moved = await runJson(cwd, ['import', 'moved', '--format', 'csv', ...to])
    assert.deepEqual(moved, { total: 1, created: 0, updated: 1, refused: 0, refused_rows: [] })
    for (const [args, code, said] of [
      [['import', 'nothing.csv', ...to], 1, /no such file/],
      [['import', 'people.csv', '--list', '99'], 1, /There is no list 99/],
      [['import', 'moved', ...to], 2, /Is moved CSV or NDJSON\?/],
      [['import', 'people.csv'], 2, /needs --list/],
      [['import', ...to], 2, /needs FILE/],
      [['export', ...of, '--format', 'xml'], 2, /--format must be csv or ndjson/],
      [['export', '--client', '99'], 1, /No such client/],
    ] as const) {
      const failed = await run(cwd, args)
      assert.deepEqual([failed.code, failed.out], [code, ''], args.join(' '))
      assert.match(failed.err, said)
    }
  })

  test('create the database they need', async (t) => {
    const cwd = await directory(t)
    assert.deepEqual(await runJson(cwd, ['migrate', '--database', 'new.db']), { database: 'new.db', migrated: true })
    assert.deepEqual(await readdir(cwd), ['new.db', 'new.db.key'])
    assert.equal((await run(cwd, ['client', 'list', '--database', 'new.db'])).out, 'no clients\n')
  })

  test('print text for people, and names cannot inject terminal control sequences', async (t) => {
    const cwd = await directory(t)
    const { out } = await run(cwd, ['client', 'create', 'a\u001b[31mb'])
    assert.equal(out, '1  a?[31mb\nIt has no token yet: mailkeep token create --client 1 --role admin\n')
    const { out: token } = await run(cwd, ['token', 'create', '--client', '1', '--role', 'admin'])
    assert.match(token, /^token 1 of client 1, admin; it is not shown again:\nmk_.{43}\n$/)
  })

  test('take --json after the separator as an argument', async (t) => {
    const cwd = await directory(t)
    const { out } = await run(cwd, ['client', 'create', '--json', '--', '--json'])
    assert.equal(JSON.parse(out).name, '--json')
    const { err, code } = await run(cwd, ['client', 'list', '--', '--json'])
    assert.deepEqual([err, code], ['mailkeep: client list does not take "--json".\n', 2])
  })

  test('report a failure in one line on standard error, and print nothing on standard output', async (t) => {
    const cwd = await directory(t)
    await run(cwd, ['migrate'])
    const failing = [
      ['token', 'revoke', '99'],
      ['token', 'create', '--client', '99', '--role', 'admin'],
      ['list', 'create', 'x', '--client', '99'],
      ['identity', 'list', '--client', '99'],
      ['client', 'rename', '99', 'x'],
    ]
    for (const { out, err, code } of await Promise.all(failing.map((args) => run(cwd, [...args, '--json'])))) {
      assert.equal(out, '')
      assert.match(err, /^mailkeep: .+\n$/)
      assert.equal(code, 1)
    }
  })

  test('print the version as one JSON value when that is asked for', async (t) => {
    const cwd = await directory(t)
    for (const words of [
      ['--version', '--json'],
      ['--json', '-v'],
    ]) {
      const { name, version: printed, commit } = JSON.parse((await run(cwd, words)).out)
      assert.deepEqual([name, printed], ['mailkeep', version])
      assert.ok(commit === null || typeof commit === 'string')
    }
  })

  test('report wrong usage in one line and exit with 2', async (t) => {
    const cwd = await directory(t)
    const wrong = [
      ['frobnicate'],
      ['token', 'create', '--client', 'one', '--role', 'admin'],
      ['--admin-token', 'geheim'],
      ['client', 'list', '--json=1'],
      // better-sqlite3 trims the name of a file.
      ['backup', ' copy.db'],
      ['restore', 'copy.db '],
      ['copy', '--from', ' copy.db', '--to', 'postgres://localhost/mailkeep'],
    ]
    for (const { out, err, code } of await Promise.all(wrong.map((args) => run(cwd, args)))) {
      assert.equal(out, '')
      assert.match(err, /^mailkeep: .+\n$/)
      assert.doesNotMatch(err, /geheim/)
      assert.equal(code, 2, err)
    }
    assert.deepEqual(await readdir(cwd), [])
  })

  test('name the flag or argument whose value an operation refuses, and exit with 2', async (t) => {
    const cwd = await directory(t)
    await run(cwd, ['client', 'create', 'Acme'])
    const [of, long] = [['--client', '1'], 'x'.repeat(256)]
    const refused: [string[], string][] = [
      [['token', 'create', ...of, '--role', 'admin', '--expires-in', '999999w'], '--expires-in: A token cannot last'],
      [['token', 'create', ...of, '--role', 'admin', '--name', long], '--name must have at most'],
      [['client', 'create', ''], 'NAME must not be empty'],
      [['client', 'rename', '1', long], 'NAME must have at most'],
      [['list', 'create', ' ', ...of], 'NAME must not be empty'],
      [['identity', 'add', ...of, '--email', 'news', '--name', 'News'], '--email must be an e-mail address'],
      [['identity', 'add', ...of, '--email', 'a@example.org', '--name', long], '--name must have at most'],
      [['suppression', 'add', 'news', ...of], 'EMAIL must be an e-mail address'],
      [['contact', 'history', 'a@b', ...of], 'CONTACT must be an e-mail address'],
    ]
    for (const [words, message] of refused) {
      const { err, code } = await run(cwd, words)
      assert.ok(err.startsWith(`mailkeep: ${message}`), `${words.join(' ')}: ${err}`)
      assert.equal(code, 2, words.join(' '))
    }
  })

  test('with arguments that cannot be parsed are refused', () => {
    const wrong = [
      ['client'],
      ['constructor'],
      ['client', 'create'],
      ['backup', ''],
      ['client', 'create', '--database', 'x.db'],
      ['client', 'create', 'a', 'b'],
      ['client', 'list', '--port', '1'],
      ['token', 'create', '--client', '1'],
      ['token', 'create', '--client', '1', '--client', '2', '--role', 'admin'],
      ['token', 'create', '--client', '--role', 'admin'],
      ['token', 'revoke', '1', '2'],
      ['--port', '0', 'token', 'list'],
      ['--frobnicate'],
      ['--__proto__', 'x'],
      ['--encryption-key=geheim'],
      ['--metrics-token', 'geheim'],
      ['--version', 'x'],
      ['-v', 'client', 'list'],
    ]
    for (const args of wrong) {
      assert.throws(() => readArguments(args, version), { name: 'CliError', exitCode: 2 }, args.join(' '))
    }
  })

  test('take flags before and after their arguments; the default command takes only flags', () => {
    const readLine = (line: string) => {
      const read = readArguments(line.split(' ').filter(Boolean), version)
      assert.ok(typeof read !== 'string')
      const { command, args, own, flags } = read
      return [command.usage, args, own, flags.database]
    }
    assert.deepEqual(readLine(''), ['serve', [], {}, undefined])
    assert.deepEqual(readLine('--database x'), ['serve', [], {}, 'x'])
    assert.deepEqual(readLine('list create 007 --client 1'), ['list create NAME', ['007'], { client: '1' }, undefined])
    assert.deepEqual(readLine('list create --client=1 --database 2 a'), [
      'list create NAME',
      ['a'],
      { client: '1' },
      '2',
    ])
    assert.deepEqual(readLine('client create -- --name'), ['client create NAME', ['--name'], {}, undefined])
  })

  test('tolerate that their output is closed early', async (t) => {
    const cwd = await directory(t)
    const { child, said } = start(cwd, ['client', 'create', 'x'.repeat(200)])
    child.stdout?.destroy()
    assert.deepEqual(await once(child, 'close'), [0, null])
    assert.equal(said.err, '')
  })

  test('fail if their output cannot be written', { skip: !existsSync('/dev/full') && 'no /dev/full' }, async (t) => {
    const cwd = await directory(t)
    await run(cwd, ['client', 'create', 'Acme'])
    const full = await open('/dev/full', 'w')
    t.after(() => full.close())
    const create = ['token', 'create', '--client', '1', '--role', 'admin']
    const [command = '', ...words] = program.commandLine(create)
    const child = spawn(command, words, { cwd, env: {}, stdio: ['ignore', full.fd, 'pipe'] })
    const said = program.collect(child)
    assert.deepEqual(await once(child, 'close'), [1, null])
    assert.equal(said.err, 'mailkeep: The token cannot be shown, and is revoked: ENOSPC: no space left on device.\n')
    const [token] = await runJson<{ revoked_at: string | null }[]>(cwd, ['token', 'list'])
    assert.ok(token?.revoked_at, 'the token is valid')
    const exported = ['export', '--client', '1', '--json']
    for (const args of [['client', 'list', '--json'], exported, ['--help'], ['doctor', '--port', '0']]) {
      const [command = '', ...words] = program.commandLine(args)
      const child = spawn(command, words, { cwd, env: {}, stdio: ['ignore', full.fd, 'pipe'] })
      const said = program.collect(child)
      assert.deepEqual(await once(child, 'close'), [1, null], args.join(' '))
      assert.match(said.err, /^mailkeep: The output cannot be written: ENOSPC: no space left on device\.\n$/)
    }
  })
})

test('a command fails if only a part of its output fits on the disk', {
  skip: process.platform === 'win32',
}, async (t) => {
  const cwd = await directory(t)
  const limited = ['sh', '-c', 'ulimit -f 1 && exec "$@" > out', 'sh', ...program.commandLine(['--help'])]
  const line = await program.errorLineOf([], { cwd, program: limited })
  assert.equal(line, 'mailkeep: The output cannot be written: EFBIG: file too large.\n')
  assert.ok((await stat(join(cwd, 'out'))).size > 0)
})

test('a start that cannot write its key file leaves none', { skip: process.platform === 'win32' }, async (t) => {
  const cwd = await directory(t)
  const limited = ['sh', '-c', 'ulimit -f 0 && exec "$@"', 'sh', ...program.commandLine(['migrate'])]
  const line = await program.errorLineOf([], { cwd, program: limited })
  assert.match(line, /The encryption key .*mailkeep\.db\.key cannot be made: EFBIG: file too large\.$/m)
  assert.deepEqual(await readdir(cwd), [])
})

test('a command that creates nothing says of a missing directory only that the database is not there', async (t) => {
  const cwd = await directory(t)
  for (const command of ['client list', 'export --client 1']) {
    const line = await program.errorLineOf([...command.split(' '), '--database', 'none/x.db'], { cwd })
    assert.match(line, /There is no database at .*none\/x\.db/, command)
  }
})

describe('a start that cannot succeed prints one clear line', { concurrency: 4 }, () => {
  const wrong: readonly [what: string, args: readonly string[], env: Environment, line: RegExp][] = [
    ['a wrong setting', [], { MAILKEEP_PORT: '70000' }, /MAILKEEP_PORT/],
    ['a file that is not a database', ['--database', 'text.db'], {}, /text\.db is not a SQLite database/],
    ['a directory as database', ['--database', 'some'], {}, /some is a directory/],
    [
      'a database in a directory that does not exist',
      ['--database', 'none/x.db'],
      {},
      /there is no directory .*none\. Create it/,
    ],
    [
      'an admin token that is too short',
      [],
      { MAILKEEP_ADMIN_TOKEN: 'x'.repeat(31) },
      /MAILKEEP_ADMIN_TOKEN must have at least 32 characters\.$/m,
    ],
    [
      'an address of another machine',
      ['--host', '192.0.2.1', '--database', ':memory:'],
      {},
      /192\.0\.2\.1 is no address of this machine \(EADDRNOTAVAIL\)/,
    ],
  ]
  for (const [what, args, env, line] of wrong) {
    test(`for ${what}`, async (t) => {
      const cwd = await directory(t)
      await writeFile(join(cwd, 'text.db'), 'this is no database')
      await mkdir(join(cwd, 'some'))
      const { out, err, code } = await run(cwd, ['serve', ...args], { MAILKEEP_PORT: '0', ...env })
      assert.equal(out, '')
      assert.match(err, /^mailkeep: .+\n$/)
      assert.match(err, line)
      assert.equal(code, 1)
      assert.deepEqual(await readdir(cwd), ['some', 'text.db'])
    })
  }

  test('an unknown variable causes only a warning', async (t) => {
    const { err, code } = await run(await directory(t), ['migrate'], { MAILKEEP_PROT: '80' })
    assert.equal(err, 'mailkeep: MAILKEEP_PROT is not a setting of mailkeep: it is ignored.\n')
    assert.equal(code, 0)
  })
})
