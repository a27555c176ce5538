import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import type { TestContext } from 'node:test'
import Database from 'better-sqlite3'
import { type BulkResult, type ContactInput, createMailkeep, isMailkeepError, unchecked } from '../../lib/index.ts'
import { sqlite } from '../../lib/storage/sqlite.ts'
import { onPostgres, openPostgres, test } from '../support/databases.ts'
import { countTurns } from '../support/turns.ts'
import {
  addEndpoint,
  type Open,
  onEveryDatabase,
  onSharedDatabases,
  openReceiver,
  until,
} from '../support/webhook-harness.ts'

const people = (count: number, from = 0): ContactInput[] =>
  Array.from({ length: count }, (_, n) => ({
    email: `p${from + n}@example.org`,
    name: `Person ${from + n}`,
    tags: [`t${n % 3}`],
  }))

async function openWithList(open: Open, t: TestContext) {
  const mk = await open(t)
  const list = await mk.acme.lists.create({ name: 'News' })
  return { ...mk, list, contacts: mk.acme.contacts }
}

function idOf(result: BulkResult | undefined): number {
  assert.ok(result && !result.refused, result?.refused?.message)
  return result.id
}

onEveryDatabase('adding many contacts to a list', (open) => {
  test('returns the result of each contact, in their order', async (t) => {
    const { contacts, list, acme } = await openWithList(open, t)
    const before = await contacts.addToList(list.id, { email: 'Bo@example.org', name: 'Bo', city: 'Bonn', tags: ['a'] })
    const results = await unchecked(acme).contacts.addManyToList(list.id, [
      { email: 'ada@example.org', name: 'Ada', tags: ['vip', 'VIP', 'a'], company: 'Engines' },
      { email: 'no address' },
      { email: 'bo@EXAMPLE.org', tags: ['b'], city: null, plan: 'basic' },
      'not even an object',
      { email: 'ADA@example.org', name: 'Ada L.' },
    ])
    assert.deepEqual(
      results.map((result) => ('created' in result ? result.created : result.refused.issues)),
      [
        true,
        [{ path: 'email', message: 'This must be an e-mail address.' }],
        false,
        [{ path: 'body', message: 'This must be an object.' }],
        false,
      ],
    )
    const ada = await contacts.get(idOf(results[0]))
    assert.deepEqual(
      [ada.email, ada.name, ada.extra_attributes, ada.tags.map(({ name }) => name).sort(), ada.lists],
      ['ada@example.org', 'Ada L.', { company: 'Engines' }, ['a', 'vip'], [list]],
    )
    assert.equal(idOf(results[4]), ada.id)
    const bo = await contacts.get(before.contact.id)
    assert.equal(idOf(results[2]), bo.id)
    assert.deepEqual(
      [bo.email, bo.name, bo.extra_attributes, bo.tags.map(({ name }) => name).sort()],
      ['Bo@example.org', 'Bo', { plan: 'basic' }, ['a', 'b']],
    )
    const all = await contacts.list({ search: 'example.org' })
    assert.deepEqual(
      all.data.map(({ id }) => id),
      [bo.id, ada.id],
    )
  })

  test('raises an event for each contact that joins, and none for unsubscribed contacts or members', async (t) => {
    const mk = await openWithList(open, t)
    const { contacts, list } = mk
    const receiver = await openReceiver(t)
    await addEndpoint(mk, receiver.url(), 'contact.subscribed')
    await contacts.addToList(list.id, { email: 'p0@example.org' })
    const other = await mk.acme.lists.create({ name: 'Other' })
    const { contact } = await contacts.addToList(other.id, { email: 'p1@example.org' })
    await contacts.unsubscribe(contact.id)
    const results = await contacts.addManyToList(list.id, people(300))
    await until('all have arrived', () => receiver.received.length >= 300 || undefined)
    const receivedData = receiver.received.map(({ body }) => JSON.parse(String(body)).data)
    const byEmail = new Map(
      receivedData.filter((data) => data.list.id === list.id).map((data) => [data.contact.email, data]),
    )
    assert.equal(byEmail.size, 299)
    assert.equal(byEmail.has('p1@example.org'), false)
    const last = await contacts.get(idOf(results[299]))
    assert.deepEqual(byEmail.get('p299@example.org'), { contact: last, list })
    assert.equal(await mk.count('mailkeep_event'), 300) // the first list's of p0, the other list's of p1, 298 of many
  })

  test('refuses a contact that would have too many attributes, and leaves it unchanged', async (t) => {
    const { contacts, list } = await openWithList(open, t)
    const many = (from: number, count: number) =>
      Object.fromEntries(Array.from({ length: count }, (_, n) => [`k${from + n}`, 'x']))
    const { contact } = await contacts.addToList(list.id, { email: 'full@example.org', ...many(0, 99) })
    const results = await contacts.addManyToList(list.id, [
      { email: 'full@example.org', name: 'Changed', tags: ['never'], ...many(99, 2) },
      { email: 'new@example.org', tags: ['never'], ...many(0, 101) },
      { email: 'good@example.org', ...many(0, 100) },
    ])
    assert.deepEqual(
      results.map((result) => result.refused?.issues.map(({ path }) => path)),
      [['extra_attributes'], ['extra_attributes'], undefined],
    )
    assert.deepEqual(await contacts.get(contact.id), contact)
    assert.equal((await contacts.list()).data.length, 2)
  })

  test('takes contacts of any size, with few large ones in a transaction', async (t) => {
    const { contacts, list, count } = await openWithList(open, t)
    const text = 'x'.repeat(2_600)
    const large = Object.fromEntries(Array.from({ length: 100 }, (_, n) => [`k${n}`, text]))
    const tags = Array.from({ length: 500 }, (_, n) => `t${n}`)
    const results = await contacts.addManyToList(
      list.id,
      people(8).map((person, n) => (n % 2 ? { ...person, ...large } : { ...person, tags })),
    )
    assert.equal(results.filter((result) => !result.refused).length, 8)
    assert.equal(await count('mailkeep_contact_tag'), 2004)
    assert.equal((await contacts.get(idOf(results[7]))).extra_attributes.k99, text)
  })

  test('refuses what is missing in an array with holes, and saves the others', async (t) => {
    const { list, contacts } = await openWithList(open, t)
    const holey: ContactInput[] = []
    holey[1] = { email: 'ada@example.org' }
    const [refused, saved] = await contacts.addManyToList(list.id, holey)
    assert.deepEqual(Object.keys(refused?.refused?.errors ?? {}), ['body'])
    assert.equal((await contacts.get(idOf(saved))).email, 'ada@example.org')
  })

  test('refuses a value that is not an array, too many contacts, or an unknown list', async (t) => {
    const { acme, mailkeep, list, contacts, count } = await openWithList(open, t)
    const { addManyToList } = unchecked(acme).contacts
    for (const input of [undefined, null, { 0: { email: 'a@example.org' }, length: 1 }, 'a@example.org']) {
      await assert.rejects(addManyToList(list.id, input), { code: 'validation_failed' })
    }
    await assert.rejects(addManyToList(list.id, Array(10_001).fill({ email: 'a@example.org' })), {
      code: 'validation_failed',
      message: 'At most 10,000 contacts at a time.',
    })
    const other = mailkeep.forClient((await mailkeep.clients.create({ name: 'Other' })).id)
    for (const [id, code] of [
      [list.id + 1, 'not_found'],
      [0, 'validation_failed'],
      [1.5, 'validation_failed'],
    ] as const) {
      await assert.rejects(addManyToList(id, people(1)), { code })
      await assert.rejects(addManyToList(id, []), { code })
    }
    await assert.rejects(other.contacts.addManyToList(list.id, people(1)), { code: 'not_found' })
    assert.deepEqual(await contacts.addManyToList(list.id, []), [])
    assert.equal(await count('mailkeep_contact'), 0)
  })

  test('lets other writes run in between', async (t) => {
    const { contacts, list } = await openWithList(open, t)
    let ended = false
    const adding = contacts.addManyToList(list.id, people(3000)).finally(() => {
      ended = true
    })
    await contacts.addToList(list.id, { email: 'between@example.org' })
    assert.equal(ended, false)
    assert.equal((await adding).filter((result) => !result.refused).length, 3000)
  })

  test('keeps what was saved when the list is deleted halfway, and says so', async (t) => {
    const { acme, contacts, list, count } = await openWithList(open, t)
    const adding = assert.rejects(contacts.addManyToList(list.id, people(3000)), { code: 'not_found' })
    await acme.lists.delete(list.id)
    await adding
    assert.ok((await count('mailkeep_contact')) < 3000)
  })
})

