/** A database of version 0.1.0, with deliveries in every state, works with this version. */
import assert from 'node:assert/strict'
import { createHmac, createSecretKey, randomBytes } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import Database from 'better-sqlite3'
import {
  createMailkeep,
  type DatabaseSource,
  isMailkeepError,
  type MailkeepOptions,
  type MailMessage,
  type RaisedEvent,
} from '../../lib/index.ts'
import { createSealer } from '../../lib/sealing/seal.ts'
import { signToken } from '../../lib/sealing/signed-token.ts'
import { sqlite } from '../../lib/storage/sqlite.ts'
import { needsPostgres, openPostgres, test } from '../support/databases.ts'
import { databaseFolder } from '../support/folders.ts'
import { openReceiver, until } from '../support/webhook-harness.ts'

interface Place {
  readonly source: DatabaseSource
  run(text: string): Promise<unknown>
  ask(text: string): Promise<Record<string, unknown>[]>
}

type OpenPlace = (t: TestContext) => Promise<Place>

const openFile: OpenPlace = async (t) => {
  const folder = mkdtempSync(join(databaseFolder, 'mailkeep-'))
  t.after(() => rmSync(folder, { recursive: true }))
  const file = join(folder, 'mail.db')
  const onFile = async <T>(use: (handle: Database.Database) => T) => {
    const handle = new Database(file)
    try {
      return use(handle)
    } finally {
      handle.close()
    }
  }
  return {
    source: sqlite(file),
    run: (text) => onFile((handle) => handle.exec(text)),
    ask: (text) => onFile((handle) => handle.prepare(text).all() as Record<string, unknown>[]),
  }
}

const openServer: OpenPlace = async (t) => {
  // Uses a new schema, because the shared ones are emptied after their migration and reused.
  const { source, ask, close } = await openPostgres({ schema: `old_${randomBytes(6).toString('hex')}` })
  t.after(close)
  return { source, run: ask, ask }
}

const encryptionKey = randomBytes(32)
const endpointUuid = '11111111-1111-4111-8111-111111111111'
const iso = (ms: number) => `${new Date(ms).toISOString().slice(0, -1)}000Z`

/** Returns the rows that version 0.1.0 wrote, in SQL for both databases. */
function rowsOfFirstVersion(url: string, nowMs: number): string {
  const past = `'${iso(nowMs - 3_600_000)}'`
  const ended = `'${iso(nowMs - 60_000)}'`
  const future = `'${iso(nowMs + 3_600_000)}'`
  const secret = createSealer(encryptionKey).seal('whsec_dGVzdA==', endpointUuid)
  const isServer = url.startsWith('pg:')
  const target = url.replace(/^pg:/, '')
  const bool = (value: boolean) => (isServer ? String(value) : value ? '1' : '0')
  const ownId = isServer ? 'overriding system value' : ''
  const uuid = (n: number) => `'00000000-0000-4000-8000-${String(n).padStart(12, '0')}'`
  const endpoint = 'mailkeep_endpoint (id, client_id, uuid, created_at, subscriber, url, description, events, active'
  const events = `'["newsletter.sent"]'`
  const body = `'{"id":"e","type":"newsletter.sent","created_at":"2026-01-01T00:00:00.000000Z","data":{}}'`
  const delivery = (id: number, endpointId: number, status: string, more: string) =>
    `insert into mailkeep_delivery (id, client_id, uuid, created_at, endpoint_id, event_id, event_type, status, attempts,
      retry, due_at, claim) ${ownId} values (${id}, 1, ${uuid(id)}, ${past}, ${endpointId}, 1, 'newsletter.sent',
      '${status}', ${more})`
  const [fresh, retry] = [bool(false), bool(true)]
  const job = (clientId: number, kind: string, target: number, state: object, createdAt: string) =>
    `insert into mailkeep_job (client_id, kind, target_id, state, created_at)
      values (${clientId}, '${kind}', ${target}, '${JSON.stringify(state)}', ${createdAt})`
  // A range without deliveries.
  const recovery = { since: iso(0), until: iso(0), after_id: 0, total: 5 }
  return [
    `insert into mailkeep_client (id, uuid, created_at, name) ${ownId} values (1, ${uuid(1)}, ${past}, 'Acme')`,
    `insert into mailkeep_contact (id, client_id, uuid, created_at, email, email_key, name, attributes, search,
      unsubscribed_by_contact) ${ownId} values (1, 1, ${uuid(4)}, ${past}, 'a@x.org', 'a@x.org', '', '{}', 'a', ${bool(false)})`,
    `insert into ${endpoint}, consecutive_failures, secret) ${ownId} values
      (1, 1, '${endpointUuid}', ${past}, null, '${target}', '', ${events}, ${bool(true)}, 0, '${secret}')`,
    `insert into ${endpoint}, consecutive_failures, secret) ${ownId} values
      (-1, null, ${uuid(2)}, ${past}, 'greeter', '', '', ${events}, ${bool(true)}, 0, '')`,
    `insert into mailkeep_setting (name, value) values ('last_subscriber_id', '-2')`,
    // Handler -2 was removed, and the deletion of its deliveries is not finished.
    job(0, 'clear endpoint', -2, {}, past),
    job(1, 'recovered', 1, { ...recovery, status: 'done', done: 5 }, past),
    job(1, 'recover', 1, { ...recovery, status: 'running', done: 4 }, past),
    job(1, 'clear tag', 1, {}, past),
    job(1, 'clear tag again', 2, {}, past),
    job(1, 'clear tag again', 3, {}, ended),
    ...[1, 2, 3].map((tag) => `insert into mailkeep_contact_tag (client_id, contact_id, tag_id) values (1, 1, ${tag})`),
    job(0, 'purge searches again', 0, { wanted: false, begun: false, slices: 0 }, ended),
    `insert into mailkeep_event (id, client_id, uuid, created_at, type, body) ${ownId}
      values (1, 1, ${uuid(3)}, ${past}, 'newsletter.sent', ${body})`,
    delivery(1, 1, 'pending', `0, ${fresh}, ${past}, null`),
    delivery(2, 1, 'pending', `1, ${retry}, ${future}, null`),
    delivery(3, 1, 'pending', `1, ${fresh}, ${ended}, 'of a dead process'`),
    delivery(4, 1, 'success', `1, ${retry}, ${ended}, null`),
    delivery(5, 1, 'failed', `10, ${retry}, ${ended}, null`),
    delivery(6, 1, 'held', `0, ${fresh}, ${ended}, null`),
    delivery(7, 1, 'held', `1, ${fresh}, ${ended}, 'of a dead process'`),
    delivery(8, -1, 'pending', `0, ${fresh}, ${past}, null`),
    delivery(9, -2, 'success', `1, ${retry}, ${ended}, null`),
    ...(isServer ? ['client', 'contact', 'endpoint', 'event', 'delivery'].map(advanceSequence) : []),
  ].join(';\n')
}

