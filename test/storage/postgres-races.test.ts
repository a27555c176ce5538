import assert from 'node:assert/strict'
import type { TestContext } from 'node:test'
import pg from 'pg'
import {
  type AudienceInput,
  createMailkeep,
  type EventType,
  isMailkeepError,
  type Mailkeep,
  type MailkeepOptions,
} from '../../lib/index.ts'
import { postgres } from '../../lib/postgres.ts'
import { CapturingTransport } from '../../lib/testing/mail.ts'
import { onPostgres, openPostgres, test } from '../support/databases.ts'
import { openService, until } from '../support/harness.ts'
import type { Answer, Call } from '../support/http-call.ts'
import { assertFaster } from '../support/timing.ts'
import { openManualReceiver, openReceiver } from '../support/webhook-harness.ts'

const key = Buffer.alloc(32, 7)

/** Opens several mailkeeps on one database, like daemons on several machines. */
async function openSeveral(t: TestContext, count = 2, options: Partial<MailkeepOptions> = {}) {
  const database = await openPostgres()
  const webhooks = { allowPrivate: true }
  const open = () => createMailkeep({ database: database.source, encryptionKey: key, webhooks, ...options })
  const all: Mailkeep[] = await Promise.all(Array.from({ length: count }, open))
  t.after(async () => {
    for (const mailkeep of all) await mailkeep.close({ timeoutMs: 0 })
    await database.close()
  })
  const { id } = await all[0]!.clients.create({ name: 'Acme' })
  return { ...database, all, id, clients: all.map((mailkeep) => mailkeep.forClient(id)) }
}

/** Calls `call` many times in parallel, using the instances in turn. */
function callInParallel<D, T>(clients: readonly D[], times: number, call: (client: D, i: number) => Promise<T>) {
  return Promise.all(Array.from({ length: times }, (_, i) => call(clients[i % clients.length]!, i)))
}

/** Returns a row for each connection that waits for a lock. */
const lockWaits = `select 1 from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`

/** Resolves when a connection waits for a lock. */
async function untilLocked(ask: (text: string) => Promise<unknown[]>): Promise<void> {
  await until(
    () => ask(lockWaits),
    (rows) => rows.length > 0,
  )
}

async function assertNoDeadlock({ all, ask }: Awaited<ReturnType<typeof openSeveral>>): Promise<void> {
  for (const mailkeep of all) await mailkeep.close() // closing flushes the deadlock statistics
  assert.deepEqual(await ask('select deadlocks::int from pg_stat_database where datname = current_database()'), [
    { deadlocks: 0 },
  ])
}

const codeOf = (error: unknown) => (isMailkeepError(error) ? error.code : String(error))

/** Like `hammer`, but returns the result or the error's code of each call. */
function settleInParallel<D, T>(clients: readonly D[], times: number, call: (client: D, i: number) => Promise<T>) {
  return callInParallel(clients, times, (client, i) => call(client, i).then(() => 'done', codeOf))
}

const count = (results: readonly string[], wanted: string) => results.filter((one) => one === wanted).length

/** A client that runs `before` once, before the documents of a page are read. */
class InterruptedClient extends pg.Client {
  static before: (() => Promise<unknown>) | undefined
  override query(...args: never[]): never {
    const [query] = args as unknown as [{ text?: string }]
    const run = () => (super.query as (...args: never[]) => never)(...args)
    const { before } = InterruptedClient
    if (!before || !/with recursive page/.test(query.text ?? '')) return run()
    InterruptedClient.before = undefined
    return before().then(run) as never
  }
}

onPostgres('a page of contacts', () => {
  test('leaves out a contact that is erased while it is read', async (t) => {
    const database = await openPostgres()
    await database.ask(`create schema if not exists "${database.schema}"`)
    const options = { options: `-c search_path=${database.schema}` }
    const pool = new pg.Pool({ connectionString: database.url, ...options, Client: InterruptedClient as never })
    const mailkeep = await createMailkeep({ database: postgres(pool), encryptionKey: key })
    t.after(async () => {
      await mailkeep.close()
      await pool.end()
      await database.close()
    })
    const { id } = await mailkeep.clients.create({ name: 'Acme' })
    const acme = mailkeep.forClient(id)
    for (const name of ['ada', 'bob', 'cleo', 'dan']) await acme.contacts.upsert({ email: `${name}@example.org` })
    InterruptedClient.before = () => acme.contacts.delete({ email: 'bob@example.org' })
    const page = await acme.contacts.list({ per_page: 3 })
    assert.equal(InterruptedClient.before, undefined)
    assert.deepEqual(
      page.data.map(({ email }) => email),
      ['ada@example.org', 'cleo@example.org'],
    )
    const next = await acme.contacts.list({ per_page: 3, cursor: page.meta.next_cursor! })
    assert.deepEqual(
      next.data.map(({ email }) => email),
      ['dan@example.org'],
    )
  })
})

