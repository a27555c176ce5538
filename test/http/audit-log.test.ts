/** The audit log: each change has an entry with its token, written in the transaction of the change. */
import assert from 'node:assert/strict'
import { isMailkeepError } from '../../lib/index.ts'
import { test } from '../support/databases.ts'
import { needsClock, overHttp } from '../support/harness.ts'
import { assertInvalid } from '../support/http-call.ts'
import { assertShape, auditEntry, meta } from '../support/http-shapes.ts'
import { bodyOf, openWorld, pathTo, routes } from '../support/http-world.ts'

interface Entry {
  id: number
  type: string
  target_id: number
  token_id: number | null
  source: string
}

/** The requests that change something, their entry, and the parameter that names the changed record. */
const changes: readonly (readonly [title: string, type: string, target: string])[] = [
  ['PATCH /tags/:tagId', 'tag.updated', 'tagId'],
  ['PUT /contacts/:contactId', 'contact.updated', 'contactId'],
  ['POST /contacts/:contactId/unsubscribe', 'contact.unsubscribed', 'contactId'],
  ['POST /contacts/:contactId/resubscribe', 'contact.resubscribed', 'contactId'],
  ['DELETE /contacts/:contactId/topics/:topicId', 'contact.topic_unsubscribed', 'contactId'],
  ['PUT /contacts/:contactId/topics/:topicId', 'contact.topic_subscribed', 'contactId'],
  ['DELETE /lists/:listId/contacts/:contactId', 'contact.list_removed', 'contactId'],
  ['POST /lists/:listId/contacts/import', 'list.imported', 'listId'],
  ['PATCH /lists/:listId', 'list.updated', 'listId'],
  ['PATCH /topics/:topicId', 'topic.updated', 'topicId'],
  ['PATCH /webhook-endpoints/:endpointId', 'endpoint.updated', 'endpointId'],
  ['POST /webhook-endpoints/:endpointId/secret', 'endpoint.secret_rotated', 'endpointId'],
  ['POST /webhook-endpoints/:endpointId/recover', 'endpoint.recovered', 'endpointId'],
  ['POST /webhook-endpoints/:endpointId/deliveries/:deliveryId/redeliver', 'delivery.redelivered', 'deliveryId'],
  ['DELETE /webhook-endpoints/:endpointId', 'endpoint.deleted', 'endpointId'],
  ['DELETE /topics/:topicId', 'topic.deleted', 'topicId'],
  ['DELETE /lists/:listId', 'list.deleted', 'listId'],
  ['DELETE /contacts/:contactId', 'contact.deleted', 'contactId'],
  ['DELETE /tags/:tagId', 'tag.deleted', 'tagId'],
  ['DELETE /tokens/:tokenId', 'token.revoked', 'tokenId'],
]

