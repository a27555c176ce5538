/** Moving a SQLite file with 100,000 contacts to PostgreSQL, with the command that users run. */
import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { copyFile, mkdtemp, rm, stat, utimes, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { after, before, describe, type TestContext, test } from 'node:test'
import Database from 'better-sqlite3'
import { createMailkeep, type Mailkeep } from '../../lib/index.ts'
import { postgres } from '../../lib/storage/postgres.ts'
import { sqlite } from '../../lib/storage/sqlite.ts'
import { verifyDelivery } from '../../lib/webhooks/receiver.ts'
import { needsPostgres } from '../support/databases.ts'
import { databaseFolder } from '../support/folders.ts'
import { openReceiver } from '../support/http-receiver.ts'
import { key, openPlace, type Place, running, token } from '../support/postgres-program.ts'
import { errorLineOf, run, runJson, start } from '../support/program.ts'

const contacts = 100_000
const encryptionKey = Buffer.from(key, 'base64')
const hook = 'http://127.0.0.1:9/hook'

let folder: string
let made: Made

before(async () => {
  if ('skip' in needsPostgres) return
  folder = await mkdtemp(join(databaseFolder, 'mailkeep-copy-'))
  made = await makeSource(join(folder, 'source.db'))
})
after(async () => {
  if (folder) await rm(folder, { recursive: true })
})

interface Made {
  readonly secret: string
  /** The cursor of a second page, and the page's ids. */
  readonly cursor: string
  readonly page: unknown
  /** The id of the last contact, which was erased. */
  readonly erasedId: number
  readonly odd: unknown
}

interface Copied {
  readonly rows: Readonly<Record<string, number>>
  readonly key_file: string
  readonly to: string
}

async function makeSource(file: string): Promise<Made> {
  const webhooks = { allowPrivate: true, timeoutSeconds: 1 }
  const mailkeep = await createMailkeep({ database: sqlite(file), encryptionKey, webhooks })
  try {
    return await createRecords(mailkeep, file)
  } finally {
    await mailkeep.close()
  }
}

async function createRecords(mailkeep: Mailkeep, file: string): Promise<Made> {
  await mailkeep.clients.bootstrap({ token })
  const client = mailkeep.forClient(1)
  await client.lists.create({ name: 'News' })
  await client.topics.create(1, { name: 'Weekly' })
  const strange = { '10': 'ten', '2': 'two', __proto__2: 'x', note: 'a "b" \\ \n ü 😀 {1,2} NULL' }
  const { contact } = await client.contacts.addToList(1, { email: 'Ödd@Example.org', tags: ['VIP'], ...strange })
  await client.contacts.subscribeToTopic(contact.id, 1)
  await client.contacts.unsubscribe(contact.id, { byContact: true })
  await client.identities.add({ email: 'news@example.org', name: 'News' })
  fill(file)
  const last = await client.contacts.addToList(1, { email: 'last@example.org' })
  await client.contacts.delete(last.contact.id)
  await client.withIdempotencyKey('moved', 1, async ({ contacts }) => (await contacts.get(contact.id)).email)
  const { secret } = await client.webhooks.createEndpoint({ url: hook, events: ['newsletter.sent'] })
  await client.events.raise({ type: 'newsletter.sent', data: { number: 1 } })
  await mailkeep.deliverDue() // the receiver refuses connections: the delivery waits for its second attempt
  const first = await client.contacts.list({ per_page: 100 })
  const cursor = first.meta.next_cursor!
  const page = await client.contacts.list({ per_page: 100, cursor })
  return { secret, cursor, page: page.data, erasedId: last.contact.id, odd: await client.contacts.get(contact.id) }
}

/** Uses bare statements, because the test is not about these writes. */
function fill(file: string): void {
  const db = new Database(file)
  const at = '2026-01-02T03:04:05.678901Z'
  const contact = db.prepare(`insert into mailkeep_contact (client_id, uuid, created_at, email, email_key, name,
    attributes, search, unsubscribed_by_contact) values (1, ?, ?, ?, ?, ?, '{"city":"Rotterdam"}', ?, 0)`)
  const tag = db.prepare('insert into mailkeep_contact_tag values (1, ?, 1)')
  const list = db.prepare('insert into mailkeep_contact_list values (1, ?, 1)')
  db.transaction(() => {
    for (let n = 1; n < contacts; n++) {
      const [email, name] = [`c${n}@example.org`, `Someone ${n}`]
      const { lastInsertRowid } = contact.run(
        randomUUID(),
        at,
        email,
        email,
        name,
        `${name.toLowerCase()}\u001f${email}`,
      )
      list.run(BigInt(lastInsertRowid))
      if (n % 3 === 0) tag.run(BigInt(lastInsertRowid))
    }
    db.exec(`insert into mailkeep_search (mailkeep_search) values ('rebuild')`)
  })()
  db.close()
}

/** Prepares a move of the file into an empty database. */
async function openMove(t: TestContext) {
  const place = await openPlace(t)
  await copyFile(join(folder, 'source.db'), join(place.cwd, 'mail.db'))
  await writeFile(join(place.cwd, 'mail.db.key'), `${key}\n`)
  const args = ['copy', '--from', 'mail.db', '--to', place.url]
  return { place, args }
}

async function rowsOf({ ask }: Place, table: string): Promise<number> {
  return (await ask(`select count(*)::int as count from mailkeep_${table}`))[0]!.count as number
}

async function until(ask: () => Promise<boolean>): Promise<void> {
  const ends = performance.now() + 20_000
  while (!(await ask())) {
    assert.ok(performance.now() < ends, 'timed out waiting for a condition')
    await new Promise((resolve) => setTimeout(resolve, 5))
  }
}

describe('moving a SQLite file to PostgreSQL', needsPostgres, () => {
  test('keeps ids, tokens, cursors, secrets and queued deliveries, and the daemon continues on PostgreSQL', async (t) => {
    const { place, args } = await openMove(t)
    const began = performance.now()
    const { MAILKEEP_ENCRYPTION_KEY: _, ...env } = place.env
    const { rows, key_file, to } = await runJson<Copied>(args, { ...place, env })
    t.diagnostic(`${rows.contact} contacts in ${((performance.now() - began) / 1000).toFixed(1)} s`)
    assert.equal(key_file, join(place.cwd, 'mail.db.key'))
    assert.equal(to, place.url)
    assert.equal(rows.contact, contacts)
    for (const [table, count] of Object.entries(rows)) {
      if (table !== 'setting') assert.equal(await rowsOf(place, table), count, table)
    }

    const receiver = await openReceiver()
    t.after(() => receiver.close())
    // The only change: the receiver has a new address.
    await place.ask('update mailkeep_endpoint set url = $1', [receiver.url()])
    await place.ask('update mailkeep_delivery set due_at = now()')
    const daemon = await running(t, { ...place, env: { ...env, MAILKEEP_ENCRYPTION_KEY_FILE: key_file } })
    assert.doesNotMatch(daemon.said.out, /admin_token/)
    const delivered = await receiver.next()
    const event = verifyDelivery(delivered.headers, delivered.raw, made.secret)
    assert.deepEqual((event as { data: unknown }).data, { number: 1 })

    const page = await daemon.api('GET', `/contacts?per_page=100&cursor=${made.cursor}`)
    assert.deepEqual(((await page.json()) as { data: unknown }).data, made.page)
    const odd = await daemon.api('GET', '/contacts/1')
    assert.deepEqual(((await odd.json()) as { data: unknown }).data, made.odd)
    const found = await daemon.api('GET', '/contacts?search=someone%2099999')
    assert.equal(((await found.json()) as { data: unknown[] }).data.length, 1)
    const moved = await createMailkeep({ database: postgres(place.url, { schema: place.schema }), encryptionKey })
    t.after(() => moved.close())
    const kept = await moved.forClient(1).withIdempotencyKey('moved', 1, async () => 'again')
    assert.deepEqual(kept, { answer: 'Ödd@Example.org', replayed: true })
    const added = await daemon.api('POST', '/lists/1/contacts', { email: 'new@example.org' })
    assert.equal(((await added.json()) as { data: { id: number } }).data.id, made.erasedId + 1)
    const [index] = await place.ask(
      `select indisvalid from pg_index where indexrelid = 'mailkeep_contact_search'::regclass`,
    )
    assert.deepEqual(index, { indisvalid: true })
    assert.match(await errorLineOf(args, place), /not empty: mailkeep_\w+ has rows/)
  })

  test('continues after kill -9, and no process can use the half-copied database', async (t) => {
    const { place, args } = await openMove(t)
    const broken = start(args, place)
    await until(async () => {
      const table = await place.ask(`select to_regclass('mailkeep_contact_list') is not null as there`)
      return table[0]?.there === true && (await rowsOf(place, 'contact')) > contacts / 4
    })
    broken.child.kill('SIGKILL')
    await broken.closed
    const before = await rowsOf(place, 'contact')
    assert.ok(before < contacts, 'the command was killed before it was done')
    assert.match(await errorLineOf(['--port', '0'], place), /A copy into this database is not finished/)
    assert.match(await errorLineOf(['client', 'create', 'x'], place), /A copy into this database is not finished/)
    const { out } = await run(['doctor', '--port', '0'], place)
    assert.match(out, /^FAULT +copy +a copy into this database is not finished\n +→ run mailkeep copy again$/m)
    const [marked] = await place.ask('select min(xmin::text::bigint)::text as first from mailkeep_contact')
    const { rows } = await runJson<{ rows: Record<string, number> }>(args, place)
    assert.equal(rows.contact, contacts)
    const [kept] = await place.ask('select min(xmin::text::bigint)::text as first from mailkeep_contact')
    assert.deepEqual(kept, marked, 'rows that were copied before are not copied again')
    assert.equal((await run(['client', 'list'], place)).code, 0)
  })

  test('is refused while the file is in use, and when it has changed since a copy began', async (t) => {
    const { place, args } = await openMove(t)
    const { MAILKEEP_DATABASE: _, ...env } = place.env
    const old = { ...place, env: { ...env, MAILKEEP_DATABASE: 'mail.db' } }
    const daemon = await running(t, old)
    assert.match(await errorLineOf(args, place), /mail\.db is in use: stop mailkeep first/)
    await daemon.stop()
    const broken = start(args, place)
    await until(async () => {
      const [state] = await place.ask(`select to_regclass('mailkeep_setting') is not null as there`)
      return state?.there === true && (await place.ask(`select 1 from mailkeep_setting where name = 'copy'`)).length > 0
    })
    broken.child.kill('SIGKILL')
    await broken.closed
    const later = new Date((await stat(join(place.cwd, 'mail.db'))).mtimeMs + 1000)
    await utimes(join(place.cwd, 'mail.db'), later, later)
    assert.match(
      await errorLineOf(args, place),
      /the file has changed since: empty the database and run the copy again/,
    )
  })

  test('does not depend on settings of the server', async (t) => {
    const { place } = await openMove(t)
    const options = encodeURIComponent('-c array_nulls=off -c quote_all_identifiers=on -c DateStyle=German')
    const { out, err, code } = await run(
      ['copy', '--from', 'mail.db', '--to', `${place.url}?options=${options}`],
      place,
    )
    const progress = /^mailkeep: \w+: .* rows\/s.*\n/gm // if the copy takes longer than ten seconds
    assert.deepEqual([code, err.replaceAll(progress, '')], [0, ''])
    assert.match(out, /every table has as many rows/)
  })

  test('takes a URL with a password from the environment or a file, never from the command line', async (t) => {
    const place = await openPlace(t)
    const { PGPASSWORD: password = 'geheim' } = process.env
    const url = new URL(place.url)
    url.password = password
    const wrong: [string[], RegExp][] = [
      [['--to', url.href], /--to takes no password.*MAILKEEP_COPY_TO.*PGPASSWORD/],
      [['--to', `${place.url}?password=${password}`], /--to takes no password/],
      [['--to', 'other.db'], /--to must be a URL/],
      [[], /copy needs --to, or MAILKEEP_COPY_TO/],
    ]
    for (const [args, said] of wrong) {
      const { code, err } = await run(['copy', '--from', 'mail.db', ...args], place)
      assert.equal(code, 2)
      assert.match(err, said)
      assert.ok(!err.includes(password))
    }
    await run(['client', 'create', 'Acme', '--database', 'small.db'], place)
    await writeFile(join(place.cwd, 'url'), url.href)
    const fromFile = { ...place, env: { ...place.env, MAILKEEP_COPY_TO_FILE: 'url' } }
    const { out, err, code } = await run(['copy', '--from', 'small.db'], fromFile)
    assert.deepEqual([code, err], [0, ''])
    assert.match(out, /holds 0 contacts of 1 client; .*\nIts key is the one in MAILKEEP_ENCRYPTION_KEY\nSTART NO/)
    assert.ok(!out.includes(password))
    const line = await errorLineOf(['copy', '--from', 'nothing.db', '--to', place.url], place)
    assert.match(line, /There is no database nothing\.db: set --from/)
  })
})