onPostgres('two daemons at the same time', () => {
  test('that start on an empty database create one client, one schema and one token', async (t) => {
    const database = await openPostgres({ schema: `race_${process.pid}` })
    const open = () => createMailkeep({ database: database.source, encryptionKey: key })
    const all = await Promise.all(Array.from({ length: 6 }, open))
    t.after(() => database.ask(`drop schema race_${process.pid} cascade`))
    t.after(() => Promise.all(all.map((mailkeep) => mailkeep.close())))
    const made = await Promise.all(all.map((mailkeep) => mailkeep.clients.bootstrap()))
    assert.equal(made.filter(Boolean).length, 1)
    assert.equal((await all[0]!.clients.list()).length, 1)
    assert.equal((await all[0]!.tokens.list()).length, 1)
  })

  test('with two encryption keys: the first key is stored, and the daemon with the other does not start', async (t) => {
    const database = await openPostgres()
    t.after(database.close)
    const keys = [1, 2, 3, 4].map((n) => Buffer.alloc(32, n))
    const open = (encryptionKey: Buffer) => createMailkeep({ database: database.source, encryptionKey })
    const results = await Promise.allSettled(keys.map(open))
    const opened = results.filter((one) => one.status === 'fulfilled')
    for (const { value } of opened) await value.close()
    assert.equal(opened.length, 1)
    for (const one of results) if (one.status === 'rejected') assert.equal(codeOf(one.reason), 'conflict')
  })

  test('with the same e-mail, tags and list create one of each, and merge the fields of both', async (t) => {
    const { clients, ask } = await openSeveral(t)
    const list = await clients[0]!.lists.create({ name: 'News' })
    const answers = await callInParallel(clients, 60, (client, i) =>
      client.contacts.addToList(list.id, {
        email: i % 2 ? 'A@x.org' : 'a@X.ORG',
        tags: [`t${i % 5}`, `u${i % 3}`],
        [`k${i}`]: `${i}`,
      }),
    )
    assert.equal(answers.filter(({ created }) => created).length, 1)
    const { data } = await clients[0]!.contacts.list()
    assert.equal(data.length, 1)
    assert.equal(data[0]!.tags.length, 8)
    assert.equal(Object.keys(data[0]!.extra_attributes).length, 60, 'no attribute overwrote another')
    assert.equal(data[0]!.lists.length, 1)
    assert.equal((await ask('select count(*)::int as n from mailkeep_tag'))[0]!.n, 8)
  })

  test('with new tags in opposite orders create each tag once, without a deadlock', async (t) => {
    const { clients, ask } = await openSeveral(t)
    const list = await clients[0]!.lists.create({ name: 'News' })
    const names = Array.from({ length: 20 }, (_, i) => `tag ${i}`)
    await callInParallel(clients, 40, (client, i) =>
      client.contacts.addToList(list.id, { email: `${i}@x.org`, tags: i % 2 ? names : [...names].reverse() }),
    )
    assert.equal((await ask('select count(*)::int as n from mailkeep_tag'))[0]!.n, 20)
    assert.equal((await ask('select count(*)::int as n from mailkeep_contact_tag'))[0]!.n, 800)
    assert.deepEqual(await ask('select deadlocks::int from pg_stat_database where datname = current_database()'), [
      { deadlocks: 0 },
    ])
  })

  test('that exchange the addresses of two contacts are refused, without a deadlock', async (t) => {
    const place = await openSeveral(t)
    const { clients } = place
    const emails = ['a@x.org', 'b@x.org']
    const add = async (email: string) => (await clients[0]!.contacts.upsert({ email })).contact.id
    const ids = [await add(emails[0]!), await add(emails[1]!)]
    const results = await settleInParallel(clients, 40, (client, i) =>
      client.contacts.changeEmail(ids[i % 2]!, { email: emails[(i + 1) % 2]! }),
    )
    assert.equal(count(results, 'validation_failed'), 40)
    await assertNoDeadlock(place)
  })

  test('a tag name is created once; the other calls get an error', async (t) => {
    const { clients } = await openSeveral(t)
    const results = await settleInParallel(clients, 20, (client, i) =>
      client.tags.create({ name: i % 2 ? 'VIP' : 'vip' }),
    )
    assert.equal(count(results, 'done'), 1)
    assert.equal(count(results, 'validation_failed'), 19)
  })

  test('of two tags renamed to the same name one succeeds, the other call gets an error', async (t) => {
    const { clients } = await openSeveral(t)
    for (let round = 0; round < 10; round++) {
      const tags = await callInParallel(clients, 2, (client, i) => client.tags.create({ name: `${round} ${i}` }))
      const results = await settleInParallel(clients, 2, (client, i) =>
        client.tags.update(tags[i]!.id, { name: `one ${round}` }),
      )
      assert.deepEqual(results.sort(), ['done', 'validation_failed'])
    }
  })

  test('an identity is registered once; the other calls get an error', async (t) => {
    const { clients } = await openSeveral(t)
    const results = await settleInParallel(clients, 20, (client) => client.identities.add({ email: 'me@x.org' }))
    assert.equal(count(results, 'done'), 1)
    assert.equal(count(results, 'validation_failed'), 19)
  })

  test('a contact that joins a list many times raises one event; unsubscribed many times, one more', async (t) => {
    const { clients, ask } = await openSeveral(t)
    const events: EventType[] = ['contact.resubscribed', 'contact.subscribed', 'contact.unsubscribed']
    await clients[0]!.webhooks.createEndpoint({ url: 'https://example.com/', events })
    const list = await clients[0]!.lists.create({ name: 'News' })
    const answers = await callInParallel(clients, 30, (client) =>
      client.contacts.addToList(list.id, { email: 'a@x.org' }),
    )
    const { contact } = answers[0]!
    await callInParallel(clients, 30, (client) => client.contacts.unsubscribe(contact.id))
    await callInParallel(clients, 30, (client) => client.contacts.resubscribe(contact.id))
    const raised = await ask('select type, count(*)::int as n from mailkeep_event group by type order by type')
    assert.deepEqual(
      raised,
      events.map((type) => ({ type, n: 1 })),
    )
  })

  test('a contact is on a topic only while it is on its list', async (t) => {
    const { clients, ask } = await openSeveral(t)
    const list = await clients[0]!.lists.create({ name: 'News' })
    const topic = await clients[0]!.topics.create(list.id, { name: 'Weekly' })
    const { contact } = await clients[0]!.contacts.addToList(list.id, { email: 'a@x.org' })
    for (let round = 0; round < 20; round++) {
      await clients[0]!.contacts.addToList(list.id, { email: 'a@x.org' })
      await Promise.all([
        clients[0]!.contacts.subscribeToTopic(contact.id, topic.id).catch(() => {}),
        clients[1]!.contacts.removeFromList(list.id, contact.id),
      ])
      assert.deepEqual(await ask('select 1 from mailkeep_contact_topic'), [])
    }
  })

  test('two changes of one topic, of name and of description, are both stored', async (t) => {
    const { clients } = await openSeveral(t)
    const list = await clients[0]!.lists.create({ name: 'News' })
    const { id } = await clients[0]!.topics.create(list.id, { name: 'a', description: 'a' })
    for (let round = 0; round < 20; round++) {
      const text = String(round)
      await Promise.all([
        clients[0]!.topics.update(id, { name: text }),
        clients[1]!.topics.update(id, { description: text }),
      ])
      const [topic] = (await clients[0]!.topics.list(list.id)).data
      assert.deepEqual([topic!.name, topic!.description], [text, text])
    }
  })

  test('test deliveries share one limit', async (t) => {
    const { clients } = await openSeveral(t, 3)
    const { id } = await clients[0]!.webhooks.createEndpoint({ url: 'http://127.0.0.1:1/', events: ['webhook.test'] })
    const results = await settleInParallel(clients, 40, (client) => client.webhooks.testEndpoint(id))
    assert.equal(count(results, 'done'), 10)
    assert.equal(count(results, 'rate_limited'), 30)
  })
})

