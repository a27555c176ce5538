/** Tags: names, renaming and deleting. */
import assert from 'node:assert/strict'
import { test } from '../support/databases.ts'
import { overHttp, type Tenant } from '../support/harness.ts'
import { assertInvalid } from '../support/http-call.ts'
import { assertShape, badNames, differentTexts, goodNames, meta, sameTexts, tag } from '../support/http-shapes.ts'
import { assertFaster } from '../support/timing.ts'

overHttp('tags', (open) => {
  test('create, list, rename and delete answer as the contract shows', async (t) => {
    const { call, data, url } = await open(t)
    const created = await data(201, 'POST', '/tags', { body: { name: 'News' } })
    assertShape(created, tag)
    assert.equal(created.name, 'News')
    const renamed = await data(200, 'PATCH', `/tags/${created.id}`, { body: { name: 'Old news' } })
    assert.deepEqual(renamed, { ...created, name: 'Old news' })
    const { body } = await call('GET', '/tags')
    assert.deepEqual(body.data, [renamed])
    assertShape(body.meta, meta)
    assert.deepEqual(body.meta, { path: `${url}/api/v1/tags`, per_page: 25, next_cursor: null, prev_cursor: null })
    assert.equal((await call('DELETE', `/tags/${created.id}`)).status, 204)
    assert.equal((await call('DELETE', `/tags/${created.id}`)).status, 404)
    assert.deepEqual(await names(data), [])
  })

  test('a member may use every route', async (t) => {
    const { data, member: token } = await open(t)
    const { id } = await data(201, 'POST', '/tags', { token, body: { name: 'a' } })
    await data(200, 'GET', '/tags', { token })
    await data(200, 'PATCH', `/tags/${id}`, { token, body: { name: 'b' } })
    await data(204, 'DELETE', `/tags/${id}`, { token })
  })

  test('names are stored trimmed and composed', async (t) => {
    const { data } = await open(t)
    for (const [what, [sent, kept]] of Object.entries(goodNames)) {
      const { id, name } = await data(201, 'POST', '/tags', { body: { name: sent } })
      assert.equal(name, kept, what)
      await data(204, 'DELETE', `/tags/${id}`)
    }
  })

  test('an invalid name is refused and nothing is stored', async (t) => {
    const { call, data } = await open(t)
    const { id } = await data(201, 'POST', '/tags', { body: { name: 'kept' } })
    for (const [method, path] of [
      ['POST', '/tags'],
      ['PATCH', `/tags/${id}`],
    ] as const) {
      for (const name of Object.values(badNames)) {
        assertInvalid(await call(method, path, { body: { name } }), 'name')
      }
      assertInvalid(await call(method, path, { body: {} }), 'name')
      assertInvalid(await call(method, path, { body: { name: 'b', colour: 'red' } }), 'colour')
    }
    assert.deepEqual(await names(data), ['kept'])
  })

  test('a name is taken in any case and Unicode composition', async (t) => {
    const { call, data } = await open(t)
    for (const [one, other] of sameTexts) {
      const { id } = await data(201, 'POST', '/tags', { body: { name: one } })
      for (const name of [one, other, ` ${other} `]) {
        assertInvalid(await call('POST', '/tags', { body: { name } }), 'name')
      }
      assert.deepEqual(await names(data), [one.normalize('NFC')])
      await data(204, 'DELETE', `/tags/${id}`)
    }
  })

  test('a name of many combining marks is too long', async (t) => {
    const { call, data } = await open(t)
    const startedMs = performance.now()
    for (const count of [1020, 100_000])
      assertInvalid(await call('POST', '/tags', { body: { name: `a${'\u0323\u0300'.repeat(count)}` } }), 'name')
    assertFaster(performance.now() - startedMs, 500, 'refusing them')
    const marked = '\u03b1\u0313\u0300\u0345'.repeat(255)
    const { name } = await data(201, 'POST', '/tags', { body: { name: marked } })
    assert.equal(name, '\u1f82'.repeat(255))
  })

  test('names that only look alike are different', async (t) => {
    const { data } = await open(t)
    for (const pair of differentTexts) {
      const ids = []
      for (const name of pair) ids.push((await data(201, 'POST', '/tags', { body: { name } })).id)
      for (const id of ids) await data(204, 'DELETE', `/tags/${id}`)
    }
  })

  test('a tag can be renamed to another spelling of its name, not to the name of another tag', async (t) => {
    const { call, data } = await open(t)
    const { id } = await data(201, 'POST', '/tags', { body: { name: 'ärger' } })
    await data(201, 'POST', '/tags', { body: { name: 'Freude' } })
    assert.equal((await data(200, 'PATCH', `/tags/${id}`, { body: { name: 'ÄRGER' } })).name, 'ÄRGER')
    assert.equal((await data(200, 'PATCH', `/tags/${id}`, { body: { name: 'ÄRGER' } })).name, 'ÄRGER')
    assertInvalid(await call('PATCH', `/tags/${id}`, { body: { name: 'FREUDE' } }), 'name')
    assert.deepEqual(await names(data), ['ÄRGER', 'Freude'])
  })

  test('the old name of a renamed tag can be used again', async (t) => {
    const { data } = await open(t)
    const { id } = await data(201, 'POST', '/tags', { body: { name: 'first' } })
    await data(200, 'PATCH', `/tags/${id}`, { body: { name: 'second' } })
    await data(201, 'POST', '/tags', { body: { name: 'First' } })
    assert.deepEqual(await names(data), ['second', 'First'])
  })

  test('contacts show a renamed tag, lose a deleted one, and do not get a new tag of the same name', async (t) => {
    const { data } = await open(t)
    const list = await data(201, 'POST', '/lists', { body: { name: 'l' } })
    const body = { email: 'ann@example.org', tags: ['a', 'b'] }
    const { id, tags } = await data(201, 'POST', `/lists/${list.id}/contacts`, { body })
    await data(200, 'PATCH', `/tags/${tags[0].id}`, { body: { name: 'A!' } })
    assert.deepEqual(await names(data, `/contacts/${id}`), ['A!', 'b'])
    await data(204, 'DELETE', `/tags/${tags[0].id}`)
    assert.deepEqual(await names(data, `/contacts/${id}`), ['b'])
    const again = await data(201, 'POST', '/tags', { body: { name: 'A!' } })
    assert.ok(again.id > tags[0].id, 'an id is never reused')
    assert.deepEqual(await names(data, `/contacts/${id}`), ['b'])
  })

  test('two clients can have tags with the same name', async (t) => {
    const service = await open(t)
    const other = await service.addTenant()
    await service.data(201, 'POST', '/tags', { body: { name: 'News' } })
    await other.data(201, 'POST', '/tags', { body: { name: 'news' } })
    assert.deepEqual(await names(service.data), ['News'])
    assert.deepEqual(await names(other.data), ['news'])
  })
})

/** Returns the names of all tags, or of a contact's tags. */
async function names(data: Tenant['data'], path = '/tags'): Promise<string[]> {
  const found = await data(200, 'GET', path)
  return (found.tags ?? found).map(({ name }: { name: string }) => name)
}
