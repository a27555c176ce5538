/** Lists and topics. */
import assert from 'node:assert/strict'
import { test } from '../support/databases.ts'
import { overHttp } from '../support/harness.ts'
import { assertInvalid } from '../support/http-call.ts'
import { assertShape, badNames, goodNames, list, meta, topic } from '../support/http-shapes.ts'

const badDescriptions = { number: 7, array: [], NUL: 'a\0b', surrogate: '\ud800', object: {} }

overHttp('lists', (open) => {
  test('can be created, read, listed, renamed and deleted', async (t) => {
    const { call, data, member: token, url } = await open(t)
    const created = await data(201, 'POST', '/lists', { token, body: { name: ' News ' } })
    assertShape(created, list)
    assert.equal(created.name, 'News')
    const path = `/lists/${created.id}`
    assert.deepEqual(await data(200, 'GET', path, { token }), created)
    const renamed = await data(200, 'PATCH', path, { token, body: { name: 'Old news' } })
    assert.deepEqual(renamed, { ...created, name: 'Old news' })
    assert.deepEqual(await data(200, 'GET', path), renamed)
    const { body } = await call('GET', '/lists', { token })
    assert.deepEqual(body.data, [renamed])
    assertShape(body.meta, meta)
    assert.equal(body.meta.path, `${url}/api/v1/lists`)
    await data(204, 'DELETE', path, { token })
    for (const method of ['GET', 'DELETE']) await data(404, method, path)
    await data(404, 'PATCH', path, { body: { name: 'x' } })
    assert.deepEqual(await data(200, 'GET', '/lists'), [])
  })

  test('with invalid names or unknown fields are refused', async (t) => {
    const { call, data } = await open(t)
    const { id } = await data(201, 'POST', '/lists', { body: { name: 'kept' } })
    const path = `/lists/${id}`
    for (const name of Object.values(badNames)) {
      assertInvalid(await call('POST', '/lists', { body: { name } }), 'name')
      assertInvalid(await call('PATCH', path, { body: { name } }), 'name')
    }
    for (const [method, at] of [
      ['POST', '/lists'],
      ['PATCH', path],
    ] as const) {
      assertInvalid(await call(method, at, { body: {} }), 'name')
      assertInvalid(await call(method, at, { body: { name: 'x', id: 7 } }), 'id')
    }
    assert.deepEqual(await data(200, 'GET', '/lists'), [await data(200, 'GET', path)])
    for (const [what, [sent, kept]] of Object.entries(goodNames)) {
      assert.equal((await data(200, 'PATCH', path, { body: { name: sent } })).name, kept, what)
    }
  })

  test('deleting one deletes its topics and memberships, and keeps contacts and other lists', async (t) => {
    const { data } = await open(t)
    const lists = []
    for (const name of ['goes', 'stays']) {
      const made = await data(201, 'POST', '/lists', { body: { name } })
      const topics = []
      for (const each of ['a', 'b'])
        topics.push(await data(201, 'POST', `/lists/${made.id}/topics`, { body: { name: each } }))
      const { id } = await data(name === 'goes' ? 201 : 200, 'POST', `/lists/${made.id}/contacts`, {
        body: { email: 'a@b.co' },
      })
      for (const each of topics) await data(200, 'PUT', `/contacts/${id}/topics/${each.id}`)
      lists.push({ ...made, topics, contactId: id })
    }
    const [goes, stays] = lists as [(typeof lists)[0], (typeof lists)[0]]
    await data(204, 'DELETE', `/lists/${goes.id}`)
    const contact = await data(200, 'GET', `/contacts/${goes.contactId}`)
    assert.deepEqual(contact.lists, [{ id: stays.id, uuid: stays.uuid, name: 'stays', created_at: stays.created_at }])
    assert.deepEqual(contact.topics, stays.topics)
    await data(404, 'GET', `/lists/${goes.id}/topics`)
    await data(404, 'POST', `/lists/${goes.id}/topics`, { body: { name: 'c' } })
    for (const { id } of goes.topics) {
      await data(404, 'PATCH', `/topics/${id}`, { body: { name: 'c' } })
      await data(404, 'DELETE', `/topics/${id}`)
      await data(404, 'PUT', `/contacts/${contact.id}/topics/${id}`)
      await data(404, 'DELETE', `/contacts/${contact.id}/topics/${id}`)
    }
    assert.deepEqual(await data(200, 'GET', `/lists/${stays.id}/topics`), stays.topics)
    const successor = await data(201, 'POST', '/lists', { body: { name: 'goes' } })
    assert.ok(successor.id > stays.id)
    assert.deepEqual(await data(200, 'GET', `/lists/${successor.id}/topics`), [])
  })
})

