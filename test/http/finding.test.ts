/** Finding contacts beyond the contract: by address, ids, exclusion, time, attributes and segments, and counting them. */
import assert from 'node:assert/strict'
import type { TestContext } from 'node:test'
import { isMailkeepError } from '../../lib/index.ts'
import { test } from '../support/databases.ts'
import { type Open, overHttp, until } from '../support/harness.ts'
import { assertInvalid } from '../support/http-call.ts'
import { assertShape, list, tag, topic as topicShape } from '../support/http-shapes.ts'

/**
 * Contacts a to f, created a second apart. a, b and c are on list L1; c, d and e on L2. a and c have tag X; d has Y. f is on
 * no list. e is unsubscribed. The plan of a, b and e is pro, that of c is basic; the city of a and c is Rome.
 */
async function openContacts(open: Open, t: TestContext) {
  const service = await open(t)
  const { data, advance } = service
  const ids: Record<string, number> = {}
  for (const name of ['L1', 'L2']) ids[name] = (await data(201, 'POST', '/lists', { body: { name } })).id
  for (const name of ['X', 'Y']) ids[name] = (await data(201, 'POST', '/tags', { body: { name } })).id
  const times: Record<string, string> = {}
  const add = async (letter: string, lists: string[], fields: object) => {
    const body = { email: `${letter}@Example.org`, name: `Person ${letter}`, ...fields }
    for (const [n, name] of lists.entries()) {
      const answer = await data(n === 0 ? 201 : 200, 'POST', `/lists/${ids[name]}/contacts`, { body })
      ids[letter] = answer.id
      times[letter] = answer.created_at
    }
    advance(1000)
  }
  await data(200, 'PUT', '/settings/attributes', { body: { indexed: ['plan', 'city'] } })
  await add('a', ['L1'], { tags: ['X'], plan: 'pro', city: 'Rome' })
  await add('b', ['L1'], { plan: 'pro' })
  await add('c', ['L1', 'L2'], { tags: ['X'], plan: 'basic', city: 'Rome' })
  await add('d', ['L2'], { tags: ['Y'] })
  await add('e', ['L2'], { plan: 'pro' })
  await add('f', ['L1'], {})
  await data(200, 'DELETE', `/lists/${ids.L1}/contacts/${ids.f}`)
  await data(200, 'POST', `/contacts/${ids.e}/unsubscribe`)
  /** Replaces names of records in braces by their ids, and `<a>` by the time of a. */
  const fill = (query: string) =>
    query.replace(/\{(\w+)\}/g, (_, name) => String(ids[name])).replace(/<(\w)>/g, (_, name) => times[name]!)
  const find = async (query: string): Promise<string> => {
    const contacts: { email: string }[] = await data(200, 'GET', '/contacts', { query: fill(query) })
    return contacts.map(({ email }) => email[0]).join('')
  }
  const count = async (query: string): Promise<number> =>
    (await data(200, 'GET', '/contacts/count', { query: fill(query) })).count
  const exported = async (query: string): Promise<string> => {
    const { text } = await service.call('GET', '/contacts/export', { query: fill(query) })
    const lines = text.split('\n').filter((line) => line !== '')
    return lines.map((line) => JSON.parse(line).email[0]).join('')
  }
  return { ...service, ids, times, fill, find, count, exported }
}

