/** Email identities, which are read-only over HTTP. */
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

  test('they cannot be created, changed or deleted over HTTP', async (t) => {
    const { call, client, data } = await open(t)
    const { id } = await client.identities.add({ email: 'a@example.org' })
    for (const [path, method] of [
      ...['POST', 'PUT', 'PATCH', 'DELETE'].map((each) => ['/email-identities', each] as const),
      ...['POST', 'PUT', 'PATCH', 'DELETE'].map((each) => [`/email-identities/${id}`, each] as const),
    ]) {
      const { status, headers } = await call(method, path, { body: { email: 'b@example.org' } })
      assert.deepEqual([status, headers.allow], [405, 'GET, HEAD'], `${method} ${path}`)
    }
    assert.equal((await data(200, 'GET', '/email-identities')).length, 1)
    await client.identities.remove(id)
    await data(404, 'GET', `/email-identities/${id}`)
  })
})
