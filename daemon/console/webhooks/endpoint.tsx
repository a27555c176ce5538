import { useState } from 'preact/hooks'
import { answerOf, api, dataOf, type Schemas } from '../api.ts'
import { confirmAndRun } from '../parts/dialog.tsx'
import { Loaded, useLoad, useReload } from '../parts/load.tsx'
import { attempt } from '../parts/notice.tsx'
import { Page, useOpenView } from '../parts/page.tsx'
import { RecordPage, useRecordId } from '../parts/record.tsx'
import { number, Time } from '../parts/time.tsx'
import { hooksPath } from '../session.ts'
import { DeliveryFilters, DeliveryTable, deliveryQuery, EventName, useDeliveryQuery } from './delivery-table.tsx'
import { EndpointState } from './endpoints.tsx'
import { Recover } from './recover.tsx'
import { Rotate } from './rotate.tsx'

/** The outcome of a test is usually known within this time. */
const testMs = 10_000

const back = { href: hooksPath, text: 'Webhooks' }

export function EndpointPage() {
  const endpointId = useRecordId('endpointId')
  const endpoint = useLoad(
    () => dataOf(api.GET('/api/v1/webhook-endpoints/{endpointId}', { params: { path: { endpointId } } })),
    [endpointId],
  )
  return (
    <RecordPage of={endpoint} id={endpointId} noun="Endpoint" back={back}>
      {(value) => <EndpointView endpoint={value} reload={endpoint.reload} />}
    </RecordPage>
  )
}

function EndpointView({ endpoint, reload }: { endpoint: Schemas['Endpoint']; reload(): void }) {
  const openView = useOpenView()
  const [open, setOpen] = useState<'rotate' | 'recover'>()
  const [testedMs, setTestedMs] = useState(0)
  const query = useDeliveryQuery()
  const path = { params: { path: { endpointId: endpoint.id } } }
  const deliveries = useLoad(
    () =>
      answerOf(
        api.GET('/api/v1/webhook-endpoints/{endpointId}/deliveries', {
          params: { ...path.params, query: deliveryQuery(query) },
        }),
      ),
    [endpoint.id, JSON.stringify(query)],
  )
  const refresh = () => {
    reload()
    deliveries.reload()
  }
  useReload({ ...deliveries, reload: refresh }, Date.now() < testedMs + testMs)
  const sendTest = async () => {
    const call = () => dataOf(api.POST('/api/v1/webhook-endpoints/{endpointId}/test', path))
    if (await change(call, 'A test event is on its way.')) setTestedMs(Date.now())
  }
  const change = async (action: () => Promise<unknown>, done: string) => {
    const isDone = await attempt(action, done)
    if (isDone) refresh()
    return isDone
  }
  const remove = async () => {
    const question = {
      title: 'Delete this endpoint?',
      text: <p>Its deliveries are deleted, too. This cannot be undone.</p>,
      action: 'Delete',
    }
    const removed = () => answerOf(api.DELETE('/api/v1/webhook-endpoints/{endpointId}', path))
    if (await confirmAndRun(question, removed, 'The endpoint is deleted.')) openView(back.href)
  }
  return (
    <Page
      title={endpoint.url}
      back={back}
      actions={
        <>
          {endpoint.active && (
            <button type="button" onClick={sendTest}>
              Send test
            </button>
          )}
          <button
            type="button"
            onClick={() =>
              change(
                () =>
                  dataOf(
                    api.PATCH('/api/v1/webhook-endpoints/{endpointId}', {
                      ...path,
                      body: { active: !endpoint.active },
                    }),
                  ),
                endpoint.active ? 'Switched off.' : 'Switched on.',
              )
            }
          >
            {endpoint.active ? 'Switch off' : 'Switch on'}
          </button>
          <button type="button" onClick={() => setOpen('rotate')}>
            Rotate secret
          </button>
          {endpoint.active && (
            <button type="button" onClick={() => setOpen('recover')}>
              Recover
            </button>
          )}
          <button type="button" class="danger" onClick={remove}>
            Delete
          </button>
        </>
      }
    >
      {!endpoint.active && (
        <p class="prose">Its deliveries are held. Switch it on to test it, and to recover what was held.</p>
      )}
      <dl class="facts">
        <dt>State</dt>
        <dd>
          <EndpointState endpoint={endpoint} />
        </dd>
        {endpoint.description !== '' && (
          <>
            <dt>Description</dt>
            <dd>{endpoint.description}</dd>
          </>
        )}
        <dt>Failures in a row</dt>
        <dd>{number(endpoint.consecutive_failures)}</dd>
        <dt>Last attempt</dt>
        <dd>
          <Time at={endpoint.last_triggered_at} />
        </dd>
        <dt>Events</dt>
        <dd class="names">
          {endpoint.events.map((type) => (
            <code key={type}>
              <EventName of={type} />
            </code>
          ))}
        </dd>
      </dl>
      <section>
        <div class="head">
          <h2>Deliveries</h2>
          <button type="button" onClick={refresh}>
            Refresh
          </button>
        </div>
        <DeliveryFilters />
        <Loaded of={deliveries}>{(page) => <DeliveryTable page={page} endpointId={endpoint.id} />}</Loaded>
      </section>
      {open === 'rotate' && <Rotate endpointId={endpoint.id} close={() => setOpen(undefined)} />}
      {open === 'recover' && <Recover endpointId={endpoint.id} close={() => setOpen(undefined)} done={refresh} />}
    </Page>
  )
}