onPostgres('two daemons called over HTTP at the same time', () => {
  /** Opens two services on one database; both are called with the tokens of the first. */
  async function openBoth(t: TestContext) {
    const database = await openPostgres()
    const shared = (close: () => Promise<void>) => async () => ({ source: database.source, close })
    const first = await openService(
      t,
      { encryptionKey: key },
      shared(async () => {}),
    )
    const second = await openService(t, { encryptionKey: key }, shared(database.close)) // closed last
    const { id } = await first.data(201, 'POST', '/lists', { body: { name: 'News' } })
    const calls = [
      first.call,
      (...[method, path, options]: Parameters<Call>) => second.call(method, path, { token: first.admin, ...options }),
    ] as const
    return { ...database, calls, path: `/lists/${id}/contacts` }
  }

  /** Counts the answers by status. */
  function tally(answers: readonly Answer[]): Record<number, number> {
    const counts: Record<number, number> = {}
    for (const { status } of answers) counts[status] = (counts[status] ?? 0) + 1
    return counts
  }

  test('for one contact, its tags and its list: one answer says that it is new, all others that it exists', async (t) => {
    const { calls, path, ask } = await openBoth(t)
    for (let round = 0; round < 5; round++) {
      const body = { email: `${round}@x.org`, tags: [`a ${round}`, `b ${round}`] }
      const answers = await callInParallel(calls, 20, (call) => call('POST', path, { body }))
      assert.deepEqual(tally(answers), { 200: 19, 201: 1 })
    }
    for (const [table, rows] of [
      ['contact', 5],
      ['tag', 10],
      ['contact_tag', 10],
      ['contact_list', 5],
    ] as const) {
      assert.deepEqual(await ask(`select count(*)::int as n from mailkeep_${table}`), [{ n: rows }], table)
    }
  })

  test('for one tag: one creates it, the others get an error that the name is taken', async (t) => {
    const { calls } = await openBoth(t)
    for (let round = 0; round < 5; round++) {
      const answers = await callInParallel(calls, 20, (call) =>
        call('POST', '/tags', { body: { name: `VIP ${round}` } }),
      )
      assert.deepEqual(tally(answers), { 201: 1, 422: 19 })
    }
  })
})

/** Begins a transaction on another connection. */
async function beginOther(t: TestContext, { url, schema }: { url: string; schema: string }) {
  const other = new pg.Client({ connectionString: url })
  await other.connect()
  t.after(() => other.end())
  await other.query(`set search_path = ${schema}`)
  await other.query('begin')
  return other
}

/** Begins a transaction of the host, for operations of the client in it. */
async function beginHosted(t: TestContext, { all, id, url, schema }: Awaited<ReturnType<typeof openSeveral>>) {
  const other = await beginOther(t, { url, schema })
  return { client: all[0]!.using(other).forClient(id), commit: () => other.query('commit') }
}

