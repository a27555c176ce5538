/** Segments: named filters of contacts. */
import assert from 'node:assert/strict'
import { isMailkeepError } from '../../lib/index.ts'
import { test } from '../support/databases.ts'
import { overHttp } from '../support/harness.ts'
import { assertInvalid } from '../support/http-call.ts'
import { assertShape, utc } from '../support/http-shapes.ts'

const segment = {
  id: (value: unknown) => Number.isSafeInteger(value),
  uuid: /^[\da-f-]{36}$/,
  name: (value: unknown) => typeof value === 'string',
  filters: (value: unknown) => typeof value === 'object' && value !== null,
  created_at: utc,
}

/** Filters that break a rule, and the invalid field. */
const wrongFilters: readonly (readonly [filters: unknown, field: string])[] = [
  [undefined, 'filters'],
  [null, 'filters'],
  ['tags', 'filters'],
  [[1], 'filters'],
  [{ color: 'red' }, 'filters.color'],
  [{ email: 'a@example.org' }, 'filters.email'],
  [{ include_unsubscribed: true }, 'filters.include_unsubscribed'],
  [{ lists: ['x'] }, 'filters.lists.0'],
  [{ tags: Array.from({ length: 101 }, (_, i) => i + 1) }, 'filters.tags'],
  [{ exclude_tags: [0] }, 'filters.exclude_tags.0'],
  [{ search: 7 }, 'filters.search'],
  [{ search: 'x'.repeat(20_000) }, 'filters'],
  [{ created_after: 'yesterday' }, 'filters.created_after'],
  [{ attributes: ['plan'] }, 'filters.attributes'],
  [{ attributes: { plan: 1 } }, 'filters.attributes.plan'],
  [{ attributes: { color: 'red' } }, 'filters.attributes.color'],
]

