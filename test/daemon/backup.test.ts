import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { copyFile, mkdir, readdir, readFile, readlink, rename, rm, stat, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, type TestContext, test } from 'node:test'
import Database from 'better-sqlite3'
import { verifyDelivery } from '../../lib/webhooks/receiver.ts'
import { until } from '../support/harness.ts'
import { openReceiver } from '../support/http-receiver.ts'
import { daemon, directory, type Environment, errorLineOf, run, runJson, start } from '../support/program.ts'

interface Backup {
  file: string
  key_file: string | null
  key_known: boolean
  rows: Record<string, number>
}

/** Starts a daemon with a list and a webhook endpoint, in its own directory. */
async function open(t: TestContext, env: Environment = {}) {
  const cwd = await directory(t)
  const running = await daemon(t, { cwd, env })
  const { id: listId } = await running.data<{ id: number }>('POST', '/lists', { name: 'News' })
  const endpoint = { url: 'https://example.com/hook', events: ['contact.unsubscribed'] }
  await running.data('POST', '/webhook-endpoints', endpoint)
  const add = (email: string) => running.data<{ id: number }>('POST', `/lists/${listId}/contacts`, { email })
  const names = async () => (await running.data<{ email: string }[]>('GET', '/contacts')).map(({ email }) => email)
  return { cwd, ...running, add, names }
}

async function modeOf(path: string): Promise<number> {
  return (await stat(path)).mode & 0o777
}

/** Returns all e-mail addresses in a database file. */
function emailsIn(path: string): string[] {
  using opened = { db: new Database(path, { readonly: true }), [Symbol.dispose]: () => opened.db.close() }
  return opened.db.prepare('select email from mailkeep_contact order by id').pluck().all() as string[]
}

