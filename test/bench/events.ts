/** Batches of events, compared with bare multi-row statements that write the same rows in the same transactions. */
import { randomUUID } from 'node:crypto'
import Database from 'better-sqlite3'
import pg from 'pg'
import type { Mailkeep } from '../../lib/index.ts'
import { pragmas } from './bare-save.ts'
import { atLeast, type Bench, type Figure, type Finding, interleave, ratioOf, smallest, thousands } from './harness.ts'
import { clientId } from './population.ts'
import { withLibraryOn, withPostgres } from './postgres-place.ts'
import { discard, scratch, withMailkeep } from './seed.ts'
import { median } from './summary.ts'

const eventsPerBatch = 1000
const type = 'newsletter.sent'

export const eventsBatch: Figure = async (bench) => [
  await finding(bench, 'events-batch', {
    library: () => onFile(bench, (file) => withMailkeep(file, (mailkeep) => rateOf(bench, byLibrary(mailkeep)))),
    bare: () => onFile(bench, (file) => rateOnHandle(bench, file)),
  }),
  await withPostgres(bench.folder, smallest(bench), async (url) => {
    await withLibraryOn(url, addEndpoint)
    return await finding(bench, 'events-batch: on PostgreSQL', {
      library: () => withLibraryOn(url, (mailkeep) => rateOf(bench, byLibrary(mailkeep))),
      bare: () => rateOnServer(bench, url),
    })
  }),
]

async function finding(
  { rounds }: Bench,
  name: string,
  cases: Record<'library' | 'bare', () => Promise<number>>,
): Promise<Finding> {
  const { library, bare } = await interleave(rounds, cases)
  const ratio = ratioOf(library, bare)
  const [figure, ceiling] = [library, bare].map((rates) => `${thousands(median(rates))}/s`) as [string, string]
  return { name, figure, ceiling, ratio, target: atLeast(ratio, 0.6), details: { library, bare } }
}

async function onFile(bench: Bench, use: (file: string) => Promise<number>): Promise<number> {
  const file = await scratch(bench.folder, smallest(bench))
  try {
    await withMailkeep(file, addEndpoint)
    return await use(file)
  } finally {
    await discard(file)
  }
}

/** It never receives anything: nothing dispatches. */
async function addEndpoint(mailkeep: Mailkeep): Promise<void> {
  await mailkeep.forClient(clientId).webhooks.createEndpoint({ url: 'https://receiver.example/', events: [type] })
}

type Data = readonly { readonly newsletter: object; readonly counts: object }[]

/** Returns events per second. The first batches warm up. */
async function rateOf({ quick }: Bench, raise: (data: Data) => unknown): Promise<number> {
  const [warmup, batches] = quick ? [1, 5] : [5, 40]
  let startedMs = 0
  for (let n = 0; n < warmup + batches; n++) {
    if (n === warmup) startedMs = performance.now()
    await raise(Array.from({ length: eventsPerBatch }, (_, i) => dataOf(n * eventsPerBatch + i)))
  }
  return ((batches * eventsPerBatch) / (performance.now() - startedMs)) * 1000
}

function dataOf(n: number) {
  const newsletter = { id: n, uuid: randomUUID(), name: `Newsletter ${n}`, subject: 'What is new this month' }
  return { newsletter, counts: { recipients: n, sent: n, failed: 0, skipped: 0, uncertain: 0 } }
}

function byLibrary(mailkeep: Mailkeep) {
  const { events } = mailkeep.forClient(clientId)
  return (data: Data) => events.raiseMany(data.map((each) => ({ type, data: each })))
}

interface Row {
  readonly uuid: string
  readonly body: string
}

function rowsOf(data: Data, created_at: string): Row[] {
  return data.map((each) => {
    const uuid = randomUUID()
    return { uuid, body: JSON.stringify({ id: uuid, type, created_at, data: each }) }
  })
}

async function rateOnHandle(bench: Bench, file: string): Promise<number> {
  const db = new Database(file)
  for (const pragma of pragmas) db.pragma(pragma)
  const endpoint = db.prepare('select id from mailkeep_endpoint where instr(events, ?) > 0').pluck().get(type)
  const addEvents = db.prepare(`insert into mailkeep_event (client_id, uuid, created_at, type, body)
    select 1, value ->> 'uuid', ?, '${type}', value ->> 'body' from json_each(?) returning id`)
  const addDeliveries = db.prepare(`insert into mailkeep_delivery (client_id, uuid, created_at, endpoint_id, event_id,
      event_type, status, attempts, due_at, scheduled_at)
    select 1, value ->> 'uuid', ?, ?, value ->> 'id', '${type}', 'pending', 0, ?, ? from json_each(?)`)
  const raise = db.transaction((data: Data) => {
    const now = new Date().toISOString()
    const events = addEvents.all(now, JSON.stringify(rowsOf(data, now))) as { id: number }[]
    const deliveries = events.map(({ id }) => ({ uuid: randomUUID(), id }))
    addDeliveries.run(now, endpoint, now, now, JSON.stringify(deliveries))
  })
  return await rateOf(bench, raise).finally(() => db.close())
}

async function rateOnServer(bench: Bench, url: string): Promise<number> {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  const found = await client.query('select id from mailkeep_endpoint where strpos(events::text, $1) > 0', [type])
  const endpoint = found.rows[0].id
  const raise = async (data: Data) => {
    const now = new Date().toISOString()
    await client.query('begin')
    const rows = JSON.stringify(rowsOf(data, now))
    const added = await client.query({
      name: 'events',
      text: `insert into mailkeep_event (client_id, uuid, created_at, type, body)
        select 1, uuid, $1, '${type}', body from json_to_recordset($2) as item (uuid text, body text) returning id`,
      values: [now, rows],
    })
    const deliveries = JSON.stringify(added.rows.map(({ id }) => ({ uuid: randomUUID(), id })))
    await client.query({
      name: 'deliveries',
      text: `insert into mailkeep_delivery (client_id, uuid, created_at, endpoint_id, event_id, event_type, status,
          attempts, due_at, scheduled_at)
        select 1, uuid, $1, $2, id, '${type}', 'pending', 0, $1, $1
        from json_to_recordset($3) as item (uuid text, id bigint)`,
      values: [now, endpoint, deliveries],
    })
    await client.query('commit')
  }
  return await rateOf(bench, raise).finally(() => client.end())
}
