import type { Schemas } from '../api.ts'
import { Empty } from '../parts/load.tsx'
import { Badge, Pager, useQuery } from '../parts/page.tsx'
import { Time } from '../parts/time.tsx'
import { hooksPath } from '../session.ts'
import { eventTypes } from './create-endpoint.tsx'

type Status = Schemas['Delivery']['status']
type EventType = Schemas['Delivery']['event_type']

const statuses: readonly Status[] = ['pending', 'success', 'failed', 'held']
const periods: readonly (readonly [hours: number, text: string])[] = [
  [1, 'Last hour'],
  [24, 'Last day'],
  [168, 'Last 7 days'],
  [720, 'Last 30 days'],
]

export type DeliveryQuery = Readonly<Record<'status' | 'type' | 'hours' | 'cursor', string | undefined>>

/** Returns the filters that the address has. */
export function useDeliveryQuery(): DeliveryQuery {
  const [{ status, type, hours, cursor }] = useQuery()
  const isPeriod = periods.some(([known]) => String(known) === hours)
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
  const [query, change] = useQuery()
  return (
    <search class="filters">
      <select
        aria-label="Status"
        data-search
        value={query.status ?? ''}
        onChange={(event) => change({ status: event.currentTarget.value })}
      >
        <option value="">Any status</option>
        {statuses.map((status) => (
          <option key={status} value={status}>
            {status}
          </option>
        ))}
      </select>
      <select
        aria-label="Event type"
        value={query.type ?? ''}
        onChange={(event) => change({ type: event.currentTarget.value })}
      >
        <option value="">Any event</option>
        {[...eventTypes, 'webhook.test'].map((type) => (
          <option key={type} value={type}>
            {type}
          </option>
        ))}
      </select>
      <select
        aria-label="Time"
        value={useDeliveryQuery().hours ?? ''}
        onChange={(event) => change({ hours: event.currentTarget.value })}
      >
        <option value="">Any time</option>
        {periods.map(([hours, text]) => (
          <option key={hours} value={String(hours)}>
            {text}
          </option>
        ))}
      </select>
    </search>
  )
}

type Listed = Schemas['Delivery'] & Partial<Pick<Schemas['EndpointDelivery'], 'endpoint_id' | 'created_at'>>

interface DeliveryTableProps {
  readonly page: {
    readonly data: readonly Listed[]
    readonly meta: { readonly next_cursor: string | null; readonly prev_cursor: string | null }
  }
  /** The endpoint of all of them. Otherwise each is listed with its own. */
  readonly endpointId?: number
}

export function DeliveryTable({ page, endpointId }: DeliveryTableProps) {
  const hasOrigin = endpointId === undefined
  if (page.data.length === 0) return <NoDelivery />
  return (
    <>
      <table>
        <thead>
          <tr>
            <th scope="col">Delivery</th>
            <th scope="col">Status</th>
            {hasOrigin && (
              <>
                <th scope="col" class="wide">
                  Endpoint
                </th>
                <th scope="col" class="wide">
                  Created
                </th>
              </>
            )}
            <th scope="col" class="wide">
              Attempts
            </th>
            <th scope="col" class="wide">
              Answer
            </th>
            <th scope="col">Delivered</th>
          </tr>
        </thead>
        <tbody>
          {page.data.map((delivery) => (
            <tr key={delivery.id}>
              <td class="main">
                <a href={`${hooksPath}/${endpointId ?? delivery.endpoint_id}/deliveries/${delivery.id}`} data-row>
                  {delivery.event_type} <span class="muted">#{delivery.id}</span>
                </a>
              </td>
              <td>
                <DeliveryStatus status={delivery.status} />
              </td>
              {hasOrigin && (
                <>
                  <td class="wide">
                    <a href={`${hooksPath}/${delivery.endpoint_id}`}>#{delivery.endpoint_id}</a>
                  </td>
                  <td class="wide nowrap">
                    <Time at={delivery.created_at} />
                  </td>
                </>
              )}
              <td class="wide">{delivery.attempts}</td>
              <td class="wide">{delivery.response_status ?? <span class="muted">none</span>}</td>
              <td class="nowrap">
                <Time at={delivery.delivered_at} none={delivery.status === 'pending' ? 'not yet' : 'never'} />
              </td>
            </tr>
          ))}
        </tbody>
      </table>
      <Pager meta={page.meta} />
    </>
  )
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
