import { useState } from 'preact/hooks'
import { answerOf, api, type Schemas } from '../api.ts'
import { NewButton } from '../parts/buttons.tsx'
import { Empty } from '../parts/load.tsx'
import { Badge, Page } from '../parts/page.tsx'
import { type Column, Listing, timeColumn, usePage } from '../parts/table.tsx'
import { number } from '../parts/time.tsx'
import { hooksPath } from '../session.ts'
import { CreateEndpoint } from './create-endpoint.tsx'

export function Endpoints() {
  const [isCreating, setCreating] = useState(false)
  const endpoints = usePage((query) => answerOf(api.GET('/api/v1/webhook-endpoints', { params: { query } })))
  return (
    <Page title="Webhooks" actions={<NewButton onClick={() => setCreating(true)}>New endpoint</NewButton>}>
      <Listing
        of={endpoints}
        empty={
          <Empty title="No endpoint yet.">
            An endpoint is a URL of yours that gets a signed request for each change of a contact.
          </Empty>
        }
        columns={columns}
      />
      {isCreating && <CreateEndpoint close={() => setCreating(false)} created={endpoints.reload} />}
    </Page>
  )
}

const columns: readonly Column<Schemas['Endpoint']>[] = [
  {
    title: 'URL',
    cell: ({ id, url, description }) => (
      <>
        <a href={`${hooksPath}/${id}`} title={url} data-row>
          {url}
        </a>
        {description !== '' && (
          <small class="cut" title={description}>
            {description}
          </small>
        )}
      </>
    ),
  },
  { title: 'State', cell: (endpoint) => <EndpointState endpoint={endpoint} /> },
  { title: 'Failures in a row', class: 'wide', cell: (endpoint) => number(endpoint.consecutive_failures) },
  { title: 'Events', class: 'wide', cell: ({ events }) => events.length },
  timeColumn('Last attempt', (endpoint) => endpoint.last_triggered_at),
]

export function EndpointState({
  endpoint: { active, disabled_reason, consecutive_failures },
}: {
  endpoint: Pick<Schemas['Endpoint'], 'active' | 'disabled_reason' | 'consecutive_failures'>
}) {
  if (disabled_reason === 'auto_failures') return <Badge kind="bad">off after failures</Badge>
  if (!active) return <Badge kind="idle">switched off</Badge>
  return consecutive_failures > 0 ? <Badge kind="warn">failing</Badge> : <Badge kind="good">active</Badge>
}
