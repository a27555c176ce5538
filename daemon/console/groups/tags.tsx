import { useState } from 'preact/hooks'
import { answerOf, api, dataOf, type Schemas } from '../api.ts'
import { confirm } from '../parts/dialog.tsx'
import { Empty, Loaded, useLoad } from '../parts/load.tsx'
import { attempt } from '../parts/notice.tsx'
import { Page, Pager, useQuery } from '../parts/page.tsx'
import { GroupTable } from './group-table.tsx'
import { NameDialog } from './name-dialog.tsx'

type Tag = Schemas['Tag']

export function Tags() {
  const [{ cursor }] = useQuery()
  const [edited, setEdited] = useState<Tag | 'new'>()
  const query = { counts: true, per_page: 50, ...(cursor && { cursor }) }
  const tags = useLoad(() => answerOf(api.GET('/api/v1/tags', { params: { query } })), [cursor])
  const save = async (name: string) => {
    if (edited === 'new') await dataOf(api.POST('/api/v1/tags', { body: { name } }))
    else if (edited) {
      await dataOf(api.PATCH('/api/v1/tags/{tagId}', { params: { path: { tagId: edited.id } }, body: { name } }))
    }
    tags.reload()
  }
  const remove = async ({ id, name }: Tag) => {
    const agreed = await confirm({
      title: 'Delete this tag?',
      text: (
        <p>
          <strong>{name}</strong> is removed from every contact. The contacts stay. This cannot be undone.
        </p>
      ),
      action: 'Delete',
      isDangerous: true,
    })
    const call = () => answerOf(api.DELETE('/api/v1/tags/{tagId}', { params: { path: { tagId: id } } }))
    if (agreed && (await attempt(call, 'The tag is deleted.'))) tags.reload()
  }
  return (
    <Page
      title="Tags"
      actions={
        <button type="button" class="primary" data-new onClick={() => setEdited('new')}>
          New tag
        </button>
      }
    >
      <Loaded of={tags}>
        {({ data, meta }) =>
          data.length === 0 ? (
            <Empty title="No tag yet.">A tag is created here, or when a contact gets it.</Empty>
          ) : (
            <>
              <GroupTable
                groups={data}
                link={({ id }) => `/console/contacts?tag=${id}`}
                contacts={({ id }) => `/console/contacts?tag=${id}`}
                actions={(tag) => (
                  <>
                    <button
                      type="button"
                      class="plain"
                      aria-label={`Rename ${tag.name}`}
                      onClick={() => setEdited(tag)}
                    >
                      Rename
                    </button>
                    <button type="button" class="plain" aria-label={`Delete ${tag.name}`} onClick={() => remove(tag)}>
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
          title={edited === 'new' ? 'New tag' : 'Rename the tag'}
          action={edited === 'new' ? 'Create tag' : 'Rename'}
          name={edited === 'new' ? '' : edited.name}
          close={() => setEdited(undefined)}
          save={save}
        />
      )}
    </Page>
  )
}
