/** Receives mail: accepts every message immediately and counts it. */
import type { AddressInfo } from 'node:net'
import { SMTPServer } from 'smtp-server'
import { cpuSeconds } from './processor.ts'

export interface MailReceipts {
  /** Messages per second between the first tenth and the last awaited message. */
  readonly perSecond: number
  /** Messages per second of the sender's processor time. */
  readonly perCpuSecond: number
}

/** Counts from now on, and reports after so many messages. */
interface AwaitingMail {
  readonly awaited: number
  /** The sender's process id. */
  readonly pid: number
}

let awaiting: AwaitingMail = { awaited: 0, pid: 0 }
let received = 0
let startedMs = 0
let cpuBefore = 0

function count(): void {
  received += 1
  const first = Math.floor(awaiting.awaited / 10)
  if (received === first) {
    startedMs = performance.now()
    cpuBefore = cpuSeconds(awaiting.pid)
  }
  if (received !== awaiting.awaited) return
  const steady = received - first
  process.send!({
    perSecond: (steady * 1000) / (performance.now() - startedMs),
    perCpuSecond: steady / (cpuSeconds(awaiting.pid) - cpuBefore),
  } satisfies MailReceipts)
}

const server = new SMTPServer({
  authOptional: true,
  disabledCommands: ['STARTTLS', 'AUTH'],
  disableReverseLookup: true,
  onData(stream, _, done) {
    stream.resume()
    stream.once('end', () => {
      count()
      done()
    })
  },
})
server.on('error', () => {}) // the senders are killed
server.listen(0, '127.0.0.1', () => process.send!({ port: (server.server.address() as AddressInfo).port }))
process.on('message', (next: AwaitingMail) => {
  awaiting = next
  received = 0
  process.send!('counting')
})
process.on('disconnect', () => process.exit())
