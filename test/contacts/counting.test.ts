/** Counts of contacts. */
import assert from 'node:assert/strict'
import Database from 'better-sqlite3'
import { type ClientMailkeep, createMailkeep } from '../../lib/index.ts'
import { sqlite } from '../../lib/storage/sqlite.ts'
import { test } from '../support/databases.ts'
import { onEveryDatabase, onSharedDatabases, openSecondInstance } from '../support/webhook-harness.ts'

onEveryDatabase('a count', (open) => {
  test('is the length of the listing for each filter, with few and with many unsubscribed contacts', async (t) => {
    const { acme } = await open(t, { start: false })
    await acme.settings.attributes.update({ indexed: ['plan'] })
    const list = await acme.lists.create({ name: 'News' })
    const other = await acme.lists.create({ name: 'Other' })
    const topic = await acme.topics.create(list.id, { name: 'Weekly' })
    const ids: number[] = []
    for (let i = 0; i < 12; i++) {
      const input = { email: `c${i}@example.org`, tags: [i % 2 ? 'odd' : 'even'], plan: i % 4 ? 'basic' : 'pro' }
      const { contact } = await acme.contacts.addToList(i % 3 ? list.id : other.id, input)
      if (i % 3) await acme.contacts.subscribeToTopic(contact.id, topic.id)
      ids.push(contact.id)
    }
    const [odd] = (await acme.tags.list()).data.filter(({ name }) => name === 'odd')
    const filters = [
      {},
      { lists: [list.id] },
      { lists: [list.id, other.id] },
      { tags: [odd!.id] },
      { topics: [topic.id] },
      { attributes: { plan: 'basic' } },
      { lists: [list.id], tags: [odd!.id] },
      { lists: [list.id], search: 'c1' },
      { exclude_tags: [odd!.id] },
      { lists: [list.id, 999] },
      { lists: [999] },
    ]
    const states = [{}, { include_unsubscribed: true }, { unsubscribed: 'only' as const }]
    for (const unsubscribed of [[], ids.slice(1, 3), ids.slice(0, 11), ids]) {
      for (const id of unsubscribed) await acme.contacts.unsubscribe(id)
      for (const filter of filters.flatMap((one) => states.map((state) => ({ ...one, ...state })))) {
        const { data } = await acme.contacts.list({ ...filter, per_page: 100 })
        const what = `${JSON.stringify(filter)}, ${unsubscribed.length} unsubscribed`
        assert.equal(await acme.contacts.count(filter), data.length, what)
      }
    }
  })

  test('by creation finds restored contacts, whose ids are not in the order of creation', async (t) => {
    const { acme } = await open(t, { start: false })
    const newest = Date.UTC(2026, 0, 1)
    const rows = Array.from({ length: 1100 }, (_, n) => {
      const created_at = new Date(newest - n * 60_000).toISOString()
      return `${JSON.stringify({ email: `c${n}@example.org`, extra_attributes: {}, created_at })}\n`
    })
    await acme.contacts.import(null, [Buffer.from(rows.join(''))], { format: 'ndjson' })
    const everybody = { created_after: '2025-01-01T00:00:00Z', created_before: '2027-01-01T00:00:00Z' }
    assert.equal(await acme.contacts.count(everybody), rows.length)
    const found = new Set<number>()
    for await (const { id } of acme.contacts.iterate(everybody)) found.add(id)
    assert.equal(found.size, rows.length)
    const { data } = await acme.contacts.list({ created_before: new Date(newest - 1097 * 60_000).toISOString() })
    assert.deepEqual(data.map(({ email }) => email).sort(), ['c1098@example.org', 'c1099@example.org'])
  })

  test('is that of its own client', async (t) => {
    const { acme, mailkeep } = await open(t, { start: false })
    const other = mailkeep.forClient((await mailkeep.clients.create({ name: 'Other' })).id)
    await acme.contacts.upsert({ email: 'ada@example.org' })
    const counts = async () => [await acme.contacts.count(), await other.contacts.count()]
    assert.deepEqual(await counts(), [1, 0])
  })
})

onSharedDatabases('a count of a shared database', (open) => {
  test('sees every change: of this process, of another one, and of a deletion', async (t) => {
    const opened = await open(t, { start: false })
    const another = await openSecondInstance(t, opened, { start: false })
    const { acme } = opened
    const count = () => acme.contacts.count({ search: 'example.org' })
    assert.equal(await count(), 0)
    const { contact } = await acme.contacts.upsert({ email: 'ada@example.org' })
    assert.equal(await count(), 1)
    await another.acme.contacts.upsert({ email: 'bob@example.org' })
    assert.equal(await count(), 2)
    await another.acme.contacts.unsubscribe(contact.id)
    assert.deepEqual([await count(), await another.acme.contacts.count({ search: 'example.org' })], [1, 1])
    await acme.contacts.delete({ email: 'bob@example.org' })
    assert.deepEqual([await count(), await another.acme.contacts.count({ search: 'example.org' })], [0, 0])
  })

  test('follows a change of its segment, and is refused when its filter no longer exists', async (t) => {
    const { acme } = await open(t, { start: false })
    await acme.settings.attributes.update({ indexed: ['plan'] })
    const segment = await acme.segments.create({ name: 'Pro', filters: { attributes: { plan: 'pro' } } })
    await acme.contacts.upsert({ email: 'ada@example.org', plan: 'pro' })
    assert.equal(await acme.contacts.count({ segment: segment.id }), 1)
    await acme.segments.update(segment.id, { filters: { attributes: { plan: 'basic' } } })
    assert.equal(await acme.contacts.count({ segment: segment.id }), 0)
    await acme.settings.attributes.update({ indexed: [] })
    await assert.rejects(acme.contacts.count({ segment: segment.id }), { code: 'validation_failed' })
    await acme.segments.delete(segment.id)
    await assert.rejects(acme.contacts.count({ segment: segment.id }), { code: 'not_found' })
  })
})

