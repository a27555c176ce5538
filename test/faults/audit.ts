/** Compares the database with what the receiver saw and what the library acknowledged. */

import assert from 'node:assert/strict'
import type Database from 'better-sqlite3'
import { groupBy } from '../../lib/collections.ts'
import { type Arrival, keyOf, type Receiver } from './receiver.ts'

export interface Expected {
  /** Keys of the events that the library acknowledged. */
  readonly acked: Iterable<string>
  /** Paths of the endpoints that receive every event. */
  readonly paths: readonly string[]
  /** Number of attempts in one schedule of a delivery. */
  readonly schedule: number
  /** Schedules that `recover` or `redeliver` may have started, after the first. */
  readonly moreRounds?: number
}

/** Counts for the test's report. */
export interface Counts {
  readonly events: number
  readonly acked: number
  readonly deliveries: number
  readonly failed: number
  readonly held: number
  readonly attempts: number
  /** Attempts with an unknown outcome. */
  readonly interrupted: number
  readonly requests: number
  /** Requests answered with 2xx although an earlier one of the same delivery was answered with 2xx. */
  readonly repeats: number
}

interface DeliveryRow {
  id: number
  uuid: string
  event_id: number
  status: 'pending' | 'success' | 'failed' | 'held'
  attempts: number
  claim: string | null
  response_status: number | null
  delivered_at: string | null
  error: string | null
  path: string
}

interface AttemptRow {
  delivery_id: number
  number: number
  duration_ms: number | null
  response_status: number | null
  error: string | null
}

/** Checks that the file is sound, and that contacts and events exist only together. */
export function auditContacts(handle: Database.Database, acked: Iterable<string>): void {
  assert.deepEqual(handle.pragma('integrity_check'), [{ integrity_check: 'ok' }])
  assert.deepEqual(handle.pragma('foreign_key_check'), [])
  const contacts = handle
    .prepare(
      `select c.email, c.unsubscribed_at is not null as off,
        (select count(*) from mailkeep_contact_list where contact_id = c.id) as lists,
        (select count(*) from mailkeep_event where contact_id = c.id and type = 'contact.subscribed') as joined,
        (select count(*) from mailkeep_event where contact_id = c.id and type = 'contact.unsubscribed') as left
      from mailkeep_contact as c`,
    )
    .all() as { email: string; off: number; lists: number; joined: number; left: number }[]
  const half = contacts.filter(({ off, lists, joined, left }) => lists !== 1 || joined !== 1 || left !== off)
  assert.deepEqual(half, [], 'a contact has no event, or two')
  const orphans = handle
    .prepare(
      `select body from mailkeep_event as e where type like 'contact.%'
        and not exists (select 1 from mailkeep_contact where id = e.contact_id)`,
    )
    .all()
  assert.deepEqual(orphans, [], 'an event has no contact')
  const keys = new Set(eventsOf(handle).map(({ key }) => key))
  const lost = [...acked].filter((key) => !keys.has(key))
  assert.deepEqual(lost, [], 'acknowledged, but not stored')
}

/**
 * Checks the final state, when nothing is pending. Every event was sent to every endpoint or is visibly failed or held.
 * No delivery is stuck, and the attempts add up. An attempt explains every request, and an interrupted attempt every
 * repeat.
 */
export function audit(handle: Database.Database, receiver: Receiver, expected: Expected): Counts {
  const acked = [...expected.acked]
  auditContacts(handle, acked)
  receiver.checkSignatures()
  const events = new Map(eventsOf(handle).map((event) => [event.id, event]))
  const deliveries = handle
    .prepare(
      `select d.id, d.uuid, d.event_id, d.status, d.attempts, d.claim, d.response_status, d.delivered_at, d.error, p.url as path
      from mailkeep_delivery as d join mailkeep_endpoint as p on p.id = d.endpoint_id`,
    )
    .all() as DeliveryRow[]
  for (const delivery of deliveries) delivery.path = new URL(delivery.path).pathname
  checkThatEveryEventHasItsDeliveries(events, deliveries, expected.paths)
  checkThatNothingIsStuck(deliveries)

  const attempts = groupBy(
    handle.prepare('select * from mailkeep_attempt order by delivery_id, number').all() as AttemptRow[],
    ({ delivery_id }) => delivery_id,
  )
  const arrivals = groupBy(receiver.arrivals, ({ deliveryId }) => deliveryId)
  let repeats = 0
  for (const delivery of deliveries) {
    const event = events.get(delivery.event_id)!
    const ofDelivery = attempts.get(delivery.id) ?? []
    const seen = arrivals.get(delivery.uuid) ?? []
    const what = () => JSON.stringify({ delivery, attempts: ofDelivery, answered: seen.map((one) => one.answered) })
    checkAttempts(delivery, ofDelivery, expected, what)
    repeats += checkArrivals(delivery, event.body, ofDelivery, seen, expected.moreRounds ?? 0, what)
    arrivals.delete(delivery.uuid)
  }
  assert.deepEqual([...arrivals.keys()], [], 'requests came for deliveries that are not stored')
  const all = [...attempts.values()].flat()
  return {
    events: events.size,
    acked: acked.length,
    deliveries: deliveries.length,
    failed: deliveries.filter(({ status }) => status === 'failed').length,
    held: deliveries.filter(({ status }) => status === 'held').length,
    attempts: all.length,
    interrupted: all.filter(isInterrupted).length,
    requests: receiver.arrivals.length,
    repeats,
  }
}

