/** The command line as operators use it: real processes, on SQLite, and on PostgreSQL where the database matters. */
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { link, mkdir, readdir, readFile, rm, stat, symlink, writeFile } from 'node:fs/promises'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { describe, type TestContext, test } from 'node:test'
import Database from 'better-sqlite3'
import { readArguments } from '../../daemon/arguments.ts'
import { argumentsOf, nameOf } from '../../daemon/commands/command.ts'
import { commands } from '../../daemon/commands/index.ts'
import { settingHelp } from '../../daemon/setting-help.ts'
import { flagOf, type SettingName, Settings, secretSettings } from '../../daemon/settings.ts'
import { createMailkeep } from '../../lib/index.ts'
import { postgres } from '../../lib/storage/postgres.ts'
import { sqlite } from '../../lib/storage/sqlite.ts'
import { openMailServer } from '../sending/mail-server.ts'
import { test as databaseTest, onPostgres } from '../support/databases.ts'
import { until } from '../support/harness.ts'
import { openPlace } from '../support/postgres-program.ts'
import {
  collect,
  commandLine,
  daemon,
  directory,
  errorLineOf,
  run,
  runJson,
  type Surroundings,
  start,
} from '../support/program.ts'

interface Place extends Surroundings {
  readonly cwd: string
}

/** Runs a suite on both databases, each with a client that has a list, contacts and an endpoint. */
function onBothDatabases(name: string, suite: (open: (t: TestContext) => Promise<Place>) => void): void {
  describe(`${name}, on SQLite`, () => suite(async (t) => ({ cwd: await directory(t) })))
  onPostgres(`${name}, on PostgreSQL`, () => suite(openPlace))
}

/** Returns the database of a place by the library, because each command is a process. */
async function openOptions({ cwd, env = {} }: Place) {
  const { MAILKEEP_DATABASE: url, MAILKEEP_DATABASE_SCHEMA: schema = '' } = env
  const encryptionKey = env.MAILKEEP_ENCRYPTION_KEY ?? randomBytes(32).toString('base64')
  if (url === undefined) await writeFile(join(cwd, 'mailkeep.db.key'), `${encryptionKey}\n`, { mode: 0o600 })
  const database = url === undefined ? sqlite(join(cwd, 'mailkeep.db')) : postgres(url, { schema })
  return { database, encryptionKey }
}

/** Creates a client with a list and two contacts. */
async function populate(place: Place) {
  await using mailkeep = await createMailkeep(await openOptions(place))
  const client = await mailkeep.clients.create({ name: 'Acme' })
  const { lists, contacts } = mailkeep.forClient(client.id)
  const list = await lists.create({ name: 'News' })
  const people = 'email,name\nAda@example.org,Ada\nbob@example.org,ada@example.org\n'
  await contacts.import(list.id, [people], { format: 'csv' })
  return { client, of: ['--client', String(client.id)], list }
}

/** Runs a command with wrong usage. @returns The line that it prints. */
async function usageErrorOf(args: readonly string[], place: Place): Promise<string> {
  const { out, err, code } = await run(args, place)
  assert.deepEqual([out, code], ['', 2], `${args.join(' ')}: ${err}`)
  assert.match(err, /^mailkeep: .+\n$/)
  return err
}

onBothDatabases('commands', (open) => {
  databaseTest('rename clients, and delete them with all their data only with --yes', async (t) => {
    const place = await open(t)
    const { client, of } = await populate(place)
    const id = String(client.id)
    const renamed = await runJson<{ name: string }>(['client', 'rename', id, 'Acme Ltd'], place)
    assert.equal(renamed.name, 'Acme Ltd')
    await runJson(['token', 'create', ...of, '--role', 'admin'], place)
    const asked = await usageErrorOf(['client', 'delete', id], place)
    assert.equal(
      asked,
      `mailkeep: client ${id} (Acme Ltd) with 2 contacts, 1 list, 0 webhook endpoints and 1 token would be deleted: add --yes to do it.\n`,
    )
    assert.equal((await runJson<unknown[]>(['client', 'list'], place)).length, 1)
    assert.deepEqual(await runJson(['client', 'delete', id, '--yes'], place), { id: client.id, deleted: true })
    assert.deepEqual(await runJson(['client', 'list'], place), [])
    assert.deepEqual(await runJson(['token', 'list'], place), [])
    assert.match(await errorLineOf(['client', 'delete', id, '--yes'], place), /No such client/)
  })

  databaseTest('refresh of identities without a provider says which setting chooses one', async (t) => {
    const place = await open(t)
    await populate(place)
    assert.match(await errorLineOf(['identity', 'refresh'], place), /set MAILKEEP_MAIL_TRANSPORT to ses/)
  })

  databaseTest('adding an identity with an unknown status is wrong usage', async (t) => {
    const place = await open(t)
    await populate(place)
    const wrong = ['identity', 'add', '--client', '1', '--email', 'b@example.org', '--name', 'B', '--status', 'sure']
    assert.match(await usageErrorOf(wrong, place), /--status must be one of pending, verifying, verified, failed/)
  })

  databaseTest('find contacts by their full address and erase them', async (t) => {
    const place = await open(t)
    const { of, list } = await populate(place)
    const ada = await runJson<{ id: number; email: string }>(['contact', 'find', 'ADA@example.org', ...of], place)
    assert.equal(ada.email, 'Ada@example.org')
    assert.match(
      (await run(['contact', 'find', 'ada@example.org', ...of], place)).out,
      /^id +\d+\nemail +Ada@example.org\n/,
    )
    assert.match(await errorLineOf(['contact', 'find', 'da@example.org', ...of], place), /no contact with this e-mail/)
    const lists = await runJson<{ id: number; name: string }[]>(['list', 'list', ...of], place)
    assert.deepEqual(
      lists.map(({ id, name }) => [id, name]),
      [[list.id, 'News']],
    )
    const erase = ['contact', 'delete', String(ada.id)]
    assert.match(await usageErrorOf(erase, place), /^mailkeep: contact \d+ of client \d+ would be erased, .*add --yes/)
    assert.deepEqual(await runJson([...erase, '--yes', '--suppress'], place), { id: ada.id, deleted: true })
    assert.match(await errorLineOf([...erase, '--yes'], place), /There is no contact/)
    const suppressed = await runJson<{ reason: string }[]>(['suppression', 'list', ...of], place)
    assert.deepEqual(
      suppressed.map(({ reason }) => reason),
      ['erased'],
    )
    await errorLineOf(['contact', 'find', 'ada@example.org', ...of], place)
  })

  databaseTest('name tokens, and token list shows the names', async (t) => {
    const place = await open(t)
    const { of } = await populate(place)
    const made = await runJson<object>(['token', 'create', ...of, '--role', 'member', '--name', 'billing'], place)
    assert.deepEqual(Object.keys(made), ['id', 'token', 'client_id', 'name', 'role', 'created_at', 'expires_at'])
    const { out } = await run(['token', 'list'], place)
    assert.match(out, /^1 {2}client 1 {2}billing {2}member {2}does not expire {2}used never\n$/)
    const viewer = await runJson<{ role: string }>(['token', 'create', ...of, '--role', 'viewer'], place)
    assert.equal(viewer.role, 'viewer')
  })

  databaseTest('show who changed what, by token and type', async (t) => {
    const place = await open(t)
    const { of } = await populate(place)
    await run(['client', 'rename', '1', 'Acme Ltd'], place)
    const entries = await runJson<{ type: string; source: string }[]>(['audit', 'list', ...of], place)
    assert.deepEqual([entries[0]!.type, entries[0]!.source], ['client.updated', 'cli'])
    assert.match(
      (await run(['audit', 'list', ...of, '--type', 'client.updated'], place)).out,
      / client\.updated {2}1 {2}cli\n$/,
    )
    assert.deepEqual(await runJson(['audit', 'list', ...of, '--token', '7'], place), [])
    assert.match(
      await usageErrorOf(['audit', 'list', ...of, '--type', 'x'], place),
      /--type must be one of client\.created/,
    )
  })
})