describe('mailkeep backup', { concurrency: 4 }, () => {
  test('contains everything answered before it, completely, while the daemon keeps writing', async (t) => {
    const { cwd, add } = await open(t)
    let answered = 0
    let writing = true
    const writers = Array.from({ length: 8 }, async (_, writer) => {
      for (let at = 0; writing; at++) {
        await add(`${writer}-${at}@example.com`)
        answered += 1
      }
    })
    while (answered < 100) await add(`first-${answered++}@example.com`)
    const sure = answered - 100
    const { rows, file } = await runJson<Backup>(['backup', 'copy.db'], { cwd })
    writing = false
    await Promise.all(writers)
    assert.equal(file, join(cwd, 'copy.db'))
    assert.ok(rows.contact! >= sure && rows.contact! <= answered, `${rows.contact} of ${sure} to ${answered}`)
    assert.equal(emailsIn(join(cwd, 'copy.db')).length, rows.contact)
    assert.ok(answered > rows.contact!, 'the daemon stopped writing')
    assert.equal(await modeOf(file), 0o600)
    assert.deepEqual(
      (await readdir(cwd)).filter((name) => name.includes('copy')),
      ['copy.db', 'copy.db.key'],
    )
  })

  test('copies the key file beside the backup and says so clearly', async (t) => {
    const { cwd } = await open(t)
    const { out } = await run(['backup', 'copy.db'], { cwd })
    assert.match(out, new RegExp(`THE KEY IS BESIDE IT, in ${cwd}/copy.db.key`))
    assert.equal(await modeOf(join(cwd, 'copy.db.key')), 0o600)
    assert.equal(await readFile(join(cwd, 'copy.db.key'), 'utf8'), await readFile(join(cwd, 'mailkeep.db.key'), 'utf8'))
  })

  test('does not write out a key that comes from the settings, and says that the backup lacks it', async (t) => {
    const cwd = await directory(t)
    const surroundings = { cwd, env: { MAILKEEP_ENCRYPTION_KEY: 'k'.repeat(43) } }
    await run(['migrate'], surroundings)
    const { out } = await run(['backup', 'copy.db'], surroundings)
    assert.match(out, /THE KEY IS NOT IN IT: it is in your setting MAILKEEP_ENCRYPTION_KEY/)
    const { out: without } = await run(['backup', 'copy.db'], { cwd })
    assert.match(without, /THE KEY IS NOT IN IT, AND WAS NOT FOUND/)
    assert.deepEqual((await readdir(cwd)).sort(), ['copy.db', 'mailkeep.db'])
  })

  test('says that a key file which is there already is not the key of the backup', async (t) => {
    const cwd = await directory(t)
    const surroundings = { cwd, env: { MAILKEEP_ENCRYPTION_KEY: 'k'.repeat(43) } }
    await run(['migrate'], surroundings)
    await writeFile(join(cwd, 'copy.db.key'), 'o'.repeat(43))
    const { out } = await run(['backup', 'copy.db'], surroundings)
    assert.match(out, /copy\.db\.key was there before, and is not its key/)
    await writeFile(join(cwd, 'copy.db.key'), 'k'.repeat(43))
    assert.doesNotMatch((await run(['backup', 'copy.db'], surroundings)).out, /was there before/)
  })

  test('replaces an earlier backup and no other file', async (t) => {
    const { cwd, add } = await open(t)
    await run(['backup', 'copy.db'], { cwd })
    await add('late@example.com')
    await run(['backup', 'copy.db'], { cwd })
    assert.deepEqual(emailsIn(join(cwd, 'copy.db')), ['late@example.com'])
    await writeFile(join(cwd, 'notes.txt'), 'mine')
    await writeFile(join(cwd, 'empty'), '')
    await mkdir(join(cwd, 'folder'))
    const shop = new Database(join(cwd, 'shop.db'))
    shop.exec('create table shop_order (id integer)')
    shop.close()
    const refused: [string, RegExp][] = [
      ['notes.txt', /not a SQLite database/],
      ['empty', /is there already/],
      ['folder', /is a directory/],
      ['shop.db', /belongs to another program/],
      ['mailkeep.db', /is the database itself/],
      ['none/copy.db', /cannot be written/],
      [`${'x'.repeat(250)}.db`, /cannot be written/],
      ['pipe', /is not a file/],
      // SQLite takes this file for the journal of a transaction that was not finished, and locks the database.
      ['mailkeep.db-journal', /mailkeep itself or SQLite/],
      ['folder/../mailkeep.db.process-7', /mailkeep itself or SQLite/],
      ['server', /server\.key is there already/],
    ]
    execFileSync('mkfifo', [join(cwd, 'pipe')])
    await writeFile(join(cwd, 'server.key'), 'of another program')
    for (const [target, line] of refused) {
      const { out, err, code } = await run(['backup', target], { cwd })
      assert.equal(out, '')
      assert.match(err, /^mailkeep: .+\n$/)
      assert.match(err, line)
      assert.notEqual(code, 0)
    }
    assert.equal(await readFile(join(cwd, 'notes.txt'), 'utf8'), 'mine')
    assert.equal(await readFile(join(cwd, 'server.key'), 'utf8'), 'of another program')
    await add('later@example.com')
  })

  test('replaces the file that a link leads to, and not the link', async (t) => {
    const cwd = await directory(t)
    await mkdir(join(cwd, 'disk'))
    await run(['client', 'create', 'Acme'], { cwd })
    await symlink(join('disk', 'copy.db'), join(cwd, 'copy.db'))
    await symlink(join('away', 'copy.db'), join(cwd, 'lost.db'))
    assert.match(await errorLineOf(['backup', 'lost.db'], { cwd }), /lost\.db is a link to a directory that does not/)
    await runJson(['backup', 'copy.db'], { cwd })
    const before = await stat(join(cwd, 'disk', 'copy.db'))
    await runJson(['backup', 'copy.db'], { cwd })
    assert.equal(await readlink(join(cwd, 'copy.db')), join('disk', 'copy.db'))
    assert.notEqual((await stat(join(cwd, 'disk', 'copy.db'))).ino, before.ino)
    const other = new Database(join(cwd, 'disk', 'copy.db'))
    t.after(() => other.close())
    other.exec('pragma journal_mode = wal; create table mailkeep_of_another (id)')
    assert.match(await errorLineOf(['backup', 'copy.db'], { cwd }), /disk\/copy\.db is a database in use/)
  })

  test('stopped by Ctrl-C leaves nothing behind', async (t) => {
    const cwd = await directory(t)
    await run(['client', 'create', 'Acme'], { cwd })
    await run(['list', 'create', 'News', '--client', '1'], { cwd })
    // The copy of so many contacts takes longer than the signal.
    const people = Array.from({ length: 30_000 }, (_, at) => `{"email":"${at}@example.org"}\n`)
    await writeFile(join(cwd, 'people.ndjson'), people.join(''))
    await runJson(['import', 'people.ndjson', '--list', '1'], { cwd })
    const before = await readdir(cwd)
    const { child, closed, said } = start(['backup', 'copy.db'], { cwd })
    await until(
      () => readdir(cwd),
      (names) => names.some((name) => name.endsWith('.partial')),
    )
    child.kill('SIGINT')
    assert.deepEqual([(await closed)[0], said.out], [130, ''])
    assert.deepEqual(await readdir(cwd), before)

    await run(['backup', 'copy.db'], { cwd })
    const withBackup = await readdir(cwd)
    const restoring = start(['restore', 'copy.db'], { cwd })
    await until(
      () => readdir(cwd),
      (names) => names.some((name) => name.endsWith('.partial')),
    )
    restoring.child.kill('SIGINT')
    assert.deepEqual([(await restoring.closed)[0], restoring.said.out], [130, ''])
    assert.deepEqual(await readdir(cwd), withBackup)
  })

  test('refuses to make a backup of a damaged database', async (t) => {
    const { cwd, add, stop } = await open(t)
    for (let at = 0; at < 50; at++) await add(`${at}-${'x'.repeat(50)}@example.com`)
    await stop()
    const path = join(cwd, 'mailkeep.db')
    const bytes = await readFile(path)
    bytes.fill(0xff, bytes.length - 60_000)
    await writeFile(path, bytes)
    await errorLineOf(['backup', 'copy.db'], { cwd })
    assert.deepEqual(
      (await readdir(cwd)).filter((name) => name.includes('copy')),
      [],
    )
  })
})