overHttp('segments', (open) => {
  test('are created, listed, shown, changed and deleted', async (t) => {
    const { call, data } = await open(t)
    const filters = { lists: [1], created_after: '2020-01-01T00:00:00+01:00', search: 'ada' }
    const first = await data(201, 'POST', '/segments', { body: { name: ' Pro ', filters } })
    assertShape(first, segment)
    assert.deepEqual([first.name, first.filters], ['Pro', filters])
    const second = await data(201, 'POST', '/segments', { body: { name: 'Pro', filters: {} } })
    assert.deepEqual(await data(200, 'GET', '/segments'), [first, second])
    assert.deepEqual(await data(200, 'GET', `/segments/${first.id}`), first)
    const path = `/segments/${first.id}`
    assert.deepEqual(await data(200, 'PATCH', path, { body: {} }), first)
    assert.deepEqual(await data(200, 'PATCH', path, { body: { name: 'Ada' } }), { ...first, name: 'Ada' })
    const changed = await data(200, 'PATCH', path, { body: { filters: { tags: [2] } } })
    assert.deepEqual(changed, { ...first, name: 'Ada', filters: { tags: [2] } })
    await data(204, 'DELETE', path)
    for (const method of ['GET', 'PATCH', 'DELETE']) assert.equal((await call(method, path)).status, 404, method)
    assert.deepEqual(await data(200, 'GET', '/segments'), [second])
  })

  test('wrong input is refused and stores nothing', async (t) => {
    const { call, data } = await open(t)
    await data(200, 'PUT', '/settings/attributes', { body: { indexed: ['plan'] } })
    const good = await data(201, 'POST', '/segments', {
      body: { name: 'good', filters: { attributes: { plan: 'pro' } } },
    })
    for (const [filters, field] of wrongFilters) {
      assertInvalid(await call('POST', '/segments', { body: { name: 'x', filters } }), field)
      if (filters === undefined) continue
      assertInvalid(await call('PATCH', `/segments/${good.id}`, { body: { name: 'x', filters } }), field)
    }
    for (const name of ['', undefined, 7, 'x'.repeat(256)]) {
      assertInvalid(await call('POST', '/segments', { body: { name, filters: {} } }), 'name')
    }
    assertInvalid(await call('POST', '/segments', { body: { name: 'x', filters: {}, color: 1 } }), 'color')
    assert.deepEqual(await data(200, 'GET', '/segments'), [good])
  })

  test('have at most 16 KiB of filters, in bytes of UTF-8, with every declared attribute', async (t) => {
    const { client, call, data } = await open(t)
    const save = (filters: object) => call('POST', '/segments', { body: { name: 'x', filters } })
    const indexed = Array.from({ length: 10 }, (_, n) => `a${n}`)
    await client.settings.attributes.update({ indexed })
    const attributes = Object.fromEntries(indexed.map((name) => [name, 'x']))
    assert.equal((await save({ attributes })).status, 201)
    assertInvalid(await save({ attributes: { ...attributes, more: 'x' } }), 'filters.attributes')
    const search = 'ü'.repeat((16 * 1024 - '{"search":"x"}'.length) / 2)
    assert.equal((await save({ search: `${search}x` })).status, 201)
    assertInvalid(await save({ search: `${search}xx` }), 'filters')
    assert.equal((await data(200, 'GET', '/segments')).length, 2)
  })

  test('compare times to the microsecond', async (t) => {
    const { client } = await open(t)
    const line = { email: 'ada@example.org', created_at: '2020-01-02T03:04:05.678901Z', extra_attributes: {} }
    await client.contacts.import(null, [JSON.stringify(line)], { format: 'ndjson' })
    const count = (microseconds: number) =>
      client.contacts.count({ created_after: `2020-01-02T03:04:05.${microseconds}+00:00` })
    assert.deepEqual([await count(678_900), await count(678_901)], [1, 0])
  })

  test('select contacts on the listing, the count and the export, together with other filters', async (t) => {
    const { client, call, data } = await open(t)
    await client.settings.attributes.update({ indexed: ['plan', 'city'] })
    const [one, two] = [await client.lists.create({ name: 'one' }), await client.lists.create({ name: 'two' })]
    const people = Array.from({ length: 60 }, (_, i) => ({
      email: `c${i}@example.org`,
      tags: [`by ${2 + (i % 2)}`, ...(i % 5 ? [] : ['five'])],
      plan: i % 3 ? 'basic' : 'pro',
      city: i % 4 ? 'Rome' : 'Oslo',
    }))
    for (const [i, person] of people.entries()) await client.contacts.addToList(i < 40 ? one.id : two.id, person)
    await client.contacts.addToList(two.id, people[0]!)
    const tags = new Map((await client.tags.list()).data.map(({ id, name }) => [name, id]))
    const create = async (filters: object) =>
      (await data(201, 'POST', '/segments', { body: { name: 'S', filters } })).id as number
    const wide = await create({
      lists: [one.id],
      tags: [tags.get('by 2')],
      exclude_tags: [tags.get('five')],
      attributes: { plan: 'pro' },
      search: 'EXAMPLE',
      created_after: '2020-01-01T00:00:00Z',
    })
    const inWide = (i: number) => i < 40 && i % 2 === 0 && i % 5 !== 0 && i % 3 === 0
    const all = people.map((_, i) => i)
    const cases: readonly [query: string, matches: (i: number) => boolean][] = [
      ['', inWide],
      [`lists[]=${two.id}`, (i) => inWide(i) && i === 0],
      [`tags[]=${tags.get('by 3')}`, () => false],
      [`tags[]=${tags.get('by 2')}&lists[]=${one.id}`, inWide],
      [`exclude_tags[]=${tags.get('by 3')}`, inWide],
      ['attributes[plan]=pro', inWide],
      ['attributes[plan]=basic', () => false],
      ['attributes[city]=Oslo', (i) => inWide(i) && i % 4 === 0],
      ['search=c1', (i) => inWide(i) && `c${i}`.startsWith('c1')],
      ['search=@example&per_page=100', inWide],
      ['created_before=2020-01-01T00:00:00Z', () => false],
      ['email=c6@example.org', (i) => i === 6],
      ['email=c7@example.org', () => false],
    ]
    for (const [query, matches] of cases) {
      const full = `segment=${wide}&${query}`
      const found: { email: string }[] = await data(200, 'GET', '/contacts', { query: full })
      const expected = all.filter(matches)
      assert.deepEqual(
        found.map(({ email }) => email),
        expected.map((i) => `c${i}@example.org`),
        query,
      )
      if (query.includes('per_page')) continue
      assert.deepEqual(await data(200, 'GET', '/contacts/count', { query: full }), { count: expected.length }, query)
      const { text } = await call('GET', '/contacts/export', { query: full })
      assert.equal(text.split('\n').length - 1, expected.length, query)
    }
    assert.equal(await client.contacts.count({ segment: await create({}) }), 60)
    assert.equal(await client.contacts.count({ segment: await create({ lists: [999_999] }) }), 0)
  })

  test('follow changes of contacts, lists and declared attributes', async (t) => {
    const { client, call } = await open(t)
    await client.settings.attributes.update({ indexed: ['plan'] })
    const { id: listId } = await client.lists.create({ name: 'L' })
    const { contact } = await client.contacts.addToList(listId, { email: 'a@example.org', plan: 'pro' })
    const byList = await client.segments.create({ name: 'list', filters: { lists: [listId] } })
    const byPlan = await client.segments.create({ name: 'plan', filters: { attributes: { plan: 'pro' } } })
    const counts = () => Promise.all([byList, byPlan].map(({ id }) => client.contacts.count({ segment: id })))
    assert.deepEqual(await counts(), [1, 1])
    await client.contacts.update(contact.id, { plan: 'basic' })
    assert.deepEqual(await counts(), [1, 0])
    await client.lists.delete(listId)
    assert.deepEqual(await counts(), [0, 0])
    await client.settings.attributes.update({ indexed: [] })
    assertInvalid(await call('GET', '/contacts', { query: { segment: byPlan.id } }), 'attributes.plan')
  })

  test('of other clients, and deleted ones, are not found', async (t) => {
    const service = await open(t)
    const other = await service.addTenant()
    const theirs = await other.client.segments.create({ name: 'theirs', filters: {} })
    for (const path of ['/contacts', '/contacts/count', '/contacts/export']) {
      for (const segment of [theirs.id, 999_999]) {
        const answer = await service.call('GET', path, { query: { segment } })
        assert.deepEqual([answer.status, answer.body.code], [404, 'not_found'], answer.what)
      }
    }
    await assert.rejects(service.client.contacts.list({ segment: theirs.id }), (error) =>
      isMailkeepError(error, 'not_found'),
    )
  })

  test('the records of a deleted client are deleted with it', async (t) => {
    const { addTenant, mailkeep } = await open(t, { dispatch: false })
    const other = await addTenant()
    await other.client.segments.create({ name: 'S', filters: {} })
    await other.client.settings.attributes.update({ indexed: ['plan'] })
    await mailkeep.clients.delete(other.id)
    await mailkeep.deliverDue()
    await assert.rejects(mailkeep.clients.get(other.id), (error) => isMailkeepError(error, 'not_found'))
  })
})
