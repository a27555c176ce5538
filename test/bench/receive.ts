/** Receives webhooks: answers 200 immediately, counts deliveries and measures the age of their events. */

import type { AddressInfo } from 'node:net'
import { cpuSeconds } from './processor.ts'
import { receiver } from './receiving.ts'
import { type Summary, summaryOf } from './summary.ts'

export interface Receipts extends Summary {
  /** Deliveries per second between the first tenth and the last awaited delivery. */
  readonly steadyPerSecond: number
  /** Deliveries per second of the sender's processor time. */
  readonly steadyPerCpuSecond: number
}

interface Awaiting {
  /** The number of deliveries since the restart after which to report. */
  readonly awaited: number
  /** The sender's process id. */
  readonly pid: number
}

let awaiting: Awaiting = { awaited: 0, pid: 0 }
let received = 0
let steadyFrom = 0
let steadySinceMs = 0
let cpuBefore = 0
let ages: number[] = []

const server = receiver(count)

function count(body: Buffer): void {
  received += 1
  // Whole milliseconds, taken before the commit: the real latency is slightly lower.
  const raised = /"created_at":"([^"]+)"/.exec(body.toString('latin1', 0, 200))?.[1]
  if (raised) ages.push(Date.now() - Date.parse(raised))
  if (received === steadyFrom) {
    steadySinceMs = performance.now()
    cpuBefore = cpuSeconds(awaiting.pid)
  }
  if (received === awaiting.awaited) report()
}

function report(): void {
  const elapsedMs = performance.now() - steadySinceMs
  const steady = received - steadyFrom
  const receipts: Receipts = {
    ...summaryOf(ages, elapsedMs),
    count: received,
    steadyPerSecond: (steady / elapsedMs) * 1000,
    steadyPerCpuSecond: steady / (cpuSeconds(awaiting.pid) - cpuBefore),
  }
  process.send!(receipts)
}

process.on('message', (message: Awaiting | 'restart' | 'report') => {
  if (message === 'report') report()
  else if (message === 'restart') {
    received = 0
    ages = []
  } else {
    awaiting = message
    steadyFrom = received + Math.ceil(awaiting.awaited / 10)
  }
})
process.on('disconnect', () => process.exit())
server.listen(0, '127.0.0.1', () => process.send!({ port: (server.address() as AddressInfo).port }))
