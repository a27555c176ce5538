/** The filters of deliveries, of one endpoint and over all endpoints. */
import assert from 'node:assert/strict'
import { test } from '../support/databases.ts'
import { needsClock, overHttp } from '../support/harness.ts'
import { assertInvalid } from '../support/http-call.ts'
import { assertShape, endpointDelivery, meta } from '../support/http-shapes.ts'

interface Delivery {
  id: number
  event_type: string
  status: string
  endpoint_id: number
  created_at: string
}

const types = ['newsletter.sent', 'sequence.completed', 'sequence_step.sent']
const statuses = ['pending', 'success', 'failed', 'held']
const hourMs = 3_600_000

overHttp('the filters of deliveries', (open) => {
  test('find the same deliveries as a look through all of them, in every combination', needsClock, async (t) => {
    const service = await open(t, { dispatch: false, webhooks: { retryScheduleSeconds: [] } })
    const { advance, call, data, mailkeep } = service
    const hook = await service.receiver()
    const add = async (events: string[]) =>
      (await data(201, 'POST', '/webhook-endpoints', { body: { url: hook.url(), events } })).id as number
    const endpointIds = [await add(types), await add(types.slice(0, 2)), await add(types.slice(2))]
    const off = await add(types)
    await data(200, 'PATCH', `/webhook-endpoints/${off}`, { body: { active: false } })
    const raise = async () => {
      for (const type of types) await data(202, 'POST', '/events', { body: { type, data: {} } })
    }
    const times: string[] = []
    for (const status of [200, 500, 200]) {
      times.push(new Date(Date.now() + times.length * hourMs).toISOString())
      hook.replies(status)
      await raise()
      await mailkeep.deliverDue()
      advance(hourMs)
    }
    await data(202, 'POST', `/webhook-endpoints/${endpointIds[0]}/test`)
    await raise()
    const other = await service.addTenant()
    const theirs = { url: hook.url(), events: types }
    await other.data(201, 'POST', '/webhook-endpoints', { body: theirs })
    await other.data(202, 'POST', '/events', { body: { type: types[0], data: {} } })

    const list = async (path: string, query: Record<string, string | number>): Promise<Delivery[]> => {
      const found: Delivery[] = []
      for (let cursor: string | null = ''; cursor !== null; ) {
        const { body, what, status } = await call('GET', path, { query: { ...query, ...(cursor && { cursor }) } })
        assert.equal(status, 200, what)
        found.push(...body.data)
        cursor = body.meta.next_cursor
      }
      return found
    }
    const all = await list('/deliveries', { per_page: 100 })
    for (const one of all) assertShape(one, endpointDelivery)
    assertShape((await call('GET', '/deliveries')).body.meta, meta)
    assert.equal(all.length, (3 + 2 + 1 + 3) * 4 + 1)
    assert.deepEqual(new Set(all.map(({ status }) => status)), new Set(statuses))
    const places = [{ path: '/deliveries', of: () => true }].concat(
      [...endpointIds, off].map((id) => ({
        path: `/webhook-endpoints/${id}/deliveries`,
        of: ({ endpoint_id }: Delivery) => endpoint_id === id,
      })) as never,
    ) as { path: string; of: (delivery: Delivery) => boolean }[]
    for (const { path, of } of places) {
      for (const status of [undefined, ...statuses]) {
        for (const event_type of [undefined, ...types, 'webhook.test']) {
          for (const since of [undefined, times[1], '2999-01-01T00:00:00Z']) {
            const query = { ...(status && { status }), ...(event_type && { event_type }), ...(since && { since }) }
            const found = await list(path, { ...query, per_page: 8 })
            const expected = all.filter(
              (one) =>
                of(one) &&
                (!status || one.status === status) &&
                (!event_type || one.event_type === event_type) &&
                (!since || Date.parse(one.created_at) >= Date.parse(since) - 999),
            )
            const what = `${path} ${JSON.stringify(query)}`
            assert.deepEqual(
              found.map(({ id }) => id),
              expected.map(({ id }) => id),
              what,
            )
          }
        }
      }
    }
  })

  test('that are wrong get 422 with the field', async (t) => {
    const { call, data } = await open(t)
    const body = { url: 'http://127.0.0.1:9/', events: types }
    const { id } = await data(201, 'POST', '/webhook-endpoints', { body })
    for (const path of ['/deliveries', `/webhook-endpoints/${id}/deliveries`]) {
      for (const [name, value] of [
        ['status', 'done'],
        ['status', ''],
        ['event_type', 'contact.eaten'],
        ['since', 'yesterday'],
        ['since', '2026-01-02T03:04:05'],
        ['since', '2026-02-30T25:00:00Z'],
        ['since', '2026-04-31T00:00:00Z'],
        ['since', '9999-12-31T23:59:59-01:00'], // the year 10000 in UTC
        ['state', 'failed'],
        ['cursor', 'x'],
        ['per_page', 0],
      ] as const) {
        assertInvalid(await call('GET', path, { query: { [name]: value } }), name)
      }
    }
    assert.equal((await call('GET', '/webhook-endpoints/999999/deliveries', { query: { status: 'held' } })).status, 404)
  })
})
