/**
 * Measures what bare prepared statements reach with the same rows in the same groups: saves behind polka (`DATABASE`),
 * and deliveries by undici (`DATABASE ORIGIN`). Has no validation, no guard, no fairness and no retries.
 */
import { randomUUID } from 'node:crypto'
import type { ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setImmediate } from 'node:timers'
import Database from 'better-sqlite3'
import polka from 'polka'
import { Pool } from 'undici'
import { groupBy } from '../../lib/collections.ts'
import { bareSaver, type Person, pragmas } from './bare-save.ts'
import { signedHeaders } from './signed.ts'

const groupSize = 64
const inFlight = 64

const [file, origin] = process.argv.slice(2)
const db = new Database(file!)
for (const pragma of [...pragmas, 'wal_autocheckpoint = 3000']) db.pragma(pragma)
const [begin, commit] = [db.prepare('begin immediate'), db.prepare('commit')]

function serve(): void {
  const save = bareSaver(db, { audit: true })
  let waiting: { res: ServerResponse; listId: bigint; person: Person }[] = []
  const writeGroup = () => {
    const group = waiting.slice(0, groupSize)
    waiting = waiting.slice(groupSize)
    if (waiting.length > 0) setImmediate(writeGroup)
    begin.run()
    const saved = group.map(({ listId, person }) => save(listId, person))
    commit.run()
    for (const [n, { res }] of group.entries()) answer(res, JSON.stringify({ data: saved[n] }))
  }
  const app = polka()
  app.post('/api/v1/lists/:id/contacts', async (req, res) => {
    const chunks: Buffer[] = []
    for await (const chunk of req) chunks.push(chunk)
    if (waiting.length === 0) setImmediate(writeGroup)
    const person = JSON.parse(Buffer.concat(chunks).toString())
    waiting.push({ res, listId: BigInt(String(req.params.id)), person })
  })
  app.listen(0, '127.0.0.1', () => {
    process.send!({ port: (app.server!.address() as AddressInfo).port })
  })
}

function answer(res: ServerResponse, body: string): void {
  res.writeHead(201, { 'Content-Type': 'application/json', 'Content-Length': Buffer.byteLength(body) })
  res.end(body)
}

interface Due {
  readonly id: bigint
  readonly uuid: string
  readonly client_id: bigint
  readonly endpoint_id: bigint
  readonly body: string
}

interface Ended {
  readonly due: Due
  readonly claim: string
  readonly status: number
  readonly answer: string
  readonly startedMs: number
  readonly endedMs: number
}

function deliver(): void {
  const endpoints = db
    .prepare(`select id from mailkeep_endpoint where url not like '%:9/'`)
    .pluck()
    .safeIntegers()
    .all()
  const find = db
    .prepare(`select d.id, d.uuid, d.client_id, d.endpoint_id, e.body from mailkeep_delivery d
      join mailkeep_event e on e.id = d.event_id where d.status = 'pending' and d.lease_until is null
      and d.endpoint_id = +? and d.due_at <= +? order by d.due_at limit +?`)
    .safeIntegers()
  const claimOne = db.prepare(`update mailkeep_delivery set claim = ?, claimed_at = ?, lease_until = ?,
    attempts = attempts + 1 where id = ?`)
  const settle =
    db.prepare(`update mailkeep_delivery set status = 'success', due_at = ?, scheduled_at = null, ended_at = ?, claim = null,
    claimed_at = null, lease_until = null, response_status = ?, error = null, delivered_at = ? where id = ? and claim = ?`)
  const addAttempt = db.prepare(`insert into mailkeep_attempt (delivery_id, number, client_id, started_at, duration_ms,
    response_status, response_body) values (?, 1, ?, ?, ?, ?, ?) on conflict do nothing`)
  const count = db.prepare(`update mailkeep_endpoint set last_triggered_at = ?, consecutive_failures = 0,
    first_failure_at = null where id = ?`)
  const addCounts =
    db.prepare(`insert into mailkeep_delivery_count (client_id, endpoint_id, step, at, delivered, retried,
    failed, ms_10, ms_50, ms_200, s_1, s_5, s_30, min_5, longer) values (?, ?, 'recent', ?, ?, 0, 0, 0, 0, 0, 0, 0, ?, 0, 0)
    on conflict do update set delivered = delivered + excluded.delivered, s_30 = s_30 + excluded.s_30`)
  const pool = new Pool(origin!, { connections: inFlight, pipelining: 1 })
  let ended: Ended[] = []
  let under = 0
  let turn = 0
  let soon = false

  /** Records the finished deliveries and claims as many new ones, in one commit. */
  const round = () => {
    soon = false
    const settled = ended
    ended = []
    const nowMs = Date.now()
    begin.run()
    for (const { due, claim, status, answer, startedMs, endedMs } of settled) {
      settle.run(time(endedMs), time(endedMs), status, time(endedMs), due.id, claim)
      addAttempt.run(due.id, due.client_id, time(startedMs), endedMs - startedMs, status, answer)
    }
    const minute = time(nowMs - (nowMs % 60_000))
    for (const [id, own] of groupBy(settled, ({ due }) => due.endpoint_id)) {
      count.run(time(nowMs), id)
      addCounts.run(own[0]!.due.client_id, id, minute, own.length, own.length)
    }
    const claim = randomUUID()
    const claimed: Due[] = []
    const each = Math.ceil((inFlight - under) / endpoints.length)
    for (let n = 0; n < endpoints.length && under + claimed.length < inFlight; n++) {
      const limit = BigInt(Math.min(each, inFlight - under - claimed.length))
      claimed.push(...(find.all(endpoints[turn++ % endpoints.length], time(nowMs), limit) as Due[]))
    }
    for (const { id } of claimed) claimOne.run(claim, time(nowMs), time(nowMs + 30_000), id)
    commit.run()
    for (const due of claimed) send(due, claim)
  }

  const send = (due: Due, claim: string) => {
    under += 1
    const startedMs = Date.now()
    const headers = signedHeaders(due.uuid, due.body, startedMs)
    const timer = setTimeout(() => process.exit(1), 15_000)
    let status = 0
    let answer = ''
    const handler = {
      onRequestStart() {},
      onResponseStart(_: unknown, code: number) {
        status = code
      },
      onResponseData(_: unknown, chunk: Buffer) {
        answer += chunk
      },
      onResponseEnd() {
        clearTimeout(timer)
        under -= 1
        ended.push({ due, claim, status, answer, startedMs, endedMs: Date.now() })
        // Results of this turn and the next are recorded together.
        if (!soon) setImmediate(() => setImmediate(round))
        soon = true
      },
      onResponseError() {
        process.exit(1)
      },
    }
    pool.dispatch({ method: 'POST', path: '/', headers, body: due.body }, handler)
  }
  round()
}

function time(ms: number): string {
  return `${new Date(ms).toISOString().slice(0, 23)}000Z`
}

if (origin) deliver()
else serve()
process.on('disconnect', () => process.exit())
