import assert from 'node:assert/strict'
import type { LookupAddress, LookupOptions } from 'node:dns'
import { once } from 'node:events'
import { createServer } from 'node:http'
import { type AddressInfo, connect, type LookupFunction } from 'node:net'
import { describe, type TestContext, test } from 'node:test'
import { Agent, request } from 'undici'
import { guardedLookup, type NameResolver, RefusedAddress } from '../../lib/webhooks/http/resolve.ts'
import { createSender } from '../../lib/webhooks/http/send.ts'
import type { GuardSettings } from '../../lib/webhooks/http/url-rule.ts'
import { defaultWebhookSettings } from '../../lib/webhooks/settings.ts'

const settings: GuardSettings = { allowPrivate: false, ports: [443, 8443] }
const development: GuardSettings = { allowPrivate: true, ports: [443] }
const v4 = { address: '8.8.8.8', family: 4 }
const v6 = { address: '2001:4860:4860::8888', family: 6 }

type Answer = string[] | string | Promise<string[]>

/** Creates a resolver with these answers: addresses, or an error's code. It counts the queries for each name. */
function answering(a: Answer | (() => Answer), aaaa: Answer = 'ENODATA') {
  const asked: string[] = []
  const give = async (answer: Answer) => {
    if (typeof answer === 'string') throw Object.assign(new Error(answer), { code: answer })
    return answer
  }
  const resolver: NameResolver = {
    resolve4: (name) => {
      asked.push(name)
      return give(typeof a === 'function' ? a() : a)
    },
    resolve6: () => give(aaaa),
  }
  return { resolver, asked }
}

/** Resolves with the arguments of the lookup's callback: all addresses, or one. */
function ask(lookup: LookupFunction, options: LookupOptions = { all: true }, name = 'hooks.example.com') {
  return new Promise<LookupAddress[] | LookupAddress>((resolve, reject) => {
    lookup(name, options, (error, address, family) => {
      if (error) reject(error)
      else resolve(typeof address === 'string' ? { address, family: family! } : address)
    })
  })
}

const never = new Promise<string[]>(() => {})

describe('a name is refused', () => {
  const refuses = (a: Answer, aaaa: Answer, options?: LookupOptions) => async () => {
    const { resolver } = answering(a, aaaa)
    await assert.rejects(ask(guardedLookup(settings, { resolver }), options), (error) => {
      assert.ok(error instanceof RefusedAddress)
      assert.doesNotMatch(error.message, /\d\.\d/, 'private addresses are not shown')
      return true
    })
  }
  test('that resolves to a private address', refuses(['127.0.0.1'], 'ENODATA'))
  test('that resolves to a private IPv6 address', refuses('ENODATA', ['::1']))
  test('that has a private address embedded in IPv6', refuses('ENODATA', ['64:ff9b::7f00:1']))
  test('with a private address among public ones', refuses(['8.8.8.8', '10.0.0.1', '8.8.4.4'], 'ENODATA'))
  test('with a private address in the other family', refuses(['8.8.8.8'], ['fd00::1']))
  test('with a private address in the family that is not wanted', refuses(['10.0.0.1'], [v6.address], { family: 6 }))
  test('whose answer is not an address', refuses(['localhost'], 'ENODATA'))

  test('when it resolves to a private address later, after the endpoint was created', async () => {
    let answer = ['8.8.8.8']
    let time = 0
    const { resolver } = answering(() => answer)
    const lookup = guardedLookup(settings, { resolver, now: () => time })
    assert.deepEqual(await ask(lookup), [v4])
    answer = ['169.254.169.254']
    assert.deepEqual(await ask(lookup), [v4], 'the cached address is the one that was checked')
    time = 10_000
    await assert.rejects(ask(lookup), RefusedAddress)
    answer = ['8.8.8.8']
    await assert.rejects(ask(lookup), RefusedAddress, 'a refused answer is cached as long as any')
    time = 20_000
    assert.deepEqual(await ask(lookup), [v4])
  })

  test('also when it is a literal address', async () => {
    const { resolver, asked } = answering(['8.8.8.8'])
    await assert.rejects(ask(guardedLookup(settings, { resolver }), {}, '127.0.0.1'), RefusedAddress)
    assert.deepEqual(await ask(guardedLookup(settings, { resolver }), {}, '8.8.4.4'), { address: '8.8.4.4', family: 4 })
    assert.deepEqual(asked, [])
  })
})

