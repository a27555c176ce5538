/** Measures the queues: deliveries, stored events, time to receipt, and what a crash costs. */
import { Server } from '../children.ts'
import { type Bench, interleave, short, thousands } from '../harness.ts'
import { ask } from '../postgres-place.ts'
import { PeerReceiver, QueueProcess } from './children.ts'
import { type Contender, contenders } from './contenders.ts'
import { hasRedis, withPlace } from './place.ts'
import { inFlight, monotonicMs } from './queue.ts'
import { type Cell, cellOf, type Sheet } from './sheet.ts'

const ceilingName = 'undici with HMAC, no queue'

interface Use {
  readonly bench: Bench
  /** Folder with the peers and the bundles. */
  readonly folder: string
  readonly receiver: PeerReceiver
}

export async function measureQueues(bench: Bench, folder: string): Promise<Sheet> {
  await using receiver = await PeerReceiver.open(folder)
  const use: Use = { bench, folder, receiver }
  const shown = contenders.filter(({ place }) => hasRedis || !place.startsWith('redis'))
  if (!hasRedis) process.stdout.write('No redis-server on this machine: BullMQ is left out.\n')
  const storing = shown.filter(({ storesLike }) => !storesLike)
  const casesOf = <T>(some: readonly Contender[], measure: (use: Use, one: Contender) => Promise<T>) =>
    Object.fromEntries(some.map((one) => [one.name, () => orUnfinished(one, measure(use, one))]))
  report('webhooks')
  const ceiling: Record<string, () => Promise<number>> = { [ceilingName]: () => deliverBare(use) }
  const delivered = await interleave(bench.rounds, { ...casesOf(shown, deliver), ...ceiling })
  report('stored events')
  const stored = await interleave(bench.rounds, casesOf(storing, store))
  report('time to receipt')
  const times = await interleave(bench.rounds, casesOf(shown, timeToReceipt))
  report('kill -9')
  const crashes = await interleave(1, casesOf(shown, crash))
  return {
    title: 'queues',
    columns: [
      'webhooks/s',
      'stored one by one/s',
      'stored in bulk/s',
      'to receipt p50 ms',
      'p95 ms',
      'p99 ms',
      'after kill -9',
    ],
    rows: [...shown.map(({ name }) => name), ceilingName].map((name) => {
      const stores = stored[contenders.find((one) => one.name === name)?.storesLike ?? name]
      return {
        name,
        cells: [
          rateOf(delivered[name]),
          rateOf(stores?.map((rates) => rates?.one)),
          rateOf(stores?.map((rates) => rates?.many)),
          ...(['p50', 'p95', 'p99'] as const).map((q) =>
            finishedOf(
              times[name]?.map((time) => time?.[q]),
              short,
            ),
          ),
          crashes[name] ? (crashes[name][0] ?? unfinished) : empty,
        ],
      }
    }),
  }
}

const empty: Cell = { text: '', values: [] }
const unfinished: Cell = { text: 'did not finish', values: [] }

/** Reports a contender that fails, so that the others are still measured. */
async function orUnfinished<T>({ name }: Contender, measured: Promise<T>): Promise<T | undefined> {
  try {
    return await measured
  } catch (error) {
    process.stdout.write(`  ${name}: ${(error as Error).message}\n`)
    return undefined
  }
}

const rateOf = (values: readonly (number | undefined)[] | undefined) => finishedOf(values, thousands)

/** @param values Undefined: not measured; a value that is undefined: a round that did not finish. */
function finishedOf(values: readonly (number | undefined)[] | undefined, format: (value: number) => string): Cell {
  if (!values) return empty
  const finished = values.filter((value) => value !== undefined)
  return finished.length === 0 ? unfinished : cellOf(finished, format)
}

function report(what: string): void {
  process.stdout.write(`  ${what} …\n`)
}

