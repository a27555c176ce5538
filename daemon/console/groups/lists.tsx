import { useState } from 'preact/hooks'
import { answerOf, api, dataOf, type Schemas } from '../api.ts'
import { confirm } from '../parts/dialog.tsx'
import { Empty, Loaded, useLoad } from '../parts/load.tsx'
import { attempt } from '../parts/notice.tsx'
import { Page, Pager, useQuery } from '../parts/page.tsx'
import { GroupTable } from './group-table.tsx'
import { NameDialog } from './name-dialog.tsx'

type List = Schemas['List']

export function Lists() {
  const [{ cursor }] = useQuery()
  const [edited, setEdited] = useState<List | 'new'>()
  const query = { counts: true, per_page: 50, ...(cursor && { cursor }) }
  const lists = useLoad(() => answerOf(api.GET('/api/v1/lists', { params: { query } })), [cursor])
  const save = async (name: string) => {
    if (edited === 'new') await dataOf(api.POST('/api/v1/lists', { body: { name } }))
    else if (edited) {
      await dataOf(api.PATCH('/api/v1/lists/{listId}', { params: { path: { listId: edited.id } }, body: { name } }))
    }
    lists.reload()
  }
  const remove = async ({ id, name }: List) => {
    const agreed = await confirm({
      title: 'Delete this list?',
      text: (
        <p>
          <strong>{name}</strong> is deleted with its memberships and topics. Its contacts stay. This cannot be undone.
        </p>
      ),
      action: 'Delete',
      isDangerous: true,
    })
    const call = () => answerOf(api.DELETE('/api/v1/lists/{listId}', { params: { path: { listId: id } } }))
    if (agreed && (await attempt(call, 'The list is deleted.'))) lists.reload()
  }
  return (
    <Page
      title="Lists and topics"
      actions={
        <button type="button" class="primary" data-new onClick={() => setEdited('new')}>
          New list
        </button>
      }
    >
      <Loaded of={lists}>
        {({ data, meta }) =>
          data.length === 0 ? (
            <Empty title="No list yet.">Contacts join lists, and choose among the topics of a list.</Empty>
          ) : (
            <>
              <GroupTable
                groups={data}
                link={({ id }) => `/console/lists/${id}`}
                contacts={({ id }) => `/console/contacts?list=${id}`}
                actions={(list) => (
                  <>
                    <button
                      type="button"
                      class="plain"
                      aria-label={`Rename ${list.name}`}
                      onClick={() => setEdited(list)}
                    >
                      Rename
                    </button>
                    <button type="button" class="plain" aria-label={`Delete ${list.name}`} onClick={() => remove(list)}>
                      Delete
                    </button>
                  </>
                )}
              />
              <Pager meta={meta} />
            </>
          )
        }
      </Loaded>
      {edited && (
        <NameDialog
          title={edited === 'new' ? 'New list' : 'Rename the list'}
          action={edited === 'new' ? 'Create list' : 'Rename'}
          name={edited === 'new' ? '' : edited.name}
          close={() => setEdited(undefined)}
          save={save}
        />
      )}
    </Page>
  )
}