function eventsOf(handle: Database.Database): { id: number; key: string; body: string }[] {
  const rows = handle.prepare('select id, body from mailkeep_event').all() as { id: number; body: string }[]
  return rows.map(({ id, body }) => ({ id, body, key: keyOf(JSON.parse(body)) }))
}

function checkThatEveryEventHasItsDeliveries(
  events: ReadonlyMap<number, { key: string }>,
  deliveries: readonly DeliveryRow[],
  paths: readonly string[],
): void {
  const byEvent = groupBy(deliveries, ({ event_id }) => event_id)
  const wanted = [...paths].sort()
  for (const [id, { key }] of events) {
    const to = (byEvent.get(id) ?? []).map(({ path }) => path).sort()
    assert.deepEqual(to, wanted, `the deliveries of ${key}`)
  }
}

function checkThatNothingIsStuck(deliveries: readonly DeliveryRow[]): void {
  const stuck = deliveries.filter(({ status, claim }) => status === 'pending' || claim !== null)
  assert.deepEqual(stuck, [], 'stuck: pending without a due date, or claimed by a process that has ended')
}

function checkAttempts(
  { status, attempts, response_status, delivered_at, error }: DeliveryRow,
  rows: readonly AttemptRow[],
  { schedule, moreRounds = 0 }: Expected,
  what: () => string,
): void {
  assert.deepEqual(
    rows.map(({ number }) => number),
    Array.from({ length: attempts }, (_, index) => index + 1),
    `the attempts do not add up: ${what()}`,
  )
  const answered = rows.filter((row) => row.response_status !== null)
  assert.equal(response_status, answered.at(-1)?.response_status ?? null, `not the last answer: ${what()}`)
  const good = answered.filter((row) => isGood(row.response_status))
  assert.ok(good.length <= 1 + moreRounds, `sent again after a success was recorded: ${what()}`)
  if (status === 'success') assert.ok(isGood(rows.at(-1)!.response_status) && delivered_at !== null, what())
  else assert.equal(delivered_at, null, what())
  if (status === 'failed')
    assert.ok(error !== null && attempts === schedule, `given up before its schedule ended: ${what()}`)
}

/** @returns How often a receiver that had answered 2xx got the request again. */
function checkArrivals(
  { status, path }: DeliveryRow,
  body: string,
  rows: readonly AttemptRow[],
  seen: readonly Arrival[],
  moreRounds: number,
  what: () => string,
): number {
  for (const arrival of seen) {
    assert.equal(arrival.path, path, `sent to another endpoint: ${what()}`)
    assert.equal(arrival.raw, body, `sent with another body: ${what()}`)
  }
  assert.ok(seen.length <= rows.length, `more requests than attempts: ${what()}`)
  const recorded = rows.filter((row) => row.response_status !== null).length
  assert.ok(recorded <= seen.length, `more answers than requests: ${what()}`)
  const good = seen.filter(({ answered }) => isGood(answered ?? null)).length
  if (status === 'success') assert.ok(good > 0, `recorded as delivered, but it was not: ${what()}`)
  const repeats = Math.max(0, good - 1)
  const interrupted = rows.filter(isInterrupted).length
  assert.ok(repeats <= interrupted + moreRounds, `a repeat without an interrupted attempt: ${what()}`)
  return repeats
}

function isInterrupted({ duration_ms }: AttemptRow): boolean {
  return duration_ms === null
}

function isGood(status: number | null): boolean {
  return status !== null && status >= 200 && status < 300
}