onPostgres('while a transaction of the host is open', () => {
  const address = { email: 'old@example.org' }
  const mail = { transport: new CapturingTransport(Date.now), allowUnverified: true }

  async function addNewsletter(client: ReturnType<Mailkeep['forClient']>, audience: AudienceInput = {}) {
    await client.identities.add({ email: 'news@acme.example', name: 'Acme', status: 'verified' })
    return await client.newsletters.create({ name: 'News', subject: 'News', html: '{{ unsubscribe_url }}', audience })
  }

  /** Opens a mailkeep that can send, with more contacts than one transaction selects. */
  async function openWithMany(t: TestContext) {
    const place = await openSeveral(t, 1, { mail, publicUrl: 'https://mail.example.com' })
    const acme = place.clients[0]!
    const [everyone, excluded] = [
      await acme.lists.create({ name: 'Everyone' }),
      await acme.lists.create({ name: 'Excluded' }),
    ]
    const people = Array.from({ length: 501 }, (_, i) => ({ email: `${i}@example.org` }))
    await acme.contacts.addManyToList(everyone.id, people)
    await acme.contacts.addToList(excluded.id, people.at(-1)!)
    return { ...place, acme, everyone, excluded }
  }

  test('a batch finds a contact whose address is changed there by its id', async (t) => {
    const place = await openSeveral(t)
    const [acme] = place.clients
    const { id } = (await acme!.contacts.upsert(address)).contact
    const { client, commit } = await beginHosted(t, place)
    await client.contacts.changeEmail(id, { email: 'new@example.org' })
    const tagged = acme!.contacts.batch([{ op: 'tag', id, tags: ['vip'] }])
    await untilLocked(place.ask)
    await commit()
    assert.deepEqual(await tagged, [{ status: 'done', id }])
  })

  test('an import that skips stored contacts leaves one as it is that is saved there', async (t) => {
    const place = await openSeveral(t)
    const [acme] = place.clients
    const list = await acme!.lists.create({ name: 'News' })
    const { client, commit } = await beginHosted(t, place)
    const { id } = (await client.contacts.upsert({ ...address, name: 'Ada' })).contact
    const file = `email,name,tags\n${address.email},Other,old\nnew@example.org,New,\n${address.email},Again,old\n`
    const imported = acme!.contacts.import(list.id, [file], { format: 'csv', mode: 'skip' })
    await untilLocked(place.ask)
    await commit()
    const { created, updated, skipped } = await imported
    assert.deepEqual({ created, updated, skipped }, { created: 1, updated: 0, skipped: 2 })
    const { name, tags, lists } = await acme!.contacts.get(id)
    assert.deepEqual([name, tags, lists], ['Ada', [], []])
  })

  test('a bounce does not suppress the new address if another process changes it at the same moment', async (t) => {
    const place = await openSeveral(t)
    const [acme] = place.clients
    const { id } = (await acme!.contacts.upsert(address)).contact
    const { client, commit } = await beginHosted(t, place)
    await client.contacts.changeEmail(id, { email: 'new@example.org' })
    const bounced = acme!.contacts.recordBounce(address).then(() => 'recorded', codeOf)
    await untilLocked(place.ask)
    await commit()
    assert.equal(await bounced, 'not_found')
    assert.deepEqual((await acme!.suppressions.list()).data, [])
  })

  test('a newsletter that is cancelled skips the message of a contact that is erased there', async (t) => {
    const place = await openSeveral(t, 1, { mail, publicUrl: 'https://mail.example.com' })
    const [acme] = place.clients
    const { id } = (await acme!.contacts.upsert(address)).contact
    const newsletter = await addNewsletter(acme!)
    await acme!.newsletters.send(newsletter.id)
    const { client, commit } = await beginHosted(t, place)
    await client.contacts.delete(id)
    const cancelled = acme!.newsletters.cancel(newsletter.id)
    await untilLocked(place.ask)
    await commit()
    const { status, counts } = await cancelled
    assert.deepEqual([status, counts.pending, counts.skipped], ['cancelled', 0, 1])
  })

  test('a list that a newsletter or its segment excludes is not deleted while it is sent there', async (t) => {
    for (const bySegment of [false, true]) {
      const place = await openWithMany(t)
      const { acme, everyone, excluded } = place
      const filters = { exclude_lists: [excluded.id] }
      const segment = await acme.segments.create({ name: 'Others', filters })
      const newsletter = await addNewsletter(acme, {
        lists: [everyone.id],
        ...(bySegment ? { segment: segment.id } : filters),
      })
      const { client, commit } = await beginHosted(t, place)
      await client.newsletters.send(newsletter.id)
      const deleted = acme.lists.delete(excluded.id).then(() => 'deleted', codeOf)
      await untilLocked(place.ask)
      await commit()
      assert.equal(await deleted, 'conflict')
    }
  })

  test('a newsletter is not sent if the list that it excludes is deleted there', async (t) => {
    const place = await openWithMany(t)
    const { acme, everyone, excluded } = place
    const newsletter = await addNewsletter(acme, { lists: [everyone.id], exclude_lists: [excluded.id] })
    const { client, commit } = await beginHosted(t, place)
    await client.lists.delete(excluded.id)
    const sent = acme.newsletters.send(newsletter.id).then(() => 'sent', codeOf)
    await untilLocked(place.ask)
    await commit()
    assert.equal(await sent, 'validation_failed')
  })

  test('a newsletter is sent with the filters that its segment gets there', async (t) => {
    const place = await openWithMany(t)
    const { acme, everyone, excluded } = place
    const segment = await acme.segments.create({ name: 'Others', filters: { lists: [everyone.id] } })
    const newsletter = await addNewsletter(acme, { segment: segment.id })
    const { client, commit } = await beginHosted(t, place)
    await client.segments.update(segment.id, { filters: { lists: [everyone.id], exclude_lists: [excluded.id] } })
    const sent = acme.newsletters.send(newsletter.id)
    await untilLocked(place.ask)
    await commit()
    await sent
    await place.all[0]!.deliverDue()
    assert.equal((await acme.newsletters.get(newsletter.id)).counts.recipients, 500)
  })

  test('a newsletter and a merge of its recipient wait for each other, and the person gets the newsletter', async (t) => {
    for (const first of ['merge', 'send'] as const) {
      const place = await openSeveral(t, 1, { mail, publicUrl: 'https://mail.example.com' })
      const acme = place.clients[0]!
      const list = await acme.lists.create({ name: 'News' })
      const { contact } = await acme.contacts.addToList(list.id, address)
      const kept = (await acme.contacts.upsert({ email: `${first}@example.org` })).contact
      const newsletter = await addNewsletter(acme, { lists: [list.id] })
      const { client, commit } = await beginHosted(t, place)
      const merge = (on: typeof client) => on.contacts.merge(contact.id, { into: kept.id })
      const send = (on: typeof client) => on.newsletters.send(newsletter.id)
      await (first === 'merge' ? merge(client) : send(client))
      const second = first === 'merge' ? send(acme) : merge(acme)
      await untilLocked(place.ask)
      await commit()
      await second
      await place.all[0]!.deliverDue()
      const messages = (await acme.newsletters.messages(newsletter.id)).data
      assert.deepEqual(
        messages.map(({ contact_email, status }) => [contact_email, status]),
        [[`${first}@example.org`, 'sent']],
      )
    }
  })

  test('a merge of a contact with many messages moves the message that waits, so that the claim does not skip it', async (t) => {
    const place = await openSeveral(t, 1, { mail, publicUrl: 'https://mail.example.com' })
    const acme = place.clients[0]!
    const old = (await acme.contacts.upsert(address)).contact
    const newsletter = await addNewsletter(acme)
    const columns = 'client_id, uuid, created_at, contact_id, newsletter_id, status, attempts, due_at'
    await place.ask(`insert into mailkeep_message (${columns}) select client_id, gen_random_uuid(), created_at, ${old.id},
      1000 + n, 'sent', 1, created_at from mailkeep_newsletter, generate_series(1, 501) as n`)
    await acme.newsletters.send(newsletter.id)
    const kept = (await acme.contacts.upsert({ email: 'kept@example.org' })).contact
    const { client, commit } = await beginHosted(t, place) // no job runs before its commit
    await client.contacts.merge(old.id, { into: kept.id })
    const [message] = (await client.newsletters.messages(newsletter.id)).data
    await commit()
    assert.equal(message!.contact_id, kept.id)
  })

  test('merges do not wait for each other', async (t) => {
    const place = await openSeveral(t)
    const [acme] = place.clients
    const add = async (name: string) => (await acme!.contacts.upsert({ email: `${name}@example.org` })).contact.id
    const ids = [await add('a'), await add('b'), await add('c'), await add('d')] as const
    const { client, commit } = await beginHosted(t, place)
    await client.contacts.merge(ids[0], { into: ids[1] })
    await acme!.contacts.merge(ids[2], { into: ids[3] })
    await commit()
    assert.equal(await acme!.contacts.count(), 2)
  })

  test('a batch and a merge change the same two contacts, without a deadlock', async (t) => {
    const place = await openSeveral(t)
    const [acme] = place.clients
    const add = async (name: string) => (await acme!.contacts.upsert({ email: `${name}@example.org` })).contact.id
    const [first, second] = [await add('z'), await add('a')]
    const { client, commit } = await beginHosted(t, place)
    await client.contacts.update(second, { name: 'Ada' })
    const named = (name: string) => ({ op: 'update', email: `${name}@example.org`, plan: 'pro' }) as const
    const updated = acme!.contacts.batch([named('z'), named('a')])
    await untilLocked(place.ask)
    const merged = acme!.contacts.merge(first, { into: second })
    await until(
      () => place.ask(lockWaits),
      (rows) => rows.length > 1,
    )
    await commit()
    assert.deepEqual(
      (await updated).map(({ status }) => status),
      ['updated', 'updated'],
    )
    assert.deepEqual((await merged).extra_attributes, { plan: 'pro' })
    await assertNoDeadlock(place)
  })

  test('a batch creates a tag before its second step, and a contact changed there gets a new tag', async (t) => {
    const place = await openSeveral(t)
    const [acme] = place.clients
    const { id } = (await acme!.contacts.upsert(address)).contact
    await acme!.contacts.upsert({ email: 'ada@example.org' })
    const { client, commit } = await beginHosted(t, place)
    await client.contacts.update(id, { name: 'Ada' })
    const tag = (email: string, name: string) => ({ op: 'tag', email, tags: [name] }) as const
    const tagged = acme!.contacts.batch([
      tag('ada@example.org', 'one'),
      tag('ada@example.org', 'two'),
      tag(address.email, 'two'),
    ])
    await untilLocked(place.ask)
    await client.contacts.tag(id, { tags: ['three'] })
    await commit()
    assert.deepEqual(
      (await tagged).map(({ status }) => status),
      ['done', 'done', 'done'],
    )
    const { tags } = await acme!.contacts.get(id)
    assert.deepEqual(tags.map(({ name }) => name).toSorted(), ['three', 'two'])
    await assertNoDeadlock(place)
  })

  test('an attribute is declared, and a contact changed there gets a new tag', async (t) => {
    const place = await openSeveral(t)
    const [acme] = place.clients
    const { id } = (await acme!.contacts.upsert({ ...address, plan: 'pro' })).contact
    const { client, commit } = await beginHosted(t, place)
    await client.contacts.update(id, { name: 'Ada' })
    const declared = acme!.settings.attributes.update({ indexed: ['plan'] })
    await untilLocked(place.ask)
    await client.contacts.tag(id, { tags: ['new'] })
    await commit()
    assert.deepEqual(await declared, { indexed: ['plan'] })
    assert.equal(await acme!.contacts.count({ attributes: { plan: 'pro' } }), 1)
  })

  test('an indexed attribute is replaced, and a contact changed there gets another value of it, without a deadlock', async (t) => {
    const place = await openSeveral(t)
    const [acme] = place.clients
    await acme!.settings.attributes.update({ indexed: ['plan'] })
    const { id } = (await acme!.contacts.upsert({ ...address, plan: 'pro' })).contact
    const { client, commit } = await beginHosted(t, place)
    await client.contacts.update(id, { name: 'Ada' })
    const replaced = acme!.settings.attributes.update({ indexed: ['city'] })
    await untilLocked(place.ask)
    await client.contacts.update(id, { plan: 'free', city: 'Rome' })
    await commit()
    assert.deepEqual(await replaced, { indexed: ['city'] })
    assert.equal(await acme!.contacts.count({ attributes: { city: 'Rome' } }), 1)
    assert.deepEqual(
      await place.ask('select deadlocks::int from pg_stat_database where datname = current_database()'),
      [{ deadlocks: 0 }],
    )
  })

  test('two indexed attributes are removed while a newsletter by one of them starts, without a deadlock', async (t) => {
    const place = await openSeveral(t, 2, { mail, publicUrl: 'https://mail.example' })
    const [acme, neighbour] = place.clients
    await acme!.settings.attributes.update({ indexed: ['zip', 'age'] })
    // Without an order PostgreSQL returns this row last from now on, although its id is lower.
    for (const name of ['zip code', 'zip'])
      await place.ask(`update mailkeep_indexed_attribute set name = '${name}' where name like 'zip%'`)
    const segment = await acme!.segments.create({ name: 'Here', filters: { attributes: { zip: '1' } } })
    const { id } = await addNewsletter(acme!, { segment: segment.id })
    const other = await beginOther(t, place)
    await other.query(`select 1 from mailkeep_indexed_attribute where name = 'zip' for update`)
    const sent = acme!.newsletters.send(id)
    await untilLocked(place.ask)
    const removed = neighbour!.settings.attributes.update({ indexed: [] })
    await until(
      () => place.ask(lockWaits),
      (rows) => rows.length > 1,
    )
    await other.query('commit')
    assert.equal((await sent).status, 'sent')
    assert.deepEqual(await removed, { indexed: [] })
    await assertNoDeadlock(place)
  })

  /** Runs the jobs that repeat a change, because such transactions may have added rows. */
  async function runSecondPass({ ask, all }: Awaited<ReturnType<typeof openSeveral>>) {
    await ask(`update mailkeep_job set run_at = run_at - interval '1 hour'`)
    await all[0]!.deliverDue()
  }

  test('a list is deleted with a topic that is created there, and with its subscriptions', async (t) => {
    const place = await openSeveral(t)
    const [acme] = place.clients
    const list = await acme!.lists.create({ name: 'News' })
    const { contact } = await acme!.contacts.addToList(list.id, address)
    const { client, commit } = await beginHosted(t, place)
    const topic = await client.topics.create(list.id, { name: 'Weekly' })
    await client.contacts.subscribeToTopic(contact.id, topic.id)
    const deleted = acme!.lists.delete(list.id)
    await untilLocked(place.ask)
    await commit()
    await deleted
    await runSecondPass(place)
    const left = 'select 1 from mailkeep_topic union all select 1 from mailkeep_contact_topic'
    assert.deepEqual(await place.ask(left), [])
  })

  test('contacts of the same import are erased there and here: neither waits for the other', async (t) => {
    const place = await openSeveral(t)
    const [acme] = place.clients
    const list = await acme!.lists.create({ name: 'News' })
    const added = await acme!.contacts.addManyToList(list.id, [{ email: 'a@example.org' }, { email: 'b@example.org' }])
    const [first, second] = added.map((result) => ('id' in result ? result.id : 0))
    const { client, commit } = await beginHosted(t, place)
    await client.contacts.delete(first!)
    await acme!.contacts.delete(second!)
    await commit()
    assert.equal(await acme!.contacts.count({ include_unsubscribed: true }), 0)
  })

  test('an event that is raised there is sent, although its contact is merged', async (t) => {
    const place = await openSeveral(t)
    const [acme] = place.clients
    const [old, kept] = [
      (await acme!.contacts.upsert(address)).contact,
      (await acme!.contacts.upsert({ email: 'kept@example.org' })).contact,
    ]
    const receiver = await openReceiver(t)
    await acme!.webhooks.createEndpoint({ url: receiver.url(), events: ['newsletter.sent'] })
    const { client, commit } = await beginHosted(t, place)
    await client.events.raise({ type: 'newsletter.sent', data: { contact: { id: old.id } } })
    await acme!.contacts.merge(old.id, { into: kept.id })
    await commit()
    await place.all[0]!.deliverDue()
    assert.deepEqual(await place.ask('select status, attempts from mailkeep_delivery'), [
      { status: 'success', attempts: 1 },
    ])
  })

  test('the steps of a sequence are set, and a contact who joins there gets them', async (t) => {
    const place = await openSeveral(t)
    const [acme] = place.clients
    const list = await acme!.lists.create({ name: 'News' })
    const { id } = await acme!.sequences.create({ name: 'Welcome', list_id: list.id })
    const { client, commit } = await beginHosted(t, place)
    await client.contacts.addToList(list.id, address)
    const step = { subject: 'Hello', html: '{{ unsubscribe_url }}', delay_seconds: 0 }
    await acme!.sequences.setSteps(id, { steps: [step] })
    await commit()
    await runSecondPass(place)
    assert.notEqual((await acme!.sequences.enrolments(id)).data[0]!.due_at, null)
  })

  test('a sequence gets another list, and a contact who joined the first one there continues', async (t) => {
    const transport = new CapturingTransport(Date.now)
    const place = await openSeveral(t, 2, {
      publicUrl: 'https://mail.example.com',
      mail: { transport, allowUnverified: true },
    })
    const [acme] = place.clients
    await acme!.identities.add({ email: 'news@acme.example', status: 'verified' })
    const [list, other] = [await acme!.lists.create({ name: 'News' }), await acme!.lists.create({ name: 'Other' })]
    const steps = [{ subject: 'Hello', html: '{{ unsubscribe_url }}', delay_seconds: 0 }]
    const { id } = await acme!.sequences.create({ name: 'Welcome', list_id: list.id, steps })
    const { client, commit } = await beginHosted(t, place)
    await client.contacts.addToList(list.id, address)
    await acme!.sequences.update(id, { list_id: other.id })
    await commit()
    await place.all[0]!.deliverDue()
    assert.deepEqual((await acme!.sequences.enrolments(id)).data[0]!.status, 'completed')
    assert.deepEqual(
      transport.captured.map(({ to }) => to.email),
      [address.email],
    )
  })

  test('a contact is erased, and an event that was raised there goes with it', async (t) => {
    const place = await openSeveral(t)
    const [acme] = place.clients
    await acme!.webhooks.createEndpoint({ url: 'http://127.0.0.1:9/', events: ['newsletter.sent'] })
    const { id, email } = (await acme!.contacts.upsert(address)).contact
    const { client, commit } = await beginHosted(t, place)
    await client.events.raise({ type: 'newsletter.sent', data: { contact: { id, email } } })
    await acme!.contacts.delete(id)
    await commit()
    await runSecondPass(place)
    assert.deepEqual(await place.ask('select body, contact_id from mailkeep_event'), [{ body: '', contact_id: null }])
  })

  test('a contact is erased there, and its delivery is not queued again by a redelivery or a recovery here', async (t) => {
    const place = await openSeveral(t)
    const [acme, other] = place.clients
    const { id } = await acme!.webhooks.createEndpoint({ url: 'http://127.0.0.1:9/', events: ['contact.created'] })
    const statuses = async () => (await acme!.webhooks.listDeliveries(id)).data.map(({ status }) => status)
    const first = (await acme!.contacts.upsert(address)).contact
    const redelivery = await beginHosted(t, place)
    await redelivery.client.contacts.delete(first.id)
    const redelivered = acme!.webhooks.redeliver(id, (await acme!.webhooks.listDeliveries(id)).data[0]!.id)
    await untilLocked(place.ask)
    await redelivery.commit()
    assert.equal(await redelivered.then(() => 'queued', codeOf), 'validation_failed')
    assert.deepEqual(await statuses(), ['failed'])

    await acme!.webhooks.updateEndpoint(id, { active: false })
    const second = (await acme!.contacts.upsert(address)).contact // held
    await acme!.webhooks.updateEndpoint(id, { active: true })
    const recovery = await beginHosted(t, place)
    await recovery.client.contacts.delete(second.id)
    await acme!.webhooks.recover(id, { since: '2020-01-01T00:00:00Z' })
    const recovered = place.all[0]!.deliverDue()
    await untilLocked(place.ask)
    await other!.webhooks.updateEndpoint(id, { active: false }) // a pending delivery would become held again
    await recovery.commit()
    await recovered
    assert.deepEqual(await statuses(), ['failed', 'failed'])
  })

  test('a message to a contact that is erased there is written, and does not name the contact afterwards', async (t) => {
    const place = await openSeveral(t, 1, { mail, publicUrl: 'https://mail.example.com' })
    const [acme] = place.clients
    const { id } = (await acme!.contacts.upsert(address)).contact
    const newsletter = await addNewsletter(acme!)
    const { client, commit } = await beginHosted(t, place)
    await client.contacts.delete(id)
    await acme!.newsletters.send(newsletter.id)
    await commit()
    await runSecondPass(place)
    assert.deepEqual(await place.ask('select contact_id from mailkeep_message'), [{ contact_id: null }])
  })
})