/** Queries, and the contacts they find. */
const found: readonly [query: string, contacts: string][] = [
  ['email=a@example.org', 'a'],
  ['email=A@EXAMPLE.ORG', 'a'],
  ['email=%20a@example.org', 'a'],
  ['email=nothing@example.org', ''],
  ['email=e@example.org', ''],
  ['email=e@example.org&include_unsubscribed=1', 'e'],
  ['email=e@example.org&unsubscribed=only', 'e'],
  ['email=a@example.org&unsubscribed=only', ''],
  ['email=a@example.org&lists[]={L1}&tags[]={X}&attributes[plan]=pro&search=person', 'a'],
  ['email=a@example.org&lists[]={L2}', ''],
  ['email=a@example.org&attributes[plan]=basic', ''],
  ['email=a@example.org&attributes[plan]=pro&attributes[city]=Rome', 'a'],
  ['email=a@example.org&ids[]={a}', 'a'],
  ['email=a@example.org&ids[]={b}', ''],
  ['email=a@example.org&exclude_tags[]={X}', ''],
  ['email=a@example.org&created_after=<a>', ''],
  ['ids[]={b}&ids[]={a}&ids[]={b}&ids[]=999999', 'ab'],
  ['ids={a}', 'a'],
  ['ids[]={e}', ''],
  ['ids[]={e}&include_unsubscribed=1', 'e'],
  ['ids[]={a}&ids[]={c}&lists={L2}', 'c'],
  ['ids[]={a}&ids[]={c}&search=person%20a', 'a'],
  ['exclude_lists[]={L1}', 'df'],
  ['exclude_lists[]={L1}&exclude_lists[]={L2}', 'f'],
  ['exclude_lists[]={L1}&include_unsubscribed=1', 'def'],
  ['exclude_lists[]=999999', 'abcdf'],
  ['exclude_tags[]={X}', 'bdf'],
  ['exclude_tags[]={X}&exclude_tags[]={Y}', 'bf'],
  ['lists[]={L1}&exclude_lists[]={L2}', 'ab'],
  ['lists[]={L1}&exclude_tags[]={X}', 'b'],
  ['tags[]={X}&exclude_tags[]={X}', ''],
  ['search=person&exclude_lists={L2}', 'abf'],
  ['created_after=<b>', 'cdf'],
  ['created_before=<b>', 'a'],
  ['created_after=<a>&created_before=<d>', 'bc'],
  ['created_after=<a>&lists[]={L2}', 'cd'],
  ['created_after=<a>&search=PERSON&exclude_lists={L2}', 'bf'],
  ['created_after=<f>', ''],
  ['created_before=<a>', ''],
  ['created_after=2020-01-01T00:00Z', 'abcdf'],
  ['created_after=2020-01-01T00:00:00%2B02:00&created_before=2999-01-01T00:00:00.123456789Z', 'abcdf'],
  ['unsubscribed=only', 'e'],
  ['unsubscribed=only&include_unsubscribed=0', 'e'],
  ['unsubscribed=only&include_unsubscribed=1', 'e'],
  ['unsubscribed=only&lists[]={L2}', 'e'],
  ['unsubscribed=only&lists[]={L1}', ''],
  ['unsubscribed=only&search=person', 'e'],
  ['unsubscribed=only&attributes[plan]=pro', 'e'],
  ['unsubscribed=only&created_after=<e>', ''],
  ['attributes[plan]=pro', 'ab'],
  ['attributes%5Bplan%5D=pro', 'ab'],
  ['attributes[plan]=Pro', ''],
  ['attributes[plan]=', ''],
  ['attributes[plan]=pro&include_unsubscribed=1', 'abe'],
  ['attributes[plan]=pro&attributes[city]=Rome', 'a'],
  ['attributes[city]=Rome&attributes[plan]=basic&lists[]={L1}', 'c'],
  ['attributes[city]=Rome&exclude_lists[]={L2}', 'a'],
  ['attributes[city]=Rome&search=person%20c&tags={X}', 'c'],
]

