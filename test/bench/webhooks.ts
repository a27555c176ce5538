/** Delivery benchmarks: rate, latency and memory. */
import { randomUUID } from 'node:crypto'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import Database from 'better-sqlite3'
import { Child, otherCore, Receiver, Server } from './children.ts'
import {
  atLeast,
  atMost,
  type Bench,
  type Figure,
  type Finding,
  interleave,
  load,
  ratioOf,
  short,
  smallest,
  type Target,
  thousands,
} from './harness.ts'
import { withNewsletter } from './mail.ts'
import type { Receipts } from './receive.ts'
import type { Plan } from './requests.ts'
import { discard, scratch, withFastHandle, withMailkeep } from './seed.ts'
import { median } from './summary.ts'

const endpointCount = 8
/**
 * Same number of requests in flight as the bare loop. A client may have a quarter of them, so each endpoint has its own
 * client.
 */
const inFlight = 64
const settings = { MAILKEEP_DISPATCH: 'true', MAILKEEP_WEBHOOK_CONCURRENCY: String(inFlight) }

/**
 * Compares full deliveries (claims, signatures, guard, recorded attempts) with bare undici and bodies of the same size.
 */
export const webhooks: Figure = async (bench) => {
  await using receiver = await Receiver.open(bench.folder)
  const count = bench.seconds * 20_000
  const loop = async (signed: boolean) => {
    receiver.restart()
    await using sender = Server.bareLoop(bench.folder, receiver.port, signed)
    return await receiver.expect(2 * count, sender)
  }
  const { mailkeep, statements, signed, bare } = await interleave(bench.rounds, {
    mailkeep: async () => (await deliver(bench, receiver, count)).receipts,
    statements: () => deliverBare(bench, receiver, count),
    signed: () => loop(true),
    bare: () => loop(false),
  })
  const finding = (name: string, ceilings: readonly Receipts[], target?: (ratio: number) => Target): Finding => {
    const rates = (all: readonly Receipts[]) => all.map(({ steadyPerSecond }) => steadyPerSecond)
    const cpuRates = (all: readonly Receipts[]) => all.map(({ steadyPerCpuSecond }) => steadyPerCpuSecond)
    const ratio = ratioOf(rates(mailkeep), rates(ceilings))
    return {
      name,
      figure: `${thousands(median(rates(mailkeep)))}/s`,
      ceiling: `${thousands(median(rates(ceilings)))}/s`,
      ratio,
      byCpu: ratioOf(cpuRates(mailkeep), cpuRates(ceilings)),
      ...(target && { target: target(ratio) }),
      details: { mailkeep, ceilings },
    }
  }
  return [
    finding('webhooks', bare, (ratio) => atLeast(ratio, 0.4, 0.5)),
    finding('webhooks: to the same headers and signatures', signed),
    finding('webhooks: to bare statements and undici', statements),
  ]
}

/** Checks that memory does not grow with the number of deliveries made. */
export const webhooksMemory: Figure = async (bench) => {
  await using receiver = await Receiver.open(bench.folder)
  const { samples } = await deliver(bench, receiver, bench.quick ? 20_000 : 100_000)
  const half = Math.floor(samples.length / 2)
  const [early, late] = [median(samples.slice(Math.floor(half / 2), half)), median(samples.slice(half))]
  const figure = `${short(early)} → ${short(late)} MB, at most ${short(Math.max(...samples))}`
  const ratio = late / early
  return [{ name: 'webhooks-memory', figure, ratio, target: atMost(ratio, 1.1), details: samples }]
}

interface Delivered {
  readonly receipts: Receipts
  /** Resident memory in MB, four times a second. */
  readonly samples: readonly number[]
}

/** Delivers a backlog and checks that every outcome was recorded. */
async function deliver(bench: Bench, receiver: Receiver, count: number): Promise<Delivered> {
  return withBacklog(bench, receiver, count, async (file) => {
    await using server = await Server.mailkeep(bench, file, settings)
    const receipts = receiver.expect(count, server)
    const samples: number[] = []
    const sampling = setInterval(() => samples.push(server.residentMb()), 250)
    await receipts
    clearInterval(sampling)
    await assertAllSucceeded(file, count)
    return { receipts: await receipts, samples }
  })
}

/** Writes the same rows by bare statements and sends the same requests by undici. */
function deliverBare(bench: Bench, receiver: Receiver, count: number): Promise<Receipts> {
  return withBacklog(bench, receiver, count, async (file) => {
    await using sender = Server.bareDeliveries(bench.folder, file, receiver.port)
    const receipts = await receiver.expect(count, sender)
    await assertAllSucceeded(file, count)
    return receipts
  })
}

async function withBacklog<T>(
  bench: Bench,
  receiver: Receiver,
  count: number,
  use: (file: string) => Promise<T>,
): Promise<T> {
  const file = await scratch(bench.folder, smallest(bench))
  try {
    await makeEndpoints(file, receiver.port)
    withFastHandle(file, (db) => queue(db, count))
    receiver.restart()
    return await use(file)
  } finally {
    await discard(file)
  }
}

/** Creates one endpoint for each of eight clients. @returns A token of each client. */
function makeEndpoints(file: string, port: number): Promise<string[]> {
  return withMailkeep(file, async (mailkeep) => {
    const tokens = []
    for (let n = 0; n < endpointCount; n++) {
      const { id } = await mailkeep.clients.create({ name: `client ${n}` })
      const url = `http://127.0.0.1:${port}/${n}`
      await mailkeep.forClient(id).webhooks.createEndpoint({ url, events: ['newsletter.sent'] })
      tokens.push((await mailkeep.tokens.create({ clientId: id, role: 'admin' })).token)
    }
    return tokens
  })
}

