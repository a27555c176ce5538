import assert from 'node:assert/strict'
import { describe } from 'node:test'
import { type DueEndpoint, FairScheduler } from '../../lib/webhooks/dispatch/fairness.ts'
import { test } from '../support/databases.ts'
import { addEndpoint, copies, onSharedDatabases, openReceiver, raise, until } from '../support/webhook-harness.ts'

const timeoutMs = 15_000
const retryMs = 5000

interface Endpoint {
  readonly id: number
  readonly clientId: number
  /** Number of due deliveries. */
  due: number
  /** Response time. Above the time-out the endpoint hangs. */
  readonly ms: number
  readonly arrivesMs?: number
  readonly proven?: boolean
}

interface Flight {
  readonly startMs: number
  readonly endMs: number
  readonly one: Endpoint
}

/** Simulates the dispatcher in virtual time, and checks every limit at each step. */
class Simulation {
  nowMs = 0
  readonly scheduler: FairScheduler
  readonly total: number
  readonly finishedMs = new Map<number, number>()
  readonly servedMs = new Map<number, number>()
  mostInFlight = 0
  #flights: Flight[] = []
  #retries: { readonly dueMs: number; readonly one: Endpoint }[] = []
  readonly #endpoints: readonly Endpoint[]
  readonly #left = new Map<number, number>()

  constructor(endpoints: readonly Endpoint[], total = 256, endpoint = 64) {
    this.total = total
    this.scheduler = new FairScheduler({ total, endpoint, slowMs: timeoutMs / 3 })
    this.#endpoints = endpoints.map((one) => ({ ...one }))
    for (const { id, due } of endpoints) this.#left.set(id, due)
  }

  /** Runs until the endpoint's deliveries are done. @returns The time since its arrival in ms. */
  finish(id: number): number {
    while (!this.finishedMs.has(id)) {
      this.step()
      assert.ok(this.nowMs < 20 * 60_000, 'it is not done after 20 minutes')
    }
    const { arrivesMs = 0 } = this.#endpoints.find((one) => one.id === id)!
    return this.finishedMs.get(id)! - arrivesMs
  }

  /** Starts the allowed deliveries, then advances to the next event. */
  step(): void {
    const due = this.#due()
    for (const { endpointId, limit } of this.scheduler.allow(due)) {
      const allowed = due.find((one) => one.id === endpointId)!
      assert.ok(limit > 0 && limit <= allowed.due, 'allowed deliveries can start')
      for (let i = 0; i < limit; i++) this.#start(this.#endpoints.find(({ id }) => id === endpointId)!)
    }
    this.#watch(due)
    const times = [
      ...this.#flights.map(({ endMs }) => endMs),
      ...this.#retries.map(({ dueMs }) => dueMs),
      ...this.#endpoints.map(({ arrivesMs = 0 }) => arrivesMs),
    ]
    const next = Math.min(...times.filter((ms) => ms > this.nowMs))
    assert.ok(Number.isFinite(next), 'at least one delivery is in flight')
    this.nowMs = next
    const ended = this.#flights.filter(({ endMs }) => endMs <= next)
    this.#flights = this.#flights.filter(({ endMs }) => endMs > next)
    for (const flight of ended) this.#end(flight)
  }

  #due(): DueEndpoint[] {
    const due: DueEndpoint[] = []
    for (const { id, clientId, arrivesMs = 0, proven = false, ...one } of this.#endpoints) {
      if (arrivesMs > this.nowMs) continue
      const retries = this.#retries.filter((retry) => retry.one.id === id && retry.dueMs <= this.nowMs).length
      if (one.due + retries > 0) due.push({ id, clientId, due: Math.min(one.due + retries, 64), proven })
    }
    return due
  }

  #start(one: Endpoint): void {
    const retry = this.#retries.findIndex((each) => each.one === one && each.dueMs <= this.nowMs)
    if (retry >= 0) this.#retries.splice(retry, 1)
    else one.due -= 1
    if (!this.servedMs.has(one.id)) this.servedMs.set(one.id, this.nowMs)
    this.scheduler.started(one.id, one.clientId)
    this.#flights.push({ startMs: this.nowMs, endMs: this.nowMs + Math.min(one.ms, timeoutMs), one })
  }

  #end({ one, startMs, endMs }: Flight): void {
    const hangs = one.ms > timeoutMs
    this.scheduler.ended(one.id, one.clientId, { timedOut: hangs, durationMs: endMs - startMs })
    if (hangs) this.#retries.push({ dueMs: this.nowMs + retryMs, one })
    else this.#left.set(one.id, this.#left.get(one.id)! - 1)
    if (this.#left.get(one.id) === 0) this.finishedMs.set(one.id, this.nowMs)
  }

  #watch(due: readonly DueEndpoint[]): void {
    const inFlight = this.#flights.length
    this.mostInFlight = Math.max(this.mostInFlight, inFlight)
    assert.ok(inFlight <= this.total, `${inFlight} in flight`)
    assert.equal(this.scheduler.inFlight, inFlight)
    const ofClients = new Map<number, number>()
    for (const { one } of this.#flights) ofClients.set(one.clientId, (ofClients.get(one.clientId) ?? 0) + 1)
    for (const count of ofClients.values()) assert.ok(count <= Math.max(1, this.total / 4), `${count} of one client`)
    assert.ok(inFlight > 0 || due.length === 0, 'a due delivery is started where none is in flight')
  }
}

