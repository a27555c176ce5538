/** GET /contacts: filters, their notations in a query, and the search. */
import assert from 'node:assert/strict'
import type { TestContext } from 'node:test'
import { test } from '../support/databases.ts'
import { type Open, overHttp } from '../support/harness.ts'
import { assertInvalid } from '../support/http-call.ts'

/**
 * Contacts a to e. a is on list L1, with tag X and topic T1. b is on L2, with Y and T2. c has all of these, and d none.
 * e is like a, but unsubscribed.
 */
async function openContacts(open: Open, t: TestContext) {
  const service = await open(t)
  const { data } = service
  const ids: Record<string, number> = {}
  for (const number of [1, 2]) {
    const list = await data(201, 'POST', '/lists', { body: { name: `L${number}` } })
    const topic = await data(201, 'POST', `/lists/${list.id}/topics`, { body: { name: `T${number}` } })
    const tag = await data(201, 'POST', '/tags', { body: { name: number === 1 ? 'X' : 'Y' } })
    Object.assign(ids, { [`L${number}`]: list.id, [`T${number}`]: topic.id, [tag.name]: tag.id })
  }
  const add = async (letter: string, on: { lists: number[]; tags: string[] }) => {
    for (const number of on.lists) {
      const body = { email: `${letter}@example.org`, tags: on.tags }
      const [path, status] = [`/lists/${ids[`L${number}`]}/contacts`, number === on.lists[0] ? 201 : 200]
      const { id } = await data(status, 'POST', path, { body })
      ids[letter] = id
      await data(200, 'PUT', `/contacts/${id}/topics/${ids[`T${number}`]}`)
    }
  }
  await add('a', { lists: [1], tags: ['X'] })
  await add('b', { lists: [2], tags: ['Y'] })
  await add('c', { lists: [1, 2], tags: ['X', 'Y'] })
  await add('d', { lists: [1], tags: [] })
  await data(200, 'DELETE', `/lists/${ids.L1}/contacts/${ids.d}`)
  await add('e', { lists: [1], tags: ['X'] })
  await data(200, 'POST', `/contacts/${ids.e}/unsubscribe`)
  /** Replaces names of records in braces by their ids. */
  const idsIn = (query: string) => query.replace(/\{(\w+)\}/g, (_, name) => String(ids[name]))
  const find = async (query: string): Promise<string> => {
    const contacts: { email: string }[] = await data(200, 'GET', '/contacts', { query: idsIn(query) })
    return contacts.map(({ email }) => email[0]).join('')
  }
  return { ...service, ids, idsIn, find }
}

const times = (count: number, parameter: (i: number) => string) =>
  Array.from({ length: count }, (_, i) => parameter(i)).join('&')

/** Queries, and the contacts they find. */
const found: readonly [query: string, contacts: string][] = [
  ['', 'abcd'],
  ['lists[]={L1}', 'ac'],
  ['lists[]={L1}&lists[]={L2}', 'abc'],
  ['lists[]={L2}&lists[]={L1}', 'abc'],
  ['lists[]={L1}&lists[]={L1}', 'ac'],
  ['lists[0]={L1}', 'ac'],
  ['lists[0]={L1}&lists[1]={L2}', 'abc'],
  ['lists[1]={L1}&lists[0]={L2}', 'abc'],
  ['lists[7]={L1}&lists[99]={L2}', 'abc'],
  ['lists={L1}', 'ac'],
  ['lists={L1}&lists={L2}', 'abc'],
  ['lists%5B%5D={L1}&lists%5B%5D={L2}', 'abc'],
  ['lists%5b%5d={L2}', 'bc'],
  ['lists%5B0%5D={L1}&lists%5B1%5D={L2}', 'abc'],
  ['%6Cists[]={L1}', 'ac'],
  ['tags[]={X}', 'ac'],
  ['tags={Y}', 'bc'],
  ['tags[0]={X}&tags[1]={Y}', 'abc'],
  ['topics[]={T1}', 'ac'],
  ['topics%5B%5D={T1}&topics%5B%5D={T2}', 'abc'],
  ['lists[]={L1}&tags[]={Y}', 'c'],
  ['lists[]={L1}&lists[]={L2}&tags[]={X}&tags[]={Y}&topics[]={T2}', 'bc'],
  ['topics={T1}&tags={X}&lists={L1}&search=a%40', 'a'],
  ['topics={T1}&tags={X}&lists={L1}&search=b%40', ''],
  ['lists[]=999999', ''],
  ['lists[]=9007199254740991', ''],
  ['lists[]=999999&lists[]={L1}', 'ac'],
  ['lists[]=999999&tags[]={X}', ''],
  [`${times(99, (i) => `lists[]=${90_000 + i}`)}&lists[]={L1}`, 'ac'],
  [`${times(99, (i) => `lists[${i}]=${90_000 + i}`)}&lists[99]={L1}`, 'ac'],
  [['lists={L1}', 'tags={X}', 'topics={T1}'].map((one) => times(100, () => one)).join('&'), 'ac'],
  ['include_unsubscribed=1', 'abcde'],
  ['include_unsubscribed=true', 'abcde'],
  ['include_unsubscribed=0', 'abcd'],
  ['include_unsubscribed=false', 'abcd'],
  ['include_unsubscribed=1&lists={L1}', 'ace'],
  ['include_unsubscribed=1&topics[]={T1}&tags[]={X}&search=E', 'ace'],
  ['per_page=1', 'a'],
  ['per_page=2&lists[]={L2}', 'bc'],
  ['search=', 'abcd'],
  ['&&search=a%40&', 'a'],
]