onPostgres('closing', () => {
  test('aborts requests also of deliveries that were being claimed when its time was over', async (t) => {
    const webhooks = { allowPrivate: true, timeoutSeconds: 60 } // longer than the test may take
    const { all, clients, ask, url, schema } = await openSeveral(t, 1, { webhooks })
    const { receiver } = await openManualReceiver(t)
    await clients[0]!.webhooks.createEndpoint({ url: receiver.url(), events: ['newsletter.sent'] })
    await clients[0]!.events.raise({ type: 'newsletter.sent', data: {} })
    const other = await beginOther(t, { url, schema })
    await other.query('lock table mailkeep_delivery in exclusive mode')
    all[0]!.start()
    await untilLocked(ask)
    const closed = all[0]!.close({ timeoutMs: 0 })
    await new Promise((resolve) => setTimeout(resolve, 0)) // its timer of the same length ends before this one
    await other.query('commit')
    await closed
    const [delivery] = await ask('select status, attempts, claim from mailkeep_delivery')
    assert.deepEqual(delivery, { status: 'pending', attempts: 1, claim: null })
  })
})

onPostgres('a delivery that is claimed while its contact is erased', () => {
  test('has its attempt in the log', async (t) => {
    const { clients, ask, url, schema } = await openSeveral(t)
    const [acme] = clients
    await acme!.webhooks.createEndpoint({ url: 'http://127.0.0.1:9/', events: ['contact.created'] })
    const { contact } = await acme!.contacts.upsert({ email: 'a@example.org' })
    const other = await beginOther(t, { url, schema })
    await other.query(`update mailkeep_delivery set claim = 'claim', claimed_at = now(), attempts = attempts + 1,
      lease_until = now() + interval '1 minute'`)
    const erased = acme!.contacts.delete(contact.id)
    await untilLocked(ask)
    await other.query('commit')
    await erased
    const [delivery] = (await acme!.webhooks.listAllDeliveries({})).data
    const { status, attempts, attempt_log } = await acme!.webhooks.getDelivery(delivery!.endpoint_id, delivery!.id)
    assert.deepEqual([status, attempts, attempt_log.map(({ number }) => number)], ['failed', 1, [1]])
  })
})

