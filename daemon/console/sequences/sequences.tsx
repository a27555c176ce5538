import { useState } from 'preact/hooks'
import { useLocation } from 'preact-iso'
import { allLists, answerOf, api, dataOf, type Schemas } from '../api.ts'
import { Dialog } from '../parts/dialog.tsx'
import { Choice, Field, Form, textOf } from '../parts/form.tsx'
import { Empty, Loaded, useLoad } from '../parts/load.tsx'
import { Badge, Page, Pager, useQuery } from '../parts/page.tsx'
import { Time } from '../parts/time.tsx'
import { may } from '../session.ts'

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
  const lists = useLoad(allLists, [])
  const submit = async (fields: FormData) => {
    const list = textOf(fields, 'list')
    const body = {
      name: textOf(fields, 'name'),
      list_id: list === '' ? null : Number(list),
      status: 'paused' as const,
    }
    const { id } = await dataOf(api.POST('/api/v1/sequences', { body }))
    close()
    route(`/console/sequences/${id}`)
  }
  return (
    <Dialog title="New sequence" close={close}>
      <Form action="Create sequence" cancel={close} submit={submit}>
        <Field label="Name" name="name" required />
        <Choice
          label="Contacts who join this list are enrolled"
          name="list"
          options={[['', 'No list'], ...(lists.value ?? []).map(({ id, name }) => [String(id), name] as const)]}
        />
        <p class="muted">It is paused until you have written its steps and resume it.</p>
      </Form>
    </Dialog>
  )
}