describe('commands beside a daemon', () => {
  test('show endpoints and their deliveries, by status', async (t) => {
    const place = { cwd: await directory(t), env: { MAILKEEP_WEBHOOK_ALLOW_PRIVATE: 'true' } }
    const { data } = await daemon(t, place, ['--dispatch=false'])
    const { id } = await data<{ id: number }>('POST', '/webhook-endpoints', {
      url: 'http://127.0.0.1:9/',
      events: ['newsletter.sent'],
    })
    for (let n = 0; n < 3; n++) await data('POST', '/events', { type: 'newsletter.sent', data: {} })
    const endpoints = await runJson<{ id: number }[]>(['endpoint', 'list', '--client', '1'], place)
    assert.deepEqual(
      endpoints.map((endpoint) => endpoint.id),
      [id],
    )
    const deliveries = async (...more: string[]) => {
      const found = await runJson<{ id: number }[]>(['endpoint', 'deliveries', String(id), ...more], place)
      return found.map((delivery) => delivery.id)
    }
    assert.deepEqual(await deliveries(), [3, 2, 1])
    assert.deepEqual(await deliveries('--status', 'pending', '--limit', '2'), [3, 2])
    assert.deepEqual(await deliveries('--status', 'failed'), [])
    assert.deepEqual(await deliveries('--since', '2026-01-02T03:04:05Z'), [3, 2, 1])
    assert.deepEqual(await deliveries('--since', '2999-01-02T03:04:05Z'), [])
    const monday = await run(['endpoint', 'deliveries', '1', '--since', 'monday'], place)
    assert.match(monday.err, /^mailkeep: --since must be a time with its offset/)
    assert.equal(monday.code, 2)
    assert.match(
      await usageErrorOf(['endpoint', 'deliveries', '1', '--status', 'lost'], place),
      /--status must be one of/,
    )
    assert.match(await errorLineOf(['endpoint', 'deliveries', '99'], place), /There is no endpoint 99/)
  })

  test('a request logs the id of its token, and never the token', async (t) => {
    const place = { cwd: await directory(t) }
    const { data, said, stop } = await daemon(t, place)
    await data('GET', '/tags')
    await stop()
    const requests = said.err.split('\n').flatMap((line) => (line.includes('"request"') ? [JSON.parse(line)] : []))
    assert.deepEqual(
      requests.map(({ path, tokenId }) => [path, tokenId]),
      [['/api/v1/tags', 1]],
    )
    assert.doesNotMatch(said.err, /mk_/)
  })
})

onBothDatabases('a database of an older version', (open) => {
  databaseTest('is brought up to date by mailkeep migrate, not by commands that work beside its daemon', async (t) => {
    const place = await open(t)
    const { database, encryptionKey } = await openOptions(place)
    const older = { ...database, migrations: database.migrations.slice(0, -1) }
    const last = database.migrations.at(-1)!.name
    const running = await createMailkeep({ database: older, encryptionKey })
    t.after(() => running.close())
    await running.clients.create({ name: 'Acme' })
    for (const args of ['client list', 'export --client 1', 'client rename 1 New', 'secrets reseal']) {
      const line = await errorLineOf(args.split(' '), place)
      assert.ok(line.includes(`The database lacks ${last}: run mailkeep migrate`), args)
    }
    assert.equal((await running.ready()).ready, true)
    await run(['migrate'], place)
    const [client] = await runJson<{ name: string }[]>(['client', 'list'], place)
    assert.equal(client!.name, 'Acme')
  })
})

