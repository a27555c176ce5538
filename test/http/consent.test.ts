/** History, double opt-in and suppressions over HTTP. */
import assert from 'node:assert/strict'
import { test } from '../support/databases.ts'
import { overHttp } from '../support/harness.ts'
import { assertInvalid } from '../support/http-call.ts'
import { assertShape, utc } from '../support/http-shapes.ts'

const email = 'Ada@example.org'

overHttp('the history of a contact', (open) => {
  test('comes in pages, newest first, with the token of each change', async (t) => {
    const { call, data, member } = await open(t)
    const list = await data(201, 'POST', '/lists', { body: { name: 'News' } })
    const { id } = await data(201, 'POST', `/lists/${list.id}/contacts`, { body: { email }, token: member })
    await data(200, 'POST', `/contacts/${id}/unsubscribe`)
    await data(200, 'POST', `/contacts/${id}/unsubscribe`)
    await data(200, 'POST', `/contacts/${id}/resubscribe`)
    const first = await call('GET', `/contacts/${id}/history`, { query: { per_page: 2 } })
    const query = { per_page: 2, cursor: first.body.meta.next_cursor }
    const second = await call('GET', `/contacts/${id}/history`, { query })
    const types = [...first.body.data, ...second.body.data].map(({ type }) => type)
    assert.deepEqual(types, ['resubscribed', 'unsubscribed', 'list_joined'])
    const [joined] = second.body.data
    assertShape(joined, {
      ...{ id: Number.isSafeInteger, type: /^list_joined$/, source: /^api$/, list_id: (it) => it === list.id },
      ...{ topic_id: (it) => it === null, token_id: Number.isSafeInteger, ip: (it) => it === null },
      ...{ user_agent: (it) => it === null, created_at: utc },
    })
    const tokens = await data(200, 'GET', '/tokens')
    assert.equal(tokens.find((token: { id: number }) => token.id === joined.token_id).role, 'member')
    assert.equal((await call('GET', '/contacts/999/history')).status, 404)
  })
})

overHttp('a list with double opt-in', (open) => {
  test('answers a post with the list that waits, and shows it in no list of the contact', async (t) => {
    const { call, data, member } = await open(t, { publicUrl: 'https://mail.example.org' })
    const plain = await data(201, 'POST', '/lists', { body: { name: 'Plain' } })
    assert.deepEqual(Object.keys(plain), ['id', 'uuid', 'name', 'created_at'])
    const list = await data(201, 'POST', '/lists', { body: { name: 'News', double_opt_in: true } })
    assert.equal(list.double_opt_in, true)
    assert.deepEqual(await data(200, 'GET', `/lists/${list.id}`), list)
    assert.deepEqual(await data(200, 'GET', '/lists'), [plain, list])
    const { double_opt_in: _, ...shown } = list
    const path = `/lists/${list.id}/contacts`
    const added = await data(201, 'POST', path, { body: { email } })
    assert.deepEqual([added.lists, added.pending_lists, 'topics' in added], [[], [shown], false])
    assert.deepEqual((await data(200, 'POST', path, { body: { email } })).pending_lists, [shown])
    assert.ok(!('pending_lists' in (await data(200, 'POST', `/lists/${plain.id}/contacts`, { body: { email } }))))
    assert.ok(!('pending_lists' in (await data(200, 'GET', `/contacts/${added.id}`))))
    assert.equal((await call('POST', path, { body: { email, confirmed: true }, token: member })).status, 403)
    const confirmed = await data(200, 'POST', path, { body: { email, confirmed: true } })
    assert.deepEqual([confirmed.lists, confirmed.pending_lists], [[plain, shown], []])
    assertInvalid(await call('POST', '/contacts', { body: { email, confirmed: true } }), 'confirmed')
    const file = { raw: 'email\nbob@example.org\n', headers: { 'content-type': 'text/csv' } }
    assert.equal((await call('POST', `${path}/import`, { ...file, query: 'confirmed=1', token: member })).status, 403)
    assert.equal((await data(200, 'POST', `${path}/import`, { ...file, query: 'confirmed=1' })).created, 1)
    assert.deepEqual(await data(200, 'GET', '/contacts/count', { query: `lists[]=${list.id}` }), { count: 2 })
    const text = await data(201, 'POST', path, { body: { email: 'cleo@example.org', confirmed: 'yes' } })
    assert.deepEqual([text.lists, text.extra_attributes], [[], { confirmed: 'yes' }])
    assertInvalid(await call('POST', '/lists', { body: { name: 'x', double_opt_in: 'yes' } }), 'double_opt_in')
    assertInvalid(await call('PATCH', `/lists/${list.id}`, { body: {} }), 'name')
    assert.deepEqual(await data(200, 'PATCH', `/lists/${list.id}`, { body: { double_opt_in: false } }), shown)
    assert.equal((await data(200, 'PATCH', `/lists/${list.id}`, { body: { name: 'New' } })).name, 'New')
  })
})