test('adding many contacts inside the host’s own transaction commits or rolls back with it', async (t) => {
  const handle = new Database(':memory:')
  const mailkeep = await createMailkeep({ database: sqlite(handle), encryptionKey: Buffer.alloc(32) })
  t.after(() => mailkeep.close())
  const { id } = await mailkeep.clients.create({ name: 'Acme' })
  const list = await mailkeep.forClient(id).lists.create({ name: 'News' })
  const add = () => mailkeep.using(handle).forClient(id).contacts.addManyToList(list.id, people(1100))
  handle.exec('begin immediate')
  assert.equal((await add()).length, 1100)
  handle.exec('rollback')
  assert.deepEqual((await mailkeep.forClient(id).contacts.list({ search: 'person' })).data, [])
  handle.exec('begin immediate')
  await add()
  handle.exec('commit')
  assert.equal((await mailkeep.forClient(id).contacts.list({ search: 'person 1099' })).data.length, 1)
})

/** Opens three instances on one PostgreSQL, like three processes. */
async function openSeveral(t: TestContext) {
  const database = await openPostgres()
  const open = () => createMailkeep({ database: database.source, encryptionKey: Buffer.alloc(32) })
  const all = await Promise.all([open(), open(), open()])
  t.after(async () => {
    for (const mailkeep of all) await mailkeep.close({ timeoutMs: 0 })
    await database.close()
  })
  const { id } = await all[0]!.clients.create({ name: 'Acme' })
  const doors = all.map((mailkeep) => mailkeep.forClient(id))
  const list = await doors[0]!.lists.create({ name: 'News' })
  return { database, all, doors, list }
}

