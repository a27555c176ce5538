import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { type Ending, Shares } from '../lib/webhooks/dispatch/fairness.ts'

describe('an endpoint’s window', () => {
  /** How many may start at once at an endpoint that has plenty. */
  function windowOf(shares: Shares): number {
    return shares.plan([{ id: 1, clientId: 1, retry: false, due: 1000, proven: false }])[0]?.limit ?? 0
  }

  function answer(shares: Shares, ending: Ending | undefined, times = 1): void {
    for (let i = 0; i < times; i++) {
      shares.started(1, 1, false)
      shares.ended(1, 1, false, ending)
    }
  }

  test('starts at 8 and grows by one with each full round of successes, to 64', () => {
    const shares = new Shares({ total: 1024, endpoint: 64 })
    for (let window = 8; window < 64; window++) {
      assert.equal(windowOf(shares), window)
      answer(shares, 'success', window - 1)
      assert.equal(windowOf(shares), window, 'the round is not full')
      answer(shares, 'success')
    }
    assert.equal(windowOf(shares), 64)
    answer(shares, 'success', 1000)
    assert.equal(windowOf(shares), 64)
  })

  test('halves at a failure, to no less than one, and is unmoved by what never went out', () => {
    const shares = new Shares({ total: 1024, endpoint: 64 })
    answer(shares, 'success', 8)
    for (const window of [9, 4, 2, 1, 1]) {
      answer(shares, undefined)
      assert.equal(windowOf(shares), window)
      answer(shares, 'failure')
    }
  })

  test('is one after a time-out until it answers', () => {
    const shares = new Shares({ total: 1024, endpoint: 64 })
    for (const ending of ['success', 'failure'] as const) {
      answer(shares, 'timeout', 3)
      assert.equal(windowOf(shares), 1)
      answer(shares, ending)
      assert.equal(windowOf(shares), 8)
    }
  })

  test('is no larger than the setting', () => {
    assert.equal(windowOf(new Shares({ total: 1024, endpoint: 3 })), 3)
  })

  test('is forgotten where nothing is in flight, when there are too many', () => {
    const shares = new Shares({ total: 256, endpoint: 64 })
    answer(shares, 'failure')
    assert.equal(windowOf(shares), 4)
    const due = (id: number) => ({ id, clientId: id, retry: false, due: 1, proven: false })
    for (let from = 2; from < 12_000; from += 100) shares.plan(Array.from({ length: 100 }, (_, i) => due(from + i)))
    assert.equal(windowOf(shares), 8)
  })
})

describe('what is shared out', () => {
  const many = (count: number, retry: boolean, from: number) =>
    Array.from({ length: count }, (_, i) => ({ id: from + i, clientId: from + i, retry, due: 64, proven: true }))
  const sumOf = (grants: readonly { limit: number }[]) => grants.reduce((sum, { limit }) => sum + limit, 0)

  test('gives a client at most a quarter, over all its endpoints', () => {
    const shares = new Shares({ total: 256, endpoint: 64 })
    const grants = shares.plan(many(50, false, 1).map((one) => ({ ...one, clientId: 7 })))
    assert.equal(sumOf(grants), 64)
    assert.equal(grants.length, 50, 'and each endpoint something')
  })

  test('is counted right with more endpoints due than are remembered', () => {
    const shares = new Shares({ total: 200_000, endpoint: 64 })
    const due = many(12_000, false, 1)
    for (let round = 0; round < 3; round++) assert.equal(sumOf(shares.plan(due)), 8 * 12_000, 'nothing was started')
  })

  test('gives retries at most half, and keeps them a quarter when any are due', () => {
    const split = (grants: readonly { retry: boolean; limit: number }[]) =>
      [false, true].map((retry) => sumOf(grants.filter((one) => one.retry === retry)))
    const shares = () => new Shares({ total: 256, endpoint: 64 })
    assert.deepEqual(split(shares().plan(many(100, true, 1))), [0, 128])
    assert.deepEqual(split(shares().plan(many(100, false, 1))), [256, 0])
    const [firsts, retries] = split(shares().plan([...many(100, false, 1), ...many(10, true, 101)])) as [number, number]
    assert.ok(retries >= 64 && firsts + retries === 256, `${firsts} and ${retries}`)
  })

  test('goes round: with one place free each has its turn', () => {
    const shares = new Shares({ total: 1, endpoint: 64 })
    const turns = Array.from({ length: 6 }, () => {
      const { endpointId } = shares.plan(many(3, false, 1))[0]!
      shares.started(endpointId, endpointId, false)
      shares.ended(endpointId, endpointId, false, 'success')
      return endpointId
    })
    assert.deepEqual(turns, [1, 2, 3, 1, 2, 3])
  })

  test('is nothing where nothing is free, and a plan takes nothing by itself', () => {
    const shares = new Shares({ total: 4, endpoint: 4 })
    for (let i = 0; i < 3; i++) assert.equal(sumOf(shares.plan(many(9, false, 1))), 4)
    assert.equal(shares.free, 4)
    for (const id of [1, 2, 3, 4]) shares.started(id, id, false)
    assert.equal(shares.free, 0)
    assert.deepEqual(shares.plan(many(9, false, 5)), [])
  })
})