describe('a name resolves', () => {
  const resolves = (a: Answer, aaaa: Answer, options: LookupOptions, expected: unknown) => async () => {
    const { resolver } = answering(a, aaaa)
    assert.deepEqual(await ask(guardedLookup(settings, { resolver }), options), expected)
  }
  const both: [Answer, Answer] = [[v4.address], [v6.address]]
  test('to all addresses, IPv4 first', resolves(...both, { all: true }, [v4, v6]))
  test('to all addresses, IPv4 first, also if it is answered later', async () => {
    const later = new Promise<string[]>((resolve) => setImmediate(() => resolve([v4.address])))
    await resolves(later, [v6.address], { all: true }, [v4, v6])()
  })
  test('to one address', resolves(...both, { all: false }, v4))
  test('to one address by default', resolves(...both, {}, v4))
  test('to IPv4 only', resolves(...both, { all: true, family: 4 }, [v4]))
  test('to IPv6 only', resolves(...both, { all: true, family: 6 }, [v6]))
  test('to IPv6 only, with the family given as text', resolves(...both, { family: 'IPv6' }, v6))
  test('to either when the family is 0', resolves(...both, { all: true, family: 0 }, [v4, v6]))
  test('with AAAA alone', resolves('ENOTFOUND', [v6.address], { all: true }, [v6]))
  test('with A alone', resolves([v4.address], 'ENODATA', { all: true }, [v4]))
  test('although the other family fails', resolves([v4.address], 'ESERVFAIL', { all: true }, [v4]))
  test('although the other family is empty', resolves([], [v6.address], { all: true }, [v6]))
})

describe('a lookup fails', () => {
  const fails = (a: Answer, aaaa: Answer, code: string, options?: LookupOptions) => async () => {
    const { resolver } = answering(a, aaaa)
    await assert.rejects(ask(guardedLookup(settings, { resolver }), options), { code })
  }
  test('when the name does not exist', fails('ENOTFOUND', 'ENOTFOUND', 'ENOTFOUND'))
  test('when there are no addresses', fails([], [], 'ENODATA'))
  test('with the error of one family, even if the other family is empty', fails('ENODATA', 'ESERVFAIL', 'ESERVFAIL'))
  test('when the wanted family has none', fails(['8.8.8.8'], 'ENODATA', 'ENODATA', { family: 6 }))
  test('when there are absurdly many addresses', fails(Array(65).fill('8.8.8.8'), 'ENODATA', 'EBADRESP'))

  test('after its time-out without an answer', async (t) => {
    t.mock.timers.enable({ apis: ['setTimeout'] })
    const failure = assert.rejects(ask(guardedLookup(settings, { resolver: answering(never, never).resolver })), {
      code: 'ETIMEOUT',
    })
    t.mock.timers.tick(4999)
    assert.equal(await Promise.race([failure, later('still waiting')]), 'still waiting')
    t.mock.timers.tick(1)
    await failure
  })

  test('after its time-out when one family is empty and the other is never answered', async (t) => {
    t.mock.timers.enable({ apis: ['setTimeout'] })
    const { resolver } = answering('ENODATA', never)
    const failure = assert.rejects(ask(guardedLookup(settings, { resolver, timeoutMs: 100 })), { code: 'ETIMEOUT' })
    await later('')
    t.mock.timers.tick(100)
    await failure
  })

  test('and is retried the next time', async () => {
    let answer: Answer = 'ETIMEOUT'
    const lookup = guardedLookup(
      settings,
      answering(() => answer),
    )
    await assert.rejects(ask(lookup), { code: 'ETIMEOUT' })
    answer = ['8.8.8.8']
    assert.deepEqual(await ask(lookup), [v4])
  })
})

test('a family without an answer is waited for at most one second', async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] })
  const answer = ask(guardedLookup(settings, { resolver: answering([v4.address], never).resolver }))
  await later('')
  t.mock.timers.tick(1000)
  assert.deepEqual(await answer, [v4])
})

test('an answer leaves no timer behind', async () => {
  const timers = () => process.getActiveResourcesInfo().filter((kind) => kind === 'Timeout').length
  const before = timers()
  await ask(guardedLookup(settings, answering([v4.address], [v6.address])))
  await ask(guardedLookup(settings, answering([v4.address], 'ESERVFAIL')))
  await assert.rejects(ask(guardedLookup(settings, answering('ENOTFOUND', 'ENOTFOUND'))))
  await later('')
  assert.equal(timers(), before)
})

