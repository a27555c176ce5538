import { useState } from 'preact/hooks'
import { answerOf, api, type Schemas } from '../api.ts'
import { Empty, Loaded, useLoad } from '../parts/load.tsx'
import { Badge, Page, Pager, useQuery } from '../parts/page.tsx'
import { number, Time } from '../parts/time.tsx'
import { hooksPath } from '../session.ts'
import { CreateEndpoint } from './create-endpoint.tsx'

export function Endpoints() {
  const [{ cursor }] = useQuery()
  const [isCreating, setCreating] = useState(false)
  const endpoints = useLoad(
    () =>
      answerOf(
        api.GET('/api/v1/webhook-endpoints', { params: { query: { per_page: 50, ...(cursor && { cursor }) } } }),
      ),
    [cursor],
  )
  return (
    <Page
      title="Webhooks"
      actions={
        <button type="button" class="primary" data-new onClick={() => setCreating(true)}>
          New endpoint
        </button>
      }
    >
      <Loaded of={endpoints}>
        {({ data, meta }) =>
          data.length === 0 ? (
            <Empty title="No endpoint yet.">
              An endpoint is a URL of yours that gets a signed request for each change of a contact.
            </Empty>
          ) : (
            <>
              <table>
                <thead>
                  <tr>
                    <th scope="col">URL</th>
                    <th scope="col">State</th>
                    <th scope="col" class="wide">
                      Failures in a row
                    </th>
                    <th scope="col" class="wide">
                      Events
                    </th>
                    <th scope="col">Last attempt</th>
                  </tr>
                </thead>
                <tbody>
                  {data.map((endpoint) => (
                    <tr key={endpoint.id}>
                      <td class="main">
                        <a href={`${hooksPath}/${endpoint.id}`} data-row>
                          {endpoint.url}
                        </a>
                        {endpoint.description !== '' && <small>{endpoint.description}</small>}
                      </td>
                      <td>
                        <EndpointState endpoint={endpoint} />
                      </td>
                      <td class="wide">{number(endpoint.consecutive_failures)}</td>
                      <td class="wide">{endpoint.events.length}</td>
                      <td class="nowrap">
                        <Time at={endpoint.last_triggered_at} />
                      </td>
                    </tr>
                  ))}
                </tbody>
              </table>
              <Pager meta={meta} />
            </>
          )
        }
      </Loaded>
      {isCreating && <CreateEndpoint close={() => setCreating(false)} created={endpoints.reload} />}
    </Page>
  )
}

export function EndpointState({
  endpoint: { active, disabled_reason, consecutive_failures },
}: {
  endpoint: Pick<Schemas['Endpoint'], 'active' | 'disabled_reason' | 'consecutive_failures'>
}) {
  if (disabled_reason === 'auto_failures') return <Badge kind="bad">off after failures</Badge>
  if (!active) return <Badge kind="idle">switched off</Badge>
  return consecutive_failures > 0 ? <Badge kind="warn">failing</Badge> : <Badge kind="good">active</Badge>
}
