import { sql } from 'kysely'
import { type BatchStep, batch } from '../jobs/batches.ts'
import { int, statement, time, word } from '../storage/statement.ts'
import type { Timestamp } from '../time.ts'
import { bucketColumns } from './durations.ts'
import type { FailingEndpoint, Step, StoredStep } from './schema.ts'

/** The columns that are added up. */
export const summed = ['delivered', 'retried', 'failed', ...bucketColumns] as const

const counted = {
  client_id: int,
  endpoint_id: int,
  step: word<StoredStep>(),
  at: time,
  ...(Object.fromEntries(summed.map((name) => [name, int])) as Record<(typeof summed)[number], typeof int>),
}

/** Counts of one endpoint, or of all endpoints of the client if `endpoint_id` is 0, in one step. */
export type Counted = { readonly [Name in keyof typeof counted]: NonNullable<(typeof counted)[Name]['value']> }

const identity = sql.raw('client_id, endpoint_id, step, at')
const sums = sql.join(summed.map((name) => sql.ref(name)))

/** Writes the rows in one order, so that two processes cannot deadlock. */
const inOrder = sql`order by 1, 2, 3, 4`

/** Adds counts to the rows of their steps. No two may be of the same row. */
export const addCounts = statement.each(
  counted,
  (item, from, dialect) => sql`
    insert into mailkeep_delivery_count (${identity}, ${sums})
    select ${item.client_id}, ${item.endpoint_id}, ${item.step}, ${item.at}, ${sql.join(summed.map((name) => item[name]))}
    ${from} where true ${dialect.concurrentWriters ? inOrder : sql``}
    on conflict (${identity}) do update set ${sql.join(
      summed.map(
        (name) => sql`${sql.ref(name)} = mailkeep_delivery_count.${sql.ref(name)} + excluded.${sql.ref(name)}`,
      ),
    )}`,
)

/** Deletes counts of past minutes that are not summarised yet, and returns them. */
export const takeRecentCounts = statement.all(
  { before: time, limit: int },
  (_, p) => sql<Omit<Counted, 'step'>>`
    delete from mailkeep_delivery_count where (${identity}) in
      (select ${identity} from mailkeep_delivery_count where step = 'recent' and at < ${p.before} limit ${p.limit})
    returning client_id, endpoint_id, at, ${sums}`,
)

/** Lists the counts of a range, in any order. Counts that are not summarised yet have the time of their minute. */
export const listCounts = statement.all(
  { client_id: int, endpoint_id: int, step: word<Step>(), from: time, to: time },
  (_, p, __, { byEndpoint }) => sql<Omit<Counted, 'client_id' | 'endpoint_id' | 'step'>>`
    select at, ${sums} from mailkeep_delivery_count
    where client_id = ${p.client_id} and endpoint_id = ${p.endpoint_id} and step = ${p.step}
      and at >= ${p.from} and at < ${p.to}
    union all
    select at, ${sums} from mailkeep_delivery_count
    where step = 'recent' and client_id = ${p.client_id} and at >= ${p.from} and at < ${p.to}
      ${byEndpoint ? sql`and endpoint_id = ${p.endpoint_id}` : sql``}`,
  ['byEndpoint'],
)

/** Returns when the first delivery that no process has claimed became due. Reads one index entry for each endpoint. */
export const findOldestDue = statement(
  { client_id: int, endpoint_id: int },
  (_, p, __, { byEndpoint }) => sql<{ due_at: Timestamp | null }>`
    select min(first_due_at) as due_at from (select (select min(due_at) from mailkeep_delivery
      where endpoint_id = e.id and status = 'pending' and lease_until is null) as first_due_at
      from mailkeep_endpoint as e
      where e.client_id = ${p.client_id} ${byEndpoint ? sql`and e.id = ${p.endpoint_id}` : sql``}) as waiting`,
  ['byEndpoint'],
)

/** Whether the last attempts of an endpoint failed, or it was switched off as `auto_failures`. */
const isFailing = sql`coalesce(disabled_reason, '') <> 'manual' and (not active or consecutive_failures > 0)`

function ofClient(
  { client_id, endpoint_id }: Readonly<Record<'client_id' | 'endpoint_id', unknown>>,
  byEndpoint: boolean,
) {
  return sql`client_id = ${client_id} ${byEndpoint ? sql`and id = ${endpoint_id}` : sql``}`
}

export const countEndpointStates = statement(
  { client_id: int, endpoint_id: int },
  (_, p, __, { byEndpoint }) => sql<{ healthy: number; failing: number; switched_off: number }>`
    select count(case when active and consecutive_failures = 0 then 1 end) as healthy,
      count(case when ${isFailing} then 1 end) as failing,
      count(case when disabled_reason = 'manual' then 1 end) as switched_off
    from mailkeep_endpoint where ${ofClient(p, byEndpoint)}`,
  ['byEndpoint'],
)

export const listFailingEndpoints = statement.all(
  { client_id: int, endpoint_id: int, limit: int },
  (_, p, __, { byEndpoint }) => sql<FailingEndpoint>`
    select id, url, active, disabled_reason, consecutive_failures from mailkeep_endpoint
    where ${ofClient(p, byEndpoint)} and ${isFailing} order by id limit ${p.limit}`,
  ['byEndpoint'],
)

/** Deletes a client's counts. */
export const deleteCountsOfClient: BatchStep = statement.affected(
  batch,
  (_, p) => sql`delete from mailkeep_delivery_count where (${identity}) in
    (select ${identity} from mailkeep_delivery_count where client_id = ${p.target} limit ${p.limit})`,
)

export const deleteOldCounts = statement.affected(
  { before: time, limit: int },
  (_, p) => sql`delete from mailkeep_delivery_count where (${identity}) in
    (select ${identity} from mailkeep_delivery_count where at < ${p.before} limit ${p.limit})`,
)