/** Queries that break a rule, and the invalid fields. */
const refused: readonly [query: string, ...fields: string[]][] = [
  ['lists[]=abc', 'lists.0'],
  ['lists=abc', 'lists.0'],
  ['lists[]={L1}&lists[]=abc', 'lists.1'],
  ['tags[]=1&tags[]=1.5&tags[]=1e3', 'tags.1', 'tags.2'],
  ['topics[]=', 'topics.0'],
  [times(101, (i) => `lists[]=${i + 1}`), 'lists'],
  [times(101, (i) => `tags[${i}]=${i + 1}`), 'tags'],
  [times(101, (i) => `topics=${i + 1}`), 'topics'],
  ['include_unsubscribed=yes', 'include_unsubscribed'],
  ['include_unsubscribed=TRUE', 'include_unsubscribed'],
  ['include_unsubscribed=2', 'include_unsubscribed'],
  ['include_unsubscribed=', 'include_unsubscribed'],
  ['include_unsubscribed=1&include_unsubscribed=0', 'include_unsubscribed'],
  ['search[]=a', 'search'],
  ['search=a&search=b', 'search'],
  ['search[a]=b', 'search'],
  ['search=a%00b', 'search'],
  ['unknown=1', 'unknown'],
  ['list[]={L1}&sort=-id&lists_[0]=1&page', 'list', 'sort', 'lists_', 'page'],
  ['tag%5B%5D=1&tags[]={X}', 'tag'],
  ['Lists=1&lists%20=1&=1', 'Lists', 'lists ', ''],
  ['?search=a&[lists]={L1}', '?search', '[lists]'],
  ['__proto__=1&constructor=1&toString=1&prototype[]=1', ...['__proto__', 'constructor', 'toString', 'prototype']],
  ['__proto__[lists]={L1}&constructor[prototype][lists]={L1}', '__proto__', 'constructor'],
  ['%5F%5Fproto%5F%5F%5Bsearch%5D=zzz', '__proto__'],
  ['per_page=0&unknown=1', 'per_page', 'unknown'],
  ['per_page=0&include_unsubscribed=x&lists=x&cursor=x', 'per_page', 'include_unsubscribed', 'lists.0', 'cursor'],
]

const people: readonly [name: string, email: string][] = [
  ['Ann Äpfel', 'ann@example.org'],
  ['100% sure', 'percent@example.org'],
  ['under_score', 'u@example.org'],
  ['back\\slash', 'b@example.org'],
  [`quo'te "double"`, 'q@example.org'],
  ['ΟΔΟΣ', 's@example.org'],
  ['İzmir', 't@example.org'],
  ['Straße', 'd@example.org'],
  ['', 'a+b@example.org'],
  ['Mu\u0308ller', 'm@example.org'],
  ['😀 smile', 'e@example.org'],
  ['Ünal', 'ÜNAL@beispiel.example'],
  ['[a-z]*?^', 'r@example.org'],
  ['tab\there', 'tab@example.org'],
  ['Lovelace Ada Lovejoy', 'l@example.org'],
]

