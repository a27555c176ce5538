import { answerOf, api, type Schemas } from '../api.ts'
import { Empty } from '../parts/load.tsx'
import { Page, useQuery } from '../parts/page.tsx'
import { type Column, Listing, timeColumn, usePage } from '../parts/table.tsx'

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
  const [{ token, type }, change] = useQuery()
  const filters = { ...(token && { token: Number(token) }), ...(type && { type: type as Type }) }
  const entries = usePage(
    (query) => answerOf(api.GET('/api/v1/audit-log', { params: { query: { ...query, ...filters } } })),
    [token, type],
  )
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
      <Listing of={entries} empty={<Empty title="No change is recorded." />} columns={columns} />
    </Page>
  )
}

const columns: readonly Column<Schemas['AuditEntry']>[] = [
  {
    title: 'Change',
    cell: ({ type }) => {
      const [kind, done] = type.split('.')
      return (
        <a href={`/console/audit?type=${type}`} data-row>
          {kind}.<wbr />
          {done}
        </a>
      )
    },
  },
  { title: 'Record', cell: (entry) => <Target entry={entry} /> },
  {
    title: 'By',
    class: 'wide',
    cell: ({ token_id, source }) =>
      token_id === null ? source : <a href={`/console/audit?token=${token_id}`}>token {token_id}</a>,
  },
  timeColumn('When', ({ created_at }) => created_at),
]

function Target({ entry: { type, target_id } }: { entry: Schemas['AuditEntry'] }) {
  const [kind = '', done] = type.split('.')
  const place = places[kind]
  const text = `${kind} ${target_id}`
  return place !== undefined && done !== 'deleted' ? <a href={`${place}${target_id}`}>{text}</a> : text
}
