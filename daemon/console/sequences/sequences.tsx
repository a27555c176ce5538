import { useState } from 'preact/hooks'
import { useLocation } from 'preact-iso'
import { allLists, answerOf, api, dataOf, type Schemas } from '../api.ts'
import { NewButton } from '../parts/buttons.tsx'
import { Empty, useLoad } from '../parts/load.tsx'
import { Badge, Page } from '../parts/page.tsx'
import { Listing, timeColumn, usePage } from '../parts/table.tsx'
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
  const [isCreating, setCreating] = useState(false)
  const lists = useLoad(allLists, [])
  const sequences = usePage((query) => answerOf(api.GET('/api/v1/sequences', { params: { query } })))
  return (
    <Page
      title="Sequences"
      actions={may('admin') && <NewButton onClick={() => setCreating(true)}>New sequence</NewButton>}
    >
      <Listing
        of={sequences}
        empty={<Empty title="No sequence yet.">A sequence sends its steps to each contact who joins a list.</Empty>}
        columns={[
          {
            title: 'Sequence',
            cell: ({ id, name }) => (
              <a href={`/console/sequences/${id}`} data-row>
                {name}
              </a>
            ),
          },
          { title: 'Status', cell: ({ status }) => <SequenceStatus status={status} /> },
          { title: 'List', class: 'wide', cell: ({ list_id }) => <TriggerList id={list_id} lists={lists.value} /> },
          timeColumn('Changed', (sequence: { updated_at: string }) => sequence.updated_at),
        ]}
      />
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