/** Returns this many hanging endpoints, distributed over this many clients, each with a backlog. */
function hanging(count: number, clients: number, due = 1000): Endpoint[] {
  return Array.from({ length: count }, (_, i) => ({
    id: i + 1,
    clientId: 1 + (i % clients),
    due,
    ms: Number.POSITIVE_INFINITY,
  }))
}

const fast = { id: 1001, clientId: 1001, due: 1000, ms: 100 }
const aloneMs = new Simulation([fast]).finish(fast.id)

describe('endpoints that hang do not delay the others', () => {
  for (const [what, endpoints] of [
    ['32 of 4 clients', [...hanging(32, 4), fast]],
    ['32 of 4 clients, before which it is in turn', [...hanging(32, 4), { ...fast, id: 0.5 }]],
    ['32 of 4 clients that use all slots before it arrives', [...hanging(32, 4), { ...fast, arrivesMs: 1000 }]],
    ['32 of 4 clients, known to hang', [...hanging(32, 4), { ...fast, arrivesMs: 61_000 }]],
    ['400 of 4 clients, not known yet', [...hanging(400, 4), { ...fast, arrivesMs: 1000 }]],
    ['100 of 100 clients', [...hanging(100, 100), { ...fast, arrivesMs: 1000 }]],
    ['500 of 500 clients, not known yet', [...hanging(500, 500), { ...fast, arrivesMs: 1000, proven: true }]],
    ['500 of 500 clients, known to hang', [...hanging(500, 500), { ...fast, arrivesMs: 61_000 }]],
    ['30 of the same client', [...hanging(30, 1), { ...fast, clientId: 1, arrivesMs: 1000 }]],
    ['100 of the same client, known to hang', [...hanging(100, 1), { ...fast, clientId: 1, arrivesMs: 61_000 }]],
  ] as const) {
    test(`${what}: at most twice as long as alone`, () => {
      const tookMs = new Simulation(endpoints).finish(endpoints.at(-1)!.id)
      assert.ok(tookMs <= 2 * aloneMs, `${tookMs} ms, and ${aloneMs} alone`)
    })
  }

  test('500 of 500 clients, all unknown: it waits for its first turn, and then no more', () => {
    const simulation = new Simulation([...hanging(500, 500), fast])
    const tookMs = simulation.finish(fast.id)
    const firstMs = simulation.servedMs.get(fast.id)!
    assert.ok(firstMs <= 3 * timeoutMs, `first request after ${firstMs} ms`)
    assert.ok(tookMs - firstMs <= 2 * aloneMs)
  })

  test('slow endpoints do not crowd it out either', () => {
    const slow = hanging(32, 4, 100_000).map((one) => ({ ...one, ms: 14_000 }))
    const simulation = new Simulation([...slow, { ...fast, arrivesMs: 600_000 }])
    const tookMs = simulation.finish(fast.id)
    assert.ok(tookMs <= 14_000 + 2 * aloneMs, `${tookMs} ms`)
  })
})

describe('no endpoint starves', () => {
  test('every endpoint of 300, fast, slow and hanging, is served again and again', () => {
    const kinds = [20, 500, 5000, 14_000, Number.POSITIVE_INFINITY]
    const endpoints = Array.from({ length: 300 }, (_, i) => {
      const ms = kinds[i % 5]!
      return { id: i + 1, clientId: 1 + (i % 40), due: ms > timeoutMs ? 20 : 40, ms }
    })
    const simulation = new Simulation(endpoints)
    for (const { id, ms } of endpoints) if (ms <= timeoutMs) simulation.finish(id)
    assert.equal(simulation.servedMs.size, 300)
    assert.ok(Math.max(...simulation.servedMs.values()) <= 4 * timeoutMs)
    assert.ok(simulation.nowMs < 300_000, `${simulation.nowMs} ms`)
  })

  for (const total of [1, 2, 3, 4, 8]) {
    test(`with ${total} in flight at most`, () => {
      const endpoints = [...hanging(3, 3, 20), { ...fast, due: 20 }, { ...fast, id: 1002, due: 20 }]
      const simulation = new Simulation(endpoints, total, Math.min(total, 64))
      simulation.finish(1001)
      simulation.finish(1002)
      assert.equal(simulation.servedMs.size, 5)
      assert.ok(simulation.nowMs < 40 * 4 * timeoutMs, `${simulation.nowMs} ms`)
    })
  }
})

onSharedDatabases(
  'over real sockets',
  (open) => {
    test('a fast endpoint is served while others hang', async (t) => {
      const mk = await open(t, { webhooks: { concurrency: 16 }, start: false })
      let hangingNow = 0
      let most = 0
      const silent = await openReceiver(t, (received) => {
        most = Math.max(most, ++hangingNow)
        void received.gone.then(() => hangingNow--)
        return 'hang'
      })
      const quick = await openReceiver(t)
      for (let client = 0; client < 4; client++) {
        const acme = mk.mailkeep.forClient((await mk.mailkeep.clients.create({ name: `Hanging ${client}` })).id)
        for (let i = 0; i < 4; i++) await addEndpoint({ acme }, silent.url())
        for (let i = 0; i < 20; i++) await raise({ acme })
      }
      mk.mailkeep.start()
      await until('they use their whole limit', () => silent.received.length >= 12 || undefined)
      await addEndpoint(mk, quick.url())
      await raise(mk)
      await copies(mk, 99, 'pending') // the first may have been answered by now
      await mk.wake()
      await quick.count(100)
      assert.equal(most, 12, 'of 16 a quarter was reserved for endpoints that answer')
      assert.equal(silent.received.length, most, 'none of them was waited for')
    })
  },
  ["a host's Kysely on PostgreSQL"],
)
