/**
 * PostgreSQL benchmarks: saves compared with bare `pg`, deliveries by one, two and four processes, and their latency.
 */
import { randomUUID } from 'node:crypto'
import { setTimeout as delay } from 'node:timers/promises'
import type { BareJob } from './bare-pg.ts'
import { BarePg, Receiver, Server } from './children.ts'
import {
  type Bench,
  type Figure,
  type Finding,
  interleave,
  largest,
  load,
  rateFinding,
  short,
  thousands,
} from './harness.ts'
import type { Job, Measured } from './load.ts'
import { ask, withLibraryOn, withPostgres } from './postgres-place.ts'
import { recordSave } from './recorded.ts'
import { median } from './summary.ts'
import { lightPlan } from './writes.ts'

const callers = 64
const connections = 10
/** The PostgreSQL server needs a processor too, so the load sleeps while it waits. */
const calm: Partial<Job> = { calm: true }

export const postgres: Figure = (bench) =>
  withPostgres(bench.folder, Math.min(largest(bench), 100_000), async (url) => [
    await saves(bench, url),
    ...(await deliveries(bench, url)),
    await latency(bench, url),
  ])

/** Compares saves over HTTP, with token and validation, with the same statements sent by the bare driver. */
async function saves(bench: Bench, url: string): Promise<Finding> {
  const script = await recordSave(url)
  await using bare = new BarePg(bench.folder)
  await using server = await Server.mailkeep(bench, url, { MAILKEEP_DATABASE_CONNECTIONS: String(connections) })
  const job: BareJob = { ...script, seconds: bench.seconds, callers, connections }
  await load(bench, server, lightPlan(), calm) // until its code is compiled
  const { save, alone } = await interleave(bench.rounds, {
    save: () => load(bench, server, lightPlan(), calm),
    alone: () => bare.ask<Measured>(job),
  })
  return { ...rateFinding('postgres: save-light, of bare pg', save, alone, 0.6, 0.6), details: { save, alone } }
}

const endpointCount = 8

/** Delivers a backlog of 1 KiB events once all processes are ready. */
async function deliveries(bench: Bench, url: string): Promise<Finding[]> {
  await makeEndpoints(url)
  await using receiver = await Receiver.open(bench.folder)
  await ask(url, 'update mailkeep_endpoint set url = $1 || id where url like $2', [
    `http://127.0.0.1:${receiver.port}/`,
    'http://endpoint.test/%',
  ])
  const count = bench.quick ? 4000 : 10_000
  const by = (processes: number) => () => deliver(bench, url, receiver, processes, count)
  const runs = await interleave(Math.min(bench.rounds, 3), { one: by(1), two: by(2), four: by(4) })
  return (['one', 'two', 'four'] as const).map((name) => {
    const ratio = median(runs[name].map((rate, i) => rate / runs.one[i]!))
    const figure = `${thousands(median(runs[name]))}/s`
    return { name: `postgres: webhooks by ${name}`, figure, ratio, details: runs[name] }
  })
}

async function deliver(bench: Bench, url: string, receiver: Receiver, processes: number, count: number) {
  const senders = await Promise.all(Array.from({ length: processes }, () => Server.dispatching(bench, url)))
  try {
    receiver.restart()
    const receipts = receiver.expect(count, senders[0]!)
    await queue(url, count)
    const { steadyPerSecond } = await receipts
    await assertAllSucceeded(url)
    return steadyPerSecond
  } finally {
    for (const sender of senders) await sender[Symbol.asyncDispose]()
  }
}

/** Creates one endpoint for each of eight clients. @returns A token of each client. */
function makeEndpoints(url: string, at = 'http://endpoint.test/'): Promise<string[]> {
  return withLibraryOn(url, async (mailkeep) => {
    const tokens = []
    for (let n = 0; n < endpointCount; n++) {
      const { id } = await mailkeep.clients.create({ name: `client ${n}` })
      await mailkeep.forClient(id).webhooks.createEndpoint({ url: `${at}${n}`, events: ['newsletter.sent'] })
      tokens.push((await mailkeep.tokens.create({ clientId: id, role: 'admin' })).token)
    }
    return tokens
  })
}

/** Inserts deliveries that are due now, spread evenly over all endpoints. */
async function queue(url: string, count: number): Promise<void> {
  const body = JSON.stringify({ text: 'x'.repeat(1024 - 11) })
  await ask(
    url,
    `with endpoint as (select id, client_id, row_number() over (order by id) - 1 as place from mailkeep_endpoint
        where events like '%newsletter.sent%' and url like 'http://127.0.0.1:%' and url not like '%:9/'),
      chosen as (select n, id, client_id from generate_series(0, $1 - 1) as n
        join endpoint on place = n % (select count(*) from endpoint)),
      event as (insert into mailkeep_event (client_id, uuid, created_at, type, body)
        select client_id, id || '/' || n || $2, now(), 'newsletter.sent', $3 from chosen returning id, client_id, uuid)
    insert into mailkeep_delivery (client_id, uuid, created_at, endpoint_id, event_id, event_type, status, attempts,
      due_at, scheduled_at)
    select client_id, gen_random_uuid()::text, now(), cast(split_part(uuid, '/', 1) as bigint), id, 'newsletter.sent',
      'pending', 0, now(), now() from event`,
    [count, randomUUID(), body],
  )
  await ask(url, 'analyze mailkeep_delivery')
}

/** @throws Unless every delivery succeeded at its first attempt. */
async function assertAllSucceeded(url: string): Promise<void> {
  const ends = performance.now() + 30_000
  for (;;) {
    const [row] = await ask<{ open: number; again: number }>(
      url,
      `select count(*) filter (where status = 'pending')::int as open, count(*) filter (where attempts > 1)::int as again
        from mailkeep_delivery where event_type = 'newsletter.sent'`,
    )
    if (row!.again > 0) throw new Error(`${row!.again} deliveries were made more than once`)
    if (row!.open === 0) return
    if (performance.now() > ends) throw new Error(`${row!.open} deliveries are not finished`)
    await delay(50)
  }
}

/** Measures from the event's timestamp, before its commit, to its receipt. Events come at random moments. */
async function latency(bench: Bench, url: string): Promise<Finding> {
  await using receiver = await Receiver.open(bench.folder)
  const tokens = await makeEndpoints(url, `http://127.0.0.1:${receiver.port}/`)
  await using server = await Server.mailkeep(bench, url, { MAILKEEP_DISPATCH: 'true' })
  const seconds = bench.quick ? 5 : 12 // less than the server waits for the first request of a connection
  const offered = { ...calm, perSecond: 500, warmupSeconds: 0 }
  await load(bench, server, { kind: 'events', tokens }, { ...offered, seconds: 3 })
  await assertAllSucceeded(url)
  receiver.restart()
  const { perSecond } = await load(bench, server, { kind: 'events', tokens }, { ...offered, seconds })
  await assertAllSucceeded(url)
  const { p50, p95, p99, max, count } = await receiver.receipts()
  const figure = `p95 ${short(p95)} ms at ${thousands(perSecond)}/s for ${seconds} s, none left behind`
  const target = { text: '< 50 ms at 500/s', met: p95 < 50 && perSecond >= 475 }
  return { name: 'postgres: webhooks-latency', figure, target, details: { p50, p95, p99, max, count, perSecond } }
}