/** Terms, and the e-mail addresses they find. */
const searches: readonly [term: string, ...emails: string[]][] = [
  ['ä', 'ann'],
  ['ÄPF', 'ann'],
  ['a\u0308pfel', 'ann'],
  ['n Ä', 'ann'],
  ['ANN@', 'ann'],
  ['%', 'percent'],
  ['%%'],
  ['0% s', 'percent'],
  ['_', 'u'],
  ['___'],
  ['\\', 'b'],
  ['\\\\'],
  ["'", 'q'],
  ['"', 'q'],
  ['" or 1=1 --'],
  ["'; drop table mailkeep_contact; --"],
  ['οδοσ', 's'],
  ['οδος'],
  ['δ', 's'],
  ['izm', 't'],
  ['ızm'],
  ['STRAẞ', 'd'],
  ['strass'],
  ['+', 'a+b'],
  ['a+b@EXAMPLE', 'a+b'],
  ['a b'],
  ['MÜLLER', 'm'],
  ['muller'],
  ['😀', 'e'],
  ['ünal', 'ÜNAL'],
  ['ÜNAL@BEISPIEL', 'ÜNAL'],
  ['*', 'r'],
  ['[a-z]', 'r'],
  ['^', 'r'],
  ['\t', 'tab'],
  ['herE', 'tab'],
  // A match cannot span name and e-mail.
  ['äpfelann'],
  ['äpfel ann'],
  ['äpfel\nann'],
  ['äpfel\u001fann'],
  ['beispiel.example', 'ÜNAL'],
  ['.org', ...people.map(([, email]) => email.split('@')[0]!).filter((name) => name !== 'ÜNAL')],
  ['zzz'],
  ['AND'],
  ['x'.repeat(3000)],
  ['lovelace ada lovejoy', 'l'],
  ['ace ada', 'l'],
  // All of its trigrams occur, but in another order.
  ['ada lovelace'],
  ['lovelovelace'],
  ['lovelace ada lovejoy'.repeat(50)],
]

/** One of many contacts: enough that some filters match many contacts, others few. */
function memberOf(crowd: number) {
  return Array.from({ length: crowd }, (_, i) => ({
    name: `${['Ada', 'Bram', 'Chloé'][i % 3]} ${['Jansen', 'Lovelace'][i % 2]} ${i}`,
    email: `${i}.of.a.crowd@example.org`,
    lists: i % 2 ? [1, 2] : [1],
    tags: [2, 3, 70].filter((each) => i % each === 0),
    unsubscribed: i % 20 === 19,
  }))
}