overHttp('the audit log', (open) => {
  test('shows each change with its type, record, token and time, newest first', async (t) => {
    const service = await open(t)
    const { call, data, client } = service
    const world = await openWorld(service, 'mine')
    const { id: tokenId, token } = await data(201, 'POST', '/tokens', { body: { name: 'Ann', role: 'admin' } })
    const before = await data(200, 'GET', '/audit-log', { query: { per_page: 100 } })
    for (const [title] of changes) {
      const route = routes.find(({ method, path }) => `${method} ${path}` === title)!
      const file = { raw: 'email\nann@example.org\n', headers: { 'content-type': 'text/csv' } }
      const sent = route.body === 'file' ? file : { body: bodyOf(route) }
      const answer = await call(route.method, pathTo(route, world), { token, ...sent })
      assert.ok(answer.status < 300, answer.what)
    }
    const { body } = await call('GET', '/audit-log', { query: { per_page: 100 } })
    assertShape(body.meta, meta)
    for (const entry of body.data) assertShape(entry, auditEntry)
    const added: Entry[] = body.data.slice(0, body.data.length - before.length).reverse()
    assert.deepEqual(
      added.map(({ type, target_id, token_id, source }) => [type, target_id, token_id, source]),
      changes.map(([, type, target]) => [type, world[target], tokenId, 'api']),
    )
    const created = before.map(({ type }: Entry) => type)
    for (const type of ['client', 'list', 'topic', 'endpoint', 'identity', 'token']) {
      assert.ok(created.includes(`${type}.created`), type)
    }
    const [identity] = await client.auditLog.list({ type: 'identity.created' }).then(({ data }) => data)
    assert.deepEqual([identity!.source, identity!.token_id], ['library', null])
    assert.doesNotMatch(JSON.stringify(body), /mine|Ann|example/)
  })

  test('has one entry for a saved contact that gets a tag, and none when it has the tag', async (t) => {
    const { client } = await open(t)
    for (const tags of [undefined, ['VIP'], ['VIP']]) {
      await client.contacts.upsert({ email: 'cleo@example.org', ...(tags && { tags }) })
    }
    assert.equal((await client.auditLog.list({ type: 'contact.updated' })).data.length, 1)
  })

  test('has no entry for an update without a field', async (t) => {
    const service = await open(t)
    const { data } = service
    const { listId } = await openWorld(service, 'mine')
    const content = { subject: 'Hi', html: '{{ unsubscribe_url }}' }
    const created: readonly (readonly [string, object])[] = [
      ['segments', { name: 'All', filters: {} }],
      ['newsletters', content],
      ['sequences', { name: 'Welcome' }],
      [`lists/${listId}/topics`, { name: 'Music' }],
      ['webhook-endpoints', { url: 'https://example.com/hooks', events: ['contact.subscribed'] }],
    ]
    for (const [path, body] of created) {
      const { id } = await data(201, 'POST', `/${path}`, { body })
      await data(200, 'PATCH', `/${path.split('/').at(-1)}/${id}`, { body: {} })
    }
    const log = await data(200, 'GET', '/audit-log', { query: { per_page: 100 } })
    assert.deepEqual(
      log.slice(0, created.length).map(({ type }: Entry) => type),
      created.map(([path]) => `${path.split('/').at(-1)!.replace('webhook-', '').slice(0, -1)}.created`).reverse(),
    )
  })

  test('shows once that the host revoked a token, however often it does it', async (t) => {
    const { mailkeep, client, id: clientId } = await open(t)
    const { id } = await mailkeep.tokens.create({ clientId, role: 'viewer' })
    for (let times = 0; times < 3; times++) await mailkeep.tokens.revoke(id)
    const { data } = await client.auditLog.list({ type: 'token.revoked' })
    assert.deepEqual(
      data.map(({ target_id }) => target_id),
      [id],
    )
    await assert.rejects(mailkeep.tokens.revoke(999_999), (error) => isMailkeepError(error, 'not_found'))
  })

  test('shows contacts that are saved without a list, and each change of a batch once', async (t) => {
    const { client, data, mailkeep, id: clientId, member } = await open(t)
    const [{ id: tokenId }] = await data(200, 'GET', '/tokens').then((tokens) =>
      tokens.filter(({ role }: { role: string }) => role === 'member'),
    )
    const list = await client.lists.create({ name: 'News' })
    const upsert = async (body: object) => (await data(200, 'POST', '/contacts', { token: member, body })).id as number
    const ada = await upsert({ email: 'ada@example.org', tags: ['vip'] })
    await upsert({ email: 'ada@example.org', tags: ['vip'] }) // changes nothing
    await upsert({ email: 'ada@example.org', city: 'London' })
    const save = (body: object) => data(201, 'POST', `/lists/${list.id}/contacts`, { token: member, body })
    const { id: cora } = await save({ email: 'cora@example.org', tags: ['vip'] })
    await data(200, 'POST', `/lists/${list.id}/contacts`, { token: member, body: { email: 'cora@example.org' } })
    const operations = [
      { op: 'upsert', email: 'bob@example.org', tags: ['vip', 'new'], lists: [list.id], city: 'Bonn' },
      { op: 'upsert', email: 'bob@example.org', tags: ['vip'], lists: [list.id] },
      { op: 'add_to_list', id: ada, lists: [list.id] },
      { op: 'update', id: ada, name: 'Ada', tags: ['new'] },
      { op: 'untag', id: ada, tags: ['new'] },
      { op: 'untag', id: ada, tags: ['new'] },
      { op: 'unsubscribe', id: ada },
      { op: 'unsubscribe', id: ada },
      { op: 'resubscribe', id: ada },
      { op: 'remove_from_list', id: ada, lists: [list.id] },
      { op: 'tag', id: 999_999, tags: ['new'] },
    ]
    const results = await data(200, 'POST', '/contacts/batch', { token: member, body: { operations } })
    const bob = results[0].id
    const log = await data(200, 'GET', '/audit-log', { query: { token: tokenId, per_page: 100 } })
    const entries = log.filter(({ type }: Entry) => !type.startsWith('tag.')).reverse()
    assert.deepEqual(
      entries.map(({ type, target_id, source }: Entry) => [type, target_id, source]),
      [
        ['contact.created', ada, 'api'],
        ['contact.updated', ada, 'api'],
        ['contact.created', cora, 'api'],
        ['contact.created', bob, 'api'],
        ['contact.list_added', ada, 'api'],
        ['contact.updated', ada, 'api'],
        ['contact.updated', ada, 'api'],
        ['contact.unsubscribed', ada, 'api'],
        ['contact.resubscribed', ada, 'api'],
        ['contact.list_removed', ada, 'api'],
      ],
    )
    const imported = mailkeep.forClient(clientId, { source: 'cli' })
    await imported.contacts.addManyToList(list.id, [{ email: 'cy@example.org' }, { email: 'dan@example.org' }])
    let importId = 0
    const onStart = (id: number) => {
      importId = id
    }
    await imported.contacts.import(null, ['email\neve@example.org\n'], { format: 'csv', onStart })
    const [second, first] = await data(200, 'GET', '/audit-log')
    assert.deepEqual([first.type, first.target_id, first.source], ['list.imported', list.id, 'cli'])
    assert.deepEqual([second.type, second.target_id, second.source], ['import.created', importId, 'cli'])
  })

  test('has no entry for a request that changed nothing of a contact', async (t) => {
    const { client, data } = await open(t)
    const list = await client.lists.create({ name: 'News' })
    const topic = await client.topics.create(list.id, { name: 'Weekly' })
    const { contact } = await client.contacts.upsert({ email: 'ada@example.org', name: 'Ada', tags: ['vip'] })
    const newest = async (): Promise<Entry> => (await data(200, 'GET', '/audit-log'))[0]
    const before = await newest()
    const path = `/contacts/${contact.id}`
    await data(200, 'PUT', path, { body: {} })
    await data(200, 'PUT', path, { body: { name: 'Ada', tags: ['VIP'], city: null } })
    await data(200, 'DELETE', `/lists/${list.id}${path}`)
    await data(200, 'DELETE', `${path}/topics/${topic.id}`)
    await data(200, 'POST', `${path}/email`, { body: { email: 'ada@example.org' } })
    await data(200, 'POST', `${path}/resubscribe`)
    assert.deepEqual(await newest(), before)
    await data(200, 'PUT', path, { body: { tags: [] } })
    assert.equal((await newest()).type, 'contact.updated')
  })

  test('shows the suppressions that an erasure deletes and creates, also in a batch', async (t) => {
    const { data } = await open(t)
    for (const erase of [
      (id: number) => data(204, 'DELETE', `/contacts/${id}`),
      (id: number) => data(200, 'POST', '/contacts/batch', { body: { operations: [{ op: 'delete', id }] } }),
    ]) {
      const { id } = await data(200, 'POST', '/contacts', { body: { email: 'ada@example.org' } })
      const suppression = await data(201, 'POST', '/suppressions', { body: { email: 'ADA@example.org' } })
      await erase(id)
      assert.deepEqual(await data(200, 'GET', '/suppressions'), [])
      const log: Entry[] = await data(200, 'GET', '/audit-log', { query: { per_page: 2 } })
      assert.deepEqual(log.map(({ type, target_id }) => [type, target_id]).toSorted(), [
        ['contact.deleted', id],
        ['suppression.deleted', suppression.id],
      ])
    }
    const { id } = await data(200, 'POST', '/contacts', { body: { email: 'bob@example.org' } })
    await data(204, 'DELETE', `/contacts/${id}`, { query: { suppress: 'true' } })
    const [{ id: erased }] = await data(200, 'GET', '/suppressions')
    const log: Entry[] = await data(200, 'GET', '/audit-log', { query: { per_page: 2 } })
    assert.deepEqual(log.map(({ type, target_id }) => [type, target_id]).toSorted(), [
      ['contact.deleted', id],
      ['suppression.created', erased],
    ])
  })

  test('is filtered by token and type, alone and together, and paged', async (t) => {
    const { call, data } = await open(t)
    const made: { id: number; token: string }[] = []
    for (const name of ['Ann', 'Bob']) made.push(await data(201, 'POST', '/tokens', { body: { name, role: 'member' } }))
    for (let round = 0; round < 3; round++) {
      for (const { token } of made) {
        const { id } = await data(201, 'POST', '/tags', { token, body: { name: `${token.slice(3, 9)}${round}` } })
        await data(200, 'PATCH', `/tags/${id}`, { token, body: { name: `x${token.slice(3, 9)}${round}` } })
      }
    }
    const list = async (query: Record<string, string | number>) => {
      const entries: Entry[] = []
      for (let cursor: string | null = ''; cursor !== null; ) {
        const { body } = await call('GET', '/audit-log', {
          query: { ...query, per_page: 2, ...(cursor && { cursor }) },
        })
        entries.push(...body.data)
        cursor = body.meta.next_cursor
      }
      return entries
    }
    const all = await list({})
    assert.deepEqual(
      all.map(({ id }) => id),
      all.map(({ id }) => id).toSorted((a, b) => b - a),
    )
    const [ann] = made
    for (const [query, count] of [
      [{ token: ann!.id }, 6],
      [{ type: 'tag.created' }, 6],
      [{ token: ann!.id, type: 'tag.updated' }, 3],
      [{ token: 999_999 }, 0],
      [{ type: 'contact.deleted' }, 0],
    ] as const) {
      const expected = all.filter(
        ({ token_id, type }) =>
          (!('token' in query) || token_id === query.token) && (!('type' in query) || type === query.type),
      )
      assert.equal(expected.length, count)
      assert.deepEqual(await list(query), expected)
    }
    assertInvalid(await call('GET', '/audit-log', { query: { type: 'tag.eaten' } }), 'type')
    assertInvalid(await call('GET', '/audit-log', { query: { token: 'Ann' } }), 'token')
    assertInvalid(await call('GET', '/audit-log', { query: { token: 0 } }), 'token')
    assertInvalid(await call('GET', '/audit-log', { query: { tokens: 1 } }), 'tokens')
  })

  test('has no entry for a change that was refused or rolled back, and none for another client', async (t) => {
    const service = await open(t)
    const other = await service.addTenant()
    const world = await openWorld(service, 'mine')
    const ids = async () => (await service.data(200, 'GET', '/audit-log')).map(({ id }: Entry) => id)
    const before = await ids()
    assertInvalid(await service.call('POST', '/tags', { body: { name: 'tag of mine' } }), 'name')
    assert.equal((await service.call('DELETE', '/contacts/999999')).status, 404)
    assert.equal((await other.call('DELETE', `/contacts/${world.contactId}`)).status, 404)
    const failed = service.client.withIdempotencyKey('k', {}, async (client) => {
      await client.tags.create({ name: 'rolled back' })
      throw new Error('stop')
    })
    await assert.rejects(failed, /stop/)
    await other.data(201, 'POST', '/tags', { body: { name: 'theirs' } })
    assert.deepEqual(await ids(), before)
  })

  test('keeps entries for 90 days', needsClock, async (t) => {
    const { advance, data, mailkeep } = await open(t, { dispatch: false })
    await data(201, 'POST', '/tags', { body: { name: 'old' } })
    advance(90 * 86_400_000 + 60_000)
    await data(201, 'POST', '/tags', { body: { name: 'young' } })
    assert.equal((await data(200, 'GET', '/audit-log', { query: { type: 'tag.created' } })).length, 2)
    mailkeep.start({ dispatch: false })
    for (let left = 2; left > 1; )
      left = (await data(200, 'GET', '/audit-log', { query: { type: 'tag.created' } })).length
    assert.equal((await data(200, 'GET', '/audit-log')).length, 1)
  })

  test('goes with its client', async (t) => {
    const { addTenant, mailkeep } = await open(t)
    const other = await addTenant()
    await mailkeep.clients.delete(other.id)
    await mailkeep.deliverDue()
    assert.deepEqual((await mailkeep.forClient(other.id).auditLog.list()).data, [])
  })

  test('takes the caller from a host: its source and the id of a token', async (t) => {
    const { id, mailkeep } = await open(t)
    await mailkeep.forClient(id, { source: 'api', tokenId: 7 }).tags.create({ name: 'a' })
    await mailkeep.forClient(id, { source: 'cli' }).tags.create({ name: 'b' })
    const entries = (await mailkeep.forClient(id).auditLog.list({ type: 'tag.created' })).data
    assert.deepEqual(
      entries.map(({ source, token_id }) => [source, token_id]),
      [
        ['cli', null],
        ['api', 7],
      ],
    )
    for (const caller of [{ source: 'mars' }, { source: 'api', tokenId: 0 }, {}]) {
      assert.throws(() => mailkeep.forClient(id, caller as never), { code: 'validation_failed' })
    }
  })
})
