/** Changes of contacts beyond the contract: without a list, e-mail address, tags, merging. */
import assert from 'node:assert/strict'
import type { TestContext } from 'node:test'
import { test } from '../support/databases.ts'
import { type Open, overHttp } from '../support/harness.ts'
import { assertInvalid } from '../support/http-call.ts'
import { assertShape, contact } from '../support/http-shapes.ts'

/** Opens a service with a list and a topic. */
async function openList(open: Open, t: TestContext) {
  const service = await open(t)
  const { data } = service
  const list = await data(201, 'POST', '/lists', { body: { name: 'News' } })
  const topic = await data(201, 'POST', `/lists/${list.id}/topics`, { body: { name: 'Weekly' } })
  const add = (body: object, status = 201) => data(status, 'POST', `/lists/${list.id}/contacts`, { body })
  const upsert = (body: object) => data(200, 'POST', '/contacts', { body })
  const get = (id: number) => data(200, 'GET', `/contacts/${id}`)
  const find = async (search: string) =>
    (await data(200, 'GET', '/contacts', { query: { search } })).map(({ id }: { id: number }) => id)
  return { ...service, list, topic, add, upsert, get, find }
}

const names = (records: { name: string }[]) => records.map(({ name }) => name).sort()

overHttp('changing a contact', (open) => {
  test('a contact is created without a list, and matched the next time', async (t) => {
    const { upsert, get, call } = await openList(open, t)
    const ada = await upsert({ email: 'Ada@example.org', name: 'Ada', tags: ['vip'], city: 'London' })
    assertShape(ada, contact)
    assert.deepEqual([ada.lists, names(ada.tags), ada.extra_attributes], [[], ['vip'], { city: 'London' }])
    const again = await upsert({ email: 'ada@EXAMPLE.org', tags: ['new'], city: null })
    assert.deepEqual(
      [again.id, again.name, names(again.tags), again.extra_attributes],
      [ada.id, 'Ada', ['new', 'vip'], {}],
    )
    assert.deepEqual(await get(ada.id), again)
    assertInvalid(await call('POST', '/contacts', { body: { name: 'Ada' } }), 'email')
    assertInvalid(await call('POST', '/contacts', { body: { email: 'x@example.org', tags: 'vip' } }), 'tags')
    assert.equal((await call('GET', '/contacts')).body.data.length, 1)
  })

  test('an e-mail address changes, unless another contact has it', async (t) => {
    const { add, upsert, get, find, call, data } = await openList(open, t)
    const ada = await add({ email: 'ada@example.org', name: 'Ada', tags: ['vip'] })
    await upsert({ email: 'bob@example.org' })
    const path = `/contacts/${ada.id}/email`
    const changed = await data(200, 'POST', path, { body: { email: ' Lovelace@example.org ' } })
    assert.deepEqual(changed, { ...ada, topics: [], email: 'Lovelace@example.org' })
    assert.deepEqual([await find('lovelace'), await find('ada@')], [[ada.id], []])
    assertInvalid(await call('POST', path, { body: { email: 'BOB@example.org' } }), 'email')
    for (const email of ['', 'no address', null, 7])
      assertInvalid(await call('POST', path, { body: { email } }), 'email')
    assertInvalid(await call('POST', path, { body: { email: 'x@example.org', name: 'X' } }), 'name')
    assertInvalid(await call('POST', path), 'email')
    assert.deepEqual(await get(ada.id), changed)
    const spelling = await data(200, 'POST', path, { body: { email: 'LOVELACE@example.org' } })
    assert.equal(spelling.email, 'LOVELACE@example.org')
    assert.notEqual((await upsert({ email: 'ada@example.org' })).id, ada.id, 'the old address is free')
  })

  test('tags are added and removed one by one', async (t) => {
    const { add, call, data, get } = await openList(open, t)
    const { id } = await add({ email: 'ada@example.org', tags: ['one'] })
    const path = `/contacts/${id}/tags`
    const tagged = await data(200, 'POST', path, { body: { tags: ['ONE', 'two', 'two'] } })
    assertShape(tagged, contact)
    assert.deepEqual(names(tagged.tags), ['one', 'two'])
    assert.deepEqual(names((await data(200, 'DELETE', path, { body: { tags: ['TWO', 'never'] } })).tags), ['one'])
    assert.deepEqual(names(await data(200, 'GET', '/tags')), ['one', 'two'], 'the tags themselves stay')
    for (const method of ['POST', 'DELETE']) {
      assertInvalid(await call(method, path, { body: { tags: [] } }), 'tags')
      assertInvalid(await call(method, path, { body: { tags: ['x', ''] } }), 'tags.1')
      assertInvalid(await call(method, path, { body: { tags: ['x'], more: 1 } }), 'more')
      assertInvalid(await call(method, path), 'tags')
    }
    assert.deepEqual(names((await get(id)).tags), ['one'])
    const many = Array.from({ length: 500 }, (_, n) => `t${n}`)
    assertInvalid(await call('POST', path, { body: { tags: many } }), 'tags')
    assert.deepEqual(names((await get(id)).tags), ['one'])
  })

  test('two contacts of one person are merged: the target has both, and keeps its own values', async (t) => {
    const { add, upsert, call, data, list, topic, find } = await openList(open, t)
    const source = await add({ email: 'old@example.org', name: 'Old', tags: ['a', 'b'], city: 'Bonn', plan: 'pro' })
    await data(200, 'PUT', `/contacts/${source.id}/topics/${topic.id}`)
    const target = await upsert({ email: 'new@example.org', tags: ['b', 'c'], city: 'Rome' })
    const merged = await data(200, 'POST', `/contacts/${source.id}/merge`, { body: { into: target.id } })
    assertShape(merged, contact)
    assert.deepEqual(
      [merged.id, merged.uuid, merged.email, merged.name, merged.extra_attributes, names(merged.tags)],
      [target.id, target.uuid, 'new@example.org', 'Old', { city: 'Rome', plan: 'pro' }, ['a', 'b', 'c']],
    )
    assert.deepEqual([merged.lists, merged.topics, merged.unsubscribed_at], [[list], [topic], null])
    assert.equal((await call('GET', `/contacts/${source.id}`)).status, 404)
    assert.deepEqual([await find('old'), await find('old@')], [[target.id], []])
    assert.equal((await call('POST', `/contacts/${source.id}/merge`, { body: { into: target.id } })).status, 404)
    assert.equal((await call('POST', `/contacts/${target.id}/merge`, { body: { into: source.id } })).status, 404)
    for (const into of [target.id, '1', 0, null]) {
      assertInvalid(await call('POST', `/contacts/${target.id}/merge`, { body: { into } }), 'into')
    }
    for (const into of [{}, { email: 'not-an-address' }]) {
      assertInvalid(await call('POST', `/contacts/${target.id}/merge`, { body: { into } }), 'into.email')
    }
  })

  test('a merge subscribes no one: one opt-out counts for both', async (t) => {
    const { add, data } = await openList(open, t)
    const source = await add({ email: 'old@example.org' })
    const target = await add({ email: 'new@example.org' })
    const { unsubscribed_at } = await data(200, 'POST', `/contacts/${source.id}/unsubscribe`)
    const merged = await data(200, 'POST', `/contacts/${source.id}/merge`, { body: { into: target.id } })
    assert.equal(merged.unsubscribed_at, unsubscribed_at)
    const entries: { target_id: number }[] = await data(200, 'GET', '/audit-log?type=contact.unsubscribed')
    assert.deepEqual(
      entries.map(({ target_id }) => target_id),
      [target.id, source.id],
    )
    const third = await add({ email: 'third@example.org' })
    const again = await data(200, 'POST', `/contacts/${third.id}/merge`, { body: { into: target.id } })
    assert.deepEqual(again, merged)
  })

  test('a merge that would exceed a limit changes nothing', async (t) => {
    const { upsert, call, get } = await openList(open, t)
    const tags = (from: number) => Array.from({ length: 300 }, (_, n) => `t${from + n}`)
    const source = await upsert({ email: 'old@example.org', name: 'Old', tags: tags(0) })
    const target = await upsert({ email: 'new@example.org', tags: tags(300) })
    assertInvalid(await call('POST', `/contacts/${source.id}/merge`, { body: { into: target.id } }), 'tags')
    assert.deepEqual([await get(source.id), await get(target.id)], [source, target])
  })

  test('the library takes an e-mail address where it takes an id', async (t) => {
    const { client, list, topic } = await openList(open, t)
    const { contacts } = client
    const { contact: ada, created } = await contacts.upsert({ email: 'ada@example.org' })
    assert.equal(created, true)
    const key = { email: ' ADA@example.org' }
    assert.deepEqual(await contacts.get(key), ada)
    assert.deepEqual(JSON.parse(await contacts.getJson(key)), ada)
    assert.equal((await contacts.update(key, { name: 'Ada' })).name, 'Ada')
    assert.equal((await contacts.tag(key, { tags: ['a'] })).tags.length, 1)
    assert.equal((await contacts.untag(key, { tags: ['a'] })).tags.length, 0)
    await contacts.addToList(list.id, { email: ada.email })
    assert.equal((await contacts.subscribeToTopic(key, topic.id)).topics.length, 1)
    assert.equal((await contacts.unsubscribeFromTopic(key, topic.id)).topics.length, 0)
    assert.equal((await contacts.removeFromList(list.id, key)).lists.length, 0)
    assert.notEqual((await contacts.unsubscribe(key)).unsubscribed_at, null)
    assert.equal((await contacts.resubscribe(key)).unsubscribed_at, null)
    assert.equal((await contacts.changeEmail(key, { email: 'countess@example.org' })).id, ada.id)
    await assert.rejects(contacts.get(key), { code: 'not_found' })
    await contacts.upsert({ email: 'other@example.org' })
    assert.equal(
      (await contacts.merge({ email: 'other@example.org' }, { into: { email: 'countess@example.org' } })).id,
      ada.id,
    )
    await contacts.delete({ email: 'countess@example.org' })
    await assert.rejects(contacts.get(ada.id), { code: 'not_found' })
    for (const wrong of [{ email: 'nothing' }, { email: 'a@example.org', id: 1 }, {}]) {
      await assert.rejects(contacts.get(wrong as never), { code: 'validation_failed' })
    }
  })
})
