/** A process that takes webhooks: it answers 200 at once, counts, and looks how old the events are. */

import type { AddressInfo } from 'node:net'
import { createServer } from 'node:net'
import { Frames } from './frames.ts'
import { cpuSeconds } from './processor.ts'
import { type Summary, summaryOf } from './summary.ts'

export interface Receipts extends Summary {
  /** Deliveries a second between the first tenth and the last of those awaited … */
  readonly steadyPerSecond: number
  /** … and for each second of the sender's processor time. */
  readonly steadyPerCpuSecond: number
}

const answer = 'HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok'

export interface Awaiting {
  /** Report when so many have come since the restart. */
  readonly awaited: number
  /** Of the sender. */
  readonly pid: number
}

let awaiting: Awaiting = { awaited: 0, pid: 0 }
let received = 0
let steadyFrom = 0
let steadySinceMs = 0
let cpuBefore = 0
let ages: number[] = []

const server = createServer((socket) => {
  const frames = new Frames((_, body) => {
    socket.write(answer, 'latin1')
    count(body)
  })
  socket.setNoDelay(true)
  socket.on('data', (chunk) => frames.push(chunk))
  socket.on('error', () => socket.destroy())
})

function count(body: Buffer): void {
  received += 1
  // Whole milliseconds, from before the commit: the true times are a little shorter.
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
