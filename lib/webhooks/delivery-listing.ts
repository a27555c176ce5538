/** The listings of deliveries, with their filters. */
import { sql } from 'kysely'
import * as v from 'valibot'
import type { Context } from '../context.ts'
import { mapPage, type Page, type PageInput, pageFields, type Range, readPage } from '../page.ts'
import { closedObject, parse, TimeMs } from '../parse.ts'
import { int, ints, rows, statement, text, time, type Values, word } from '../storage/statement.ts'
import { timestamp } from '../time.ts'
import * as queries from './queries.ts'
import {
  type Delivery,
  type DeliveryStatus,
  deliveryFrom,
  deliveryStatuses,
  type EndpointDelivery,
  type EventType,
  endpointDeliveryFrom,
  eventTypes,
} from './schema.ts'

/** Filters and page of a listing of deliveries. */
export interface DeliveryQueryInput extends PageInput {
  readonly status?: DeliveryStatus | undefined
  readonly event_type?: EventType | undefined
  /** Only deliveries that were created then or later: ISO 8601 with an offset, as in `2026-01-02T03:04:05Z`. */
  readonly since?: string | undefined
}

const DeliveryQuery = closedObject({
  ...pageFields,
  status: v.optional(v.picklist(deliveryStatuses, `This must be one of ${deliveryStatuses.join(', ')}.`)),
  event_type: v.optional(v.picklist(eventTypes, `This must be one of ${eventTypes.join(', ')}.`)),
  since: v.optional(TimeMs),
})

/** An endpoint whose deliveries are listed. */
interface ListedEndpoint {
  readonly id: number
  /** If not active, a pending delivery is shown as held before its row changes. */
  readonly active: boolean
  /** JSON: the types of its deliveries. null if they may have any type. */
  readonly events: string | null
}

/** The range of an index: the deliveries of one endpoint, type and status, by id. */
const endedRange = { endpoint_id: int, event_type: word<EventType>(), status: word<DeliveryStatus>() }

const position = { after: int, after_id: int, since: time, limit: int }

/** Lists deliveries of several endpoints. It reads at most `limit` rows of each range, from an index in order of id. */
const listFiltered = statement.all(
  { ...position, ended: rows(endedRange), pending: ints, event_type: text },
  (_, p, dialect, { desc, typed }) => {
    const order = desc ? sql`desc` : sql`asc`
    const page = sql`id > ${p.after_id} and id ${desc ? sql`<` : sql`>`} ${p.after} and created_at >= ${p.since}
      order by id ${order} limit ${p.limit}`
    const ended = sql`select id from mailkeep_delivery where endpoint_id = item.endpoint_id
      and event_type = item.event_type and status = item.status and status <> 'pending' and ${page}`
    const pending = sql`select id from mailkeep_delivery where endpoint_id = item.value and status = 'pending'
      ${typed ? sql`and event_type = ${p.event_type}` : sql``} and ${page}`
    return deliveriesOf(
      sql`${dialect.idsOfEach(dialect.unnestRows(p.ended, endedRange), ended)}
        union all ${dialect.idsOfEach(dialect.unnest(p.pending), pending)}
        order by id ${order} limit ${p.limit}`,
      order,
    )
  },
  ['desc', 'typed'],
)

/** Same as `listFiltered`, for deliveries of any type and status. */
const listUnfiltered = statement.all(
  { ...position, endpoint_ids: ints },
  (_, p, dialect, { desc }) => {
    const order = desc ? sql`desc` : sql`asc`
    const inner = sql`select id from mailkeep_delivery where endpoint_id = item.value and id > ${p.after_id}
      and id ${desc ? sql`<` : sql`>`} ${p.after} and created_at >= ${p.since} order by id ${order} limit ${p.limit}`
    return deliveriesOf(
      sql`${dialect.idsOfEach(dialect.unnest(p.endpoint_ids), inner)} order by id ${order} limit ${p.limit}`,
      order,
    )
  },
  ['desc'],
)

type ListedRow = Parameters<typeof endpointDeliveryFrom>[0]

function deliveriesOf(ids: ReturnType<typeof sql>, order: ReturnType<typeof sql>) {
  return sql<ListedRow>`select d.id, d.uuid, d.endpoint_id, d.event_type, d.status, d.attempts, d.response_status,
      d.delivered_at, d.created_at
    from (${ids}) as page join mailkeep_delivery as d on d.id = page.id order by d.id ${order}`
}

/**
 * Finds the last id before a time by bisection, because ids ascend with the time. So the table needs no index on
 * `created_at`, which would make every event slower.
 */
