import assert from 'node:assert/strict'
import type { TestContext } from 'node:test'
import { isMailkeepError } from '../../lib/index.ts'
import type { NameResolver } from '../../lib/webhooks/http/resolve.ts'
import { test } from '../support/databases.ts'
import {
  addEndpoint,
  attempted,
  hourMs,
  newest,
  type Open,
  type OpenOptions,
  onEveryDatabase,
  onSharedDatabases,
  openReceiver,
  openSecondInstance,
  raise,
  until,
  withStatus,
} from '../support/webhook-harness.ts'

/** Creates a resolver that answers A queries; there are no AAAA records. */
function resolverOf(resolve4: NameResolver['resolve4']): NameResolver {
  const resolve6 = () => Promise.reject(Object.assign(new Error('no AAAA'), { code: 'ENODATA' }))
  return { resolve4, resolve6 }
}

const never = () => new Promise<never>(() => {})
const nxdomain = () => Promise.reject(Object.assign(new Error('NXDOMAIN'), { code: 'ENOTFOUND' }))

/** Opens the service with the guard of production: no private addresses. */
function openGuarded(open: Open, t: TestContext, resolve4: NameResolver['resolve4'], options: OpenOptions = {}) {
  const lookup = { resolver: resolverOf(resolve4), cacheMs: 0 }
  return open(t, { lookup, webhooks: { allowPrivate: false }, ...options })
}

onSharedDatabases('looking up the host of an endpoint', (open) => {
  test('connects to the address that was found', async (t) => {
    const asked: string[] = []
    const resolve4 = async (name: string) => {
      asked.push(name)
      return ['127.0.0.1']
    }
    const mk = await open(t, { lookup: { resolver: resolverOf(resolve4) } })
    const receiver = await openReceiver(t)
    const { id } = await addEndpoint(mk, receiver.url().replace('127.0.0.1', 'Hook.example'))
    await raise(mk)
    await withStatus(mk, id, 'success')
    assert.deepEqual(asked, ['hook.example'])
    assert.match(receiver.received[0]!.headers.host!, /^hook\.example:/)
  })

  test('a name that does not exist fails the attempt, which is retried', async (t) => {
    const mk = await openGuarded(open, t, nxdomain)
    const { id } = await addEndpoint(mk, 'https://hook.example/')
    await raise(mk)
    const { status, attempts, response_status, error } = await attempted(mk, id, 1)
    assert.deepEqual([status, attempts, response_status], ['pending', 1, null])
    assert.match(error!, /ENOTFOUND/)
    assert.equal((await mk.acme.webhooks.getEndpoint(id)).consecutive_failures, 1)
  })

  test('name servers that never answer fail the attempt in time, and delay no other', async (t) => {
    const resolve4 = (name: string) => (name === 'hook.example' ? never() : Promise.resolve(['127.0.0.1']))
    const mk = await open(t, { lookup: { resolver: resolverOf(resolve4), timeoutMs: 300 } })
    const receiver = await openReceiver(t)
    const silent = await addEndpoint(mk, 'http://hook.example/')
    const other = await addEndpoint(mk, receiver.url().replace('127.0.0.1', 'other.example'))
    await raise(mk)
    await receiver.count(1)
    assert.equal((await newest(mk, silent.id)).attempt_log.length, 0, 'the other did not wait')
    const { status, error } = await attempted(mk, silent.id, 1)
    assert.equal(status, 'pending')
    assert.match(error!, /TIMEOUT/)
    await withStatus(mk, other.id, 'success')
  })
})

onEveryDatabase('an address that is refused', (open) => {
  const addresses = ['10.0.0.5', '127.0.0.1', '169.254.169.254', '100.64.0.1', '0.0.0.0', '168.63.129.16']
  for (const address of addresses) {
    test(`${address} at the moment of connecting ends the delivery as failed, without attempts or retries`, async (t) => {
      const mk = await openGuarded(open, t, async () => [address], {})
      const { id } = await addEndpoint(mk, 'https://hook.example/')
      await raise(mk)
      const delivery = await withStatus(mk, id, 'failed')
      const { attempts, response_status, delivered_at, next_attempt_at, attempt_log, error } = delivery
      assert.deepEqual([attempts, response_status, delivered_at, next_attempt_at], [0, null, null, null])
      assert.deepEqual(attempt_log, [])
      assert.match(error!, /refused/)
      const endpoint = await mk.acme.webhooks.getEndpoint(id)
      assert.deepEqual([endpoint.consecutive_failures, endpoint.last_triggered_at, endpoint.active], [0, null, true])
      await mk.pass(100 * hourMs)
      const after = await mk.acme.webhooks.testEndpoint(id)
      assert.equal((await mk.acme.webhooks.getDelivery(id, after.id)).event_type, 'webhook.test')
      await withStatus(mk, id, 'failed')
      assert.equal((await mk.acme.webhooks.getDelivery(id, delivery.id)).attempts, 0)
    })
  }
})

