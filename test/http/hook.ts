/** Opens a service with an endpoint at a loopback receiver, for tests of deliveries. */
import assert from 'node:assert/strict'
import { createHmac } from 'node:crypto'
import type { TestContext } from 'node:test'
import { type Open, type ServiceOptions, until } from '../support/harness.ts'
import type { Received } from '../support/http-receiver.ts'
import { eventTypes } from '../support/http-shapes.ts'

export interface Delivery {
  id: number
  uuid: string
  event_type: string
  status: string
  attempts: number
  response_status: number | null
  delivered_at: string | null
}

export interface Endpoint {
  active: boolean
  disabled_reason: string | null
  consecutive_failures: number
  last_triggered_at: string | null
}

export async function openHook(open: Open, t: TestContext, webhooks: ServiceOptions['webhooks'] = {}) {
  const service = await open(t, { webhooks: { retryScheduleSeconds: [], ...webhooks } })
  const { data } = service
  const hook = await service.receiver()
  const poked = await service.receiver()
  const addEndpoint = (url = hook.url(), events: string[] = eventTypes) =>
    data(201, 'POST', '/webhook-endpoints', { body: { url, events } })
  const created = await addEndpoint(
    hook.url(),
    eventTypes.filter((type) => type !== 'sequence.completed'),
  )
  const path = `/webhook-endpoints/${created.id}`
  const raise = (type = 'newsletter.sent') => data(202, 'POST', '/events', { body: { type, data: { some: 'thing' } } })
  const endpoint = (): Promise<Endpoint> => data(200, 'GET', path)
  const deliveries = (at = path): Promise<Delivery[]> =>
    data(200, 'GET', `${at}/deliveries`, { query: { per_page: 100 } })
  let pokes = false
  return {
    ...service,
    hook,
    secret: created.secret as string,
    path,
    addEndpoint,
    raise,
    endpoint,
    deliveries,
    /** Resolves with the endpoint after this many recorded failures in a row. */
    failed: (times: number) => until(endpoint, ({ consecutive_failures }) => consecutive_failures === times),
    patch: (body: object, at = path) => data(200, 'PATCH', at, { body }),
    latest: async () => (await deliveries())[0]!,
    /** Resolves with the latest delivery once it is as wanted. */
    latestWhen: (wanted: (delivery: Delivery) => boolean) => until(async () => (await deliveries())[0]!, wanted),
    /** Resolves with all deliveries once none is pending. */
    settled: () => until(deliveries, (all) => all.every(({ status }) => status !== 'pending')),
    /** Wakes the dispatcher, which polls all endpoints and claims what is due. */
    async wakeDispatcher() {
      if (!pokes) await addEndpoint(poked.url(), ['sequence.completed'])
      pokes = true
      await raise('sequence.completed')
      await poked.next()
    },
  }
}

/** Verifies the contract's signature independently of the library: the key is the whole secret. */
export function assertSigned({ headers, raw }: Received, secret: string): void {
  const timestamp = headers['x-service-timestamp']
  const expected = createHmac('sha256', secret).update(`${timestamp}.`).update(raw).digest('hex')
  assert.equal(headers['x-service-signature'], `sha256=${expected}`)
}
