/** Opens mailkeeps with a clock that tests move, and receivers with configurable answers. */
import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { EventEmitter, once } from 'node:events'
import { createServer, type IncomingHttpHeaders, type ServerResponse } from 'node:http'
import { type AddressInfo, createServer as createTcpServer, type Server, type Socket } from 'node:net'
import type { TestContext } from 'node:test'
import {
  createMailkeep,
  type EventInput,
  type EventType,
  type Mailkeep,
  type MailkeepOptions,
} from '../../lib/index.ts'
import { type Kind, onKinds, onSqlite, openPlace, type Place } from './kinds.ts'

export const secondMs = 1000
export const hourMs = 3_600_000
export const dayMs = 86_400_000

const patienceMs = 20_000 // it matters only where a test fails

/** A clock that only the test moves. It begins now, since `standardwebhooks` reads the real clock. */
export class TestClock {
  ms = Date.now()
  readonly read = () => this.ms

  advance(ms: number): void {
    this.ms += ms
  }
}

export type Acme = ReturnType<Mailkeep['forClient']>

export interface OpenOptions extends Partial<Omit<MailkeepOptions, 'database'>> {
  /** A database that is already open. */
  readonly place?: SharedPlace
  readonly start?: boolean
}

export type Open = (t: TestContext, options?: OpenOptions) => Promise<Opened>

/** Runs the suite on every kind of database. */
export function onEveryDatabase(name: string, suite: (open: Open) => void): void {
  onOpened(['a SQLite file', 'SQLite in memory', 'PostgreSQL'], name, suite)
}

/**
 * Runs the suite on the kinds of database that several processes can share.
 *
 * @param more Kinds of database besides these two.
 */
export function onSharedDatabases(name: string, suite: (open: Open) => void, more: readonly Kind[] = []): void {
  onOpened(['a SQLite file', 'PostgreSQL', ...more], name, suite)
}

function onOpened(kinds: readonly Kind[], name: string, suite: (open: Open) => void): void {
  onKinds(kinds, name, (kind) =>
    suite(async (t, options) => open(t, { ...options, place: options?.place ?? share(await openPlace(kind)) })),
  )
}

interface SharedPlace extends Place {
  users: number
}

/** Shares a database: the last user closes it. */
export function share<P extends Place>(place: P): P & SharedPlace {
  const shared = {
    ...place,
    users: 0,
    async close() {
      shared.users -= 1
      if (shared.users === 0) await place.close()
    },
  }
  return shared
}

/** Opens a mailkeep that delivers to loopback, with a client `acme`; closed after the test. In memory by default. */
export async function open(t: TestContext, options: OpenOptions = {}) {
  const { start = true, clock, encryptionKey = randomBytes(32), webhooks, ...rest } = options
  const { place = share(onSqlite('SQLite in memory')), ...others } = rest
  const testClock = new TestClock()
  place.users += 1
  const mailkeep = await createMailkeep({
    database: place.source,
    encryptionKey,
    clock: clock ?? testClock.read,
    webhooks: { allowPrivate: true, ...webhooks },
    ...others,
  })
  t.after(async () => {
    await mailkeep.close({ timeoutMs: 0 })
    await place.close()
  })
  const clients = await mailkeep.clients.list()
  const idOf = async (name: string) =>
    (clients.find((one) => one.name === name) ?? (await mailkeep.clients.create({ name }))).id
  const acmeId = await idOf('Acme')
  const acme = mailkeep.forClient(acmeId)
  const waker = mailkeep.forClient(await idOf('Waker'))
  const silent = { url: 'https://waker.example/', events: ['newsletter.sent' as const] }
  await waker.webhooks.updateEndpoint((await waker.webhooks.createEndpoint(silent)).id, { active: false })
  if (start) mailkeep.start()
  return {
    mailkeep,
    acme,
    acmeId,
    clock: testClock,
    place,
    encryptionKey,
    ask: place.ask,
    /** Counts rows; `from` is the SQL after `from`. */
    count: async (from: string, ...values: unknown[]) =>
      (await place.ask(`select cast(count(*) as integer) as n from ${from}`, ...values))[0]!.n as number,
    /** Wakes the dispatcher, which sleeps by the real clock, by an event whose delivery is held, so nothing is sent. */
    wake: () => waker.events.raise({ type: 'newsletter.sent', data: {} }),
    /** Moves the clock and wakes the dispatcher. */
    async pass(ms: number) {
      testClock.advance(ms)
      await waker.events.raise({ type: 'newsletter.sent', data: {} })
    },
  }
}
export type Opened = Awaited<ReturnType<typeof open>>

/** Opens another instance on the same database, with the same clock and key. */
export function openSecondInstance(t: TestContext, { place, encryptionKey, clock }: Opened, options: OpenOptions = {}) {
  return open(t, { place, encryptionKey, clock: clock.read, ...options })
}

/** Adds an endpoint of acme for `newsletter.sent`; returns it with its secret. */
export function addEndpoint({ acme }: Pick<Opened, 'acme'>, url: string, ...events: EventType[]) {
  return acme.webhooks.createEndpoint({ url, events: events.length > 0 ? events : ['newsletter.sent'] })
}

export async function raise(
  { acme }: Pick<Opened, 'acme'>,
  data: object = {},
  type: EventInput['type'] = 'newsletter.sent',
): Promise<void> {
  await acme.events.raise({ type, data })
}