const suppression = { id: Number.isSafeInteger, email: /@/, reason: /^manual$/, created_at: utc }

overHttp('suppressions', (open) => {
  test('are added once, listed and removed, and let their contacts be stored', async (t) => {
    const { call, data, member, viewer, addTenant } = await open(t)
    const first = await data(201, 'POST', '/suppressions', { body: { email }, token: member })
    assertShape(first, suppression)
    assert.equal(first.email, email)
    assert.deepEqual(await data(200, 'POST', '/suppressions', { body: { email: 'ADA@example.org' } }), first)
    const second = await data(201, 'POST', '/suppressions', { body: { email: 'bob@example.org' } })
    assert.deepEqual(await data(200, 'GET', '/suppressions', { token: viewer }), [first, second])
    await data(200, 'POST', '/contacts', { body: { email } })
    assertInvalid(await call('POST', '/suppressions', { body: { email: 'not an address' } }), 'email')
    assertInvalid(await call('POST', '/suppressions', { body: { email, reason: 'complaint' } }), 'reason')
    const other = await addTenant()
    assert.deepEqual((await other.call('GET', '/suppressions')).body.data, [])
    assert.equal((await other.call('DELETE', `/suppressions/${first.id}`)).status, 404)
    assert.equal((await call('POST', '/suppressions', { body: { email }, token: viewer })).status, 403)
    assert.equal((await call('DELETE', `/suppressions/${first.id}`, { token: viewer })).status, 403)
    await data(204, 'DELETE', `/suppressions/${first.id}`)
    assert.equal((await call('DELETE', `/suppressions/${first.id}`)).status, 404)
    assert.deepEqual(await data(200, 'GET', '/suppressions'), [second])
  })

  test('of an erased contact refuse its address everywhere, and do not show it', async (t) => {
    const { call, data, addTenant } = await open(t)
    const list = await data(201, 'POST', '/lists', { body: { name: 'News' } })
    await data(201, 'POST', '/suppressions', { body: { email } })
    const { id } = await data(201, 'POST', `/lists/${list.id}/contacts`, { body: { email } })
    assertInvalid(await call('DELETE', `/contacts/${id}`, { query: 'suppress=maybe' }), 'suppress')
    await data(204, 'DELETE', `/contacts/${id}`, { query: 'suppress=true' })
    const [entry, ...more] = await data(200, 'GET', '/suppressions')
    assert.deepEqual([entry.email, entry.reason, more], [null, 'erased', []])
    assert.deepEqual(await data(200, 'POST', '/suppressions', { body: { email } }), entry)

    const again = { email: 'ADA@EXAMPLE.ORG' }
    assertInvalid(await call('POST', `/lists/${list.id}/contacts`, { body: again }), 'email')
    assertInvalid(await call('POST', '/contacts', { body: again }), 'email')
    const { id: bob } = await data(200, 'POST', '/contacts', { body: { email: 'bob@example.org' } })
    assertInvalid(await call('POST', `/contacts/${bob}/email`, { body: again }), 'email')
    const operations = [
      { op: 'upsert', ...again },
      { op: 'upsert', email: 'eve@example.org' },
    ]
    const [refused, created] = await data(200, 'POST', '/contacts/batch', { body: { operations } })
    assert.deepEqual([refused.status, Object.keys(refused.errors), created.status], ['refused', ['email'], 'created'])
    const file = { raw: 'email\nada@example.org\neve@example.org\n', headers: { 'content-type': 'text/csv' } }
    const report = await data(200, 'POST', `/lists/${list.id}/contacts/import`, file)
    assert.deepEqual([report.refused, report.updated, report.refused_rows[0].line], [1, 1, 2])
    assert.match(report.refused_rows[0].errors.email[0], /erased/)
    const other = await addTenant()
    await other.data(200, 'POST', '/contacts', { body: again })

    await data(204, 'DELETE', `/suppressions/${entry.id}`)
    await data(201, 'POST', `/lists/${list.id}/contacts`, { body: again })
  })
})