/** Queries that break a rule, and the invalid fields. */
const refused: readonly [query: string, ...fields: string[]][] = [
  ['email=', 'email'],
  ['email=nothing', 'email'],
  ['email=a@example.org&email=b@example.org', 'email'],
  ['email[]=a@example.org', 'email'],
  ['ids[]=x', 'ids.0'],
  ['ids[]=0', 'ids.0'],
  [Array.from({ length: 101 }, (_, i) => `ids[]=${i + 1}`).join('&'), 'ids'],
  ['exclude_lists[]=x', 'exclude_lists.0'],
  ['exclude_tags[]=1.5', 'exclude_tags.0'],
  ['created_after=yesterday', 'created_after'],
  ['created_after=2026-01-02', 'created_after'],
  ['created_before=2026-01-02T03:04:05', 'created_before'],
  ['created_before=2026-13-02T03:04:05Z', 'created_before'],
  ['created_after=0000-01-01T00:00:00%2B14:00', 'created_after'],
  ['unsubscribed=1', 'unsubscribed'],
  ['unsubscribed=', 'unsubscribed'],
  ['attributes[color]=red', 'attributes.color'],
  ['attributes[plan]=pro&attributes[__proto__]=x', 'attributes.__proto__'],
  ['attributes[plan]=pro&attributes[plan]=basic', 'attributes.plan'],
  ['attributes[plan][a]=pro', 'attributes.plan][a'],
  ['attributes=pro', 'attributes'],
  ['attributes[]=pro', 'attributes'],
  ['attributes[0]=pro', 'attributes.0'],
  ['attributes[plan]x=pro', 'attributes.[plan]x'],
  [`attributes[plan]=${'x'.repeat(10_001)}`, 'attributes.plan'],
  ['segment=x', 'segment'],
  ['segment=0', 'segment'],
  ['exclude_topics[]=1', 'exclude_topics'],
]