onPostgres('an endpoint that is enabled again', () => {
  test('waits for a transaction that is holding its deliveries: otherwise a rollback would let them be sent', async (t) => {
    const { all, clients, ask, url, schema } = await openSeveral(t)
    const events = ['newsletter.sent'] as const
    const { id } = await clients[0]!.webhooks.createEndpoint({ url: 'http://127.0.0.1:9/', events: [...events] })
    for (let n = 0; n < 3; n++) await clients[0]!.events.raise({ type: 'newsletter.sent', data: { n } })
    const other = await beginOther(t, { url, schema })
    await other.query('select id from mailkeep_delivery order by id limit 1 for update')
    await clients[0]!.webhooks.updateEndpoint(id, { active: false })
    const activated = clients[1]!.webhooks.updateEndpoint(id, { active: true })
    await untilLocked(ask)
    await other.query('rollback')
    assert.equal((await activated).active, true)
    assert.deepEqual(await ask('select distinct status from mailkeep_delivery'), [{ status: 'held' }])
    assert.equal(await all[0]!.deliverDue(), undefined)
  })

  test('waits for no delivery if it was not switched off', async (t) => {
    const { clients, url, schema } = await openSeveral(t)
    const [acme] = clients
    const { id } = await acme!.webhooks.createEndpoint({ url: 'http://127.0.0.1:9/', events: ['newsletter.sent'] })
    await acme!.events.raise({ type: 'newsletter.sent', data: {} })
    const other = await beginOther(t, { url, schema })
    await other.query('select id from mailkeep_delivery for update')
    assert.equal((await acme!.webhooks.updateEndpoint(id, { active: true })).active, true)
    await other.query('rollback')
  })
})