/** Adds copies of the last delivery without attempts; faster than raising events. */
export async function copies({ place }: Pick<Opened, 'place'>, count: number, status?: 'pending'): Promise<void> {
  const columns = 'client_id, created_at, endpoint_id, kind, event_id, event_type'
  const uuid = place.kind.endsWith('PostgreSQL') ? 'gen_random_uuid()' : 'lower(hex(randomblob(16)))'
  await place.ask(
    `insert into mailkeep_delivery (uuid, ${columns}, status, due_at, scheduled_at, ended_at, attempts)
     with recursive n (i) as (select 1 union all select i + 1 from n where i < cast(? as integer))
     select ${uuid}, ${columns}, ${status ? `'${status}', created_at, created_at, null` : 'status, due_at, scheduled_at, ended_at'}, 0
     from n, (select * from mailkeep_delivery order by id desc limit 1) as last`,
    count,
  )
}

/** Returns the newest delivery of an endpoint, in detail. */
export async function newest({ acme }: Pick<Opened, 'acme'>, endpointId: number) {
  const { data } = await acme.webhooks.listDeliveries(endpointId, { per_page: 1 })
  assert.ok(data[0], 'there is a delivery')
  return await acme.webhooks.getDelivery(endpointId, data[0].id)
}

/** Waits until this many attempts of the endpoint's newest delivery are recorded; returns it in detail. */
export function attempted(opened: Pick<Opened, 'acme'>, endpointId: number, count: number) {
  return until(`${count} attempts are recorded`, async () => {
    const delivery = await newest(opened, endpointId)
    return delivery.attempt_log.length >= count ? delivery : undefined
  })
}

/** Waits until the endpoint's newest delivery has this status; returns it in detail. */
export function withStatus(opened: Pick<Opened, 'acme'>, endpointId: number, status: string) {
  return until(`the delivery is ${status}`, async () => {
    const delivery = await newest(opened, endpointId)
    return delivery.status === status ? delivery : undefined
  })
}

/** Formats a time like deliveries and endpoints do. */
export function moment(ms: number): string {
  return `${new Date(ms).toISOString().slice(0, 19)}+00:00`
}

/** Polls every millisecond until `look` returns a value, where there is no event to wait for. */
export async function until<T>(what: string, look: () => Promise<T | undefined> | T | undefined): Promise<T> {
  for (const ends = performance.now() + patienceMs; performance.now() < ends; ) {
    const seen = await look()
    if (seen !== undefined && seen !== false) return seen
    await new Promise((resolve) => setTimeout(resolve, 1))
  }
  throw new Error(`Timed out waiting until ${what}.`)
}

/** A status, or a whole answer; `hang` never answers. */
export type Reply =
  | number
  | 'hang'
  | { readonly status: number; readonly headers?: Record<string, string>; readonly body?: string | Buffer }

export interface Received {
  readonly path: string
  readonly headers: IncomingHttpHeaders
  readonly body: string
  /** Resolves when the connection of this request has ended, or its answer was sent. */
  readonly gone: Promise<unknown>
}

/** Opens a receiver on a loopback port, closed after the test. */
export async function openReceiver(
  t: TestContext,
  reply: Reply | ((received: Received) => Reply | Promise<Reply>) = 200,
) {
  const arrivals = new EventEmitter()
  const receiver = {
    received: [] as Received[],
    reply: typeof reply === 'function' ? reply : () => reply,
    url: (path = '/hook') => `http://127.0.0.1:${(server.address() as AddressInfo).port}${path}`,
    /** Waits until this many deliveries have arrived in total. */
    async count(count: number) {
      const signal = AbortSignal.timeout(patienceMs)
      while (receiver.received.length < count) {
        await once(arrivals, 'delivery', { signal }).catch(() => {
          throw new Error(`${receiver.received.length} of ${count} deliveries came in ${patienceMs} ms`)
        })
      }
      return receiver.received[count - 1]!
    },
  }
  const server = createServer(async (request, response) => {
    const gone = once(response, 'close')
    const chunks: Buffer[] = []
    for await (const chunk of request) chunks.push(chunk)
    const { url: path = '', headers } = request
    const received = { path, headers, body: Buffer.concat(chunks).toString(), gone }
    receiver.received.push(received)
    arrivals.emit('delivery')
    answer(response, await receiver.reply(received))
  })
  await listen(t, server)
  t.after(() => server.closeAllConnections())
  return receiver
}
export type Receiver = Awaited<ReturnType<typeof openReceiver>>

/** Opens a receiver that answers each request when the test says so. */
export async function openManualReceiver(t: TestContext) {
  const answers: ((reply: Reply) => void)[] = []
  const receiver = await openReceiver(t, () => new Promise<Reply>((resolve) => answers.push(resolve)))
  return { receiver, answers }
}

function answer(response: ServerResponse, reply: Reply): void {
  if (reply === 'hang') return
  const { status, headers = {}, body = '' } = typeof reply === 'number' ? { status: reply } : reply
  response.writeHead(status, headers).end(body)
}

/** Opens a receiver whose raw connection the test controls once the request has arrived. */
export async function openSocket(t: TestContext, onRequest: (socket: Socket, request: string) => void) {
  const sockets = new Set<Socket>()
  const receiver = { url: '', sockets, connections: 0 }
  const server = createTcpServer((socket) => {
    receiver.connections += 1
    sockets.add(socket)
    socket.on('error', () => {}).on('close', () => sockets.delete(socket))
    let request = ''
    socket.on('data', (chunk) => {
      const begun = request !== ''
      request += chunk
      if (!begun) setImmediate(() => onRequest(socket, request))
    })
  })
  await listen(t, server)
  t.after(() => {
    for (const socket of sockets) socket.destroy()
  })
  receiver.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/hook`
  return receiver
}

async function listen(t: TestContext, server: Server): Promise<void> {
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.after(() => server.close())
}