onSharedDatabases('the URL guard', (open) => {
  test('applies to the test operation: 202 with a pending delivery, which then fails', async (t) => {
    const mk = await openGuarded(open, t, async () => ['192.168.1.1'])
    const { id } = await addEndpoint(mk, 'https://hook.example/')
    const queued = await mk.acme.webhooks.testEndpoint(id)
    assert.deepEqual([queued.event_type, queued.status, queued.attempts], ['webhook.test', 'pending', 0])
    const { attempts, event_type } = await withStatus(mk, id, 'failed')
    assert.deepEqual([attempts, event_type], [0, 'webhook.test'])
  })

  test('refuses the literal address at creation', async (t) => {
    const mk = await openGuarded(open, t, never, { start: false })
    for (const url of ['http://hook.example/', 'https://127.0.0.1/', 'https://[::1]/', 'https://localhost/']) {
      const isRefused = (error: unknown) => isMailkeepError(error, 'validation_failed') && 'url' in error.errors!
      await assert.rejects(addEndpoint(mk, url), isRefused, url)
    }
  })

  test('checks every address of a name, and refuses one private among public ones', async (t) => {
    const mk = await openGuarded(open, t, async () => ['8.8.8.8', '10.0.0.1'])
    const { id } = await addEndpoint(mk, 'https://hook.example/')
    await raise(mk)
    assert.equal((await withStatus(mk, id, 'failed')).attempts, 0)
  })

  test('checks at each attempt: when a name becomes private later, the delivery fails without another attempt', async (t) => {
    let look: NameResolver['resolve4'] = nxdomain
    const mk = await openGuarded(open, t, (name) => look(name))
    const { id } = await addEndpoint(mk, 'https://hook.example/')
    await raise(mk)
    await attempted(mk, id, 1)
    look = async () => ['10.0.0.1']
    await mk.pass(6000)
    const { attempts, attempt_log } = await withStatus(mk, id, 'failed')
    assert.deepEqual([attempts, attempt_log.length], [1, 1])
    assert.equal((await mk.acme.webhooks.getEndpoint(id)).consecutive_failures, 1)
  })

  test('fails a delivery without another attempt that was redelivered while its host was looked up', async (t) => {
    const lookups: ((addresses: string[]) => void)[] = []
    const mk = await openGuarded(open, t, () => new Promise((resolve) => lookups.push(resolve)))
    const { id } = await addEndpoint(mk, 'https://hook.example/')
    await raise(mk)
    await until('the host is looked up', () => lookups.length === 1)
    await mk.acme.webhooks.redeliver(id, (await newest(mk, id)).id)
    lookups[0]!(['10.0.0.1'])
    assert.equal((await withStatus(mk, id, 'failed')).attempts, 0)
    assert.equal(lookups.length, 1)
  })

  test('checks a stored URL again: an invalid row is never called', async (t) => {
    const receiver = await openReceiver(t)
    const mk = await openGuarded(open, t, async () => ['127.0.0.1'])
    const { id } = await addEndpoint(mk, 'https://hook.example/')
    const port = new URL(receiver.url()).port
    for (const url of [
      receiver.url(),
      `https://127.0.0.1/`,
      `https://hook.example:${port}/`,
      'https://a@hook.example/',
    ]) {
      await mk.ask('update mailkeep_endpoint set url = ? where id = ?', url, id)
      await raise(mk)
      assert.equal((await withStatus(mk, id, 'failed')).attempts, 0, url)
    }
    assert.equal(receiver.received.length, 0)
  })

  test('allows private hosts, http and any port only with the development setting', async (t) => {
    const mk = await open(t)
    const receiver = await openReceiver(t)
    const { id } = await addEndpoint(mk, receiver.url())
    await raise(mk)
    await withStatus(mk, id, 'success')
  })
})

onSharedDatabases('test deliveries', (open) => {
  const isLimited = (error: unknown) => isMailkeepError(error, 'rate_limited') && error.rateLimit?.limit === 10

  test('are limited to ten in any 60 s for each client; refused ones do not count', async (t) => {
    const mk = await open(t)
    const receiver = await openReceiver(t)
    const { id } = await addEndpoint(mk, receiver.url())
    const other = await addEndpoint(mk, receiver.url('/other'))
    for (let i = 0; i < 10; i++) await mk.acme.webhooks.testEndpoint(i % 2 ? id : other.id)
    for (let i = 0; i < 20; i++) await assert.rejects(mk.acme.webhooks.testEndpoint(id), isLimited)
    mk.clock.advance(59_999)
    await assert.rejects(mk.acme.webhooks.testEndpoint(id), isLimited)
    mk.clock.advance(1)
    for (let i = 0; i < 10; i++) await mk.acme.webhooks.testEndpoint(id)
    await assert.rejects(mk.acme.webhooks.testEndpoint(id), isLimited)
    const client = await mk.mailkeep.clients.create({ name: 'Other' })
    const theirs = mk.mailkeep.forClient(client.id)
    const { id: their } = await addEndpoint({ acme: theirs }, receiver.url())
    await theirs.webhooks.testEndpoint(their)
    await receiver.count(21)
    await until('all are recorded', async () => (await newest(mk, id)).status === 'success' || undefined)
  })

  test('are counted across all instances, also those of a deleted endpoint', async (t) => {
    const first = await open(t, { start: false })
    const second = await openSecondInstance(t, first, { start: false })
    const tested = await addEndpoint(first, 'http://127.0.0.1:9/')
    const other = await addEndpoint(first, 'http://127.0.0.1:9/')
    for (let i = 0; i < 10; i++) await (i % 2 ? first : second).acme.webhooks.testEndpoint(tested.id)
    await first.acme.webhooks.deleteEndpoint(tested.id)
    for (const mk of [first, second]) await assert.rejects(mk.acme.webhooks.testEndpoint(other.id), isLimited)
  })

  test('go only to the endpoint that is tested, whatever event types it subscribed to', async (t) => {
    const mk = await open(t)
    const receiver = await openReceiver(t)
    const { id } = await addEndpoint(mk, receiver.url('/tested'), 'sequence.completed')
    await addEndpoint(mk, receiver.url('/other'), 'newsletter.sent')
    await mk.acme.webhooks.testEndpoint(id)
    await withStatus(mk, id, 'success')
    const [{ path, body }] = receiver.received as [(typeof receiver.received)[0]]
    const { type, data } = JSON.parse(body)
    assert.deepEqual([path, type, Object.keys(data)], ['/tested', 'webhook.test', ['message']])
    assert.equal(receiver.received.length, 1)
  })
})