const findLastIdBefore = statement(
  { before: time, first_step: int },
  (_, p) => sql<{ id: number }>`
    with recursive search (id, step) as (
      select ${p.first_step} - ${p.first_step}, ${p.first_step}
      union all
      select case when coalesce((select created_at < ${p.before} from mailkeep_delivery
          where id >= search.id + search.step order by id limit 1), ${sql.raw('1 = 0')})
        then search.id + search.step else search.id end, search.step / 2
      from search where search.step >= 1)
    select id from search where step = 0`,
)

/** Larger than any id. A power of two. */
const firstStep = 2 ** 50

/** Concurrent transactions get their times and their ids in slightly different orders, and clocks may be set back. */
const clockToleranceMs = 600_000

/** Returns one page of the deliveries of an endpoint, newest first. @throws MailkeepError `validation_failed` */
export async function listDeliveriesOf(
  ctx: Context,
  endpoint: ListedEndpoint,
  query: DeliveryQueryInput = {},
): Promise<Page<Delivery>> {
  const { cursor, per_page, ...filters } = parse(DeliveryQuery, query)
  const isFiltered = Object.values(filters).some((value) => value !== undefined)
  const read = isFiltered
    ? await readerOf(ctx, [endpoint], filters)
    : (range: Range) => queries.listDeliveries(ctx, { endpoint_id: endpoint.id, ...range }, range)
  return mapPage(await readPage({ cursor, per_page }, read, true), (row) => deliveryFrom(row, endpoint.active))
}

/**
 * Returns one page of the deliveries to all webhook endpoints of the client, newest first.
 *
 * @throws MailkeepError `validation_failed`
 */
export async function listAllDeliveries(ctx: Context, query: DeliveryQueryInput = {}): Promise<Page<EndpointDelivery>> {
  const { cursor, per_page, ...filters } = parse(DeliveryQuery, query)
  const rows = await queries.listAllEndpoints(ctx, { client_id: ctx.clientId })
  const endpoints = rows.map(({ id, events, disabled_reason }) => ({ id, events, active: disabled_reason === null }))
  const active = new Map(endpoints.map((endpoint) => [endpoint.id, endpoint.active]))
  const page = await readPage({ cursor, per_page }, await readerOf(ctx, endpoints, filters), true)
  return mapPage(page, (row) => endpointDeliveryFrom(row, active.get(row.endpoint_id)!))
}

interface Filters {
  readonly status?: DeliveryStatus | undefined
  readonly event_type?: EventType | undefined
  /** Milliseconds since 1970. */
  readonly since?: number | undefined
}

/** Returns a function that reads a range of the listing. */
async function readerOf(
  ctx: Context,
  endpoints: readonly ListedEndpoint[],
  { status, event_type, since }: Filters,
): Promise<(range: Range) => Promise<ListedRow[]>> {
  const bounds = { since: timestamp(since ?? 0), after_id: since === undefined ? 0 : await lastIdBefore(ctx, since) }
  if (status === undefined && event_type === undefined) {
    const endpoint_ids = endpoints.map(({ id }) => id)
    return (range) => listUnfiltered(ctx, { ...bounds, ...range, endpoint_ids }, range)
  }
  const ended = endpoints.flatMap((endpoint) => endedRangesOf(endpoint, status, event_type))
  const pending = endpoints.filter(({ active }) => status === undefined || status === (active ? 'pending' : 'held'))
  const ranges = { ended, pending: pending.map(({ id }) => id), event_type: event_type ?? '' }
  const typed = event_type !== undefined
  return ({ desc, ...range }) => listFiltered(ctx, { ...bounds, ...range, ...ranges }, { desc, typed })
}

/** Returns the ranges of an endpoint's deliveries that are not pending. */
function endedRangesOf(
  { id: endpoint_id, events }: ListedEndpoint,
  status: DeliveryStatus | undefined,
  event_type: EventType | undefined,
): Values<typeof endedRange>[] {
  const own: readonly EventType[] = events === null ? eventTypes : [...JSON.parse(events), 'webhook.test']
  const types = new Set(event_type === undefined ? own : [event_type])
  const statuses = deliveryStatuses.filter((one) => one !== 'pending' && (status === undefined || one === status))
  return [...types].flatMap((type) => statuses.map((one) => ({ endpoint_id, event_type: type, status: one })))
}

async function lastIdBefore(ctx: Context, ms: number): Promise<number> {
  const found = await findLastIdBefore(ctx, { before: timestamp(ms - clockToleranceMs), first_step: firstStep })
  return found!.id
}