describe('a wrong directory', { concurrency: 2 }, () => {
  test('gets no database and no key from read-only commands', async (t) => {
    const place = { cwd: await directory(t) }
    const looking = commands.filter((command) => {
      const name = nameOf(command).join(' ')
      return !/^(?:serve|dispatch|migrate|client create|doctor|copy|backup|restore|compact)$/.test(name)
    })
    await writeFile(join(place.cwd, 'people.csv'), 'email\n')
    for (const command of looking) {
      const args = argumentsOf(command).map((name) => ({ FILE: 'people.csv' })[name] ?? '1')
      const flags = (command.flags ?? []).flatMap((flag) => (flag.required ? [`--${flag.name}`, flag.example!] : []))
      if (command.usage === 'import FILE') flags.push('--list', '1')
      const { out, err, code } = await run([...nameOf(command), ...args, ...flags], place)
      assert.deepEqual([out, code], ['', 1], command.usage)
      assert.match(
        err,
        /^mailkeep: There is no database at \/.*mailkeep\.db: .*--database.*mailkeep migrate\.\n$/,
        command.usage,
      )
    }
    assert.deepEqual(await readdir(place.cwd), ['people.csv'])
  })

  test('is no reason to refuse a database in memory, which is empty', async (t) => {
    const place = { cwd: await directory(t), env: { MAILKEEP_DATABASE: ':memory:' } }
    assert.deepEqual(await runJson(['client', 'list'], place), [])
  })

  test("with another program's SQLite file is refused by every command, and the file is not changed", async (t) => {
    const place = { cwd: await directory(t), env: { MAILKEEP_ENCRYPTION_KEY: Buffer.alloc(32).toString('base64') } }
    const file = join(place.cwd, 'shop.db')
    const other = new Database(file)
    other.exec('create table orders (id integer primary key)')
    other.close()
    const before = await readFile(file)
    for (const args of [['serve', '--port', '0'], ['migrate'], ['client', 'list'], ['client', 'create', 'x']]) {
      const line = await errorLineOf([...args, '--database', 'shop.db'], place)
      assert.match(line, /shop\.db belongs to another program: set MAILKEEP_DATABASE/)
    }
    assert.deepEqual(await readFile(file), before)
    assert.deepEqual(await readdir(place.cwd), ['shop.db'])
  })

  onPostgres('a schema without tables', () => {
    databaseTest('gets no tables from read-only commands', async (t) => {
      const place = await openPlace(t)
      const line = await errorLineOf(['client', 'list'], place)
      assert.match(line, /There are no tables of mailkeep in postgres.*mailkeep migrate/)
      const tables = await place.ask('select 1 from pg_tables where schemaname = $1', [place.schema])
      assert.deepEqual(tables, [])
    })
  })
})

describe('faults are reported in one line that says what to do', { concurrency: 2 }, () => {
  test('a port in use, by serve and by dispatch', async (t) => {
    const place = { cwd: await directory(t) }
    const other = createServer().listen(0, '127.0.0.1')
    await once(other, 'listening')
    t.after(() => other.close())
    const { port } = other.address() as { port: number }
    assert.equal(
      await errorLineOf(['serve', '--port', String(port)], place),
      `mailkeep: Port ${port} of 127.0.0.1 is in use by another program (EADDRINUSE): stop that, or choose another port with --port or MAILKEEP_PORT.\n`,
    )
    assert.match(await errorLineOf(['dispatch', '--health-port', String(port)], place), /with --health-port\.\n$/)
    assert.deepEqual(await readdir(place.cwd), [], 'the database was created')
  })

  test('a host that is no address of the machine', async (t) => {
    const place = { cwd: await directory(t) }
    const on = (host: string, ...args: string[]) =>
      errorLineOf(['serve', '--port', '0', '--host', host, ...args], place)
    assert.match(await on('203.0.113.9'), /203\.0\.113\.9 is no address of this machine \(EADDRNOTAVAIL\)/)
    assert.match(await on('203.0.113.9', '--processes', '2'), /is no address of this machine \(EADDRNOTAVAIL\)/)
    // An address of a link lacks its interface: fe80::1%eth0.
    assert.match(await on('fe80::1'), /fe80::1 is no address of this machine \(E\w+\)/)
    assert.deepEqual(await readdir(place.cwd), [], 'the database was created')
  })

  test('a damaged page', async (t) => {
    const place = { cwd: await directory(t) }
    await populate(place)
    const file = join(place.cwd, 'mailkeep.db')
    const bytes = await readFile(file)
    await writeFile(file, bytes.fill(0xff, 4096 * 2))
    for (const args of [
      ['export', '--client', '1'],
      ['client', 'list'],
      ['backup', 'copy.db'],
    ]) {
      const { err, code } = await run(args, place)
      assert.match(err, /^mailkeep: .*(?:damaged|malformed|cannot be copied whole).*\n$/, args.join(' '))
      assert.equal(code, 1)
    }
  })

  const canMount = { skip: process.platform !== 'linux' || process.getuid?.() !== 0 }
  test('a backup onto a full disk, and a part of a file that fits on it', canMount, async (t) => {
    const place = { cwd: await directory(t) }
    await populate(place)
    const refused = Array.from({ length: 1000 }, (_, n) => `refused-${n}`.padEnd(100, 'x'))
    await writeFile(join(place.cwd, 'bad.csv'), ['email', ...refused].join('\n'))
    const small = join(place.cwd, 'small')
    await mkdir(small)
    const mounted = spawn('mount', ['-t', 'tmpfs', '-o', 'size=64k', 'tmpfs', small], { stdio: 'ignore' })
    if ((await once(mounted, 'close'))[0] !== 0) return t.skip('no tmpfs can be mounted')
    // 6 MB that are only in the write-ahead log.
    const db = new Database(join(place.cwd, 'mailkeep.db'))
    db.pragma('wal_autocheckpoint = 0')
    db.prepare("insert into mailkeep_setting (name, value) values ('filler', ?)").run('x'.repeat(6e6))
    try {
      const line = await errorLineOf(['backup', join(small, 'copy.db')], place)
      const said =
        /small\/copy\.db cannot be written: its disk is full \(SQLITE_FULL\)\. Free some space: it needs up to 7 MB/
      assert.match(line, said)
      assert.deepEqual(await readdir(small), [])
      const { findings } = JSON.parse((await run(['doctor', '--port', '0', '--json'], place)).out)
      const disk = findings.find(({ check }: { check: string }) => check === 'disk')
      assert.match(disk.message, /, the database has [67] MB$/)
      const rows = await errorLineOf(['import', 'bad.csv', '--list', '1', '--refused', 'small/rows.csv'], place)
      assert.equal(rows, 'mailkeep: small/rows.csv cannot be written: ENOSPC: no space left on device.\n')
      assert.ok((await stat(join(small, 'rows.csv'))).size > 0)
    } finally {
      db.close()
      await once(spawn('umount', [small], { stdio: 'ignore' }), 'close')
    }
  })

  test('fields that break a rule, without the API’s field syntax', async (t) => {
    const place = { cwd: await directory(t) }
    await populate(place)
    assert.equal(await usageErrorOf(['client', 'create', ' '], place), 'mailkeep: NAME must not be empty.\n')
    await writeFile(join(place.cwd, 'none.csv'), 'a,b\n1,2\n')
    assert.doesNotMatch(await errorLineOf(['import', 'none.csv', '--list', '1'], place), /body/)
  })
})