test('a count in the host’s own transaction sees its changes, and forgets them with a rollback', async (t) => {
  const handle = new Database(':memory:')
  const mailkeep = await createMailkeep({ database: sqlite(handle), encryptionKey: Buffer.alloc(32) })
  t.after(() => mailkeep.close())
  const { id } = await mailkeep.clients.create({ name: 'Acme' })
  const acme = mailkeep.forClient(id)
  handle.exec('begin immediate')
  const within = mailkeep.using(handle).forClient(id)
  await within.contacts.upsert({ email: 'ada@example.org' })
  assert.equal(await within.contacts.count(), 1)
  handle.exec('rollback')
  assert.equal(await acme.contacts.count(), 0)
})

test('a listing or a count that few of many contacts match lets other requests run in between, on SQLite', async (t) => {
  const mailkeep = await createMailkeep({ database: sqlite(':memory:'), encryptionKey: Buffer.alloc(32) })
  t.after(() => mailkeep.close())
  const acme = mailkeep.forClient((await mailkeep.clients.create({ name: 'Acme' })).id)
  const { id } = await acme.lists.create({ name: 'Everybody' })
  for (const part of [1, 2]) {
    const people = Array.from({ length: 8000 }, (_, n) => ({ email: `c${n}@${part}.example.org` }))
    await acme.contacts.addManyToList(id, people)
  }
  const filters = { exclude_lists: [id] }
  for (const work of [() => acme.contacts.list(filters), () => acme.contacts.count(filters)]) {
    let isDone = false
    const working = work().finally(() => {
      isDone = true
    })
    let others = 0
    for (; !isDone; others++) await acme.tags.list()
    await working
    assert.ok(others >= 4, `${others} requests came in between`)
  }
})

test('the pages of a listing that few of many contacts match go forwards and backwards, on SQLite', async (t) => {
  const mailkeep = await createMailkeep({ database: sqlite(':memory:'), encryptionKey: Buffer.alloc(32) })
  t.after(() => mailkeep.close())
  const acme = mailkeep.forClient((await mailkeep.clients.create({ name: 'Acme' })).id)
  const { list, tag, few } = await addMany(acme)
  const query = { lists: [list], exclude_tags: [tag], per_page: 4 }
  const pages = [await acme.contacts.list(query)]
  for (let next = pages[0]!.meta.next_cursor; next !== null; next = pages.at(-1)!.meta.next_cursor) {
    pages.push(await acme.contacts.list({ ...query, cursor: next }))
  }
  const emails = (page: (typeof pages)[number]) => page.data.map(({ email }) => email)
  assert.deepEqual(pages.flatMap(emails), few)
  for (let n = pages.length - 1; n > 0; n--) {
    const before = await acme.contacts.list({ ...query, cursor: pages[n]!.meta.prev_cursor! })
    assert.deepEqual(emails(before), emails(pages[n - 1]!))
  }
})

/** Puts 9,000 contacts on a list, of which every 500th has no tag. */
async function addMany(acme: ClientMailkeep) {
  const { id: list } = await acme.lists.create({ name: 'Everybody' })
  const people = Array.from({ length: 9000 }, (_, n) => {
    return { email: `c${n}@example.org`, tags: n % 500 === 0 ? [] : ['x'] }
  })
  await acme.contacts.addManyToList(list, people)
  const { data } = await acme.tags.list()
  const few = people.filter(({ tags }) => tags.length === 0).map(({ email }) => email)
  return { list, tag: data[0]!.id, few }
}

test('a listing misses no contact if others leave a list between its statements, on SQLite', async (t) => {
  const handle = new Database(':memory:')
  const prepare = handle.prepare.bind(handle)
  let leaving = 0
  handle.prepare = ((text: string) => {
    const statement = prepare(text)
    const { all } = statement
    if (text.includes('as candidate')) {
      statement.all = (...values) => {
        const rows = all.apply(statement, values)
        handle.exec(`delete from mailkeep_contact_list where contact_id <= ${leaving}`)
        return rows
      }
    }
    return statement
  }) as typeof prepare
  const mailkeep = await createMailkeep({ database: sqlite(handle), encryptionKey: Buffer.alloc(32) })
  t.after(() => mailkeep.close())
  const acme = mailkeep.forClient((await mailkeep.clients.create({ name: 'Acme' })).id)
  const { list, tag, few } = await addMany(acme)
  for (leaving of [0, 1, 400, 900]) {
    const { data } = await acme.contacts.list({ lists: [list], exclude_tags: [tag], per_page: 100 })
    const found = new Set(data.map(({ email }) => email))
    const missing = few.filter((email, n) => n * 500 >= leaving && !found.has(email))
    assert.deepEqual(missing, [], `${leaving} have left`)
  }
})