overHttp('finding contacts', (open) => {
  test('filters in every notation: any value of one filter, all of several filters', async (t) => {
    const { find } = await openContacts(open, t)
    for (const [query, contacts] of found) assert.equal(await find(query), contacts, query)
  })

  test('invalid queries are refused', async (t) => {
    const { call, idsIn } = await openContacts(open, t)
    for (const [query, ...fields] of refused) {
      assertInvalid(await call('GET', '/contacts', { query: idsIn(query) }), ...fields)
    }
  })

  test('filters follow changes of contacts', async (t) => {
    const { data, find, ids } = await openContacts(open, t)
    await data(200, 'DELETE', `/contacts/${ids.a}/topics/${ids.T1}`)
    assert.equal(await find('topics={T1}'), 'c')
    await data(200, 'DELETE', `/lists/${ids.L1}/contacts/${ids.c}`)
    assert.deepEqual([await find('lists={L1}'), await find('topics={T1}'), await find('topics={T2}')], ['a', '', 'bc'])
    await data(200, 'PUT', `/contacts/${ids.a}`, { body: { tags: ['Y'] } })
    assert.deepEqual([await find('tags={X}'), await find('tags={Y}')], ['c', 'abc'])
    await data(200, 'POST', `/contacts/${ids.e}/resubscribe`)
    assert.equal(await find('lists={L1}'), 'ae')
    await data(204, 'DELETE', `/contacts/${ids.e}`)
    assert.equal(await find('lists={L1}&include_unsubscribed=1'), 'a')
    for (const path of [`/tags/${ids.Y}`, `/topics/${ids.T2}`, `/lists/${ids.L1}`]) await data(204, 'DELETE', path)
    for (const query of ['tags={Y}', 'topics={T2}', 'lists={L1}']) assert.equal(await find(query), '', query)
    assert.equal(await find(''), 'abcd')
  })

  test('a search among many contacts, alone and with filters, page by page in both directions', async (t) => {
    const { data, call } = await open(t)
    const lists = [1, 2].map((n) => data(201, 'POST', '/lists', { body: { name: `L${n}` } }))
    const listIds: number[] = (await Promise.all(lists)).map(({ id }) => id)
    const crowd = memberOf(700)
    const upserts = crowd.map(({ name, email, lists, tags }) => {
      return {
        op: 'upsert',
        name,
        email,
        lists: lists.map((n) => listIds[n - 1]),
        tags: tags.map((tag) => `by ${tag}`),
      }
    })
    const unsubscribes = crowd.filter((one) => one.unsubscribed).map(({ email }) => ({ op: 'unsubscribe', email }))
    const operations = [...upserts, ...unsubscribes]
    const results = await data(200, 'POST', '/contacts/batch', { body: { operations } })
    const ids = new Map(crowd.map(({ email }, at) => [email, results[at].id as number]))
    const tagIds = new Map<string, number>()
    for (const { id, name } of await data(200, 'GET', '/tags')) tagIds.set(name, id)
    const walk = async (query: object, towards: 'next_cursor' | 'prev_cursor', cursor: object = {}) => {
      const found: number[][] = []
      let last: object = cursor
      for (;;) {
        const { body } = await call('GET', '/contacts', { query: { ...query, ...last, per_page: 100 } })
        found.push(body.data.map(({ id }: { id: number }) => id))
        if (!body.meta[towards]) return { found, last }
        last = { cursor: body.meta[towards] }
      }
    }
    const filters = [{}, { list: 1 }, { tag: 2 }, { tag: 3 }, { tag: 70 }, { list: 2, tag: 3 }]
    for (const [n, search] of ['example', 'LOVELACE', 'da lovelace', 'lace ada', 'ada jansen 1'].entries()) {
      for (const [m, { list, tag }] of (filters as { list?: number; tag?: number }[]).entries()) {
        const all = (n + m) % 2 === 0
        const expected = crowd.filter(
          (one) =>
            `${one.name} ${one.email}`.toLowerCase().includes(search.toLowerCase()) &&
            (!list || one.lists.includes(list)) &&
            (!tag || one.tags.includes(tag)) &&
            (all || !one.unsubscribed),
        )
        const query = {
          search,
          ...(list && { lists: listIds[list - 1] }),
          ...(tag && { tags: tagIds.get(`by ${tag}`) }),
          ...(all && { include_unsubscribed: '1' }),
        }
        const { found, last } = await walk(query, 'next_cursor')
        const wanted = expected.map(({ email }) => ids.get(email)!).sort((a, b) => a - b)
        assert.deepEqual(found.flat(), wanted, JSON.stringify(query))
        const back = await walk(query, 'prev_cursor', last)
        assert.deepEqual(back.found.reverse().flat(), wanted, JSON.stringify(query))
      }
    }
  })

  test('the search takes text literally and ignores case', async (t) => {
    const { data } = await open(t)
    const list = await data(201, 'POST', '/lists', { body: { name: 'list' } })
    for (const [name, email] of people) {
      await data(201, 'POST', `/lists/${list.id}/contacts`, { body: { name, email, tags: ['zzz'], zzz: 'zzz' } })
    }
    for (const [search, ...emails] of searches) {
      const contacts: { email: string }[] = await data(200, 'GET', '/contacts', { query: { search } })
      assert.deepEqual(contacts.map(({ email }) => email.split('@')[0]!).sort(), emails.sort(), search)
    }
  })

  test('the search finds the current name, and the e-mail as first spelled', async (t) => {
    const { data } = await open(t)
    const list = await data(201, 'POST', '/lists', { body: { name: 'list' } })
    const add = (body: object, status = 200) => data(status, 'POST', `/lists/${list.id}/contacts`, { body })
    const count = async (search: string) => (await data(200, 'GET', '/contacts', { query: { search } })).length
    const { id } = await add({ email: 'Lee@example.org', name: 'First' }, 201)
    await add({ email: 'lee@example.org', name: 'Second' })
    assert.deepEqual([await count('first'), await count('second'), await count('lee')], [0, 1, 1])
    await data(200, 'PUT', `/contacts/${id}`, { body: { name: 'Third' } })
    assert.deepEqual([await count('second'), await count('third')], [0, 1])
    await data(204, 'DELETE', `/contacts/${id}`)
    assert.equal(await count('third'), 0)
  })
})
