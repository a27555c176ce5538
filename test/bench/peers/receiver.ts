/** Receives deliveries: answers 200 at once, counts each event once, and measures its age by the monotonic clock. */
import type { AddressInfo } from 'node:net'
import { receiver } from '../receiving.ts'
import { quantile } from '../summary.ts'
import { monotonicMs } from './queue.ts'

export interface Received {
  /** Events that came at least once. */
  readonly events: number
  /** Deliveries of events that had come before. */
  readonly repeated: number
  /** Events per second from the first tenth to the last awaited one; undefined until it has come. */
  readonly perSecond?: number
  /** Milliseconds from the call that raised the event to its receipt. */
  readonly p50: number
  readonly p95: number
  readonly p99: number
  /** When the last new event came, on the monotonic clock. */
  readonly lastMs: number
}

/** The number of events to wait for. Resets all counters. */
export interface Restart {
  readonly awaited: number
}

let awaited = 0
let seen = new Set<number>()
let repeated = 0
let unnumbered = 0
let ages: number[] = []
let steadySinceMs = 0
let lastMs = 0
let perSecond: number | undefined

const server = receiver(count)

function count(body: Buffer): void {
  const nowMs = monotonicMs()
  const found = /"n":(\d+),"at":([\d.]+)/.exec(body.toString('latin1', 0, 300))
  if (found && seen.has(Number(found[1]))) {
    repeated += 1
    return
  }
  if (found) {
    seen.add(Number(found[1]))
    ages.push(nowMs - Number(found[2]))
  } else unnumbered += 1
  lastMs = nowMs
  const events = seen.size + unnumbered
  const steadyFrom = Math.ceil(awaited / 10)
  if (events === steadyFrom) steadySinceMs = nowMs
  if (events === awaited) perSecond = ((awaited - steadyFrom) / (nowMs - steadySinceMs)) * 1000
}

process.on('message', (message: Restart | 'report') => {
  if (message === 'report') {
    const [p50, p95, p99] = [0.5, 0.95, 0.99].map((q) => quantile(ages, q)) as [number, number, number]
    const received: Received = { events: seen.size + unnumbered, repeated, p50, p95, p99, lastMs }
    process.send!(perSecond === undefined ? received : { ...received, perSecond })
    return
  }
  awaited = message.awaited
  seen = new Set()
  repeated = 0
  unnumbered = 0
  ages = []
  perSecond = undefined
})
process.on('disconnect', () => process.exit())
server.listen(0, '127.0.0.1', () => process.send!({ port: (server.address() as AddressInfo).port }))
