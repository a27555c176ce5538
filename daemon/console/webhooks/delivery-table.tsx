import { allEndpoints, type Schemas } from '../api.ts'
import { Filter } from '../parts/filter.tsx'
import { Empty, useLoad } from '../parts/load.tsx'
import { Badge, type Meta, Pager, useQuery } from '../parts/page.tsx'
import { type Column, Table, timeColumn } from '../parts/table.tsx'
import { Time } from '../parts/time.tsx'
import { hooksPath } from '../session.ts'
import { eventTypes } from './create-endpoint.tsx'

type Status = Schemas['Delivery']['status']
type EventType = Schemas['Delivery']['event_type']

const statuses: readonly Status[] = ['pending', 'success', 'failed', 'held']
const periods: readonly (readonly [hours: string, text: string])[] = [
  ['1', 'Last hour'],
  ['24', 'Last day'],
  ['168', 'Last 7 days'],
  ['720', 'Last 30 days'],
]

export type DeliveryQuery = Readonly<Record<'status' | 'type' | 'hours' | 'cursor', string | undefined>>

/** Returns the filters that the address has. */
export function useDeliveryQuery(): DeliveryQuery {
  const [{ status, type, hours, cursor }] = useQuery()
  const isPeriod = periods.some(([known]) => known === hours)
  return { status, type, hours: isPeriod ? hours : undefined, cursor }
}

/** Returns the parameters of the API for the filters. */
export function deliveryQuery({ status, type, hours, cursor }: DeliveryQuery) {
  const since = hours ? new Date(Date.now() - Number(hours) * 3_600_000).toISOString() : undefined
  return {
    per_page: 50,
    ...(cursor && { cursor }),
    ...(status && { status: status as Status }),
    ...(type && { event_type: type as EventType }),
    ...(since && { since }),
  }
}

export function DeliveryFilters() {
  const { hours } = useDeliveryQuery()
  return (
    <search class="filters">
      <Filter name="status" label="Status" any="Any status" options={statuses} />
      <Filter name="type" label="Event type" any="Any event" options={[...eventTypes, 'webhook.test']} />
      <Filter name="hours" label="Time" any="Any time" options={periods} value={hours} />
    </search>
  )
}

type Listed = Schemas['Delivery'] & Partial<Pick<Schemas['EndpointDelivery'], 'endpoint_id' | 'created_at'>>

interface DeliveryTableProps {
  readonly page: { readonly data: readonly Listed[]; readonly meta: Meta }
  /** The endpoint of all of them. Otherwise each is listed with its own. */
  readonly endpointId?: number
}

export function DeliveryTable({ page, endpointId }: DeliveryTableProps) {
  const isOfAll = endpointId === undefined
  const endpoints = useLoad(async () => (isOfAll ? await allEndpoints() : []), [isOfAll])
  if (page.data.length === 0) return <NoDelivery />
  const urls = new Map(endpoints.value?.map(({ id, url }) => [id, url]))
  return (
    <>
      <Table rows={page.data} columns={columnsOf(endpointId, urls)} />
      <Pager meta={page.meta} />
    </>
  )
}

function columnsOf(
  endpointId: number | undefined,
  urls: ReadonlyMap<number | undefined, string>,
): readonly Column<Listed>[] {
  const origin: readonly Column<Listed>[] = [
    {
      title: 'Endpoint',
      class: 'wide',
      cell: ({ endpoint_id }) => (
        <a class="cut" href={`${hooksPath}/${endpoint_id}`} title={urls.get(endpoint_id)}>
          {urls.get(endpoint_id) ?? `endpoint ${endpoint_id}`}
        </a>
      ),
    },
    timeColumn('Created', ({ created_at }) => created_at, true),
  ]
  return [
    {
      title: 'Delivery',
      cell: ({ id, event_type, endpoint_id }) => (
        <a href={`${hooksPath}/${endpointId ?? endpoint_id}/deliveries/${id}`} data-row>
          <EventName of={event_type} /> <span class="muted">#{id}</span>
        </a>
      ),
    },
    { title: 'Status', cell: ({ status }) => <DeliveryStatus status={status} /> },
    ...(endpointId === undefined ? origin : []),
    { title: 'Attempts', class: 'wide', cell: ({ attempts }) => attempts },
    {
      title: 'Answer',
      class: 'wide',
      cell: ({ response_status }) => response_status ?? <span class="muted">none</span>,
    },
    {
      title: 'Delivered',
      isTime: true,
      cell: ({ delivered_at, status }) => <Time at={delivered_at} none={status === 'pending' ? 'not yet' : 'never'} />,
    },
  ]
}

function NoDelivery() {
  const { status, type, hours } = useDeliveryQuery()
  if (status || type || hours) return <Empty title="No delivery matches.">Change the filters.</Empty>
  return (
    <Empty title="No delivery yet.">
      Each event of a type that an <a href={hooksPath}>endpoint</a> asks for is delivered to it.
    </Empty>
  )
}

const kinds = { pending: 'warn', success: 'good', failed: 'bad', held: 'idle' } as const

export function DeliveryStatus({ status }: { status: Status }) {
  return <Badge kind={kinds[status]}>{status}</Badge>
}

/** A type of event. In a narrow place it breaks between its words. */
export function EventName({ of }: { of: string }) {
  return of.split(/(?<=[._])/).map((word) => (
    <span key={word} class="whole">
      {word}
    </span>
  ))
}
