import type { ComponentChildren } from 'preact'
import { useState } from 'preact/hooks'
import type { Schemas } from '../api.ts'
import { confirm } from '../parts/dialog.tsx'
import { Empty, Loaded, useLoad } from '../parts/load.tsx'
import { attempt } from '../parts/notice.tsx'
import { Page, Pager, useQuery } from '../parts/page.tsx'
import { RowButton } from '../parts/row-button.tsx'
import { may } from '../session.ts'
import { type Group, GroupTable } from './group-table.tsx'
import { NameDialog } from './name-dialog.tsx'

/** The query of a page of the listing. */
interface GroupQuery {
  readonly counts: true
  readonly per_page: number
  readonly cursor?: string
}

interface GroupsProps<T> {
  /** What the page calls one of them: `list` or `tag`. */
  readonly noun: string
  readonly title: string
  readonly about: string
  readonly load: (query: GroupQuery) => Promise<{ data: T[]; meta: Schemas['Meta'] }>
  readonly create: (name: string) => Promise<unknown>
  readonly rename: (id: number, name: string) => Promise<unknown>
  readonly remove: (id: number) => Promise<unknown>
  /** What the deletion of a group does. */
  readonly consequence: (name: string) => ComponentChildren
  readonly link: (group: T) => string
  readonly contacts: (group: T) => string
}

/** The page of all lists, or of all tags. */
export function Groups<T extends Group>({ noun, title, about, load, create, rename, ...props }: GroupsProps<T>) {
  const [{ cursor }] = useQuery()
  const [edited, setEdited] = useState<T | 'new'>()
  const groups = useLoad(() => load({ counts: true, per_page: 50, ...(cursor && { cursor }) }), [cursor])
  const save = async (name: string) => {
    if (edited === 'new') await create(name)
    else if (edited) await rename(edited.id, name)
    groups.reload()
  }
  const remove = async ({ id, name }: T) => {
    const text = <p>{props.consequence(name)} This cannot be undone.</p>
    const agreed = await confirm({ title: `Delete this ${noun}?`, text, action: 'Delete', isDangerous: true })
    if (agreed && (await attempt(() => props.remove(id), `The ${noun} is deleted.`))) groups.reload()
  }
  return (
    <Page
      title={title}
      actions={
        may('member') && (
          <button type="button" class="primary" data-new onClick={() => setEdited('new')}>
            New {noun}
          </button>
        )
      }
    >
      <Loaded of={groups}>
        {({ data, meta }) =>
          data.length === 0 ? (
            <Empty title={`No ${noun} yet.`}>{about}</Empty>
          ) : (
            <>
              <GroupTable
                groups={data}
                link={props.link}
                contacts={props.contacts}
                actions={(group) =>
                  may('member') && (
                    <>
                      <RowButton action="Rename" of={group.name} onClick={() => setEdited(group)} />
                      <RowButton action="Delete" of={group.name} onClick={() => remove(group)} />
                    </>
                  )
                }
              />
              <Pager meta={meta} />
            </>
          )
        }
      </Loaded>
      {edited && (
        <NameDialog
          title={edited === 'new' ? `New ${noun}` : `Rename the ${noun}`}
          action={edited === 'new' ? `Create ${noun}` : 'Rename'}
          name={edited === 'new' ? '' : edited.name}
          close={() => setEdited(undefined)}
          save={save}
        />
      )}
    </Page>
  )
}