onPostgres('adding many contacts from several processes', () => {
  test('causes no deadlock when they have the same e-mail addresses', async (t) => {
    const { database, all, doors, list } = await openSeveral(t)
    // Each batch has the same addresses in another order: some exist, some are new, and some are being created by
    // another batch.
    const shuffled = (step: number) =>
      Array.from({ length: 4001 }, (_, n) => ({ email: `p${(n * step) % 4001}@example.org` }))
    const steps = [1, 2711, 1999, 577, 3001, 37]
    await Promise.all(steps.map((step, n) => doors[n % 3]!.contacts.addManyToList(list.id, shuffled(step))))
    assert.equal(await doors[0]!.contacts.count(), 4001)
    await Promise.all(all.map((mailkeep) => mailkeep.close())) // closing flushes the deadlock statistics
    const deadlocks = await database.ask(
      'select deadlocks::int from pg_stat_database where datname = current_database()',
    )
    assert.deepEqual(deadlocks, [{ deadlocks: 0 }])
  })

  test('creates each contact once, in any order, and every call ends', async (t) => {
    const { database, doors, list } = await openSeveral(t)
    await doors[0]!.webhooks.createEndpoint({ url: 'https://partner.example/', events: ['contact.subscribed'] })
    const tagged = people(60).map((person, n) => ({ ...person, tags: [`t${n % 20}`, `u${(n * 7) % 20}`] }))
    const orders = [tagged, tagged.toReversed(), [...tagged.slice(30), ...tagged.slice(0, 30)]]
    const failures: unknown[] = []
    const results = await Promise.all([
      ...orders.map((order, n) => doors[n]!.contacts.addManyToList(list.id, order)),
      ...tagged.map((person, n) =>
        doors[n % 3]!.contacts.addToList(list.id, person).then(
          () => [],
          (error) => {
            failures.push(isMailkeepError(error) ? error.code : error)
            return []
          },
        ),
      ),
    ])
    assert.deepEqual(failures, [])
    assert.equal(results.flat().filter((result) => result.refused).length, 0)
    const counted = await database.ask(`select (select count(*)::int from mailkeep_contact) as contacts,
      (select count(*)::int from mailkeep_event) as events, (select count(*)::int from mailkeep_tag) as tags`)
    assert.deepEqual(counted, [{ contacts: 60, events: 60, tags: 40 }])
  })
})

