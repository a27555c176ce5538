/** Batches of operations on contacts. */
import assert from 'node:assert/strict'
import { test } from '../support/databases.ts'
import { overHttp } from '../support/harness.ts'
import { assertInvalid } from '../support/http-call.ts'
import { openHook } from './hook.ts'

const names = (records: { name: string }[]) => records.map(({ name }) => name).sort()

overHttp('a batch of operations', (open) => {
  test('does each of them, and answers in their order', async (t) => {
    const { call, data } = await open(t)
    const list = await data(201, 'POST', '/lists', { body: { name: 'News' } })
    const other = await data(201, 'POST', '/lists', { body: { name: 'Other' } })
    const bob = await data(201, 'POST', `/lists/${list.id}/contacts`, {
      body: { email: 'bob@example.org', tags: ['x'] },
    })
    const eve = await data(200, 'POST', '/contacts', { body: { email: 'eve@example.org' } })
    const operations = [
      {
        op: 'upsert',
        email: 'Ada@example.org',
        name: 'Ada',
        tags: ['vip', 'new'],
        lists: [list.id, other.id],
        city: 'Rome',
      },
      { op: 'unsubscribe', email: 'BOB@example.org' },
      { op: 'tag', id: bob.id, tags: ['vip'] },
      { op: 'untag', id: bob.id, tags: ['X', 'never'] },
      { op: 'remove_from_list', id: bob.id, lists: [list.id] },
      { op: 'add_to_list', id: bob.id, list_id: other.id },
      { op: 'update', email: 'ada@example.org', name: 'Countess', tags: ['new'], city: null, plan: 'pro' },
      { op: 'upsert', email: 'ada@EXAMPLE.org', born: '1815' },
      { op: 'delete', id: eve.id },
      { op: 'upsert', email: 'eve@example.org' },
      { op: 'resubscribe', id: bob.id },
      { op: 'unsubscribe', email: 'ada@example.org' },
    ]
    const { status, body } = await call('POST', '/contacts/batch', { body: { operations } })
    assert.equal(status, 200)
    const [{ id: ada }] = body.data
    const newEve = body.data[9].id
    assert.notEqual(newEve, eve.id)
    assert.deepEqual(body, {
      data: [
        { status: 'created', id: ada },
        ...Array.from({ length: 5 }, () => ({ status: 'done', id: bob.id })),
        { status: 'updated', id: ada },
        { status: 'updated', id: ada },
        { status: 'done', id: eve.id },
        { status: 'created', id: newEve },
        { status: 'done', id: bob.id },
        { status: 'done', id: ada },
      ],
    })
    const shown = await data(200, 'GET', `/contacts/${ada}`)
    assert.deepEqual(
      [shown.email, shown.name, shown.extra_attributes, names(shown.tags), shown.lists],
      ['Ada@example.org', 'Countess', { plan: 'pro', born: '1815' }, ['new'], [list, other]],
    )
    assert.notEqual(shown.unsubscribed_at, null)
    const after = await data(200, 'GET', `/contacts/${bob.id}`)
    assert.deepEqual([names(after.tags), after.lists, after.unsubscribed_at], [['vip'], [other], null])
    assert.equal((await call('GET', `/contacts/${eve.id}`)).status, 404)
  })

  test('continues after a refused operation, which changes nothing', async (t) => {
    const service = await open(t)
    const { data } = service
    const foreign = await service.addTenant()
    const list = await data(201, 'POST', '/lists', { body: { name: 'News' } })
    const foreignList = await foreign.data(201, 'POST', '/lists', { body: { name: 'Foreign' } })
    const foreignContact = await foreign.data(200, 'POST', '/contacts', { body: { email: 'foreign@example.org' } })
    const many = Array.from({ length: 499 }, (_, n) => `t${n}`)
    const full = await data(200, 'POST', '/contacts', { body: { email: 'full@example.org', tags: many } })
    const wrong: [object | string | null, string][] = [
      ['upsert', 'operation'],
      [null, 'operation'],
      [{ email: 'a@example.org' }, 'op'],
      [{ op: 'rename', id: full.id }, 'op'],
      [{ op: 'upsert', name: 'No address' }, 'email'],
      [{ op: 'upsert', email: 'a@example.org', tags: 'x' }, 'tags'],
      [{ op: 'upsert', email: 'a@example.org', lists: [list.id, 999_999] }, 'lists.1'],
      [{ op: 'upsert', email: 'a@example.org', lists: [foreignList.id] }, 'lists.0'],
      [{ op: 'upsert', email: 'a@example.org', lists: ['x'] }, 'lists.0'],
      [{ op: 'upsert', email: 'full@example.org', name: 'Changed', tags: ['one', 'two'] }, 'tags'],
      [{ op: 'tag', id: full.id, tags: ['one', 'two'] }, 'tags'],
      [{ op: 'tag', id: full.id, tags: [] }, 'tags'],
      [{ op: 'tag', id: full.id, tags: ['one'], more: 1 }, 'more'],
      [{ op: 'update', id: full.id, age: 7 }, 'age'],
      [{ op: 'update', name: 'Whose?' }, 'id'],
      [{ op: 'unsubscribe', id: 999_999 }, 'id'],
      [{ op: 'unsubscribe', id: foreignContact.id }, 'id'],
      [{ op: 'delete', email: 'foreign@example.org' }, 'email'],
      [{ op: 'delete', id: full.id, email: 'full@example.org' }, 'id'],
      [{ op: 'add_to_list', id: full.id, list_id: 999_999 }, 'list_id'],
      [{ op: 'add_to_list', id: full.id }, 'lists'],
      [{ op: 'unsubscribe', id: '1' }, 'id'],
    ]
    const good = { op: 'upsert', email: 'good@example.org' }
    const operations = [...wrong.map(([operation]) => operation), good]
    const results = await data(200, 'POST', '/contacts/batch', { body: { operations } })
    assert.equal(results.length, operations.length)
    for (const [at, [operation, field]] of wrong.entries()) {
      assert.equal(results[at].status, 'refused', JSON.stringify(operation))
      assert.deepEqual(Object.keys(results[at].errors), [field], JSON.stringify(operation))
    }
    assert.equal(results.at(-1).status, 'created')
    const all = await data(200, 'GET', '/contacts')
    assert.deepEqual(all[0], full)
    assert.deepEqual(
      all.map(({ email }: { email: string }) => email),
      ['full@example.org', 'good@example.org'],
    )
    assert.deepEqual(await foreign.data(200, 'GET', `/contacts/${foreignContact.id}`), foreignContact)
  })

  test('refuses the id of a contact that it has erased, also if another one has its address', async (t) => {
    const { data } = await open(t)
    const email = 'ada@example.org'
    const { id } = await data(200, 'POST', '/contacts', { body: { email } })
    const operations = [
      { op: 'delete', id },
      { op: 'upsert', email },
      { op: 'tag', id, tags: ['vip'] },
    ]
    const [, created, tagged] = await data(200, 'POST', '/contacts/batch', { body: { operations } })
    assert.deepEqual(tagged, { status: 'refused', errors: { id: ['No such contact.'] } })
    assert.deepEqual((await data(200, 'GET', `/contacts/${created.id}`)).tags, [])
  })

  test('finds a contact by its id while its address changes', async (t) => {
    const { client, data } = await open(t)
    const operations = Array.from({ length: 200 }, (_, n) => ({ op: 'upsert' as const, email: `c${n}@example.org` }))
    const ids = (await client.contacts.batch(operations)).map(({ id }) => id!)
    const tags = Array.from({ length: 20 }, (_, n) => `tag ${n}`)
    const [results] = await Promise.all([
      client.contacts.batch(ids.map((id) => ({ op: 'tag', id, tags }))),
      client.contacts.changeEmail(ids.at(-1)!, { email: 'new@example.org' }),
    ])
    assert.deepEqual(results.at(-1), { status: 'done', id: ids.at(-1) })
    assert.equal((await data(200, 'GET', '/contacts?email=new@example.org'))[0].tags.length, tags.length)
  })

  test('erases contacts for admins only', async (t) => {
    const { data, member, admin } = await open(t)
    const { id } = await data(200, 'POST', '/contacts', { body: { email: 'ada@example.org' } })
    const operations = [
      { op: 'delete', id },
      { op: 'tag', id, tags: ['kept'] },
    ]
    const [refused, tagged] = await data(200, 'POST', '/contacts/batch', { token: member, body: { operations } })
    assert.deepEqual([refused.status, Object.keys(refused.errors)], ['refused', ['op']])
    assert.match(refused.errors.op[0], /needs a token with the role admin/)
    assert.deepEqual(tagged, { status: 'done', id })
    const [erased] = await data(200, 'POST', '/contacts/batch', { token: admin, body: { operations } })
    assert.deepEqual(erased, { status: 'done', id })
    const other = await data(200, 'POST', '/contacts', { body: { email: 'bob@example.org' } })
    await data(204, 'DELETE', `/contacts/${other.id}`, { token: member })
  })

  test('is refused as a whole if it is no batch', async (t) => {
    const { call } = await open(t)
    const good = { op: 'upsert', email: 'good@example.org' }
    const send = (body: object) => call('POST', '/contacts/batch', { body })
    assertInvalid(await send({}), 'operations')
    assertInvalid(await send({ operations: good }), 'operations')
    assertInvalid(await send({ operations: Array.from({ length: 1001 }, () => good) }), 'operations')
    assertInvalid(await send({ operations: [good], dry_run: true }), 'dry_run')
    assert.deepEqual((await send({ operations: [] })).body, { data: [] })
    assert.deepEqual((await call('GET', '/contacts')).body.data, [])
  })

  test('with an idempotency key is done once', async (t) => {
    const { call, data } = await open(t)
    const operations = [
      ...Array.from({ length: 999 }, (_, n) => ({ op: 'upsert', email: `p${n}@example.org` })),
      { op: 'no' },
    ]
    const send = () => call('POST', '/contacts/batch', { body: { operations }, headers: { 'idempotency-key': 'k' } })
    const first = await send()
    assert.equal(first.status, 200)
    await data(204, 'DELETE', `/contacts/${first.body.data[0].id}`)
    const second = await send()
    assert.deepEqual([second.text, second.headers['idempotency-replayed']], [first.text, 'true'])
  })

  test('raises each event once', async (t) => {
    const { data, addEndpoint, settled, deliveries } = await openHook(open, t)
    const list = await data(201, 'POST', '/lists', { body: { name: 'News' } })
    const types = [
      'contact.created',
      'contact.updated',
      'contact.tagged',
      'contact.untagged',
      'contact.subscribed',
      'contact.unsubscribed',
      'contact.resubscribed',
      'contact.list_removed',
      'contact.deleted',
    ]
    const sink = await addEndpoint('http://127.0.0.1:9/', types)
    await data(200, 'PATCH', `/webhook-endpoints/${sink.id}`, { body: { active: false } })
    const email = 'ada@example.org'
    const operations = [
      { op: 'upsert', email, lists: [list.id], tags: ['a'] },
      { op: 'upsert', email, lists: [list.id], tags: ['a'] },
      { op: 'update', email, name: 'Ada' },
      { op: 'update', email, name: 'Ada' },
      { op: 'untag', email, tags: ['a'] },
      { op: 'untag', email, tags: ['a'] },
      { op: 'unsubscribe', email },
      { op: 'unsubscribe', email },
      { op: 'resubscribe', email },
      { op: 'resubscribe', email },
      { op: 'remove_from_list', email, lists: [list.id] },
      { op: 'remove_from_list', email, lists: [list.id] },
      { op: 'delete', email },
    ]
    const results = await data(200, 'POST', '/contacts/batch', { body: { operations } })
    assert.deepEqual(
      new Set(results.map(({ status }: { status: string }) => status)),
      new Set(['created', 'updated', 'done']),
    )
    await settled()
    const raised = await deliveries(`/webhook-endpoints/${sink.id}`)
    assert.deepEqual(raised.map(({ event_type }) => event_type).sort(), types.toSorted())
  })
})