onPostgres('a client whose requests all wait for one lock', () => {
  test('leaves a connection to other clients', async (t) => {
    const place = await openSeveral(t, 1)
    const acme = place.clients[0]!
    const { contact } = await acme.contacts.upsert({ email: 'ada@example.org' })
    const other = place.all[0]!.forClient((await place.all[0]!.clients.create({ name: 'Other' })).id)
    const lock = await beginOther(t, place)
    await lock.query('select 1 from mailkeep_contact for update')
    const changes = callInParallel([acme], 40, (client, i) => client.contacts.update(contact.id, { name: `Ada ${i}` }))
    await until(
      () => place.ask(lockWaits),
      (rows) => rows.length >= 9,
    )
    assert.equal((await other.contacts.upsert({ email: 'bob@example.org' })).created, true)
    assert.equal((await other.contacts.list()).data.length, 1)
    await lock.query('rollback')
    assert.equal((await changes).length, 40)
  })
})

onPostgres('records deleted while others use them', () => {
  /** Runs the periodic clean-up, which deletes rows that concurrent writes inserted after the deletion. */
  async function runCleanUp(ask: (text: string) => Promise<unknown>, mailkeep: Mailkeep) {
    await ask(`update mailkeep_job set run_at = run_at - interval '1 hour'`)
    mailkeep.start()
    for (let left = 1; left > 0; ) {
      const [row] = (await ask(`select count(*)::int as n from mailkeep_job where status = 'pending'`)) as {
        n: number
      }[]
      left = row!.n
      await new Promise((resolve) => setTimeout(resolve, 10))
    }
  }

  test('a list: joining callers get an error, no call waits long, and no row is left', async (t) => {
    const { clients, ask, all } = await openSeveral(t)
    const list = await clients[0]!.lists.create({ name: 'News' })
    const topic = await clients[0]!.topics.create(list.id, { name: 'Weekly' })
    const joining = settleInParallel(clients, 200, async (client, i) => {
      const { contact } = await client.contacts.addToList(list.id, { email: `${i}@x.org`, tags: ['t'] })
      await client.contacts.subscribeToTopic(contact.id, topic.id)
    })
    await new Promise((resolve) => setTimeout(resolve, 30))
    const began = performance.now()
    await clients[1]!.lists.delete(list.id)
    const tookMs = performance.now() - began
    const results = await joining
    assertFaster(tookMs, 5000, 'deleting the list')
    assert.equal(count(results, 'done') + count(results, 'not_found') + count(results, 'validation_failed'), 200)
    await runCleanUp(ask, all[0]!)
    assert.deepEqual(
      await ask('select 1 from mailkeep_contact_list union all select 1 from mailkeep_contact_topic'),
      [],
    )
  })

  test('a tag: it is gone from all contacts, or was created again', async (t) => {
    const { clients, ask, all } = await openSeveral(t)
    const list = await clients[0]!.lists.create({ name: 'News' })
    const tag = await clients[0]!.tags.create({ name: 't' })
    const tagging = callInParallel(clients, 100, (client, i) =>
      client.contacts.addToList(list.id, { email: `${i}@x.org`, tags: ['t'] }),
    )
    await new Promise((resolve) => setTimeout(resolve, 20))
    await clients[1]!.tags.delete(tag.id)
    await tagging
    await runCleanUp(ask, all[0]!)
    assert.deepEqual(await ask(`select 1 from mailkeep_contact_tag where tag_id = ${tag.id}`), [])
  })

  test('a contact: it is erased with all its events, or joins as a new one', async (t) => {
    const { clients, ask } = await openSeveral(t)
    await clients[0]!.webhooks.createEndpoint({
      url: 'https://example.com/',
      events: ['contact.subscribed', 'contact.unsubscribed'],
    })
    const lists = await callInParallel(clients, 10, (client, i) => client.lists.create({ name: String(i) }))
    const { contact } = await clients[0]!.contacts.addToList(lists[0]!.id, { email: 'a@x.org' })
    const joining = callInParallel(clients, 40, (client, i) =>
      client.contacts.addToList(lists[i % 10]!.id, { email: 'a@x.org', [`k${i}`]: 'x' }),
    )
    const leaving = settleInParallel(clients, 4, (client) => client.contacts.unsubscribe(contact.id))
    await clients[1]!.contacts.delete(contact.id)
    await Promise.all([joining, leaving])
    const [now] = (await clients[0]!.contacts.list({ include_unsubscribed: true })).data
    assert.notEqual(now?.id, contact.id)
    const left = await ask(
      `select 1 from mailkeep_event where contact_id = ${contact.id} or body like '%${contact.uuid}%'`,
    )
    assert.deepEqual(left, [])
    assert.deepEqual(await ask(`select 1 from mailkeep_contact_list where contact_id = ${contact.id}`), [])
  })

  test('an endpoint switched off while events are raised has no delivery left pending', async (t) => {
    const { clients, ask, all } = await openSeveral(t)
    const { id } = await clients[0]!.webhooks.createEndpoint({
      url: 'http://127.0.0.1:1/',
      events: ['newsletter.sent'],
    })
    const raising = callInParallel(clients, 100, (client) => client.events.raise({ type: 'newsletter.sent', data: {} }))
    await new Promise((resolve) => setTimeout(resolve, 20))
    await clients[1]!.webhooks.updateEndpoint(id, { active: false })
    await raising
    for (const mailkeep of all) mailkeep.start()
    for (let pending = 1; pending > 0; ) {
      const [row] = await ask(`select count(*)::int as n from mailkeep_delivery where status = 'pending'`)
      pending = row!.n as number
      await new Promise((resolve) => setTimeout(resolve, 10))
    }
    const [row] = await ask(
      `select count(*)::int as n, max(attempts) as attempts from mailkeep_delivery where status = 'held'`,
    )
    assert.deepEqual(row, { n: 100, attempts: 0 })
  })

  test('an endpoint switched off and on at the same time: pending deliveries are held in either order', async (t) => {
    const { clients, ask } = await openSeveral(t)
    for (let round = 0; round < 6; round++) {
      const url = `http://127.0.0.1:1/${round}`
      const { id } = await clients[0]!.webhooks.createEndpoint({ url, events: ['sequence.completed'] })
      await clients[0]!.events.raise({ type: 'sequence.completed', data: {} })
      const columns = 'client_id, created_at, endpoint_id, event_id, event_type, status, attempts, due_at, scheduled_at'
      await ask(`insert into mailkeep_delivery (uuid, ${columns}) select gen_random_uuid(), ${columns}
        from mailkeep_delivery, generate_series(1, 599) where endpoint_id = ${id}`)
      await callInParallel(clients, 2, (client, i) =>
        client.webhooks.updateEndpoint(id, { active: i === (round + 1) % 2 }),
      )
      await until(
        () => ask(`select count(*)::int as n from mailkeep_delivery where endpoint_id = ${id} and status = 'pending'`),
        ([row]) => row!.n === 0,
      )
      await clients[0]!.webhooks.updateEndpoint(id, { active: false }) // takes no further part
    }
  })

  test('an endpoint deleted while events are raised leaves no delivery and no event', async (t) => {
    const { clients, ask, all } = await openSeveral(t)
    const { id } = await clients[0]!.webhooks.createEndpoint({
      url: 'http://127.0.0.1:1/',
      events: ['newsletter.sent'],
    })
    const raising = callInParallel(clients, 100, (client) => client.events.raise({ type: 'newsletter.sent', data: {} }))
    await new Promise((resolve) => setTimeout(resolve, 20))
    await clients[1]!.webhooks.deleteEndpoint(id)
    await raising
    await runCleanUp(ask, all[0]!)
    assert.deepEqual(await ask('select 1 from mailkeep_delivery union all select 1 from mailkeep_event'), [])
  })

  test('a client is deleted completely, without a deadlock', async (t) => {
    const several = await openSeveral(t)
    const { clients, ask, all, id } = several
    const list = await clients[0]!.lists.create({ name: 'News' })
    await clients[0]!.webhooks.createEndpoint({ url: 'http://127.0.0.1:1/', events: ['contact.subscribed'] })
    const joining = settleInParallel(clients, 100, (client, i) =>
      client.contacts.addToList(list.id, { email: `${i}@x.org`, tags: [`${i}`] }),
    )
    await new Promise((resolve) => setTimeout(resolve, 20))
    await all[1]!.clients.delete(id)
    for (const result of await joining) assert.match(result, /^(done|not_found)$/)
    await runCleanUp(ask, all[0]!)
    for (const table of ['client', 'contact', 'tag', 'list', 'endpoint', 'delivery', 'contact_tag', 'contact_list']) {
      assert.deepEqual(await ask(`select 1 from mailkeep_${table}`), [], table)
    }
    await assertNoDeadlock(several)
  })
})
