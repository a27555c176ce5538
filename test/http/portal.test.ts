/** Links of the portal: they open webhook endpoints and deliveries of one client, for a limited time, and nothing else. */
import assert from 'node:assert/strict'
import { test } from '../support/databases.ts'
import { needsClock, overHttp } from '../support/harness.ts'
import { assertInvalid } from '../support/http-call.ts'
import { bodyOf, openWorld, pathTo, routes, titleOf } from '../support/http-world.ts'

const publicUrl = 'https://mail.example.org'

/** The routes that a link opens. */
const opened = new Set([
  'GET /webhook-endpoints',
  'POST /webhook-endpoints',
  'GET /webhook-endpoints/:endpointId',
  'PATCH /webhook-endpoints/:endpointId',
  'DELETE /webhook-endpoints/:endpointId',
  'GET /webhook-endpoints/:endpointId/deliveries',
  'GET /webhook-endpoints/:endpointId/deliveries/:deliveryId',
  'POST /webhook-endpoints/:endpointId/deliveries/:deliveryId/redeliver',
  'POST /webhook-endpoints/:endpointId/test',
  'POST /webhook-endpoints/:endpointId/secret',
  'POST /webhook-endpoints/:endpointId/recover',
  'GET /webhook-endpoints/:endpointId/recoveries/:recoveryId',
  'GET /deliveries',
  'GET /stats/deliveries',
  'GET /settings/pages',
])

const tokenOf = ({ url }: { url: string }) => new URL(url).hash.replace('#token=', '')

overHttp('a link of the portal', (open) => {
  test('opens the routes of webhooks, and no other route', async (t) => {
    const service = await open(t, { publicUrl })
    const { call, data } = service
    const world = await openWorld(service, 'acme')
    const link = await data(201, 'POST', '/portal-links', { body: { role: 'webhooks' } })
    assert.match(link.url, /^https:\/\/mail\.example\.org\/portal#token=mkp_[\w-]+$/)
    assert.match((await service.client.portal.createLink()).url, /\/portal#token=mkp_/)
    const token = tokenOf(link)
    for (const route of routes.filter((one) => one.method !== 'DELETE' || !opened.has(titleOf(one)))) {
      const { status } = await call(route.method, pathTo(route, world), { token, body: bodyOf(route) })
      if (opened.has(titleOf(route))) assert.ok(![401, 403].includes(status), `${titleOf(route)} answers ${status}`)
      else assert.equal(status, 403, titleOf(route))
    }
    assert.equal((await call('DELETE', `/webhook-endpoints/${world.endpointId}`, { token })).status, 204)
  })

  test('shows nothing of other clients', async (t) => {
    const { data, addTenant, call } = await open(t, { publicUrl })
    const other = await addTenant()
    const endpoint = await other.data(201, 'POST', '/webhook-endpoints', {
      body: { url: 'http://127.0.0.1:9/', events: ['contact.subscribed'] },
    })
    const token = tokenOf(await data(201, 'POST', '/portal-links', { body: { role: 'webhooks' } }))
    assert.equal((await call('GET', `/webhook-endpoints/${endpoint.id}`, { token })).status, 404)
    assert.deepEqual((await call('GET', '/webhook-endpoints', { token })).body.data, [])
  })

  test('ends with its time, by default after an hour', needsClock, async (t) => {
    const { data, call, advance } = await open(t, { publicUrl })
    const usual = tokenOf(await data(201, 'POST', '/portal-links', { body: { role: 'webhooks' } }))
    const short = tokenOf(await data(201, 'POST', '/portal-links', { body: { role: 'webhooks', expires_in: 60 } }))
    const statuses = async () =>
      Promise.all([usual, short].map(async (token) => (await call('GET', '/webhook-endpoints', { token })).status))
    assert.deepEqual(await statuses(), [200, 200])
    advance(61_000)
    assert.deepEqual(await statuses(), [200, 401])
    advance(3_600_000)
    assert.deepEqual(await statuses(), [401, 401])
  })

  test('that was altered is not valid', async (t) => {
    const { data, call } = await open(t, { publicUrl })
    const token = tokenOf(await data(201, 'POST', '/portal-links', { body: { role: 'webhooks' } }))
    for (let at = 0; at < token.length; at++) {
      const altered = `${token.slice(0, at)}${token[at] === 'A' ? 'B' : 'A'}${token.slice(at + 1)}`
      assert.equal((await call('GET', '/webhook-endpoints', { token: altered })).status, 401, `position ${at}`)
    }
    for (const wrong of [token.slice(0, -1), `${token}A`, 'mkp_', token.replace('mkp_', 'mk_')]) {
      assert.equal((await call('GET', '/webhook-endpoints', { token: wrong })).status, 401, wrong)
    }
  })

  test('is made by admins, for a second to a day', async (t) => {
    const { call, member } = await open(t, { publicUrl })
    const post = (body: object, token?: string) => call('POST', '/portal-links', { body, ...(token ? { token } : {}) })
    assert.equal((await post({ role: 'webhooks' }, member)).status, 403)
    assertInvalid(await post({}), 'role')
    assertInvalid(await post({ role: 'contacts' }), 'role')
    for (const expires_in of [0, 86_401, 1.5, '60']) {
      assertInvalid(await post({ role: 'webhooks', expires_in }), 'expires_in')
    }
  })

  test('is not valid after its client was deleted', async (t) => {
    const { addTenant, call, mailkeep } = await open(t, { publicUrl })
    const other = await addTenant()
    const token = tokenOf(await other.data(201, 'POST', '/portal-links', { body: { role: 'webhooks' } }))
    await mailkeep.clients.delete(other.id)
    assert.equal((await call('GET', '/webhook-endpoints', { token })).status, 401)
  })
})