test('on SQLite, many concurrent batches let a single save through', async (t) => {
  const mailkeep = await createMailkeep({ database: sqlite(':memory:'), encryptionKey: randomBytes(32) })
  t.after(() => mailkeep.close())
  const { contacts, lists } = mailkeep.forClient((await mailkeep.clients.create({ name: 'acme' })).id)
  const list = await lists.create({ name: 'News' })
  const many = Array.from({ length: 10 }, (_, n) => contacts.addManyToList(list.id, people(3000, n * 3000)))
  while ((await contacts.count()) === 0) await new Promise(setImmediate)
  const before = await contacts.count()
  await contacts.addToList(list.id, { email: 'single@example.org' })
  const passed = (await contacts.count()) - before
  assert.ok(passed <= 3001, `${passed} were saved before it`)
  await Promise.all(many)
  assert.equal(await contacts.count(), 30_001)
})

onEveryDatabase('many concurrent batches of one client', (open) => {
  test('let a batch of another client through', async (t) => {
    const { mailkeep, acme } = await open(t)
    const other = mailkeep.forClient((await mailkeep.clients.create({ name: 'Other' })).id)
    const list = await acme.lists.create({ name: 'News' })
    const own = await other.lists.create({ name: 'News' })
    const many = Array.from({ length: 10 }, (_, n) => acme.contacts.addManyToList(list.id, people(1000, n * 1000)))
    while ((await acme.contacts.count()) === 0) await new Promise(setImmediate)
    const before = await acme.contacts.count()
    await other.contacts.addManyToList(own.id, people(1))
    const passed = (await acme.contacts.count()) - before
    assert.ok(passed <= 4000, `${passed} were saved before it`)
    await Promise.all(many)
    assert.equal(await acme.contacts.count(), 10_000)
  })
})

async function openRepeats(open: Open, t: TestContext) {
  const mk = await openWithList(open, t)
  await addEndpoint(mk, 'http://127.0.0.1:9/', 'contact.subscribed')
  return { ...mk, storedEvents: () => mk.count('mailkeep_event') }
}

onEveryDatabase('an e-mail address that is repeated in a batch', (open) => {
  test('is saved each time, in order, together with the other contacts', async (t) => {
    const { contacts, list } = await openWithList(open, t)
    const again = Array.from({ length: 300 }, (_, n) => ({
      email: `${n % 2 ? 'A' : 'a'}@example.org`,
      count: String(n),
    }))
    const results = await contacts.addManyToList(list.id, [...again, ...people(10), again[7]!])
    assert.deepEqual(
      results.map((result) => !result.refused && result.created),
      [true, ...Array(299).fill(false), ...Array(10).fill(true), false],
    )
    assert.deepEqual((await contacts.get(idOf(results[0]))).extra_attributes, { count: '7' })
  })

  test('is saved in a bounded number of transactions, and refused row by row', async (t) => {
    const { contacts, list, storedEvents } = await openRepeats(open, t)
    const many = (from: number) => Object.fromEntries(Array.from({ length: 60 }, (_, n) => [`k${from + n}`, 'x']))
    const none = Object.fromEntries(Array.from({ length: 60 }, (_, n) => [`k${n}`, null]))
    const email = 'ada@example.org'
    const results = await contacts.addManyToList(list.id, [
      { email, name: 'Ada', ...many(0) },
      { email: 'ADA@example.org', name: 'Never', tags: ['never'], ...many(60) },
      { email, ...none },
      { email, tags: ['vip'], ...many(60) },
      ...Array.from({ length: 2000 }, (_, n) => ({ email, last: String(n) })),
    ])
    const refused = results.flatMap((result, at) => (result.refused ? [[at, Object.keys(result.refused.errors!)]] : []))
    assert.deepEqual(refused, [[1, ['extra_attributes']]])
    const { data } = await contacts.list()
    const [ada] = data
    assert.deepEqual([data.length, ada!.name, ada!.tags.map(({ name }) => name)], [1, 'Ada', ['vip']])
    assert.deepEqual(ada!.extra_attributes, { ...many(60), last: '1999' })
    assert.equal(await storedEvents(), 1)
  })
})

/** Returns items, and a function that returns the turns of the event loop between the reads of the first and the last. */
function watched<Item extends object>(t: TestContext, wrong: Item) {
  const turn = countTurns(t)
  const reads: number[] = []
  const get = () => reads.push(turn())
  const observed = Object.defineProperty({ ...wrong }, Object.keys(wrong)[0]!, { enumerable: true, get })
  return {
    items: [observed, ...Array<Item>(998).fill(wrong), observed],
    turnsBetween: () => reads.at(-1)! - reads[0]!,
  }
}

