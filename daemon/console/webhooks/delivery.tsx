import { api, dataOf, type Schemas } from '../api.ts'
import { useLoad, useReload } from '../parts/load.tsx'
import { attempt } from '../parts/notice.tsx'
import { Block, CopyButton, Page } from '../parts/page.tsx'
import { RecordPage, useRecordId } from '../parts/record.tsx'
import { number, Time } from '../parts/time.tsx'
import { hooksPath } from '../session.ts'
import { DeliveryStatus, EventName } from './delivery-table.tsx'

/** The page reloads while an attempt is under way, or is due within this time. */
const soonMs = 60_000

export function DeliveryPage() {
  const endpointId = useRecordId('endpointId')
  const deliveryId = useRecordId('deliveryId')
  const path = { params: { path: { endpointId, deliveryId } } }
  const delivery = useLoad(
    () => dataOf(api.GET('/api/v1/webhook-endpoints/{endpointId}/deliveries/{deliveryId}', path)),
    [endpointId, deliveryId],
  )
  const endpoint = useLoad(
    () => dataOf(api.GET('/api/v1/webhook-endpoints/{endpointId}', { params: { path: { endpointId } } })),
    [endpointId],
  )
  const { value } = delivery
  const dueMs = Date.parse(value?.next_attempt_at ?? '')
  useReload(delivery, value?.status === 'pending' && dueMs < Date.now() + soonMs)
  const back = { href: `${hooksPath}/${endpointId}`, text: 'Endpoint' }
  const refresh = () => {
    delivery.reload()
    endpoint.reload()
  }
  const redeliver = async () => {
    const call = () =>
      dataOf(api.POST('/api/v1/webhook-endpoints/{endpointId}/deliveries/{deliveryId}/redeliver', path))
    if (await attempt(call, 'The delivery is queued again.')) refresh()
  }
  return (
    <RecordPage of={delivery} id={deliveryId} noun="Delivery" back={back}>
      {(found) => (
        <Page
          title={`Delivery ${deliveryId}`}
          back={back}
          actions={
            <>
              <button type="button" onClick={refresh}>
                Refresh
              </button>
              {endpoint.value?.active && found.payload && (
                <button type="button" class="primary" onClick={redeliver}>
                  Redeliver
                </button>
              )}
            </>
          }
        >
          {endpoint.value?.active === false && <p class="prose">Switch its endpoint on to send this delivery again.</p>}
          <DeliveryView delivery={found} endpoint={endpoint.value} />
        </Page>
      )}
    </RecordPage>
  )
}

interface DeliveryViewProps {
  readonly delivery: Schemas['DeliveryDetail']
  /** Undefined until it is loaded. */
  readonly endpoint: Schemas['Endpoint'] | undefined
}

function DeliveryView({ delivery, endpoint }: DeliveryViewProps) {
  const payload = delivery.payload && JSON.stringify(delivery.payload, null, 2)
  return (
    <>
      <dl class="facts">
        <dt>Event</dt>
        <dd>
          <code>
            <EventName of={delivery.event_type} />
          </code>
        </dd>
        <dt>Status</dt>
        <dd>
          <DeliveryStatus status={delivery.status} />
        </dd>
        <dt>Endpoint</dt>
        <dd>{endpoint?.url ?? '…'}</dd>
        {delivery.error && (
          <>
            <dt>Error</dt>
            <dd>{delivery.error}</dd>
          </>
        )}
        <dt>Created</dt>
        <dd>
          <Time at={delivery.created_at} />
        </dd>
        <dt>Delivered</dt>
        <dd>
          <Time at={delivery.delivered_at} none={delivery.status === 'pending' ? 'not yet' : 'never'} />
        </dd>
        <dt>Next attempt</dt>
        <dd>
          <Time at={delivery.next_attempt_at} none="none" />
        </dd>
      </dl>
      <section>
        <h2>Attempts</h2>
        {delivery.attempt_log.length === 0 ? (
          <p class="muted">None yet.</p>
        ) : (
          <ol class="attempts">
            {delivery.attempt_log.map((one) => (
              <Attempt key={one.number} attempt={one} />
            ))}
          </ol>
        )}
      </section>
      <section>
        <h2>Headers</h2>
        <Block>{headersOf(delivery)}</Block>
        <p class="muted">The headers of the signature and of the time differ in each attempt.</p>
      </section>
      <section>
        <div class="head">
          <h2>Payload</h2>
          {payload && <CopyButton value={payload} />}
        </div>
        {payload ? <Block>{payload}</Block> : <p class="muted">Erased with the contact.</p>}
      </section>
    </>
  )
}

function Attempt({ attempt: one }: { attempt: Schemas['Attempt'] }) {
  return (
    <li>
      <strong>{one.response_status ?? 'No answer'}</strong> <Time at={one.started_at} />
      <span class="muted">{one.duration_ms === null ? ', interrupted' : `, ${number(one.duration_ms)} ms`}</span>
      {one.error && <p>{one.error}</p>}
      {one.response_body && <Block>{one.response_body}</Block>}
    </li>
  )
}

/** Returns the headers that are the same in every attempt. */
function headersOf({ event_type, uuid }: Schemas['DeliveryDetail']): string {
  return [
    'content-type: application/json',
    `x-service-event: ${event_type}`,
    `x-service-delivery: ${uuid}`,
    `webhook-id: ${uuid}`,
  ].join('\n')
}
