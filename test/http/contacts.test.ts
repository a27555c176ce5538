/** Contacts: shapes, matching by e-mail, merging, and the states of the subscription. */
import assert from 'node:assert/strict'
import type { TestContext } from 'node:test'
import { test } from '../support/databases.ts'
import { type Open, overHttp } from '../support/harness.ts'
import { assertInvalid } from '../support/http-call.ts'
import {
  assertShape,
  contact,
  contactWithoutTopics,
  differentTexts,
  meta,
  sameTexts,
  utc,
} from '../support/http-shapes.ts'

/** Opens a service with two lists, and functions that add contacts to them. */
async function openLists(open: Open, t: TestContext) {
  const service = await open(t)
  const { data } = service
  const list = await data(201, 'POST', '/lists', { body: { name: 'one' } })
  const second = await data(201, 'POST', '/lists', { body: { name: 'two' } })
  const add = (body: object, status = 201, to = list) => data(status, 'POST', `/lists/${to.id}/contacts`, { body })
  const get = (id: number) => data(200, 'GET', `/contacts/${id}`)
  const put = (id: number, body: object) => data(200, 'PUT', `/contacts/${id}`, { body })
  return { ...service, list, second, add, get, put }
}

const names = (records: { name: string }[]) => records.map(({ name }) => name).sort()