describe('mailkeep restore', { concurrency: 4 }, () => {
  test('after a loss of the machine, a backup taken under writes restores everything on another one', async (t) => {
    const env = { MAILKEEP_WEBHOOK_ALLOW_PRIVATE: 'true' }
    const { cwd, add, data, ask, stop } = await open(t, env)
    const receiver = await openReceiver()
    t.after(() => receiver.close())
    const endpoint = { url: receiver.url(), events: ['webhook.test'] }
    const { id, secret } = await data<{ id: number; secret: string }>('POST', '/webhook-endpoints', endpoint)
    const ada = await add('ada@example.com')
    const before = await (await ask('GET', `/api/v1/contacts/${ada.id}`)).text()
    let writing = true
    const writer = (async () => {
      for (let at = 0; writing; at++) await add(`during-${at}@example.com`)
    })()
    await run(['backup', 'copy.db'], { cwd })
    writing = false
    await writer
    await add('after@example.com')
    await stop('SIGKILL')
    const elsewhere = await directory(t)
    for (const name of ['copy.db', 'copy.db.key']) await copyFile(join(cwd, name), join(elsewhere, name))
    const { out } = await run(['restore', 'copy.db'], { cwd: elsewhere })
    assert.match(out, /holds \d+ contacts of 1 client, verified\nIts key is in .*mailkeep.db.key\n$/)
    for (const name of ['mailkeep.db', 'mailkeep.db.key']) assert.equal(await modeOf(join(elsewhere, name)), 0o600)
    await copyFile(join(cwd, 'mailkeep.db.admin-token'), join(elsewhere, 'mailkeep.db.admin-token'))
    const again = await daemon(t, { cwd: elsewhere, env })
    // Everything from before the backup is back, tokens included; nothing written after it is there.
    assert.equal(await (await again.ask('GET', `/api/v1/contacts/${ada.id}`)).text(), before)
    assert.deepEqual(await again.data('GET', '/contacts?search=after@'), [])
    // The stored secret can be opened: the delivery is signed with the secret that the receiver knows.
    await again.data('POST', `/webhook-endpoints/${id}/test`)
    const { headers, raw } = await receiver.next()
    assert.equal(verifyDelivery(headers, raw, secret).type, 'webhook.test')
    assert.deepEqual(await again.stop(), [0, null])
  })

  test('says which mail would be sent again', async (t) => {
    const { cwd, data, stop } = await open(t, { MAILKEEP_DISPATCH: 'false' })
    const html = '<a href="{{ unsubscribe_url }}">Unsubscribe</a>'
    for (const subject of ['First', 'Second']) {
      const { id } = await data<{ id: number }>('POST', '/newsletters', { subject, html, audience: {} })
      if (subject === 'First') await data('POST', `/newsletters/${id}/send`, { at: '2099-01-01T00:00:00Z' })
    }
    await data('POST', '/sequences', { name: 'Welcome' })
    await run(['backup', 'copy.db'], { cwd })
    await stop()
    const { out } = await run(['restore', 'copy.db'], { cwd })
    assert.match(out, /PEOPLE MAY GET MAILS TWICE: 1 newsletter being sent or scheduled, 1 active sequence\./)
    const { sending } = await runJson<{ sending: object }>(['restore', 'copy.db'], { cwd })
    assert.deepEqual(sending, { newsletters: 1, sequences: 1 })
  })

  test('is refused while the database is in use, and changes nothing', async (t) => {
    const { cwd, add, names } = await open(t)
    await run(['backup', 'copy.db'], { cwd })
    await add('late@example.com')
    assert.match(await errorLineOf(['restore', 'copy.db'], { cwd }), /mailkeep\.db is in use: stop mailkeep first/)
    assert.deepEqual(await names(), ['late@example.com'])
    assert.deepEqual(
      (await readdir(cwd)).filter((name) => /before|partial/.test(name)),
      [],
    )
  })

  test('moves the previous database aside, together with its log', async (t) => {
    const { cwd, add, stop } = await open(t)
    await run(['backup', 'copy.db'], { cwd })
    await add('late@example.com')
    // SIGKILL leaves a write-ahead log. It must be kept, and must not be replayed into the restored database.
    await stop('SIGKILL')
    const { aside } = await runJson<{ aside: string }>(['restore', 'copy.db'], { cwd })
    assert.deepEqual(emailsIn(aside), ['late@example.com'])
    assert.deepEqual(emailsIn(join(cwd, 'mailkeep.db')), [])
    assert.deepEqual(
      (await readdir(cwd)).filter((name) => /-wal|-shm|partial/.test(name)),
      [],
    )
  })

  test('replaces the file that a link leads to, and not the link', async (t) => {
    const cwd = await directory(t)
    await mkdir(join(cwd, 'disk'))
    await run(['client', 'create', 'Acme'], { cwd })
    await run(['list', 'create', 'News', '--client', '1'], { cwd })
    await run(['backup', 'copy.db'], { cwd })
    await writeFile(join(cwd, 'late.csv'), 'email\nlate@example.com\n')
    await run(['import', 'late.csv', '--list', '1'], { cwd })
    await rename(join(cwd, 'mailkeep.db'), join(cwd, 'disk', 'real.db'))
    await symlink(join('disk', 'real.db'), join(cwd, 'mailkeep.db'))
    const { aside } = await runJson<{ aside: string }>(['restore', 'copy.db'], { cwd })
    assert.match(aside, /\/disk\/real\.db\.before-restore-\d{14}$/)
    assert.deepEqual(emailsIn(aside), ['late@example.com'])
    assert.deepEqual(emailsIn(join(cwd, 'disk', 'real.db')), [])
    assert.equal(await readlink(join(cwd, 'mailkeep.db')), join('disk', 'real.db'))
    assert.deepEqual((await runJson<{ name: string }[]>(['client', 'list'], { cwd })).length, 1)
  })

  test('never overwrites another key beside a database that was moved away by hand', async (t) => {
    const { cwd, stop } = await open(t)
    await run(['backup', 'copy.db'], { cwd })
    await stop()
    await rename(join(cwd, 'mailkeep.db'), join(cwd, 'broken.db'))
    const key = `${randomBytes(32).toString('base64')}\n`
    await writeFile(join(cwd, 'mailkeep.db.key'), key)
    const { out } = await run(['restore', 'copy.db'], { cwd })
    const [, moved = ''] = /^The previous key is in (.+)$/m.exec(out) ?? []
    assert.match(moved, /mailkeep\.db\.before-restore-\d{14}\.key$/)
    assert.equal(await readFile(moved, 'utf8'), key)
    assert.equal(await readFile(join(cwd, 'mailkeep.db.key'), 'utf8'), await readFile(join(cwd, 'copy.db.key'), 'utf8'))
    // The same key again is not moved.
    await rm(join(cwd, 'mailkeep.db'))
    const again = await runJson<{ aside: null; key_aside: null }>(['restore', 'copy.db'], { cwd })
    assert.deepEqual([again.aside, again.key_aside], [null, null])
  })

  test('takes another name for the previous database than an earlier restore of the same second', async (t) => {
    const { cwd, add, stop } = await open(t)
    await run(['backup', 'copy.db'], { cwd })
    await add('late@example.com')
    await stop()
    const names = Array.from({ length: 60 }, (_, second) => {
      const time = new Date(Date.now() + second * 1000).toISOString().replace(/\D/g, '').slice(0, 14)
      return `mailkeep.db.before-restore-${time}`
    })
    for (const name of names) await writeFile(join(cwd, name), 'earlier')
    const { aside } = await runJson<{ aside: string }>(['restore', 'copy.db'], { cwd })
    assert.deepEqual(emailsIn(aside), ['late@example.com'])
    for (const name of names) assert.equal((await stat(join(cwd, name))).size, 'earlier'.length)
  })

  test('runs once at a time, and loses no database of restores that start together', async (t) => {
    const { cwd, add, stop } = await open(t)
    const args = ['restore', 'copy.db']
    await run(['backup', 'copy.db'], { cwd })
    await add('late@example.com')
    await stop()
    const ended = await Promise.all(Array.from({ length: 4 }, () => run([...args, '--json'], { cwd })))
    const asides: string[] = []
    for (const { code, out, err } of ended) {
      if (code === 0) asides.push(JSON.parse(out).aside)
      else assert.match(err, /^mailkeep: Another restore to mailkeep\.db is running.*\n$/)
    }
    assert.equal(new Set(asides).size, asides.length)
    assert.deepEqual(asides.flatMap(emailsIn), ['late@example.com'])
    assert.deepEqual(emailsIn(join(cwd, 'mailkeep.db')), [])
    assert.ok(!(await readdir(cwd)).some((name) => name.endsWith('.partial')))
    await writeFile(join(cwd, '.mailkeep.db.restore.partial'), '')
    assert.match(
      await errorLineOf(args, { cwd }),
      /Another restore .* is running.*delete \.mailkeep\.db\.restore\.partial\./,
    )
  })

  test('reports a missing key, and the daemon does not start until the key is back', async (t) => {
    const { cwd, stop } = await open(t)
    await run(['backup', 'copy.db'], { cwd })
    await stop()
    await rm(join(cwd, 'mailkeep.db'))
    await rm(join(cwd, 'mailkeep.db.key'))
    await rename(join(cwd, 'copy.db.key'), join(cwd, 'safe'))
    const { out } = await run(['restore', 'copy.db'], { cwd })
    assert.match(out, /ITS KEY IS MISSING/)
    assert.match(
      await errorLineOf(['serve', '--port', '0'], { cwd }),
      /The key of the database mailkeep\.db is missing/,
    )
    const wrong = { MAILKEEP_ENCRYPTION_KEY: 'k'.repeat(43) }
    assert.match(
      await errorLineOf(['serve', '--port', '0'], { cwd, env: wrong }),
      /The encryption key is not this database's/,
    )
    const again = await daemon(t, { cwd, env: { MAILKEEP_ENCRYPTION_KEY_FILE: join(cwd, 'safe') } })
    assert.equal((await again.ask('GET', '/api/v1/webhook-endpoints')).status, 200)
  })

  test('refuses a file that is damaged, newer than this version, or not a backup', async (t) => {
    const { cwd, stop } = await open(t)
    await run(['backup', 'copy.db'], { cwd })
    await stop()
    const before = await readFile(join(cwd, 'mailkeep.db'))
    const bytes = await readFile(join(cwd, 'copy.db'))
    await writeFile(join(cwd, 'damaged.db'), Buffer.from(bytes).fill(0xff, 40_000, 60_000))
    await writeFile(join(cwd, 'holes.db'), Buffer.from(bytes).fill(0, 131_072, 147_456))
    const newer = new Database(join(cwd, 'copy.db'))
    newer.exec(`insert into mailkeep_migration values ('999-future', '2030-01-01T00:00:00.000Z')`)
    newer.close()
    await writeFile(join(cwd, 'text'), 'this is no database')
    await writeFile(join(cwd, 'cut.db'), bytes.subarray(0, 100_000))
    const refused: [string, RegExp][] = [
      ['damaged.db', /^mailkeep: (?:The backup )?damaged\.db cannot be/],
      [
        'holes.db',
        /^mailkeep: The backup holes\.db cannot be read \(SQLITE_CORRUPT\): it is damaged\. Restore another one\.$/m,
      ],
      ['copy.db', /newer mailkeep \(it has 999-future\)/],
      ['text', /not a SQLite database/],
      [
        'cut.db',
        /^mailkeep: The backup cut\.db cannot be read \(SQLITE_CORRUPT\): it is damaged\. Restore another one\.$/m,
      ],
      ['none', /There is no backup none/],
    ]
    for (const [name, line] of refused) assert.match(await errorLineOf(['restore', name], { cwd }), line)
    assert.deepEqual(await readFile(join(cwd, 'mailkeep.db')), before)
  })
})