/** Inserts deliveries of 1 KiB that are due now, spread evenly over all endpoints. */
function queue(db: Database.Database, count: number): void {
  const endpoints = db
    .prepare(`select id, client_id from mailkeep_endpoint where url not like '%:9/'`)
    .safeIntegers()
    .all() as { id: bigint; client_id: bigint }[]
  const event = db.prepare(`insert into mailkeep_event (client_id, uuid, created_at, type, body)
    values (?, ?, ?, 'newsletter.sent', ?)`)
  const delivery = db.prepare(`insert into mailkeep_delivery (client_id, uuid, created_at, endpoint_id, event_id,
    event_type, status, attempts, due_at, scheduled_at) values (?, ?, ?, ?, ?, 'newsletter.sent', 'pending', 0, ?, ?)`)
  const at = `${new Date().toISOString().slice(0, 23)}000Z`
  const body = JSON.stringify({ text: 'x'.repeat(1024 - 11) })
  for (let n = 0; n < count; n++) {
    const { id, client_id } = endpoints[n % endpoints.length]!
    const { lastInsertRowid } = event.run(client_id, randomUUID(), at, body)
    delivery.run(client_id, randomUUID(), at, id, BigInt(lastInsertRowid), at, at)
  }
}

/** @throws Unless exactly `count` deliveries succeeded at their first attempt and none is left. */
async function assertAllSucceeded(file: string, count: number): Promise<void> {
  const db = new Database(file, { readonly: true })
  try {
    const succeeded = db.prepare(`select count(*) from mailkeep_delivery
      where status = 'success' and attempts = 1 and exists (select 1 from mailkeep_attempt where delivery_id = id)`)
    const ends = performance.now() + 10_000
    while (succeeded.pluck().get() !== count) {
      if (performance.now() > ends) throw new Error(`of ${count} deliveries ${succeeded.pluck().get()} succeeded`)
      await delay(50)
    }
  } finally {
    db.close()
  }
}

/** Measures from the event's timestamp, before its commit, to its receipt. Events come at random moments. */
export const webhooksLatency: Figure = async (bench) => {
  const file = await scratch(bench.folder, smallest(bench))
  try {
    const perSecond = 1000
    const latencies = await measureLatency(bench, file, perSecond)
    const figure = `p95 ${short(latencies.p95)} ms at ${thousands(latencies.perSecond)}/s, none left behind`
    const met = latencies.p95 <= 25 && latencies.perSecond >= 0.95 * perSecond
    return [{ name: 'webhooks-latency', figure, target: { text: '≤ 25 ms at 1,000/s', met }, details: latencies }]
  } finally {
    await discard(file)
  }
}

/** Compares the latency of webhooks beside a newsletter, at ten times the default rate, with webhooks alone. */
export const webhooksBesideMail: Figure = async (bench) => {
  await using mailServer = new Child(otherCore, [process.execPath, join(bench.folder, 'mail-receive.cjs')])
  const { port } = await mailServer.listening()
  const mailSettings = {
    MAILKEEP_MAIL_TRANSPORT: 'smtp',
    MAILKEEP_SMTP_URL: `smtp://127.0.0.1:${port}`,
    MAILKEEP_MAIL_RATE: '100',
    MAILKEEP_MAIL_ALLOW_UNVERIFIED: 'true',
    MAILKEEP_PUBLIC_URL: 'https://mail.example.com',
  }
  const measure = (settings: Record<string, string>) =>
    withNewsletter(bench, 9000, (file) => measureLatency(bench, file, 500, settings))
  const { alone, beside } = await interleave(bench.rounds, {
    alone: () => measure({ MAILKEEP_MAIL_TRANSPORT: 'none' }),
    beside: () => measure(mailSettings),
  })
  const p95 = (all: readonly Latencies[]) => median(all.map((one) => one.p95))
  const ratio = p95(beside) / p95(alone)
  return [
    {
      name: 'webhooks-beside-mail',
      figure: `p95 ${short(p95(beside))} ms`,
      ceiling: `alone ${short(p95(alone))} ms`,
      ratio,
      target: atMost(ratio, 1.5),
      details: { alone, beside },
    },
  ]
}

interface Latencies extends Receipts {
  /** Events that were raised each second. */
  readonly perSecond: number
}

async function measureLatency(
  bench: Bench,
  file: string,
  perSecond: number,
  settings: Record<string, string> = {},
): Promise<Latencies> {
  await using receiver = await Receiver.open(bench.folder)
  const tokens = await makeEndpoints(file, receiver.port)
  await using server = await Server.mailkeep(bench, file, { MAILKEEP_DISPATCH: 'true', ...settings })
  receiver.restart()
  // The receiver runs on the same core as the load, which therefore sleeps while it waits.
  const offered = { calm: true, perSecond, warmupSeconds: 0 }
  const plan: Plan = { kind: 'events', tokens }
  await load(bench, server, plan, { ...offered, seconds: 5 }) // until the server's code is compiled
  await delay(1000)
  const { count: before } = await receiver.receipts()
  await assertAllSucceeded(file, before)
  receiver.restart()
  const loaded = await load(bench, server, plan, { ...offered, seconds: bench.quick ? 5 : 30 })
  await delay(1000)
  const receipts = await receiver.receipts()
  await assertAllSucceeded(file, before + receipts.count)
  return { ...receipts, perSecond: loaded.perSecond }
}