overHttp('topics', (open) => {
  test('can be created, listed, changed and deleted', async (t) => {
    const { call, data, member: token, url } = await open(t)
    const { id: list_id } = await data(201, 'POST', '/lists', { body: { name: 'list' } })
    const path = `/lists/${list_id}/topics`
    const created = await data(201, 'POST', path, { token, body: { name: ' Weekly ' } })
    assertShape(created, topic)
    assert.deepEqual([created.name, created.description, created.list_id], ['Weekly', null, list_id])
    const described = await data(201, 'POST', path, { token, body: { name: 'Daily', description: 'Each day.' } })
    assert.equal(described.description, 'Each day.')
    const { body } = await call('GET', path, { token })
    assert.deepEqual(body.data, [created, described])
    assertShape(body.meta, meta)
    assert.equal(body.meta.path, `${url}/api/v1${path}`)
    await data(204, 'DELETE', `/topics/${described.id}`, { token })
    await data(404, 'DELETE', `/topics/${described.id}`)
    await data(404, 'PATCH', `/topics/${described.id}`, { body: {} })
    assert.deepEqual(await data(200, 'GET', path), [created])
  })

  test('a change keeps the fields that it does not name', async (t) => {
    const { data } = await open(t)
    const { id: list_id } = await data(201, 'POST', '/lists', { body: { name: 'list' } })
    const created = await data(201, 'POST', `/lists/${list_id}/topics`, { body: { name: 'a', description: 'A' } })
    let expected = created
    for (const body of [
      {},
      { name: 'b' },
      { description: 'B' },
      { description: '' },
      { name: 'c', description: null },
    ]) {
      expected = { ...expected, ...body }
      assert.deepEqual(await data(200, 'PATCH', `/topics/${created.id}`, { body }), expected)
      assert.deepEqual(await data(200, 'GET', `/lists/${list_id}/topics`), [expected])
    }
  })

  test('invalid input is refused, and nothing is stored', async (t) => {
    const { call, data } = await open(t)
    const { id: list_id } = await data(201, 'POST', '/lists', { body: { name: 'list' } })
    const path = `/lists/${list_id}/topics`
    const kept = await data(201, 'POST', path, { body: { name: 'kept' } })
    for (const [method, at] of [
      ['POST', path],
      ['PATCH', `/topics/${kept.id}`],
    ] as const) {
      for (const name of Object.values(badNames)) assertInvalid(await call(method, at, { body: { name } }), 'name')
      for (const description of Object.values(badDescriptions)) {
        assertInvalid(await call(method, at, { body: { name: 'x', description } }), 'description')
      }
      assertInvalid(await call(method, at, { body: { name: 'x', list_id } }), 'list_id')
    }
    assertInvalid(await call('POST', path, { body: { description: 'x' } }), 'name')
    assert.deepEqual(await data(200, 'GET', path), [kept])
  })

  test('contacts show a topic’s current fields, and lose the topic when it is deleted', async (t) => {
    const { data } = await open(t)
    const list = await data(201, 'POST', '/lists', { body: { name: 'list' } })
    const { id } = await data(201, 'POST', `/lists/${list.id}/contacts`, { body: { email: 'a@b.co' } })
    const topics = []
    for (const name of ['goes', 'stays']) {
      const made = await data(201, 'POST', `/lists/${list.id}/topics`, { body: { name } })
      await data(200, 'PUT', `/contacts/${id}/topics/${made.id}`)
      topics.push(made)
    }
    const renamed = await data(200, 'PATCH', `/topics/${topics[0].id}`, { body: { name: 'soon', description: 'x' } })
    await data(200, 'PATCH', `/lists/${list.id}`, { body: { name: 'renamed' } })
    const before = await data(200, 'GET', `/contacts/${id}`)
    assert.deepEqual([before.topics, before.lists], [[renamed, topics[1]], [{ ...list, name: 'renamed' }]])
    await data(204, 'DELETE', `/topics/${topics[0].id}`)
    assert.deepEqual((await data(200, 'GET', `/contacts/${id}`)).topics, [topics[1]])
  })
})
