import { useState } from 'preact/hooks'
import { answerOf, api, type Schemas } from '../api.ts'
import { NewButton, RowButton } from '../parts/buttons.tsx'
import { confirmAndRun } from '../parts/dialog.tsx'
import { Empty } from '../parts/load.tsx'
import { Page } from '../parts/page.tsx'
import { type Column, Listing, timeColumn, usePage } from '../parts/table.tsx'
import { may } from '../session.ts'
import { AttributesDialog } from './attributes-dialog.tsx'
import { SegmentDialog } from './segment-dialog.tsx'

type Segment = Schemas['Segment']

/** Named filters of contacts. */
export function Segments() {
  const [edited, setEdited] = useState<Segment | 'new'>()
  const [isDeclaring, setDeclaring] = useState(false)
  const segments = usePage((query) => answerOf(api.GET('/api/v1/segments', { params: { query } })))
  const remove = async ({ id, name }: Segment) => {
    const question = {
      title: 'Delete this segment?',
      text: (
        <p>
          <strong>{name}</strong> is deleted. Its contacts stay. This cannot be undone.
        </p>
      ),
      action: 'Delete',
    }
    const path = { params: { path: { segmentId: id } } }
    const call = () => answerOf(api.DELETE('/api/v1/segments/{segmentId}', path))
    if (await confirmAndRun(question, call, 'The segment is deleted.')) segments.reload()
  }
  return (
    <Page
      title="Segments"
      actions={
        <>
          {may('admin') && (
            <button type="button" onClick={() => setDeclaring(true)}>
              Attributes
            </button>
          )}
          {may('member') && <NewButton onClick={() => setEdited('new')}>New segment</NewButton>}
        </>
      }
    >
      <Listing
        of={segments}
        empty={
          <Empty title="No segment yet.">
            A segment is a named set of filters. Contacts are found by it, and newsletters are sent to it.
          </Empty>
        }
        columns={columns}
        actions={(segment) =>
          may('member') && (
            <>
              <RowButton action="Edit" of={segment.name} onClick={() => setEdited(segment)} />
              <RowButton action="Delete" of={segment.name} onClick={() => remove(segment)} />
            </>
          )
        }
      />
      {isDeclaring && <AttributesDialog close={() => setDeclaring(false)} />}
      {edited && (
        <SegmentDialog
          segment={edited === 'new' ? undefined : edited}
          close={() => setEdited(undefined)}
          saved={segments.reload}
        />
      )}
    </Page>
  )
}

const columns: readonly Column<Segment>[] = [
  {
    title: 'Name',
    cell: ({ id, name }) => (
      <a href={`/console/contacts?segment=${id}`} data-row>
        {name}
      </a>
    ),
  },
  {
    title: 'Filters by',
    class: 'wide',
    cell: ({ filters }) =>
      Object.keys(filters)
        .map((name) => name.replaceAll('_', ' '))
        .join(', ') || 'nothing: every contact',
  },
  timeColumn('Created', ({ created_at }) => created_at, true),
]
