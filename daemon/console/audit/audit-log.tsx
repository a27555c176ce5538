import { answerOf, api, type Schemas } from '../api.ts'
import { Empty, Loaded, useLoad } from '../parts/load.tsx'
import { Page, Pager, useQuery } from '../parts/page.tsx'
import { Time } from '../parts/time.tsx'

type Type = Schemas['AuditEntry']['type']

/** The kinds of records, by which the address of a changed record is found. */
const places: Readonly<Record<string, string>> = {
  contact: '/console/contacts/',
  list: '/console/lists/',
  endpoint: '/console/webhooks/',
  newsletter: '/console/newsletters/',
  sequence: '/console/sequences/',
}

export function AuditLog() {
  const [{ cursor, token, type }, change] = useQuery()
  const query = {
    per_page: 50,
    ...(cursor && { cursor }),
    ...(token && { token: Number(token) }),
    ...(type && { type: type as Type }),
  }
  const entries = useLoad(() => answerOf(api.GET('/api/v1/audit-log', { params: { query } })), [cursor, token, type])
  return (
    <Page title="Audit log">
      {(token || type) && (
        <p class="filters">
          <span class="chip">{[type, token && `token ${token}`].filter(Boolean).join(', ')}</span>
          <button type="button" class="plain" onClick={() => change({ token: undefined, type: undefined })}>
            Show all
          </button>
        </p>
      )}
      <Loaded of={entries}>
        {({ data, meta }) =>
          data.length === 0 ? (
            <Empty title="No change is recorded." />
          ) : (
            <>
              <AuditTable entries={data} />
              <Pager meta={meta} />
            </>
          )
        }
      </Loaded>
    </Page>
  )
}

function AuditTable({ entries }: { entries: readonly Schemas['AuditEntry'][] }) {
  return (
    <table>
      <thead>
        <tr>
          <th scope="col">Change</th>
          <th scope="col">Record</th>
          <th scope="col" class="wide">
            By
          </th>
          <th scope="col">When</th>
        </tr>
      </thead>
      <tbody>
        {entries.map((entry) => (
          <tr key={entry.id}>
            <td class="main">
              <a href={`/console/audit?type=${entry.type}`} data-row>
                {entry.type}
              </a>
            </td>
            <td>
              <Target entry={entry} />
            </td>
            <td class="wide">
              {entry.token_id === null ? (
                entry.source
              ) : (
                <a href={`/console/audit?token=${entry.token_id}`}>token {entry.token_id}</a>
              )}
            </td>
            <td class="nowrap">
              <Time at={entry.created_at} />
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  )
}

function Target({ entry: { type, target_id } }: { entry: Schemas['AuditEntry'] }) {
  const [kind = '', done] = type.split('.')
  const place = places[kind]
  const text = `${kind} ${target_id}`
  return place !== undefined && done !== 'deleted' ? <a href={`${place}${target_id}`}>{text}</a> : text
}