/** Opens the contender's queue on an empty database. */
async function withQueue<T>(
  { bench, folder, receiver }: Use,
  contender: Contender,
  use: (queue: QueueProcess, reopen: () => Promise<QueueProcess>, database: string) => Promise<T>,
): Promise<T> {
  return await withPlace(contender.place, bench.folder, async (database) => {
    const open = (isNew: boolean) => QueueProcess.open(folder, contender, { database, origin: receiver.origin, isNew })
    await using queue = await open(true)
    return await use(queue, () => open(false), database)
  })
}

/** Stores events, and refreshes PostgreSQL's statistics as its autovacuum would. */
async function fill(queue: QueueProcess, { place }: Contender, database: string, count: number): Promise<void> {
  await queue.run({ kind: 'fill', count })
  if (place !== 'postgres') return
  await ask(database, 'vacuum analyze')
  await ask(database, 'checkpoint') // pending write-back would slow down the first commits
}

const countOf = ({ quick }: Bench) => (quick ? 3000 : 10_000)

/** Returns deliveries per second of a backlog. */
async function deliver(use: Use, contender: Contender): Promise<number> {
  return await withQueue(use, contender, async (queue, _, database) => {
    const count = countOf(use.bench)
    await fill(queue, contender, database, count)
    use.receiver.restart(count)
    await queue.run({ kind: 'work' })
    const { perSecond, events } = await queue.alive(use.receiver.wait(count, 20_000))
    if (perSecond === undefined) throw new Error(`${contender.name} delivered ${events} of ${count} events`)
    return perSecond
  })
}

async function deliverBare({ bench, receiver }: Use): Promise<number> {
  const count = 3 * countOf(bench)
  receiver.restart(count)
  await using sender = Server.bareLoop(bench.folder, receiver.port, true)
  return (await sender.alive(receiver.wait(count, 20_000))).perSecond!
}

/** Returns events stored per second, one and 1,000 a call, while nothing delivers them. */
async function store(use: Use, contender: Contender): Promise<{ one: number; many: number }> {
  return await withQueue(use, contender, async (queue) => {
    const ms = use.bench.seconds * 1000
    const one = await queue.run({ kind: 'raise', callers: inFlight, ms })
    return { one, many: await queue.run({ kind: 'raise many', ms }) }
  })
}

const perSecond = 500

/** Measures from the call that stores an event to its receipt. Events come at random moments. */
async function timeToReceipt(use: Use, contender: Contender) {
  return await withQueue(use, contender, async (queue) => {
    const { receiver, bench } = use
    await queue.run({ kind: 'work' })
    const offer = async (ms: number) => {
      receiver.restart()
      const count = await queue.run({ kind: 'offer', perSecond, ms })
      const received = await queue.alive(receiver.wait(count, 10_000))
      if (received.events < count) throw new Error(`${contender.name} delivered ${received.events} of ${count} events`)
      return received
    }
    await offer(1000) // until its code is compiled
    return await offer(bench.seconds * 2000)
  })
}

/** Kills the process when half of the events have come, and starts another at once. */
async function crash(use: Use, contender: Contender): Promise<Cell> {
  const { receiver, bench } = use
  return await withQueue(use, contender, async (queue, reopen, database) => {
    const count = countOf(bench)
    await fill(queue, contender, database, count)
    receiver.restart(count)
    await queue.run({ kind: 'work' })
    await queue.alive(receiver.wait(count / 2, 20_000))
    const killedMs = monotonicMs()
    await queue.kill()
    await using second = await reopen()
    await second.run({ kind: 'work' })
    const patienceMs = bench.quick || contender.documentedWait ? 10_000 : 75_000
    const { events, repeated, lastMs } = await second.alive(receiver.wait(count, patienceMs))
    const left = count - events
    const late = left > 0 ? `${thousands(left)} wait ${contender.documentedWait ?? 'longer'}` : ''
    const seconds = (lastMs - killedMs) / 1000
    const text = left > 0 ? late : `${short(seconds)} s`
    return { text: `${text}; ${repeated} twice`, values: left > 0 ? [] : [seconds] }
  })
}