overHttp('contacts', (open) => {
  test('create, update and remove-from-list answer without topics, every other route with all fields', async (t) => {
    const { call, data, list, add, url } = await openLists(open, t)
    const topic = await data(201, 'POST', `/lists/${list.id}/topics`, { body: { name: 'weekly' } })
    const created = await add({ email: 'ann@example.org', name: 'Ann', tags: ['a'], city: 'Bonn' })
    assertShape(created, contactWithoutTopics)
    const path = `/contacts/${created.id}`
    assertShape(await add({ email: 'ann@example.org' }, 200), contactWithoutTopics)
    assertShape(await data(200, 'PUT', path, { body: {} }), contactWithoutTopics)
    const subscribed = await data(200, 'PUT', `${path}/topics/${topic.id}`)
    assertShape(subscribed, contact)
    assert.deepEqual(subscribed, { ...created, topics: [topic] })
    assert.deepEqual(await data(200, 'GET', path), subscribed)
    const page = (await call('GET', '/contacts')).body
    assert.deepEqual(page.data, [subscribed])
    assertShape(page.meta, meta)
    assert.equal(page.meta.path, `${url}/api/v1/contacts`)
    assertShape(await data(200, 'POST', `${path}/unsubscribe`), contact)
    assertShape(await data(200, 'POST', `${path}/resubscribe`), contact)
    assertShape(await data(200, 'DELETE', `${path}/topics/${topic.id}`), contact)
    assertShape(await data(200, 'DELETE', `/lists/${list.id}${path}`), contactWithoutTopics)
    assert.equal((await call('DELETE', path)).status, 204)
    assert.equal((await call('GET', path)).status, 404)
  })

  test('a new contact shows what was sent, and empty values for the rest', async (t) => {
    const { add, list } = await openLists(open, t)
    const { id, uuid, created_at, tags, ...rest } = await add({
      email: ' Ann@Example.org\n',
      name: ' Ann ',
      tags: ['News'],
      city: 'Bonn',
    })
    assert.deepEqual(rest, {
      name: ' Ann ',
      email: 'Ann@Example.org',
      extra_attributes: { city: 'Bonn' },
      unsubscribed_at: null,
      unsubscribed_by_contact: false,
      lists: [list],
    })
    assert.deepEqual(names(tags), ['News'])
    assert.match(created_at, utc)
    const bare = await add({ email: 'bob@example.org' })
    assert.deepEqual([bare.name, bare.tags, bare.extra_attributes], ['', [], {}])
    assert.ok(bare.id > id && bare.uuid !== uuid)
  })

  test('an e-mail matches in any case and Unicode composition; the first spelling is shown', async (t) => {
    const { add, get } = await openLists(open, t)
    for (const [i, [one, other]] of sameTexts.entries()) {
      const first = await add({ email: `${one}.${i}@example.org` })
      const again = await add({ email: ` ${other}.${i}@EXAMPLE.org` }, 200)
      assert.deepEqual([again.id, again.email], [first.id, `${one}.${i}@example.org`])
      assert.equal((await get(first.id)).email, `${one}.${i}@example.org`)
    }
  })

  test('e-mails that only look alike are different contacts', async (t) => {
    const { add } = await openLists(open, t)
    for (const [i, pair] of differentTexts.entries())
      for (const one of pair) await add({ email: `${one}.${i}@example.org` })
  })

  test('posting again adds tags, merges attributes, and keeps the name unless a new one is sent', async (t) => {
    const { add, data } = await openLists(open, t)
    await add({ email: 'a@example.org', name: 'Ann', tags: ['one'], city: 'Bonn', size: 'S', old: 'x' })
    const again = await add(
      { email: 'A@example.org', tags: ['TWO', 'ONE', 'two'], size: 'M', old: null, none: null },
      200,
    )
    assert.deepEqual([again.name, names(again.tags)], ['Ann', ['TWO', 'one']])
    assert.deepEqual(again.extra_attributes, { city: 'Bonn', size: 'M' })
    assert.deepEqual(names(await data(200, 'GET', '/tags')), ['TWO', 'one'])
    assert.equal((await add({ email: 'a@example.org', name: 'Anna', tags: [] }, 200)).name, 'Anna')
    const last = await add({ email: 'a@example.org', name: '' }, 200)
    assert.deepEqual([last.name, names(last.tags)], ['', ['TWO', 'one']])
  })

  test('a contact on a second list is on both', async (t) => {
    const { add, list, second } = await openLists(open, t)
    const { id } = await add({ email: 'a@example.org' })
    const both = await add({ email: 'a@example.org' }, 200, second)
    assert.equal(both.id, id)
    assert.deepEqual(both.lists, [list, second])
    assert.deepEqual((await add({ email: 'a@example.org' }, 200, second)).lists, [list, second])
  })

  test('an update replaces tags if it has any, and merges attributes', async (t) => {
    const { add, data, get, put } = await openLists(open, t)
    await data(201, 'POST', '/tags', { body: { name: 'Known' } })
    const { id, email } = await add({
      email: 'a@example.org',
      name: 'Ann',
      tags: ['one', 'two'],
      city: 'Bonn',
      old: 'x',
    })
    const changed = await put(id, { name: 'Anna', tags: ['KNOWN', 'two', 'new', 'NEW'], old: null, size: 'M' })
    assert.deepEqual([changed.name, changed.email, names(changed.tags)], ['Anna', email, ['Known', 'new', 'two']])
    assert.deepEqual(changed.extra_attributes, { city: 'Bonn', size: 'M' })
    assert.deepEqual(await put(id, {}), changed)
    assert.deepEqual((await put(id, { tags: [] })).tags, [])
    assert.deepEqual(
      names(await data(200, 'GET', '/tags')),
      ['Known', 'new', 'one', 'two'],
      'the tags themselves are kept',
    )
    assert.equal((await put(id, { name: '' })).name, '')
    assert.equal((await get(id)).name, '')
  })

  test('an update cannot change the e-mail, not even to itself', async (t) => {
    const { add, call, get } = await openLists(open, t)
    const { id } = await add({ email: 'a@example.org', name: 'Ann' })
    for (const email of ['b@example.org', 'a@example.org', '', null, 7]) {
      assertInvalid(
        await call('PUT', `/contacts/${id}`, { body: { email, name: 'X', tags: ['x'], city: 'X' } }),
        'email',
      )
    }
    const { name, tags, extra_attributes } = await get(id)
    assert.deepEqual([name, tags, extra_attributes], ['Ann', [], {}])
  })

  test('unsubscribing twice keeps the first time; resubscribing clears it', async (t) => {
    const { add, advance, data, get } = await openLists(open, t)
    const before = await add({ email: 'a@example.org' })
    const path = `/contacts/${before.id}`
    const { topics: _, ...first } = await data(200, 'POST', `${path}/unsubscribe`)
    assert.match(first.unsubscribed_at, utc)
    assert.deepEqual(first, { ...before, unsubscribed_at: first.unsubscribed_at, unsubscribed_by_contact: false })
    advance(5_000)
    assert.equal((await data(200, 'POST', `${path}/unsubscribe`)).unsubscribed_at, first.unsubscribed_at)
    assert.equal((await get(before.id)).unsubscribed_at, first.unsubscribed_at)
    for (let i = 0; i < 2; i++) assert.equal((await data(200, 'POST', `${path}/resubscribe`)).unsubscribed_at, null)
    advance(5_000)
    assert.ok((await data(200, 'POST', `${path}/unsubscribe`)).unsubscribed_at > first.unsubscribed_at)
  })

  test('the unsubscription is shown until the contact is resubscribed', async (t) => {
    const { add, client, data, get } = await openLists(open, t)
    const { id } = await add({ email: 'a@example.org' })
    await client.contacts.unsubscribe(id, { byContact: true })
    assert.equal((await get(id)).unsubscribed_by_contact, true)
    assert.equal((await data(200, 'POST', `/contacts/${id}/unsubscribe`)).unsubscribed_by_contact, true)
    assert.equal((await data(200, 'POST', `/contacts/${id}/resubscribe`)).unsubscribed_by_contact, false)
    assert.equal((await data(200, 'POST', `/contacts/${id}/unsubscribe`)).unsubscribed_by_contact, false)
  })

  test('an unsubscribed contact stays so when it is added to lists, tags or attributes change', async (t) => {
    const { add, data, get, put, second } = await openLists(open, t)
    const { id } = await add({ email: 'a@example.org' })
    const { unsubscribed_at } = await data(200, 'POST', `/contacts/${id}/unsubscribe`)
    const added = await add({ email: 'A@example.org', name: 'Ann', tags: ['x'], city: 'Bonn' }, 200, second)
    assert.deepEqual([added.unsubscribed_at, added.lists.length], [unsubscribed_at, 2])
    assert.equal((await put(id, { name: 'Anna' })).unsubscribed_at, unsubscribed_at)
    assert.equal((await get(id)).unsubscribed_at, unsubscribed_at)
  })

  test('removing from a list removes that list and its topics only, and is no error when the contact is not on it', async (t) => {
    const { add, data, get, list, second } = await openLists(open, t)
    const { id } = await add({ email: 'a@example.org', tags: ['x'], city: 'Bonn' })
    await add({ email: 'a@example.org' }, 200, second)
    for (const { id: listId } of [list, second]) {
      const topic = await data(201, 'POST', `/lists/${listId}/topics`, { body: { name: `of ${listId}` } })
      await data(200, 'PUT', `/contacts/${id}/topics/${topic.id}`)
    }
    const before = await get(id)
    for (let i = 0; i < 2; i++) {
      const removed = await data(200, 'DELETE', `/lists/${list.id}/contacts/${id}`)
      assert.deepEqual(removed, { ...withoutTopics(before), lists: [second] })
    }
    assert.deepEqual(names((await get(id)).topics), [`of ${second.id}`])
    assert.deepEqual((await data(200, 'DELETE', `/lists/${second.id}/contacts/${id}`)).lists, [])
    assert.deepEqual((await get(id)).topics, [])
    await add({ email: 'a@example.org' }, 200)
    const back = await get(id)
    assert.deepEqual([back.lists, back.topics], [[list], []], 'the earlier topic subscriptions are not restored')
  })

  test('a topic requires membership of its list', async (t) => {
    const { add, call, data, get, list, second } = await openLists(open, t)
    const { id } = await add({ email: 'a@example.org' })
    const topic = await data(201, 'POST', `/lists/${second.id}/topics`, { body: { name: 'x' } })
    const path = `/contacts/${id}/topics/${topic.id}`
    assert.equal((await call('PUT', path)).status, 422)
    assert.deepEqual((await get(id)).topics, [])
    assert.deepEqual(
      (await data(200, 'DELETE', path)).topics,
      [],
      'unsubscribing from a topic without a subscription is no error',
    )
    await add({ email: 'a@example.org' }, 200, second)
    for (let i = 0; i < 2; i++) assert.deepEqual((await data(200, 'PUT', path)).topics, [topic])
    await data(200, 'DELETE', `/lists/${list.id}/contacts/${id}`)
    assert.deepEqual((await get(id)).topics, [topic])
    await data(200, 'DELETE', `/lists/${second.id}/contacts/${id}`)
    assert.equal((await call('PUT', path)).status, 422)
  })

  test('an erased contact is gone everywhere, and its address can be used again', async (t) => {
    const { add, call, data } = await openLists(open, t)
    const { id } = await add({ email: 'a@example.org', name: 'Ann', tags: ['x'], city: 'Bonn' })
    assert.equal((await call('DELETE', `/contacts/${id}`)).status, 204)
    for (const [method, path] of [
      ['GET', `/contacts/${id}`],
      ['PUT', `/contacts/${id}`],
      ['DELETE', `/contacts/${id}`],
      ['POST', `/contacts/${id}/unsubscribe`],
      ['POST', `/contacts/${id}/resubscribe`],
    ] as const) {
      assert.equal((await call(method, path, method === 'PUT' ? { body: {} } : {})).status, 404, `${method} ${path}`)
    }
    assert.deepEqual(await data(200, 'GET', '/contacts', { query: { include_unsubscribed: 1 } }), [])
    const successor = await add({ email: 'a@example.org' })
    assert.ok(successor.id > id, 'an id is never reused')
    assert.deepEqual([successor.name, successor.tags, successor.extra_attributes], ['', [], {}])
  })

  test('simultaneous requests with one e-mail create one contact', async (t) => {
    const { call, data, list } = await openLists(open, t)
    const answers = await Promise.all(
      Array.from({ length: 20 }, (_, i) =>
        call('POST', `/lists/${list.id}/contacts`, { body: { email: i % 2 ? 'a@x.org' : 'A@X.org', tags: [`t${i}`] } }),
      ),
    )
    assert.deepEqual(answers.map(({ status }) => status).sort(), [...Array(19).fill(200), 201])
    const [one, ...others] = await data(200, 'GET', '/contacts')
    assert.deepEqual([others, one.tags.length], [[], 20])
  })
})

function withoutTopics<T extends { topics: unknown }>({ topics: _, ...rest }: T): Omit<T, 'topics'> {
  return rest
}
