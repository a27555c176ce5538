/** The tokens of a client over HTTP: creation, listing, revocation, and what is recorded about their use. */
import assert from 'node:assert/strict'
import { test } from '../support/databases.ts'
import { needsClock, overHttp, until } from '../support/harness.ts'
import { assertInvalid } from '../support/http-call.ts'
import { assertShape, newToken, token as tokenShape } from '../support/http-shapes.ts'

const input = { name: 'Billing', role: 'member' }

/** Bodies of POST, and their invalid fields. */
const badCreations: readonly [body: object, ...fields: string[]][] = [
  [{}, 'name', 'role'],
  [{ role: 'member' }, 'name'],
  [{ name: 'Billing' }, 'role'],
  [{ ...input, name: ' ' }, 'name'],
  [{ ...input, name: null }, 'name'],
  [{ ...input, name: 'x'.repeat(256) }, 'name'],
  [{ ...input, role: 'owner' }, 'role'],
  [{ ...input, role: ['admin'] }, 'role'],
  [{ ...input, expires_in: 0 }, 'expires_in'],
  [{ ...input, expires_in: -1 }, 'expires_in'],
  [{ ...input, expires_in: 1.5 }, 'expires_in'],
  [{ ...input, expires_in: '60' }, 'expires_in'],
  [{ ...input, expires_in: null }, 'expires_in'],
  [{ ...input, expires_in: 9_007_199_254_740_991 }, 'expires_in'],
  [{ ...input, token: 'mk_mine' }, 'token'],
  [{ ...input, client_id: 2 }, 'client_id'],
]

overHttp('the tokens of a client', (open) => {
  test('are created with a name and a role, shown once, listed without the value, and revoked', async (t) => {
    const { call, data } = await open(t)
    const made = await data(201, 'POST', '/tokens', { body: { ...input, name: ' Billing ' } })
    assertShape(made, newToken)
    assert.deepEqual([made.name, made.role, made.expires_at, made.last_used_at], ['Billing', 'member', null, null])
    const { body } = await call('GET', '/tokens')
    for (const one of body.data) assertShape(one, tokenShape)
    assert.equal(body.data.at(-1).id, made.id)
    assert.ok(!JSON.stringify(body).includes(made.token))
    assert.equal((await call('GET', '/tags', { token: made.token })).status, 200)
    assert.equal((await call('POST', '/tokens', { token: made.token, body: input })).status, 403)

    await data(204, 'DELETE', `/tokens/${made.id}`)
    assert.equal((await call('GET', '/tags', { token: made.token })).status, 401)
    assert.ok((await data(200, 'GET', '/tokens')).every(({ id }: { id: number }) => id !== made.id))
    assert.equal((await call('DELETE', `/tokens/${made.id}`)).status, 404)
  })

  test('show themselves to their holders, of any role', async (t) => {
    const { call, data } = await open(t)
    for (const role of ['viewer', 'member', 'admin']) {
      const { token, ...made } = await data(201, 'POST', '/tokens', { body: { name: role, role } })
      const shown = await data(200, 'GET', '/tokens/current', { token })
      const { client_id, ...itself } = shown
      assertShape(itself, tokenShape)
      assert.deepEqual([{ ...itself, last_used_at: null }, client_id], [made, 1])
    }
    assert.equal((await call('GET', '/tokens/current', { token: null })).status, 401)
    assert.equal((await call('DELETE', '/tokens/current')).status, 405)
  })

  test('that are invalid get 422 with the field, and leave nothing behind', async (t) => {
    const { call, data } = await open(t)
    const listed = async () => (await data(200, 'GET', '/tokens')).map(({ id }: { id: number }) => id)
    const before = await listed()
    for (const [body, ...fields] of badCreations) assertInvalid(await call('POST', '/tokens', { body }), ...fields)
    assertInvalid(await call('GET', '/tokens', { query: { role: 'admin' } }), 'role')
    assert.deepEqual(await listed(), before)
  })

  test('are listed in pages', async (t) => {
    const { call, data } = await open(t)
    for (const name of ['a', 'b']) await data(201, 'POST', '/tokens', { body: { name, role: 'viewer' } })
    const ids: number[] = []
    for (let cursor: string | null = ''; cursor !== null; ) {
      const { body } = await call('GET', '/tokens', { query: { per_page: 2, ...(cursor && { cursor }) } })
      ids.push(...body.data.map(({ id }: { id: number }) => id))
      cursor = body.meta.next_cursor
    }
    assert.equal(ids.length, 5) // three of the harness
    assert.deepEqual(
      ids,
      ids.toSorted((a, b) => a - b),
    )
  })

  test('end after expires_in seconds', needsClock, async (t) => {
    const { advance, call, data } = await open(t)
    const { token, created_at, expires_at } = await data(201, 'POST', '/tokens', { body: { ...input, expires_in: 60 } })
    assert.ok(Math.abs(Date.parse(expires_at) - Date.parse(created_at) - 60_000) < 1000)
    assert.equal((await call('GET', '/tags', { token })).status, 200)
    advance(61_000)
    assert.equal((await call('GET', '/tags', { token })).status, 401)
  })

  test('show their last use, updated at most once a minute', needsClock, async (t) => {
    const { advance, call, data } = await open(t)
    const { id, token } = await data(201, 'POST', '/tokens', { body: input })
    const lastUse = async () => {
      const tokens: { id: number; last_used_at: string | null }[] = await data(200, 'GET', '/tokens')
      return tokens.find((one) => one.id === id)!.last_used_at
    }
    assert.equal(await lastUse(), null)
    await call('GET', '/tags', { token })
    const first = await until(lastUse, (at) => at !== null)
    advance(1000) // the token is still cached
    await call('GET', '/tags', { token })
    advance(29_000)
    await call('GET', '/tags', { token })
    advance(31_000)
    assert.equal(await lastUse(), first)
    await call('GET', '/tags', { token })
    const second = await until(lastUse, (at) => at !== first)
    assert.ok(Date.parse(second!) - Date.parse(first!) >= 60_000)
  })
})