overHttp('everything stored about a contact', (open) => {
  test('is one document with its history and deliveries, and without the link to confirm', async (t) => {
    const { call, data, client, viewer } = await open(t, { dispatch: false })
    const list = await data(201, 'POST', '/lists', { body: { name: 'News', double_opt_in: true } })
    const url = 'http://127.0.0.1:9/'
    const first = await client.webhooks.createEndpoint({ url, events: ['contact.created', 'contact.unsubscribed'] })
    const second = await client.webhooks.createEndpoint({ url, events: ['contact.confirmation_requested'] })
    const { id } = await data(201, 'POST', `/lists/${list.id}/contacts`, { body: { email, city: 'London' } })
    await data(201, 'POST', `/lists/${list.id}/contacts`, { body: { email: 'bob@example.org' } })
    for (let n = 0; n < 60; n++) {
      await client.contacts.unsubscribe(id)
      await client.contacts.resubscribe(id)
    }
    const sequence = await client.sequences.create({ name: 'Course' })
    const enrolment = await client.sequences.enrol(sequence.id, { contact_id: id })
    const suppression = await data(201, 'POST', '/suppressions', { body: { email } })
    const { contact, history, messages, deliveries, ...rest } = await data(200, 'GET', `/contacts/${id}/data`)
    assert.deepEqual([contact, messages], [await data(200, 'GET', `/contacts/${id}`), []])
    const { double_opt_in: _, ...pending } = list
    assert.deepEqual(rest, { pending_lists: [pending], suppression, enrolments: [enrolment] })
    assert.equal(history.length, 121)
    assert.equal(deliveries.length, 63)
    const [created, asked, mail, unsubscribed] = deliveries
    assert.equal(mail.event_type, 'contact.confirmation_requested')
    assert.deepEqual(
      [created, asked, unsubscribed].map(({ event_type, endpoint_id }) => [event_type, endpoint_id]),
      [
        ['contact.created', first.id],
        ['contact.confirmation_requested', second.id],
        ['contact.unsubscribed', first.id],
      ],
    )
    const { payload } = await client.webhooks.getDelivery(first.id, created.id)
    assert.deepEqual(created.payload, payload)
    assert.equal(asked.payload.data.confirm_url, null)
    assert.equal(asked.payload.data.contact.email, email)
    assert.doesNotMatch(JSON.stringify(deliveries), /bob@/)
    assert.equal((await call('GET', `/contacts/${id}/data`, { token: viewer })).status, 200)
    assert.equal((await call('GET', '/contacts/999/data')).status, 404)
    const { text, headers } = await call('HEAD', `/contacts/${id}/data`)
    assert.deepEqual([text, headers['content-type']], ['', 'application/json; charset=utf-8'])
  })
})