overHttp('finding contacts beyond the contract', (open) => {
  test('filters combine on the listing, the count and the export', async (t) => {
    const { find, count, exported } = await openContacts(open, t)
    for (const [query, contacts] of found) {
      assert.equal(await find(query), contacts, query)
      assert.equal(await count(query), contacts.length, query)
      assert.equal(await exported(query), contacts, query)
    }
  })

  test('wrong filters are refused on the listing, the count and the export', async (t) => {
    const { call, fill } = await openContacts(open, t)
    for (const path of ['/contacts', '/contacts/count', '/contacts/export']) {
      for (const [query, ...fields] of refused)
        assertInvalid(await call('GET', path, { query: fill(query) }), ...fields)
    }
    assertInvalid(await call('GET', '/contacts/count', { query: 'per_page=1' }), 'per_page')
  })

  test('pages go forwards and backwards with every kind of filter', async (t) => {
    const { call, fill, find } = await openContacts(open, t)
    for (const query of [
      'ids[]={a}&ids[]={b}&ids[]={d}',
      'exclude_lists[]={L2}',
      'created_after=<a>&created_before=<f>',
      'attributes[plan]=pro&include_unsubscribed=1',
      'attributes[city]=Rome&created_before=<f>',
      'unsubscribed=only',
    ]) {
      const all = await find(query)
      const page = async (cursor?: string) => {
        const { body } = await call('GET', '/contacts', {
          query: `${fill(query)}&per_page=1${cursor ? `&cursor=${cursor}` : ''}`,
        })
        return { letters: body.data.map(({ email }: { email: string }) => email[0]).join(''), meta: body.meta }
      }
      const there: string[] = []
      let last = await page()
      for (there.push(last.letters); last.meta.next_cursor; there.push(last.letters)) {
        last = await page(last.meta.next_cursor)
      }
      assert.equal(there.join(''), all, query)
      const back = [last.letters]
      for (; last.meta.prev_cursor; back.unshift(last.letters)) last = await page(last.meta.prev_cursor)
      assert.equal(back.join(''), all, query)
    }
  })

  test('the index of attributes follows every change of a contact', async (t) => {
    const { client, data, find, ids } = await openContacts(open, t)
    await data(200, 'PUT', `/contacts/${ids.a}`, { body: { plan: 'basic' } })
    assert.deepEqual([await find('attributes[plan]=pro'), await find('attributes[plan]=basic')], ['b', 'ac'])
    await data(200, 'PUT', `/contacts/${ids.a}`, { body: { plan: null } })
    assert.deepEqual([await find('attributes[plan]=basic'), await find('attributes[city]=Rome')], ['c', 'ac'])
    await data(200, 'POST', `/lists/${ids.L1}/contacts`, { body: { email: 'd@example.org', plan: 'pro' } })
    assert.equal(await find('attributes[plan]=pro'), 'bd')
    await client.contacts.addManyToList(ids.L1!, [
      { email: 'b@example.org', plan: 'basic' },
      { email: 'g@example.org', plan: 'pro', city: 'Rome' },
      { email: 'h@example.org' },
    ])
    assert.deepEqual([await find('attributes[plan]=pro'), await find('attributes[city]=Rome')], ['dg', 'acg'])
    await data(204, 'DELETE', `/contacts/${ids.d}`)
    assert.equal(await find('attributes[plan]=pro'), 'g')
  })

  test('declaring an attribute indexes stored contacts; withdrawing it refuses the filter', async (t) => {
    const { call, data, find, member } = await openContacts(open, t)
    assert.deepEqual(await data(200, 'GET', '/settings/attributes'), { indexed: ['plan', 'city'] })
    const declare = (indexed: unknown) => call('PUT', '/settings/attributes', { body: { indexed } })
    assert.deepEqual((await declare(['city'])).body, { data: { indexed: ['city'] } })
    const answer = await call('GET', '/contacts', { query: 'attributes[plan]=pro' })
    assertInvalid(answer, 'attributes.plan')
    assert.match(answer.body.message, /not declared/)
    assert.equal(await find('attributes[city]=Rome'), 'ac')
    assert.equal((await declare(['city', 'plan', 'plan'])).status, 200)
    assert.equal(await find('attributes[plan]=pro'), 'ab')
    for (const wrong of [undefined, 'plan', [1], [''], ['email'], ['x'.repeat(256)], Array.from('abcdefghijk')]) {
      const refusal = await declare(wrong)
      assert.equal(refusal.status, 422, refusal.what)
      assert.match(Object.keys(refusal.body.errors).join(), /^indexed/)
    }
    assertInvalid(await call('PUT', '/settings/attributes', { body: { indexed: [], x: 1 } }), 'x')
    assert.deepEqual(await data(200, 'GET', '/settings/attributes'), { indexed: ['city', 'plan'] })
    assert.equal((await call('GET', '/settings/attributes', { token: member })).status, 403)
  })

  test('values of any length and kind of character are found exactly', async (t) => {
    const { client, data } = await open(t)
    const { id } = await client.lists.create({ name: 'L' })
    const values = ['x'.repeat(10_000), `${'x'.repeat(9_999)}y`, '=', '#', '😀', `"';--`, ' padded ', 'ü'.repeat(255)]
    for (const [n, value] of values.entries()) {
      await client.contacts.addToList(id, {
        email: `c${n}@example.org`,
        __proto__: undefined,
        ...{ 'odd name': value },
      })
    }
    await client.settings.attributes.update({ indexed: ['odd name'] })
    for (const [n, value] of values.entries()) {
      const page = await client.contacts.list({ attributes: { 'odd name': value } })
      assert.deepEqual(
        page.data.map(({ email }) => email),
        [`c${n}@example.org`],
      )
    }
    const query = `attributes[odd%20name]=${encodeURIComponent('😀')}`
    assert.equal((await data(200, 'GET', '/contacts', { query })).length, 1)
  })

  test('attributes of any name are found', async (t) => {
    const { client, data } = await open(t)
    const { id } = await client.lists.create({ name: 'L' })
    const names = ['2024', '[', 'a[b]', 'x]y', '[]', '][', 'a\nb', '__proto__', 'constructor', '?&=%5B']
    const contacts = names.map((name, n) => JSON.stringify({ email: `c${n}@example.org`, [name]: 'yes' }))
    for (const text of contacts) await client.contacts.addToList(id, JSON.parse(text))
    await client.settings.attributes.update({ indexed: names })
    for (const [n, name] of names.entries()) {
      const query = `${encodeURIComponent(`attributes[${name}]`)}=yes`
      const found = await data(200, 'GET', '/contacts', { query })
      assert.deepEqual(
        found.map(({ email }: { email: string }) => email),
        [`c${n}@example.org`],
        name,
      )
    }
  })

  test('a stored job indexes many contacts; until then the filter is not available', async (t) => {
    const { client, call, mailkeep } = await open(t, { dispatch: false })
    const { id } = await client.lists.create({ name: 'L' })
    const people = Array.from({ length: 1200 }, (_, i) => ({ email: `c${i}@example.org`, plan: i % 3 ? 'a' : 'b' }))
    await client.contacts.addManyToList(id, people)
    await client.settings.attributes.update({ indexed: ['plan'] })
    const early = await call('GET', '/contacts', { query: 'attributes[plan]=a' })
    assert.ok([200, 503].includes(early.status), early.what)
    await mailkeep.deliverDue()
    const count = () => client.contacts.count({ attributes: { plan: 'b' } }).catch(() => -1)
    assert.equal(await until(count, (found) => found >= 0), 400)
    assert.equal(await client.contacts.count({ attributes: { plan: 'a' } }), 800)
    assert.equal(await client.contacts.count(), 1200)
  })

  test('counts are those of the listing, for many contacts too, and lists, topics and tags show theirs', async (t) => {
    const { client, data, call } = await open(t)
    const [one, two] = [await client.lists.create({ name: 'one' }), await client.lists.create({ name: 'two' })]
    const people = Array.from({ length: 10_500 }, (_, i) => ({ email: `c${i}@example.org`, tags: i % 4 ? [] : ['X'] }))
    await client.contacts.addManyToList(one.id, people.slice(0, 10_000))
    await client.contacts.addManyToList(one.id, people.slice(10_000))
    const [gone] = (await client.contacts.list({ email: 'c0@example.org' })).data
    await client.contacts.unsubscribe(gone!.id)
    const [tagX] = (await client.tags.list()).data
    assert.equal(await client.contacts.count(), 10_500)
    assert.equal(await client.contacts.count({}), 10_499)
    assert.equal(await client.contacts.count({ include_unsubscribed: true }), 10_500)
    assert.equal(await client.contacts.count({ unsubscribed: 'only' }), 1)
    assert.equal(await client.contacts.count({ lists: [one.id] }), 10_499)
    assert.equal(await client.contacts.count({ lists: [two.id] }), 0)
    assert.equal(await client.contacts.count({ tags: [tagX!.id] }), 2624)
    assert.deepEqual(await data(200, 'GET', '/contacts/count', { query: { lists: one.id, search: '@EXAMPLE' } }), {
      count: 10_499,
    })
    const lists = await data(200, 'GET', '/lists', { query: { counts: 1 } })
    assert.deepEqual(lists, [
      { ...one, contacts_count: 10_499 },
      { ...two, contacts_count: 0 },
    ])
    const tags = await data(200, 'GET', '/tags', { query: { counts: 'true' } })
    assert.deepEqual(tags, [{ ...tagX, contacts_count: 2624 }])
    const topic = await client.topics.create(one.id, { name: 'Weekly' })
    for (const { id } of (await client.contacts.list({ per_page: 3 })).data) {
      await client.contacts.subscribeToTopic(id, topic.id)
    }
    const topics = await data(200, 'GET', `/lists/${one.id}/topics`, { query: { counts: 1 } })
    assert.deepEqual(topics, [{ ...topic, contacts_count: 3 }])
    for (const [path, shape] of [
      ['/lists', list],
      [`/lists/${one.id}/topics`, topicShape],
      ['/tags', tag],
    ] as const) {
      for (const query of ['', 'counts=0']) assertShape((await data(200, 'GET', path, { query }))[0], shape)
      assertInvalid(await call('GET', path, { query: 'counts=yes' }), 'counts')
    }
  })

  test('iterate returns all contacts that match, page by page', async (t) => {
    const { client } = await open(t)
    const { id } = await client.lists.create({ name: 'L' })
    const people = Array.from({ length: 250 }, (_, i) => ({ email: `c${i}@example.org`, tags: i % 2 ? ['odd'] : [] }))
    await client.contacts.addManyToList(id, people)
    const [odd] = (await client.tags.list()).data
    const seen: string[] = []
    for await (const contact of client.contacts.iterate({ tags: [odd!.id] })) seen.push(contact.email)
    const expected = people.filter(({ tags }) => tags.length > 0).map(({ email }) => email)
    assert.deepEqual(seen.sort(), expected.sort())
    let all = 0
    for await (const _ of client.contacts.iterate()) all += 1
    assert.equal(all, 250)
    await assert.rejects(client.contacts.iterate({ email: 'x' }).next(), (error) =>
      isMailkeepError(error, 'validation_failed'),
    )
  })
})
