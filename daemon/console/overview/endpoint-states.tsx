import { plural } from '../../progress.ts'
import type { Schemas } from '../api.ts'
import { number } from '../parts/time.tsx'
import { hooksPath } from '../session.ts'
import { EndpointState } from '../webhooks/endpoints.tsx'

/** Endpoints by state, with links to those that fail. */
export function EndpointStates({ states }: { states: Schemas['EndpointStates'] }) {
  const { healthy, failing, switched_off, first_failing } = states
  const total = healthy + failing + switched_off
  return (
    <section class="states">
      <p>
        <a href={hooksPath}>{plural(total, 'endpoint')}</a>: {number(healthy)} healthy, {number(failing)} failing or off
        after failures, {number(switched_off)} switched off.
      </p>
      {failing > 0 && (
        <ul class="chips">
          {first_failing.map((endpoint) => (
            <li key={endpoint.id}>
              <EndpointState endpoint={endpoint} />
              <a class="cut" href={`${hooksPath}/${endpoint.id}`} title={endpoint.url}>
                {endpoint.url}
              </a>
            </li>
          ))}
          {failing > first_failing.length && <li class="muted">and {number(failing - first_failing.length)} more</li>}
        </ul>
      )}
    </section>
  )
}
