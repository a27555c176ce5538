import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { type AttemptPace, FairScheduler } from '../../lib/webhooks/dispatch/fairness.ts'

const fast: AttemptPace = { timedOut: false, durationMs: 20 }
const slow: AttemptPace = { timedOut: false, durationMs: 6000 }
const timedOut: AttemptPace = { timedOut: true, durationMs: 15_000 }

function scheduler(total = 256, endpoint = 64): FairScheduler {
  return new FairScheduler({ total, endpoint, slowMs: 5000 })
}

const sumOf = (allowances: readonly { limit: number }[]) => allowances.reduce((sum, { limit }) => sum + limit, 0)

describe('an endpoint', () => {
  /** Returns how many deliveries may start together at an endpoint with a large backlog. */
  function limitOf(fairness: FairScheduler): number {
    return fairness.allow([{ id: 1, clientId: 1, due: 1000, proven: false }])[0]?.limit ?? 0
  }

  function attempt(fairness: FairScheduler, pace: AttemptPace | undefined): void {
    fairness.started(1, 1)
    fairness.ended(1, 1, pace)
  }

  test('has one request in flight before its first answer, then as many as the setting says', () => {
    const fairness = scheduler(1024)
    assert.equal(limitOf(fairness), 1)
    attempt(fairness, undefined)
    assert.equal(limitOf(fairness), 1, 'is not judged by an attempt that mailkeep itself aborted')
    attempt(fairness, fast)
    assert.equal(limitOf(fairness), 64)
    attempt(fairness, slow)
    assert.equal(limitOf(fairness), 64)
  })

  test('has one request in flight after a time-out, until it answers', () => {
    const fairness = scheduler(1024)
    for (const pace of [fast, slow]) {
      attempt(fairness, timedOut)
      assert.equal(limitOf(fairness), 1)
      attempt(fairness, pace)
      assert.equal(limitOf(fairness), 64)
    }
  })

  test('has no more requests in flight than the setting says', () => {
    const fairness = scheduler(1024, 3)
    attempt(fairness, fast)
    assert.equal(limitOf(fairness), 3)
  })

  test('is forgotten when it has no request in flight and there are too many', () => {
    const fairness = scheduler()
    attempt(fairness, fast)
    assert.equal(limitOf(fairness), 64)
    const due = (id: number) => ({ id, clientId: id, due: 1, proven: false })
    for (let from = 2; from < 12_000; from += 100) fairness.allow(Array.from({ length: 100 }, (_, i) => due(from + i)))
    assert.equal(limitOf(fairness), 1)
  })
})

describe('allowances', () => {
  const many = (count: number, from: number) =>
    Array.from({ length: count }, (_, i) => ({ id: from + i, clientId: from + i, due: 64, proven: true }))

  test('give a client at most a quarter, over all its endpoints', () => {
    const allowances = scheduler().allow(many(50, 1).map((one) => ({ ...one, clientId: 7 })))
    assert.equal(sumOf(allowances), 64)
    assert.equal(allowances.length, 50, 'each endpoint gets at least one')
  })

  test('are correct with more due endpoints than are remembered', () => {
    const fairness = scheduler(1_000_000)
    const due = many(12_000, 1)
    for (let round = 0; round < 3; round++)
      assert.equal(sumOf(fairness.allow(due)), 64 * 12_000, 'no delivery was started')
  })

  test('reserve a quarter for endpoints that answer quickly', () => {
    const fairness = scheduler()
    const slowOnes = many(50, 1)
    for (const { id } of slowOnes) {
      fairness.started(id, id)
      fairness.ended(id, id, slow)
    }
    for (const { endpointId, limit } of fairness.allow(slowOnes)) {
      for (let i = 0; i < limit; i++) fairness.started(endpointId, endpointId)
    }
    assert.equal(fairness.inFlight, 192)
    assert.equal(sumOf(fairness.allow(many(1, 100))), 64)
  })

  /** Starts requests to an endpoint that has answered before. */
  function start(fairness: FairScheduler, id: number, clientId: number, count: number): void {
    fairness.started(id, clientId)
    fairness.ended(id, clientId, fast)
    for (let n = 0; n < count; n++) fairness.started(id, clientId)
  }

  test('go to the client with the fewest requests in flight', () => {
    const fairness = scheduler(16)
    start(fairness, 1, 1, 3)
    for (const [client, count] of [4, 4, 2].entries()) start(fairness, 10 + client, 10 + client, count)
    const due = [1, 2].map((id) => ({ id, clientId: id, due: 10, proven: true }))
    assert.deepEqual(fairness.allow(due), [{ endpointId: 2, limit: 3 }])
  })

  for (const [what, later] of [
    ['hangs', timedOut],
    ['answers again', fast],
  ] as const) {
    test(`give endpoints that hang an eighth, also after one with several requests in flight ${what}`, () => {
      const fairness = scheduler(64)
      const hanging = many(8, 11).map((one) => ({ ...one, clientId: 7 }))
      for (const { id } of hanging) {
        fairness.started(id, 7)
        fairness.ended(id, 7, timedOut)
      }
      for (const [id, count] of [5, 1].entries()) start(fairness, id, 7, count)
      fairness.ended(0, 7, timedOut)
      assert.deepEqual(fairness.allow(hanging), [], 'the other four may hang too')
      for (let n = 0; n < 4; n++) fairness.ended(0, 7, later)
      assert.equal(sumOf(fairness.allow(hanging)), 2)
    })
  }

  test('rotate: with one free slot each endpoint has its turn', () => {
    const fairness = scheduler(1)
    const turns = Array.from({ length: 6 }, () => {
      const { endpointId } = fairness.allow(many(3, 1))[0]!
      fairness.started(endpointId, endpointId)
      fairness.ended(endpointId, endpointId, fast)
      return endpointId
    })
    assert.deepEqual(turns, [1, 2, 3, 1, 2, 3])
  })

  test('are empty without a free slot, and use no slot by themselves', () => {
    const fairness = scheduler(4, 4)
    for (let i = 0; i < 3; i++) assert.equal(sumOf(fairness.allow(many(9, 1))), 4)
    assert.equal(fairness.inFlight, 0)
    for (const id of [1, 2, 3, 4]) fairness.started(id, id)
    assert.deepEqual(fairness.allow(many(9, 5)), [])
  })
})