describe('imports', { concurrency: 2 }, () => {
  test('exit with 2 when rows were refused, and with 0 when that is allowed', async (t) => {
    const place = { cwd: await directory(t) }
    await populate(place)
    await writeFile(join(place.cwd, 'bad.csv'), 'email\nnobody\n')
    const to = ['import', 'bad.csv', '--list', '1']
    const refused = await run(to, place)
    assert.deepEqual(
      [refused.code, refused.err],
      [2, 'mailkeep: 1 row of 1 row was refused (--allow-refused exits with 0).\n'],
    )
    assert.equal(refused.out, '1 row: 0 new, 0 there before, 1 refused\nline 2: email must be an e-mail address.\n')
    const allowed = await run([...to, '--allow-refused'], place)
    assert.deepEqual([allowed.code, allowed.err], [0, ''])
  })

  test('read standard input', async (t) => {
    const place = { cwd: await directory(t) }
    await populate(place)
    const [program = '', ...words] = commandLine(['import', '-', '--list', '1', '--json'])
    const child = spawn(program, words, { cwd: place.cwd, stdio: 'pipe' })
    const said = collect(child)
    child.stdin.end('email\neve@example.org\n')
    assert.deepEqual(await once(child, 'close'), [0, null], said.err)
    assert.equal(JSON.parse(said.out).created, 1)
  })

  test('name the columns they found when required ones are missing', async (t) => {
    const place = { cwd: await directory(t) }
    await populate(place)
    const files: [text: string, said: RegExp][] = [
      ['Kontakt;Name\nada@example.org;Ada\n', /Found: "Kontakt", "Name"\. Pass .*--map email=COLUMN/],
      ['email|name\n', /Found: "email\|name"/],
      ['ada@example.org,Ada\n', /first line.*an e-mail address instead of the columns' names/],
    ]
    for (const [text, said] of files) {
      await writeFile(join(place.cwd, 'file.csv'), text)
      const line = await errorLineOf(['import', 'file.csv', '--list', '1'], place)
      assert.match(line, said)
      assert.doesNotMatch(line, /ada@example/)
    }
    assert.match(
      await errorLineOf(['import', 'missing.csv', '--list', '1'], place),
      /missing\.csv cannot be read: ENOENT/,
    )
    // The format is asked for only when there is a file.
    assert.match(await errorLineOf(['import', 'missing'], place), /missing cannot be read: ENOENT/)
    assert.match(await errorLineOf(['import', '.', '--list', '1'], place), /is a directory/)
  })

  test('map columns, check without storing, and write the refused rows to a file that can be imported', async (t) => {
    const place = { cwd: await directory(t) }
    await populate(place)
    const to = ['import', 'file.csv', '--list', '1', '--json']
    const map = ['--map', 'email=E-Mail der Person', '--map', 'name=Wer']
    await writeFile(join(place.cwd, 'file.csv'), 'E-Mail der Person;Wer\r\neve@example.org;Eve\r\n"no""one";"N; 1"\r\n')
    const dry = await run([...to, ...map, '--dry-run'], place)
    assert.deepEqual([dry.code, JSON.parse(dry.out).dry_run, JSON.parse(dry.out).created], [2, true, 1])
    const loaded = await run([...to, ...map, '--refused', 'refused.csv'], place)
    assert.deepEqual([loaded.code, JSON.parse(loaded.out).created], [2, 1], loaded.err)
    const refused = await readFile(join(place.cwd, 'refused.csv'), 'utf8')
    assert.equal((await stat(join(place.cwd, 'refused.csv'))).mode & 0o777, 0o600, 'it has personal data')
    const head = 'E-Mail der Person,Wer,refused_line,refused_reason'
    assert.equal(refused, `${head}\r\n"no""one",N; 1,3,email must be an e-mail address.\r\n`)
    await writeFile(join(place.cwd, 'refused.csv'), refused.replace('"no""one"', 'no.one@example.org'))
    const mended = ['import', 'refused.csv', '--list', '1', ...map, '--json']
    assert.equal((await runJson<{ created: number }>(mended.slice(0, -1), place)).created, 1)
    const people = await runJson<{ email: string; extra_attributes: object }[]>(['export', '--client', '1'], place)
    assert.deepEqual([people.at(-1)!.email, people.at(-1)!.extra_attributes], ['no.one@example.org', {}])
    for (const [flags, said] of [
      [['--map', 'email'], /--map must be FIELD=COLUMN/],
      [['--mode', 'other'], /--mode must be/],
      [['--status', 'gone'], /--status must be unsubscribed/],
      [['--refused', './file.csv'], /--refused must not be the imported file/],
      [['--refused', './mailkeep.db'], /--refused must not be the database/],
      [['--refused', 'mailkeep.db.key'], /--refused must not be the database or a file of it/],
      [['--refused', 'mailkeep.db-wal'], /--refused must not be the database or a file of it/],
      [['--map', 'email=Mail', '--map', 'email=Name'], /--map names two columns for email/],
      [['--client', '1'], /Use --list or --client/],
    ] as const) {
      assert.match(await usageErrorOf(['import', 'file.csv', '--list', '1', ...flags], place), said)
    }
  })

  test('never write the refused rows over the imported file, the database or a file of it, through links either', {
    skip: process.platform === 'win32',
  }, async (t) => {
    const place = { cwd: await directory(t) }
    await populate(place)
    const path = (name: string) => join(place.cwd, name)
    await writeFile(path('file.csv'), 'email\nnobody\n')
    await symlink('file.csv', path('link.csv'))
    await link(path('file.csv'), path('hard.csv'))
    await symlink('mailkeep.db.key', path('key.csv'))
    await symlink('.', path('here'))
    const key = await readFile(path('mailkeep.db.key'), 'utf8')
    for (const [refused, said] of [
      ['link.csv', /--refused must not be the imported file/],
      ['hard.csv', /--refused must not be the imported file/],
      ['here/file.csv', /--refused must not be the imported file/],
      ['key.csv', /--refused must not be the database or a file of it/],
      ['here/mailkeep.db.key', /--refused must not be the database or a file of it/],
      ['here/mailkeep.db-wal', /--refused must not be the database or a file of it/],
    ] as const) {
      const args = ['import', 'file.csv', '--list', '1', '--refused', refused]
      assert.match(await usageErrorOf(args, place), said, refused)
    }
    const child = spawn(
      '/bin/sh',
      ['-c', `exec '${commandLine(['import', '-', '--list', '1', '--refused', 'file.csv']).join("' '")}' < file.csv`],
      place,
    )
    const said = collect(child)
    await once(child, 'close')
    assert.match(said.err, /--refused must not be the imported file/)
    assert.equal(await readFile(path('file.csv'), 'utf8'), 'email\nnobody\n')
    assert.equal(await readFile(path('mailkeep.db.key'), 'utf8'), key)
  })

  test('lose no cell of a refused row, however often the file of refused rows is imported', async (t) => {
    const place = { cwd: await directory(t) }
    await populate(place)
    const refusedFrom = async (file: string, rows: number) => {
      const { out, err } = await run(['import', file, '--list', '1', '--refused', `of-${file}`, '--json'], place)
      const report = JSON.parse(out || err)
      assert.deepEqual([report.created, report.refused], [0, rows], file)
      return (await readFile(join(place.cwd, `of-${file}`), 'utf8')).trimEnd().split('\r\n')
    }
    const cells = ['u9@v.example;X;Y;LOST;"lost, too"', 'u8@v.example;OnlyTwo', 'bad1;A;B']
    await writeFile(join(place.cwd, 'file.csv'), `email;name;city\n${cells.join('\n')}\n`)
    const [too, few] = ['and the first line has 3 columns.', 'and the first line has 5 columns.']
    assert.deepEqual(await refusedFrom('file.csv', 3), [
      'email,name,city,refused_line,refused_reason',
      `u9@v.example,X,Y,2,"This row has 5 cells, ${too}",LOST,"lost, too"`,
      `u8@v.example,OnlyTwo,,3,"This row has 2 cells, ${too}",`,
      'bad1,A,B,4,email must be an e-mail address.',
    ])
    const again = [
      'email,name,city,refused_line,refused_reason',
      `u9@v.example,X,Y,2,"This row has 7 cells, ${few}",LOST,"lost, too"`,
      `u8@v.example,OnlyTwo,,3,"This row has 6 cells, ${few}",`,
      'bad1,A,B,4,email must be an e-mail address.',
    ]
    assert.deepEqual(await refusedFrom('of-file.csv', 3), again)
    assert.deepEqual(await refusedFrom('of-of-file.csv', 3), again)
    const corrected = again.join('\n').replace(',LOST,"lost, too"', '').replace('columns.",\n', 'columns."\n')
    await writeFile(join(place.cwd, 'corrected.csv'), corrected.replace('bad1', 'u7@v.example'))
    assert.equal((await runJson<{ created: number }>(['import', 'corrected.csv', '--list', '1'], place)).created, 3)
  })

  test('quote a column whose name has another delimiter in the file of refused rows', async (t) => {
    const place = { cwd: await directory(t) }
    await populate(place)
    await writeFile(join(place.cwd, 'file.csv'), 'email,"yes;no;""maybe"";later\t"\nbad1,yes\n')
    await run(['import', 'file.csv', '--list', '1', '--refused', 'refused.csv'], place)
    const refused = await readFile(join(place.cwd, 'refused.csv'), 'utf8')
    assert.equal(refused.split('\r\n')[0], 'email,"yes;no;""maybe"";later\t",refused_line,refused_reason')
    await writeFile(join(place.cwd, 'refused.csv'), refused.replace('bad1', 'u6@v.example'))
    assert.equal((await runJson<{ created: number }>(['import', 'refused.csv', '--list', '1'], place)).created, 1)
  })

  test('keep the text of a refused line that is not JSON', async (t) => {
    const place = { cwd: await directory(t) }
    await populate(place)
    const broken = '{"email":"zoë@example.org"'
    await writeFile(join(place.cwd, 'file.ndjson'), `${broken}\n`)
    await writeFile(join(place.cwd, 'latin1.ndjson'), Buffer.from(`${broken}}\n`, 'latin1'))
    for (const [file, row, reason] of [
      ['file.ndjson', broken, 'This line is not JSON.'],
      ['latin1.ndjson', `${broken.replace('ë', '\ufffd')}}`, 'This line is not UTF-8.'],
      ['of-file.ndjson', broken, 'email: This field is required.'],
    ]) {
      await run(['import', file!, '--list', '1', '--refused', `of-${file}`], place)
      const refused = JSON.parse(await readFile(join(place.cwd, `of-${file}`), 'utf8'))
      assert.deepEqual(refused, { row, refused_line: 1, refused_reason: reason })
    }
  })

  test('name the file of refused rows when its disk is full', async (t) => {
    if (!existsSync('/dev/full')) return t.skip('no /dev/full')
    const place = { cwd: await directory(t) }
    await populate(place)
    await writeFile(join(place.cwd, 'bad.csv'), 'email\nnobody\n')
    const line = await errorLineOf(['import', 'bad.csv', '--list', '1', '--refused', '/dev/full'], place)
    assert.match(line, /^mailkeep: \/dev\/full cannot be written: ENOSPC: no space left on device\.$/m)
  })

  test('name the line and reason of a refused row that is nested too deeply to be written', async (t) => {
    const place = { cwd: await directory(t) }
    await populate(place)
    const deep = `{"email":"deep@example.org","a":${'['.repeat(100_000)}${']'.repeat(100_000)}}`
    await writeFile(join(place.cwd, 'file.ndjson'), `${deep}\n{"email":"next@example.org"}\n`)
    const loaded = await run(['import', 'file.ndjson', '--list', '1', '--refused', 'refused.ndjson', '--json'], place)
    assert.equal(loaded.code, 2, loaded.err)
    assert.equal(JSON.parse(loaded.out).created, 1)
    const refused = JSON.parse(await readFile(join(place.cwd, 'refused.ndjson'), 'utf8'))
    assert.deepEqual(refused, { refused_line: 1, refused_reason: 'a must be a string.' })
  })

  test('without a list restore the lists and topics of an export', async (t) => {
    const place = { cwd: await directory(t) }
    await populate(place)
    await runJson(['client', 'create', 'Other'], place)
    for (const [format, words] of [
      ['csv', []],
      ['ndjson', ['--raw']],
    ] as const) {
      const { out } = await run(['export', '--client', '1', '--format', format, ...words], place)
      await writeFile(join(place.cwd, `all.${format}`), out)
      await runJson(['import', `all.${format}`, '--client', '2'], place)
    }
    const restored = await runJson<{ email: string; lists: { name: string }[] }[]>(['export', '--client', '2'], place)
    assert.deepEqual(
      restored.map(({ email, lists }) => [email, lists.map(({ name }) => name)]),
      [
        ['Ada@example.org', ['News']],
        ['bob@example.org', ['News']],
      ],
    )
  })

  test('print a long report completely, however slowly it is read', async (t) => {
    const place = { cwd: await directory(t) }
    await populate(place)
    await writeFile(join(place.cwd, 'bad.csv'), `email\n${'no-one\n'.repeat(5000)}`)
    const [program = '', ...words] = commandLine(['import', 'bad.csv', '--list', '1', '--json'])
    const child = spawn(program, words, { cwd: place.cwd, stdio: ['ignore', 'pipe', 'pipe'] })
    await once(child.stdout, 'readable') // the command prints, and its output has not been read
    const said = collect(child)
    await once(child, 'close')
    assert.equal(JSON.parse(said.out).refused_rows.length, 5000)
  })
})

describe('help', () => {
  const helpOf = (...words: string[]) => {
    const text = readArguments(words, 'mailkeep, 1.2.3')
    assert.ok(typeof text === 'string', words.join(' '))
    return text
  }

  test('of the program names every command', () => {
    for (const text of [helpOf('--help'), helpOf('help'), helpOf('-h')]) {
      for (const { usage } of commands) assert.ok(text.includes(`    ${usage}`), usage)
    }
    assert.equal(helpOf('--version'), 'mailkeep, 1.2.3')
  })

  test('of each command shows each flag with its meaning, an example and its default, if any', () => {
    for (const command of commands) {
      const text = helpOf(...nameOf(command), '--help')
      assert.ok(text.includes(`$ mailkeep ${command.usage}`), command.usage)
      for (const { name, value, example, required, ...flag } of command.flags ?? []) {
        const line = text.split('\n').find((each) => each.trimStart().startsWith(`--${name}`))
        assert.ok(line, `${command.usage}: --${name}`)
        if (value !== undefined) assert.ok(line.includes(`Example: --${name} ${example}`), line)
        if (value !== undefined) assert.match(line, required ? /Required/ : /Default: /, `${command.usage}: ${line}`)
        if (flag.default !== undefined) assert.ok(line.includes(`Default: ${flag.default}`), line)
      }
      assert.match(text, /--database PATH .*Default: mailkeep\.db\. Example: .*Variable: MAILKEEP_DATABASE\n/)
      assert.match(text, /--log-level LEVEL .*Default: info for serve and dispatch, warn for other commands/)
    }
  })

  test('of import has an example that names a list, which import needs', () => {
    assert.match(helpOf('import', '--help'), /Example\n +\$ mailkeep import people\.csv --list 1$/m)
  })

  test('of settings shows the defaults that the program uses', () => {
    for (const [name, schema] of Object.entries(Settings.entries) as [SettingName, { default?: unknown }][]) {
      const { about, example } = settingHelp[name]
      assert.ok(about && example, name)
      if (schema.default !== undefined) assert.equal(settingHelp[name].default, schema.default, flagOf(name))
    }
  })

  test('of serve names the settings that are never flags, with their defaults', () => {
    const text = helpOf('serve', '--help')
    for (const name of secretSettings) {
      const line = text.split('\n').find((each) => each.trimStart().startsWith(`MAILKEEP_${name} `))
      const { about, default: value } = settingHelp[name as SettingName]
      assert.ok(line?.includes(about) && line.includes(`Default: ${value}`), `${name}: ${line}`)
    }
    assert.doesNotMatch(helpOf('client', 'list', '--help'), /MAILKEEP_ADMIN_TOKEN/)
  })

  test('of a group names its commands', () => {
    for (const group of ['client', 'token', 'list', 'contact', 'suppression', 'endpoint', 'identity', 'secrets']) {
      const text = helpOf(group, '--help')
      assert.match(text, new RegExp(`^Usage\\n    \\$ mailkeep ${group} COMMAND`))
      const names = commands.filter((command) => nameOf(command)[0] === group)
      for (const { usage } of names) assert.ok(text.includes(usage), usage)
      assert.doesNotMatch(text, /serve/)
    }
  })

  test('suggests the command or flag that was probably meant', () => {
    const errors: [words: string, said: RegExp][] = [
      ['clinet list', /There is no command clinet list\. Did you mean client list\?/],
      ['token crate --client 1', /There is no command token crate\. Did you mean token create\?/],
      ['imprt people.csv', /Did you mean import\?/],
      ['clien', /Did you mean client\?/],
      ['frobnicate', /There is no command frobnicate\. See mailkeep --help/],
      ['token', /token needs a command: create, list, revoke\. See mailkeep token --help/],
      ['import people.csv --lst 1', /There is no flag --lst here\. Did you mean --list\? See mailkeep import --help/],
      ['serve --prot 80', /Did you mean --port\?/],
      ['client delete 1 --yse', /Did you mean --yes\?/],
      ['client delete 1 --yes=1', /--yes takes no value/],
      ['client list --json=1', /--json takes no value/],
      ['serve --version', /--version must be the only word: mailkeep --version/],
      ['--port 0 token list', /A command comes before its flags: mailkeep token/],
    ]
    for (const [words, said] of errors) {
      assert.throws(() => readArguments(words.split(' '), '1'), { message: said, exitCode: 2 }, words)
    }
  })
})

describe('rotating the key', () => {
  test('works as the README describes, and doctor says where the right key is', async (t) => {
    const place = { cwd: await directory(t) }
    await populate(place)
    const old = join(place.cwd, 'mailkeep.db.key')
    const before = await readFile(old)
    const renewed = Buffer.alloc(32, 9).toString('base64')
    const both = { MAILKEEP_ENCRYPTION_KEY: renewed, MAILKEEP_PREVIOUS_ENCRYPTION_KEY_FILE: old }
    const { out } = await run(['secrets', 'reseal'], { ...place, env: both })
    assert.equal(out, '0 secrets sealed with the current key\n')
    const doctor = async (env: Record<string, string> = {}) => {
      const report = await run(['doctor', '--port', '0', '--json'], { ...place, env })
      const { findings } = JSON.parse(report.out) as { findings: { check: string; message: string; remedy?: string }[] }
      return findings.find(({ check }) => check === 'key')!
    }
    const stale = await doctor()
    assert.match(stale.message, /mailkeep\.db\.key holds another key than the database's/)
    assert.doesNotMatch(stale.remedy!, /restore/)
    await writeFile(old, `${renewed}\n`)
    assert.match((await doctor()).message, /mailkeep\.db\.key is the database's/)
    const wrong = await doctor({ MAILKEEP_ENCRYPTION_KEY: before.toString().trim() })
    assert.match(wrong.remedy!, /or unset it: .*mailkeep\.db\.key holds the right one/)
    await rm(old)
    assert.match((await doctor()).remedy!, /or restore .*mailkeep\.db\.key/)
  })
})

describe('newsletter send', () => {
  async function addNewsletter(cwd: string): Promise<number> {
    const { client } = await populate({ cwd })
    const database = new Database(join(cwd, 'mailkeep.db'))
    const at = '2026-01-02T03:04:05.000000Z'
    const columns = 'client_id, uuid, created_at, updated_at, name, subject, html, audience, status'
    const html = '<a href="{{ unsubscribe_url }}">Unsubscribe</a>'
    database
      .prepare(`insert into mailkeep_newsletter (${columns}) values (?, 'n', ?, ?, 'News', 'News', ?, '{}', 'draft')`)
      .run(BigInt(client.id), at, at, html)
    database.close()
    return client.id
  }

  async function addNewsletterWithSender(cwd: string): Promise<void> {
    const client = String(await addNewsletter(cwd))
    const identity = ['--client', client, '--email', 'news@example.com', '--name', 'News', '--status', 'verified']
    assert.equal((await run(['identity', 'add', ...identity], { cwd })).code, 0)
  }

  test('an error cannot inject terminal control sequences', async (t) => {
    const cwd = await directory(t)
    await addNewsletter(cwd)
    const database = new Database(join(cwd, 'mailkeep.db'))
    const subject = '{{ contact["a\u001b]0;b\u0007\u009b31m"] }}'
    database.prepare('update mailkeep_newsletter set subject = ?').run(subject)
    database.close()
    const { code, err } = await run(['newsletter', 'send', '1'], { cwd })
    assert.equal(code, 1)
    assert.match(err, /^mailkeep: .*no variable "contact\.a\?\]0;b\?\?31m"\..*\n$/)
  })

  test('sends with nothing set up, and says what became of the messages', async (t) => {
    const cwd = await directory(t)
    const place = { cwd }
    await addNewsletter(cwd)
    const { out, code, err } = await run(['newsletter', 'send', '1'], place)
    assert.equal(code, 0, err)
    assert.match(out, /^newsletter 1 is sent: 2 recipients, 2 sent$/m)
    const mails = await readdir(join(cwd, 'mail'))
    assert.equal(mails.length, 2)
    assert.match(
      await readFile(join(cwd, 'mail', mails[0]!), 'utf8'),
      /^List-Unsubscribe: <http:\/\/127\.0\.0\.1:6245\/c\//m,
    )
    const again = await run(['newsletter', 'send', '1'], place)
    assert.notEqual(again.code, 0)
    assert.match(again.err, /The newsletter is sent/)
  })

  test('leaves the messages to a daemon on the same file, which sends them to its mail server', async (t) => {
    const cwd = await directory(t)
    const server = await openMailServer(t)
    await addNewsletterWithSender(cwd)
    await daemon(t, { cwd, env: { MAILKEEP_SMTP_URL: `smtp://127.0.0.1:${server.port}`, MAILKEEP_MAIL_RATE: '1' } })
    const { out, err } = await run(['newsletter', 'send', '1'], { cwd })
    assert.match(out, /^newsletter 1 is sent: 2 recipients, 2 sent$/m, err)
    assert.equal(server.received.length, 2)
    assert.equal(existsSync(join(cwd, 'mail')), false)
  })

  test('logs why it cannot send', async (t) => {
    const cwd = await directory(t)
    await addNewsletter(cwd)
    const database = new Database(join(cwd, 'mailkeep.db'))
    database.exec(`create trigger full before update on mailkeep_message begin select raise(abort, 'no'); end`)
    database.close()
    const { child, said, closed } = start(['newsletter', 'send', '1'], { cwd })
    while (!said.err.includes('could not claim or record messages')) await once(child.stderr!, 'data')
    child.kill('SIGKILL')
    await closed
  })

  test('says that a daemon without a transport must send, and sends itself once that one has ended', async (t) => {
    const cwd = await directory(t)
    await addNewsletter(cwd)
    const beside = await daemon(t, { cwd, env: { MAILKEEP_MAIL_TRANSPORT: 'none' } })
    const { child, said, closed } = start(['newsletter', 'send', '1'], { cwd })
    const database = new Database(join(cwd, 'mailkeep.db'))
    t.after(() => database.close())
    const recipients = database.prepare('select count(*) from mailkeep_message').pluck()
    await until(
      async () => recipients.get(),
      (count) => count === 2,
    )
    while (!/waits until the daemon sends it: it needs a mail transport/.test(said.err))
      await once(child.stderr!, 'data')
    assert.equal(existsSync(join(cwd, 'mail')), false)
    await beside.stop()
    assert.deepEqual(await closed, [0, null], said.err)
    assert.match(said.out, /^newsletter 1 is sent: 2 recipients, 2 sent$/m)
  })

  test('records the messages under way when it is stopped', async (t) => {
    const cwd = await directory(t)
    let arrive = (_accept: () => void) => {}
    const arrived = new Promise<() => void>((resolve) => {
      arrive = resolve
    })
    const server = await openMailServer(t, {
      onData: (stream, _session, done) => void stream.resume().on('end', () => arrive(done)),
    })
    await addNewsletterWithSender(cwd)
    const env = { MAILKEEP_SMTP_URL: `smtp://127.0.0.1:${server.port}`, MAILKEEP_MAIL_CONNECTIONS: '1' }
    const { child, said, closed } = start(['newsletter', 'send', '1'], { cwd, env })
    const accept = await arrived
    child.kill('SIGINT')
    await once(child.stderr!, 'data') // it says that it stops
    accept()
    assert.deepEqual(await closed, [0, null], said.err)
    assert.match(said.out, /^newsletter 1 is sending: 2 recipients/)
    const database = new Database(join(cwd, 'mailkeep.db'))
    const statuses = database.prepare('select status from mailkeep_message order by id').pluck().all()
    database.close()
    assert.deepEqual(statuses.sort(), ['pending', 'sent'])
  })

  test('needs no public URL to send to a mail server on this machine', async (t) => {
    const cwd = await directory(t)
    const server = await openMailServer(t)
    await addNewsletterWithSender(cwd)
    const send = (MAILKEEP_SMTP_URL: string) => run(['newsletter', 'send', '1'], { cwd, env: { MAILKEEP_SMTP_URL } })
    assert.match((await send('smtp://192.0.2.1:25')).err, /set MAILKEEP_PUBLIC_URL/)
    const { out, err } = await send(`smtp://127.0.0.1:${server.port}`)
    assert.match(out, /^newsletter 1 is sent: 2 recipients, 2 sent$/m, err)
    assert.match(server.received[0]!.toString(), /^List-Unsubscribe: <http:\/\/127\.0\.0\.1:6245\/c\//m)
  })
})