/** PostgreSQL: rows inserted with explicit ids do not advance the sequence. */
function advanceSequence(table: string): string {
  const sequence = `pg_get_serial_sequence('mailkeep_${table}', 'id')`
  return `select setval(${sequence}, (select greatest(max(id), 1) from mailkeep_${table}))`
}

for (const [name, openPlace, options] of [
  ['a SQLite file', openFile, {}],
  ['PostgreSQL', openServer, needsPostgres],
] as const) {
  test(`a database of version 0.1.0 is migrated with deliveries in every state, on ${name}`, options, async (t) => {
    const { source, run, ask } = await openPlace(t)
    const first: DatabaseSource = { ...source, migrations: source.migrations.slice(0, 2) }
    const open = (database: DatabaseSource, more: Partial<MailkeepOptions> = {}) =>
      createMailkeep({ database, encryptionKey, webhooks: { allowPrivate: true }, ...more })
    await (await open(first)).close()
    const receiver = await openReceiver(t)
    const nowMs = Date.now()
    await run(rowsOfFirstVersion(`${name === 'PostgreSQL' ? 'pg:' : ''}${receiver.url()}`, nowMs))

    const mailkeep = await open(source)
    t.after(() => mailkeep.close())
    const acme = mailkeep.forClient(1)
    const statuses = async () =>
      (await acme.webhooks.listDeliveries(1)).data.map(({ id, status, attempts }) => `${id} ${status} ${attempts}`)
    assert.deepEqual(await statuses(), [
      '7 held 1',
      '6 held 0',
      '5 failed 10',
      '4 success 1',
      '3 pending 1',
      '2 pending 1',
      '1 pending 0',
    ])
    assert.equal(
      (await acme.webhooks.getDelivery(1, 2)).next_attempt_at,
      `${iso(nowMs + 3_600_000).slice(0, 19)}+00:00`,
    )

    const handled: string[] = []
    const greeter = await mailkeep.on('newsletter.sent', (_, { deliveryId }) => handled.push(deliveryId), {
      name: 'greeter',
    })
    await mailkeep.deliverDue()
    assert.deepEqual(
      (await greeter.listDeliveries()).data.map(({ id, status }) => [id, status]),
      [[8, 'success']],
    )
    assert.equal(handled.length, 1)
    assert.deepEqual(await statuses(), [
      '7 held 1',
      '6 held 0',
      '5 failed 10',
      '4 success 1',
      '3 success 2',
      '2 pending 1',
      '1 success 1',
    ])
    const { attempt_log } = await acme.webhooks.getDelivery(1, 3)
    assert.deepEqual(
      attempt_log.map(({ duration_ms }) => duration_ms === null),
      [true, false],
      'the attempt of the dead process is logged as interrupted',
    )
    const { total } = await acme.webhooks.recover(1, { since: new Date(nowMs - 120_000).toISOString() })
    assert.equal(total, 3)
    await until('all are recovered', async () => {
      await mailkeep.deliverDue()
      return (await statuses()).every((one) => /success|^2 /.test(one)) || undefined
    })
    assert.equal(receiver.received.length, 5)

    assert.deepEqual(await acme.webhooks.getRecovery(1, 2), { id: 2, status: 'done', total: 5, done: 5 })
    assert.deepEqual(await acme.webhooks.getRecovery(1, 3), { id: 3, status: 'done', total: 4, done: 4 })
    const waiting = await ask(`select kind, target_id, run_at from mailkeep_job where status = 'pending' order by id`)
    assert.deepEqual(
      waiting.map(({ kind, target_id }) => [kind, Number(target_id)]),
      [
        ['clear tag', 3],
        ['purge searches', 0],
      ],
      'delayed jobs wait for their time',
    )
    assert.equal(new Date(waiting[0]!.run_at as string).getTime(), nowMs - 60_000 + 120_000)
    assert.deepEqual(
      (await ask('select tag_id from mailkeep_contact_tag')).map((row) => Number(row.tag_id)),
      [3],
    )

    // The old database's search index lacks the contact, as if FTS5's number of rows were too low.
    await acme.contacts.delete(1)

    const other = await mailkeep.on('newsletter.sent', () => {}, { name: 'other' })
    assert.deepEqual((await other.listDeliveries()).data, [], 'a new handler does not get the id of a removed one')
    const added = await acme.webhooks.createEndpoint({ url: receiver.url(), events: ['newsletter.sent'] })
    assert.ok(added.id > 3, 'ids of removed handlers are never reused')
    await mailkeep.close()
    await assert.rejects(open(first), (error) => isMailkeepError(error, 'conflict') && /newer/.test(error.message))
  })
}

