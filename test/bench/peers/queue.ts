/** What the benchmark asks of mailkeep, of a job queue and of an outbox. Each runs in a process of its own. */
import { randomUUID } from 'node:crypto'

export const endpointCount = 8
/** Maximum requests in flight, as in every other benchmark of deliveries. */
export const inFlight = 64
/** Connections to PostgreSQL: the default of `pg`, of mailkeep, of pg-boss and of graphile-worker. */
export const connections = 10
export const eventType = 'newsletter.sent' as const

export interface Event {
  readonly endpoint: number
  readonly data: EventData
}

interface EventData {
  readonly n: number
  /** Milliseconds of the machine's monotonic clock, which all processes share. */
  readonly at: number
  readonly text: string
}

/** What a job queue stores. Its body has the shape of mailkeep's. */
export interface Job {
  readonly endpoint: number
  readonly body: { readonly id: string; readonly type: string; readonly created_at: string; readonly data: EventData }
}

/** Sends a job to its endpoint; rejects unless the answer has a status of success. */
export type Send = (job: Job) => Promise<void>

export interface Queue {
  /** Resolves once the event is stored. */
  raise(event: Event): Promise<unknown>
  /** Stores up to 1,000 events in one call. */
  raiseMany(events: readonly Event[]): Promise<unknown>
  /** Starts to deliver what is stored, with at most 64 requests in flight. mailkeep has its own `send`. */
  work(send: Send): unknown
}

export interface QueuePlace {
  /** SQLite file, URL of PostgreSQL or port of Redis. */
  readonly database: string
  /** The receiver's origin. */
  readonly origin: string
  /** Whether the database is empty. */
  readonly isNew: boolean
  /** How it works: see contenders.ts. */
  readonly mode: string
}

export type OpenQueue = (place: QueuePlace) => Promise<Queue>

export function monotonicMs(): number {
  return Number(process.hrtime.bigint()) / 1e6
}

/** Returns an event whose body has about 1 KiB. */
export function eventOf(n: number, endpoint = n % endpointCount): Event {
  return { endpoint, data: { n, at: monotonicMs(), text: 'x'.repeat(880) } }
}

export function jobOf({ endpoint, data }: Event): Job {
  const body = { id: randomUUID(), type: eventType, created_at: new Date().toISOString(), data }
  return { endpoint, body }
}

/**
 * Imports a package that is installed for the benchmark only. The project does not depend on it, so the caller declares
 * the types that it uses.
 */
export async function importPeer<T>(name: string): Promise<T> {
  return await import(name)
}
