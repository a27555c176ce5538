import { allOf, answerOf, api, type Schemas } from '../api.ts'
import { Loaded, useLoad } from '../parts/load.tsx'
import { number } from '../parts/time.tsx'
import { hooksPath } from '../session.ts'
import { EndpointState } from '../webhooks/endpoints.tsx'

/** Endpoints that need attention are shown by name. */
const maxNamed = 5

/** Endpoints by state, with links to those that fail. */
export function EndpointStates() {
  const endpoints = useLoad(
    () =>
      allOf((cursor) =>
        answerOf(
          api.GET('/api/v1/webhook-endpoints', { params: { query: { per_page: 100, ...(cursor && { cursor }) } } }),
        ),
      ),
    [],
  )
  return <Loaded of={endpoints}>{(all) => <States endpoints={all} />}</Loaded>
}

function States({ endpoints }: { endpoints: readonly Schemas['Endpoint'][] }) {
  const wrong = endpoints.filter((one) => one.consecutive_failures > 0 || one.disabled_reason === 'auto_failures')
  const off = endpoints.filter((one) => !one.active && one.disabled_reason !== 'auto_failures')
  return (
    <section class="states">
      <p>
        <a href={hooksPath}>
          {number(endpoints.length)} {endpoints.length === 1 ? 'endpoint' : 'endpoints'}
        </a>
        : {number(endpoints.length - wrong.length - off.length)} healthy, {number(wrong.length)} failing or off after
        failures, {number(off.length)} switched off.
      </p>
      {wrong.length > 0 && (
        <ul class="chips">
          {wrong.slice(0, maxNamed).map((endpoint) => (
            <li key={endpoint.id}>
              <EndpointState endpoint={endpoint} /> <a href={`${hooksPath}/${endpoint.id}`}>{endpoint.url}</a>
            </li>
          ))}
          {wrong.length > maxNamed && <li class="muted">and {number(wrong.length - maxNamed)} more</li>}
        </ul>
      )}
    </section>
  )
}