const wrongOperation = { op: 'add_to_list', email: 'ada@example.org', lists: Array<number>(400).fill(0) }
const wrongEvent = { type: 'newsletter.sent', data: { a: [...Array(1000).fill([]), null, Number.NaN] } }

onEveryDatabase('checking a batch that is wrong everywhere', (open) => {
  test('lets other work run in between, for operations of a request', async (t) => {
    const { mailkeep, acmeId } = await open(t)
    const { items, turnsBetween } = watched(t, wrongOperation)
    const results = await unchecked(mailkeep.forClient(acmeId, { source: 'api' })).contacts.batch(items)
    assert.ok(turnsBetween() > 0)
    assert.ok(results.length === 1000 && results.every(({ status }) => status === 'refused'))
  })

  test('lets other work run in between, for events of a request', async (t) => {
    const { mailkeep, acmeId } = await open(t)
    const { items, turnsBetween } = watched(t, wrongEvent)
    const results = await unchecked(mailkeep.forClient(acmeId, { source: 'api' })).events.raiseMany(items)
    assert.ok(turnsBetween() > 0)
    assert.ok(results.length === 1000 && results.every(({ status }) => status === 'refused'))
  })

  test('takes what the host has given, although the host changes it after the call', async (t) => {
    const { acme } = await open(t)
    const operation = { op: 'upsert', email: 'ada@example.org' }
    const batch = unchecked(acme).contacts.batch([...Array(999).fill(wrongOperation), operation])
    operation.email = 'bo@example.org'
    assert.equal((await batch).at(-1)?.status, 'created')
    assert.equal((await acme.contacts.list()).data[0]?.email, 'ada@example.org')
    const event = { type: 'newsletter.sent', data: {} }
    const raised = unchecked(acme).events.raiseMany([...Array(999).fill(wrongEvent), event])
    event.type = 'not.a.type'
    assert.equal((await raised).at(-1)?.status, 'raised')
  })
})

onSharedDatabases('checking a batch with an idempotency key', (open) => {
  test('lets other work run in between', async (t) => {
    const { mailkeep, acmeId } = await open(t)
    const { items, turnsBetween } = watched(t, wrongOperation)
    const client = mailkeep.forClient(acmeId, { source: 'api' })
    const { answer } = await client.withIdempotencyKey('key', 'request', (within) =>
      unchecked(within).contacts.batch(items),
    )
    assert.ok(turnsBetween() > 0)
    assert.ok(answer.length === 1000 && answer.every(({ status }) => status === 'refused'))
  })
})

onSharedDatabases('the events of large contacts of a batch', (open) => {
  test('are stored in batches, and other work runs in between', async (t) => {
    const { acme, list, ...opened } = await openWithList(open, t)
    await addEndpoint({ acme }, 'https://receiver.example/', 'contact.created')
    const attributes = Object.fromEntries([...'abcdef'].map((name) => [name, name.repeat(9000)]))
    const inputs = people(100).map((person) => ({ ...person, ...attributes }))
    const turn = countTurns(t)
    const turnsOfBodies: number[] = []
    const write = JSON.stringify
    t.mock.method(JSON, 'stringify', (value: { type?: string }, ...rest: []) => {
      if (value?.type === 'contact.created') turnsOfBodies.push(turn())
      return write(value, ...rest)
    })
    await acme.contacts.addManyToList(list.id, inputs)
    assert.equal(turnsOfBodies.length, inputs.length)
    assert.ok(new Set(turnsOfBodies).size >= 10, `${turnsOfBodies}`)
    assert.equal(await opened.count('mailkeep_event'), inputs.length)
  })
})

onSharedDatabases('the deliveries of many tags that one contact gets', (open) => {
  test('are stored in batches, and other work runs in between', async (t) => {
    const opened = await open(t)
    const { acme } = opened
    for (let n = 0; n < 40; n++) await addEndpoint(opened, `https://receiver.example/${n}`, 'contact.tagged')
    const { contact } = await acme.contacts.upsert({ email: 'ada@example.org' })
    const turn = countTurns(t)
    await new Promise(setImmediate)
    const before = turn()
    await acme.contacts.tag(contact.id, { tags: Array.from({ length: 500 }, (_, n) => `tag ${n}`) })
    const turns = turn() - before
    assert.ok(turns >= 20, `${turns}`)
    assert.equal(await opened.count('mailkeep_delivery'), 20_000)
  })
})
