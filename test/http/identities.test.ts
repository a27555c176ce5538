/** Email identities: listed by everyone, added and deleted by admins. */
import assert from 'node:assert/strict'
import { test } from '../support/databases.ts'
import { overHttp } from '../support/harness.ts'
import { assertInvalid } from '../support/http-call.ts'
import { assertShape, identity, identityStatuses, meta } from '../support/http-shapes.ts'

overHttp('email identities', (open) => {
  test('the listing and a single one show every field, for any role', async (t) => {
    const { call, client, data, member: token, url } = await open(t)
    await client.identities.add({ email: 'Ann@Example.org', name: 'Ann', status: 'verified' })
    const { status, body } = await call('GET', '/email-identities', { token })
    assert.equal(status, 200)
    assertShape(body.meta, meta)
    assert.equal(body.meta.path, `${url}/api/v1/email-identities`)
    const [one] = body.data
    assertShape(one, identity)
    assert.deepEqual([one.email, one.name, one.domain], ['Ann@Example.org', 'Ann', 'example.org'])
    assert.deepEqual(await data(200, 'GET', `/email-identities/${one.id}`, { token }), one)
  })

  test('verified_at is set when verified, and null otherwise', async (t) => {
    const { client, data } = await open(t)
    for (const status of identityStatuses) {
      const { id } = await client.identities.add({ email: `${status}@example.org`, status })
      const shown = await data(200, 'GET', `/email-identities/${id}`)
      assertShape(shown, identity)
      assert.deepEqual([shown.identity_status, shown.verified_at !== null], [status, status === 'verified'])
    }
  })

  test('the filter accepts each status', async (t) => {
    const { call, client, data } = await open(t)
    for (const status of identityStatuses) {
      for (const i of [1, 2]) await client.identities.add({ email: `${status}${i}@example.org`, status })
    }
    const find = async (query: string) =>
      (await data(200, 'GET', '/email-identities', { query })).map(
        ({ email }: { email: string }) => email.split('@')[0],
      )
    for (const status of identityStatuses) {
      assert.deepEqual(await find(`identity_status=${status}`), [`${status}1`, `${status}2`])
    }
    assert.equal((await find('')).length, 8)
    assertInvalid(await call('GET', '/email-identities', { query: 'status=failed' }), 'status')
    for (const query of ['identity_status=', 'identity_status=VERIFIED', 'identity_status=x', 'identity_status[]=x']) {
      assertInvalid(await call('GET', '/email-identities', { query }), 'identity_status')
    }
  })

  test('an admin adds and deletes them', async (t) => {
    const { call, data, member, viewer } = await open(t)
    const body = { email: ' News@Example.org ', name: 'News' }
    const added = await data(201, 'POST', '/email-identities', { body })
    assertShape(added, identity)
    assert.deepEqual([added.email, added.name, added.identity_status], ['News@Example.org', 'News', 'pending'])
    assert.deepEqual(await data(200, 'GET', `/email-identities/${added.id}`), added)
    assert.equal((await data(201, 'POST', '/email-identities', { body: { email: 'b@example.org' } })).name, '')
    for (const token of [member, viewer]) {
      await data(403, 'POST', '/email-identities', { token, body })
      await data(403, 'DELETE', `/email-identities/${added.id}`, { token })
    }
    await data(204, 'DELETE', `/email-identities/${added.id}`)
    for (const method of ['GET', 'DELETE'])
      assert.equal((await call(method, `/email-identities/${added.id}`)).status, 404)
    assert.equal((await data(200, 'GET', '/email-identities')).length, 1)
  })

  test('an admin asks the provider about one; without a provider its status stays', async (t) => {
    const { call, client, data, member } = await open(t)
    const { id } = await client.identities.add({ email: 'a@example.org' })
    const shown = await data(200, 'GET', `/email-identities/${id}`)
    assert.deepEqual(await data(200, 'POST', `/email-identities/${id}/refresh`), shown)
    assert.equal((await call('POST', `/email-identities/${id}/refresh`, { token: member })).status, 403)
    assert.equal((await call('POST', '/email-identities/999/refresh')).status, 404)
  })

  test('wrong input is refused, also a status: only the provider verifies', async (t) => {
    const { call, client, data } = await open(t)
    await client.identities.add({ email: 'taken@example.org' })
    for (const [body, field] of [
      [{}, 'email'],
      [{ email: 'nonsense' }, 'email'],
      [{ email: 'TAKEN@example.org' }, 'email'],
      [{ email: 'a@example.org', name: 7 }, 'name'],
      [{ email: 'a@example.org', name: 'x'.repeat(256) }, 'name'],
      [{ email: 'a@example.org', status: 'verified' }, 'status'],
      [{ email: 'a@example.org', identity_status: 'verified' }, 'identity_status'],
    ] as const) {
      assertInvalid(await call('POST', '/email-identities', { body }), field)
    }
    assert.equal((await data(200, 'GET', '/email-identities')).length, 1)
  })

  test('they cannot be changed over HTTP', async (t) => {
    const { call, client } = await open(t)
    const { id } = await client.identities.add({ email: 'a@example.org' })
    for (const method of ['PUT', 'PATCH']) {
      assert.equal((await call(method, `/email-identities/${id}`, { body: { name: 'b' } })).status, 405, method)
    }
  })
})
