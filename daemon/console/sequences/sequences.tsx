import { useState } from 'preact/hooks'
import { useLocation } from 'preact-iso'
import { allLists, answerOf, api, dataOf, type Schemas } from '../api.ts'
import { Empty, Loaded, useLoad } from '../parts/load.tsx'
import { Badge, Page, Pager, useQuery } from '../parts/page.tsx'
import { Time } from '../parts/time.tsx'
import { may } from '../session.ts'
import { SequenceDialog, type SequenceSettings } from './sequence-dialog.tsx'

export function SequenceStatus({ status }: { status: Schemas['Sequence']['status'] }) {
  return <Badge kind={status === 'active' ? 'good' : 'warn'}>{status}</Badge>
}

interface TriggerListProps {
  readonly id: number | null
  /** Undefined while they are loaded. */
  readonly lists: readonly Schemas['List'][] | undefined
}

/** The list whose new contacts are enrolled. */
export function TriggerList({ id, lists }: TriggerListProps) {
  if (id === null) return <span class="muted">none</span>
  return <a href={`/console/lists/${id}`}>{lists?.find((list) => list.id === id)?.name ?? `list ${id}`}</a>
}

export function Sequences() {
  const [{ cursor }] = useQuery()
  const [isCreating, setCreating] = useState(false)
  const lists = useLoad(allLists, [])
  const query = { per_page: 50, ...(cursor && { cursor }) }
  const sequences = useLoad(() => answerOf(api.GET('/api/v1/sequences', { params: { query } })), [cursor])
  return (
    <Page
      title="Sequences"
      actions={
        may('admin') && (
          <button type="button" class="primary" data-new onClick={() => setCreating(true)}>
            New sequence
          </button>
        )
      }
    >
      <Loaded of={sequences}>
        {({ data, meta }) =>
          data.length === 0 ? (
            <Empty title="No sequence yet.">A sequence sends its steps to each contact who joins a list.</Empty>
          ) : (
            <>
              <table>
                <thead>
                  <tr>
                    <th scope="col">Sequence</th>
                    <th scope="col">Status</th>
                    <th scope="col" class="wide">
                      List
                    </th>
                    <th scope="col">Changed</th>
                  </tr>
                </thead>
                <tbody>
                  {data.map(({ id, name, status, list_id, updated_at }) => (
                    <tr key={id}>
                      <td class="main">
                        <a href={`/console/sequences/${id}`} data-row>
                          {name}
                        </a>
                      </td>
                      <td>
                        <SequenceStatus status={status} />
                      </td>
                      <td class="wide">
                        <TriggerList id={list_id} lists={lists.value} />
                      </td>
                      <td class="nowrap">
                        <Time at={updated_at} />
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
      {isCreating && <CreateSequence close={() => setCreating(false)} />}
    </Page>
  )
}

function CreateSequence({ close }: { close(): void }) {
  const { route } = useLocation()
  const save = async (settings: SequenceSettings) => {
    const { id } = await dataOf(api.POST('/api/v1/sequences', { body: { ...settings, status: 'paused' } }))
    route(`/console/sequences/${id}`)
  }
  return <SequenceDialog title="New sequence" action="Create sequence" close={close} save={save} />
}