describe('answers are cached', () => {
  test('for ten seconds, ignoring case', async () => {
    let time = 0
    const { resolver, asked } = answering(['8.8.8.8'])
    const lookup = guardedLookup(settings, { resolver, now: () => time })
    for (const at of [0, 5000, 9999, 10_000]) {
      time = at
      await ask(lookup, {}, at ? 'EXAMPLE.com' : 'example.com')
    }
    assert.deepEqual(asked, ['example.com', 'example.com'])
  })

  test('for at most a thousand names; the oldest is evicted first', async () => {
    const { resolver, asked } = answering(['8.8.8.8'])
    const lookup = guardedLookup(settings, { resolver, now: () => 0 })
    for (let n = 0; n <= 1000; n += 1) await ask(lookup, {}, `n${n}.example.com`)
    for (const again of ['n1000', 'n1', 'n0']) await ask(lookup, {}, `${again}.example.com`)
    assert.deepEqual(asked.slice(1001), ['n0.example.com'])
  })

  test('and simultaneous lookups share one query', async () => {
    const { resolver, asked } = answering(['8.8.8.8'])
    const lookup = guardedLookup(settings, { resolver, cacheMs: 0 })
    await Promise.all(Array.from({ length: 100 }, () => ask(lookup)))
    assert.equal(asked.length, 1)
    await ask(lookup)
    assert.equal(asked.length, 2)
  })
})

describe('the connection goes to the checked address', () => {
  test('by undici, without another DNS query', async (t) => {
    const port = await listen(t)
    const { resolver, asked } = answering(['127.0.0.1'])
    const agent = new Agent({ connect: { lookup: guardedLookup(development, { resolver }) } })
    t.after(() => agent.close())
    const { body } = await request(`http://no-such-name.invalid:${port}/`, { dispatcher: agent })
    assert.equal(await body.text(), `no-such-name.invalid:${port} at 127.0.0.1`)
    assert.deepEqual(asked, ['no-such-name.invalid'])
  })

  test('by net.connect', async (t) => {
    const port = await listen(t)
    const lookup = guardedLookup(development, answering(['127.0.0.1']))
    const socket = connect({ port, host: 'no-such-name.invalid', lookup })
    t.after(() => socket.destroy())
    await once(socket, 'connect')
    assert.equal(socket.remoteAddress, '127.0.0.1')
  })

  test('and undici reports a refusal unchanged, without connecting', async (t) => {
    let connections = 0
    const port = await listen(t, () => {
      connections += 1
    })
    const agent = new Agent({ connect: { lookup: guardedLookup(settings, answering(['8.8.8.8', '127.0.0.1'])) } })
    t.after(() => agent.close())
    await assert.rejects(request(`http://rebound.example.com:${port}/`, { dispatcher: agent }), RefusedAddress)
    assert.equal(connections, 0)
  })

  test('by the system resolver in development, so that localhost works', async (t) => {
    const port = await listen(t)
    const agent = new Agent({ connect: { lookup: guardedLookup(development) } })
    t.after(() => agent.close())
    const { statusCode } = await request(`http://localhost:${port}/`, { dispatcher: agent })
    assert.equal(statusCode, 200)
  })
})

describe('a URL is checked before each attempt', () => {
  test('and requested in parsed form', async (t) => {
    const port = await listen(t)
    const outcome = await attempt(t, `http://127.1:${port}/`, development)
    assert.equal(outcome.kind, 'answered')
    assert.match('body' in outcome ? outcome.body : '', new RegExp(`^127\\.0\\.0\\.1:${port} at `))
  })

  test('for refused literal addresses, ports and names of private networks', async (t) => {
    for (const url of ['https://127.0.0.1/', 'https://[::1]/', 'https://example.com:25/', 'https://localhost/', '']) {
      assert.equal((await attempt(t, url, settings)).kind, 'refused', url)
    }
  })
})

/** Sends a delivery to the URL. */
async function attempt(t: TestContext, url: string, guard: GuardSettings) {
  const sender = createSender({ ...defaultWebhookSettings, ...guard }, Date.now)
  t.after(() => sender.close())
  const secret = { secret: 'whsec_c2VjcmV0', previousSecret: null }
  return await sender.send({ url, ...secret, deliveryId: 'd', eventType: 'contact.created', body: '{}' }).outcome
}

/** Resolves after all promises that are already settled. */
function later<T>(value: T): Promise<T> {
  return new Promise((resolve) => setImmediate(resolve, value))
}

/** Starts a server on IPv4 loopback that reports the requested host and its local address. */
async function listen(t: TestContext, onConnection = () => {}): Promise<number> {
  const server = createServer((req, res) => res.end(`${req.headers.host} at ${req.socket.localAddress}`))
  server.on('connection', onConnection)
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.after(() => server.close().closeAllConnections())
  return (server.address() as AddressInfo).port
}
