/** Runs one queue: `node queue-process.cjs QUEUE PLACE`, with the place as JSON. Commands come over IPC. */
import { openBullMQ } from './bullmq.ts'
import { openGraphileWorker } from './graphile-worker.ts'
import { openMailkeep } from './mailkeep.ts'
import { openOutboxOnPostgres } from './outbox-postgres.ts'
import { openOutboxOnSqlite } from './outbox-sqlite.ts'
import { openPgBoss } from './pg-boss.ts'
import { endpointCount, eventOf, type OpenQueue, type Queue, type QueuePlace } from './queue.ts'
import { senderTo } from './send.ts'

const queues = {
  mailkeep: openMailkeep,
  bullmq: openBullMQ,
  'pg-boss': openPgBoss,
  'graphile-worker': openGraphileWorker,
  'outbox-sqlite': openOutboxOnSqlite,
  'outbox-postgres': openOutboxOnPostgres,
} satisfies Record<string, OpenQueue>

export type QueueName = keyof typeof queues

export type Command =
  /** Stores this many events in bulk, spread over all endpoints. */
  | { readonly kind: 'fill'; readonly count: number }
  /** Starts to deliver. */
  | { readonly kind: 'work' }
  /** Stores events for `ms`, one a call, and answers how many a second. */
  | { readonly kind: 'raise'; readonly callers: number; readonly ms: number }
  /** Stores events for `ms`, 1,000 a call, and answers how many a second. */
  | { readonly kind: 'raise many'; readonly ms: number }
  /** Stores events at random moments for `ms`, and answers how many. */
  | { readonly kind: 'offer'; readonly perSecond: number; readonly ms: number }

const batchSize = 1000
const warmupMs = 300
let next = 0

async function run(queue: Queue, origin: string, command: Command): Promise<number> {
  switch (command.kind) {
    case 'fill':
      while (next < command.count) {
        const size = Math.min(batchSize, command.count - next)
        await queue.raiseMany(Array.from({ length: size }, () => eventOf(next++)))
      }
      return next
    case 'work':
      void Promise.resolve(queue.work(senderTo(origin))).catch(fail)
      return 0
    case 'raise': {
      const raise = async () => {
        await queue.raise(eventOf(next++))
        return 1
      }
      return await rateOf(command.callers, command.ms, raise)
    }
    case 'raise many': {
      const raiseMany = async () => {
        const endpoint = (next / batchSize) % endpointCount
        await queue.raiseMany(Array.from({ length: batchSize }, () => eventOf(next++, Math.floor(endpoint))))
        return batchSize
      }
      return await rateOf(1, command.ms, raiseMany)
    }
    case 'offer':
      return await offer(queue, command.perSecond, command.ms)
  }
}

/** Returns the events per second of `callers` that each call again when their call has ended. */
async function rateOf(callers: number, ms: number, call: () => Promise<number>): Promise<number> {
  const fromMs = performance.now() + warmupMs
  const untilMs = fromMs + ms
  let stored = 0
  let lastMs = fromMs
  const caller = async () => {
    while (performance.now() < untilMs) {
      const count = await call()
      const nowMs = performance.now()
      if (nowMs < fromMs) continue
      stored += count
      lastMs = nowMs
    }
  }
  await Promise.all(Array.from({ length: callers }, caller))
  return (stored / (lastMs - fromMs)) * 1000
}

/** Raises events as a Poisson process does. */
async function offer(queue: Queue, perSecond: number, ms: number): Promise<number> {
  const raised: Promise<unknown>[] = []
  const startMs = performance.now()
  for (let atMs = 0; atMs < ms; atMs += (-Math.log(1 - Math.random()) * 1000) / perSecond) {
    const waitMs = startMs + atMs - performance.now()
    if (waitMs > 0) await new Promise((resolve) => setTimeout(resolve, waitMs))
    raised.push(queue.raise(eventOf(next++)))
  }
  await Promise.all(raised)
  return raised.length
}

function fail(error: Error): never {
  process.stderr.write(`${error.stack}\n`)
  process.exit(1)
}

async function main(): Promise<void> {
  const place: QueuePlace = JSON.parse(process.argv[3]!)
  const queue = await queues[process.argv[2] as QueueName](place)
  process.on('message', (command: Command) => {
    run(queue, place.origin, command).then((answer) => process.send!(answer), fail)
  })
  process.on('disconnect', () => process.exit())
  process.send!('ready')
}

main().catch(fail)