const unicode = (name: string) => `${name}@bücher.example`
const ascii = (name: string) => `${name}@xn--bcher-kva.example`
const isRefusedAddress = (error: unknown) => isMailkeepError(error, 'validation_failed') && 'email' in error.errors!

for (const [name, openPlace, options] of [
  ['a SQLite file', openFile, {}],
  ['PostgreSQL', openServer, needsPostgres],
] as const) {
  test(`addresses get the key of both spellings of their domain, on ${name}`, options, async (t) => {
    const { source, run, ask } = await openPlace(t)
    const others = source.migrations.filter((migration) => migration.name !== '027-address-keys')
    const before: DatabaseSource = { ...source, migrations: others }
    const sent: string[] = []
    const send = async ({ to }: MailMessage) => ({ kind: 'sent' as const, sent: sent.push(to.email) })
    let confirmUrl = ''
    const onEvent = ({ type, data }: RaisedEvent) => {
      if (type === 'contact.confirmation_requested') confirmUrl = (data as { confirm_url: string }).confirm_url
    }
    const open = (database: DatabaseSource) =>
      createMailkeep({
        ...{ database, encryptionKey, publicUrl: 'https://mail.example.org', onEvent },
        mail: { transport: { isLocal: true, send }, rate: 100_000, connections: 50 },
      })
    const stored = [
      ...[unicode('ada'), unicode('bob'), ascii('bob'), 'carl@ＢÜＣＨＥＲ.example', unicode('carl')],
      ...['ü@example.org', unicode('eve'), unicode('gus'), ascii('gus')],
      ...[unicode('hal'), ascii('hal')],
    ]
    const old = await open(before)
    const { client } = (await old.clients.bootstrap())!
    const acme = old.forClient(client.id)
    for (const at of stored.keys()) await acme.contacts.upsert({ email: `${at}@example.org` })
    const list = await acme.lists.create({ name: 'News', double_opt_in: true })
    for (const at of ['a', 'b']) await acme.identities.add({ email: `${at}@example.org` })
    for (const at of ['a', 'b']) await acme.suppressions.create({ email: `${at}@example.org` })
    const { contact: dan } = await acme.contacts.upsert({ email: 'dan@example.org' })
    await acme.contacts.delete(dan.id, { suppress: true })
    await acme.contacts.addToList(list.id, { email: '0@example.org' })
    await old.close()
    // The rows as the earlier version wrote them.
    const keyOf = async (setting: string) => {
      const [row] = await ask(`select value from mailkeep_setting where name = '${setting}'`)
      return createSecretKey(createSealer(encryptionKey).openOnce(row!.value as string, setting), 'base64')
    }
    const hashKey = await keyOf('address_hash_key')
    const hash = (email: string) => createHmac('sha256', hashKey).update(`${client.id} ${email}`).digest('base64url')
    const content = Buffer.from(confirmUrl.split('/').at(-2)!, 'base64url').subarray(0, -16 - 8)
    const mark = Buffer.from(hash(unicode('ada')), 'base64url').subarray(0, 8)
    const oldToken = signToken(await keyOf('link_key'), Buffer.concat([content, mark]))
    const change = (table: string, id: number, email: string) =>
      `update mailkeep_${table} set email = '${email}', email_key = '${email.toLowerCase()}' where id = ${id}`
    const changeHash = (id: number, email: string) =>
      `update mailkeep_suppression set email_hash = '${hash(email)}' where id = ${id}`
    await run(
      [
        ...stored.map((email, at) => change('contact', at + 1, email)),
        ...[change('identity', 1, unicode('news')), change('identity', 2, ascii('news'))],
        ...[change('suppression', 1, unicode('bob')), changeHash(1, unicode('bob'))],
        ...[change('suppression', 2, unicode('eve')), changeHash(2, unicode('eve'))],
        changeHash(3, unicode('dan')),
      ].join(';\n'),
    )

    const mailkeep = await open(source)
    t.after(() => mailkeep.close())
    const { contacts, identities, suppressions, newsletters } = mailkeep.forClient(client.id)
    const idOf = async (email: string) => (await contacts.get({ email })).id
    for (const form of [unicode, ascii]) {
      assert.equal(await idOf(form('ada')), 1)
      assert.equal(await idOf(form('bob')), 3, 'a contact that has the key keeps it')
      assert.equal(await idOf(form('carl')), 4, 'otherwise the oldest contact gets it')
      assert.equal((await suppressions.create({ email: form('eve') })).created, false)
      await assert.rejects(contacts.upsert({ email: form('dan') }), isRefusedAddress)
      const [result] = await contacts.batch([{ op: 'upsert', email: form('dan') }])
      assert.equal(result!.status, 'refused')
      await assert.rejects(identities.add({ email: form('news') }), isRefusedAddress)
    }
    assert.equal(await idOf('ü@example.org'), 6)
    assert.deepEqual(
      (await contacts.list()).data.map(({ email }) => email),
      stored,
    )
    assert.equal((await identities.list()).data.length, 2)
    assert.equal((await mailkeep.links.open(oldToken, 'confirm')).contact.id, 1, 'the link of an earlier mail works')

    await identities.add({ email: 'sender@example.org', status: 'verified' })
    const sendNews = async () => {
      const { id } = await newsletters.create({
        name: 'News',
        subject: 'News',
        html: '<a href="{{ unsubscribe_url }}">Unsubscribe</a>',
        audience: {},
      })
      await newsletters.send(id)
      await mailkeep.deliverDue()
      return sent.splice(0).sort()
    }
    assert.deepEqual(
      await sendNews(),
      [0, 3, 4, 5, 7, 8, 9, 10].map((at) => stored[at]).sort(),
      'both contacts of bob are suppressed',
    )

    await contacts.merge(4, { into: 5 })
    assert.equal(await idOf(ascii('carl')), 5, 'a merge gives the address to the contact that stays')
    await contacts.delete(9)
    await contacts.changeEmail(8, { email: unicode('gus') })
    assert.equal(await idOf(ascii('gus')), 8, 'a contact may be given its own address')

    await contacts.delete(10, { suppress: true })
    assert.deepEqual(
      await sendNews(),
      [0, 4, 5, 7].map((at) => stored[at]).sort(),
      'the other contact of hal is suppressed',
    )
    await contacts.delete(2)
    assert.equal((await suppressions.list()).data.length, 4, 'the other contact of bob is still suppressed')
    await contacts.delete(7, { suppress: true })
    const left = (await suppressions.list()).data
    assert.deepEqual(
      left.map(({ email, reason }) => [email, reason]),
      [
        [unicode('bob'), 'manual'],
        [null, 'erased'],
        [ascii('hal'), 'manual'],
        [null, 'erased'],
      ],
    )
  })
}
