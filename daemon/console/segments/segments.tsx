import { useState } from 'preact/hooks'
import { answerOf, api, type Schemas } from '../api.ts'
import { confirm } from '../parts/dialog.tsx'
import { Empty, Loaded, useLoad } from '../parts/load.tsx'
import { attempt } from '../parts/notice.tsx'
import { Page, Pager, useQuery } from '../parts/page.tsx'
import { ActionsHead, RowButton } from '../parts/row-button.tsx'
import { Time } from '../parts/time.tsx'
import { may } from '../session.ts'
import { AttributesDialog } from './attributes-dialog.tsx'
import { SegmentDialog } from './segment-dialog.tsx'

type Segment = Schemas['Segment']

/** Named filters of contacts. */
export function Segments() {
  const [{ cursor }] = useQuery()
  const [edited, setEdited] = useState<Segment | 'new'>()
  const [isDeclaring, setDeclaring] = useState(false)
  const query = { per_page: 50, ...(cursor && { cursor }) }
  const segments = useLoad(() => answerOf(api.GET('/api/v1/segments', { params: { query } })), [cursor])
  const remove = async ({ id, name }: Segment) => {
    const agreed = await confirm({
      title: 'Delete this segment?',
      text: (
        <p>
          <strong>{name}</strong> is deleted. Its contacts stay. This cannot be undone.
        </p>
      ),
      action: 'Delete',
      isDangerous: true,
    })
    const path = { params: { path: { segmentId: id } } }
    const call = () => answerOf(api.DELETE('/api/v1/segments/{segmentId}', path))
    if (agreed && (await attempt(call, 'The segment is deleted.'))) segments.reload()
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
          {may('member') && (
            <button type="button" class="primary" data-new onClick={() => setEdited('new')}>
              New segment
            </button>
          )}
        </>
      }
    >
      <Loaded of={segments}>
        {({ data, meta }) =>
          data.length === 0 ? (
            <Empty title="No segment yet.">
              A segment is a named set of filters. Contacts are found by it, and newsletters are sent to it.
            </Empty>
          ) : (
            <>
              <SegmentTable segments={data} edit={setEdited} remove={remove} />
              <Pager meta={meta} />
            </>
          )
        }
      </Loaded>
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

interface SegmentTableProps {
  readonly segments: readonly Segment[]
  readonly edit: (segment: Segment) => void
  readonly remove: (segment: Segment) => void
}

function SegmentTable({ segments, edit, remove }: SegmentTableProps) {
  return (
    <table>
      <thead>
        <tr>
          <th scope="col">Name</th>
          <th scope="col" class="wide">
            Filters by
          </th>
          <th scope="col" class="wide">
            Created
          </th>
          <ActionsHead />
        </tr>
      </thead>
      <tbody>
        {segments.map((segment) => (
          <tr key={segment.id}>
            <td class="main">
              <a href={`/console/contacts?segment=${segment.id}`} data-row>
                {segment.name}
              </a>
            </td>
            <td class="wide">
              {Object.keys(segment.filters)
                .map((name) => name.replaceAll('_', ' '))
                .join(', ') || 'nothing: every contact'}
            </td>
            <td class="wide nowrap">
              <Time at={segment.created_at} />
            </td>
            <td class="do">
              {may('member') && (
                <>
                  <RowButton action="Edit" of={segment.name} onClick={() => edit(segment)} />
                  <RowButton action="Delete" of={segment.name} onClick={() => remove(segment)} />
                </>
              )}
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  )
}
