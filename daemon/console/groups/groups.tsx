import type { ComponentChildren } from 'preact'
import { useState } from 'preact/hooks'
import { plural } from '../../progress.ts'
import type { PageQuery, Schemas } from '../api.ts'
import { NewButton, RowButton } from '../parts/buttons.tsx'
import { confirmAndRun } from '../parts/dialog.tsx'
import { Empty } from '../parts/load.tsx'
import { Page } from '../parts/page.tsx'
import { Listing, timeColumn, usePage } from '../parts/table.tsx'
import { number } from '../parts/time.tsx'
import { may } from '../session.ts'
import { NameDialog } from './name-dialog.tsx'

interface Group {
  readonly id: number
  readonly name: string
  readonly created_at: string
  readonly contacts_count?: number
}

interface GroupsProps<T> {
  /** The word for one of them: `list` or `tag`. */
  readonly noun: string
  readonly title: string
  readonly about: string
  readonly load: (query: PageQuery & { counts: true }) => Promise<{ data: T[]; meta: Schemas['Meta'] }>
  readonly create: (name: string) => Promise<unknown>
  readonly rename: (id: number, name: string) => Promise<unknown>
  readonly remove: (id: number) => Promise<unknown>
  /** The consequence of deleting a group. */
  readonly consequence: (name: string) => ComponentChildren
  readonly link: (group: T) => string
  /** Address of the listing of its contacts. */
  readonly contacts: (group: T) => string
}

/** The page of all lists, or of all tags. */
export function Groups<T extends Group>({ noun, title, about, load, create, rename, ...props }: GroupsProps<T>) {
  const [edited, setEdited] = useState<T | 'new'>()
  const groups = usePage((query) => load({ ...query, counts: true }))
  const save = async (name: string) => {
    if (edited === 'new') await create(name)
    else if (edited) await rename(edited.id, name)
    groups.reload()
  }
  const remove = async ({ id, name }: T) => {
    const text = <p>{props.consequence(name)} This cannot be undone.</p>
    const question = { title: `Delete this ${noun}?`, text, action: 'Delete' }
    if (await confirmAndRun(question, () => props.remove(id), `The ${noun} is deleted.`)) groups.reload()
  }
  return (
    <Page title={title} actions={may('member') && <NewButton onClick={() => setEdited('new')}>New {noun}</NewButton>}>
      <Listing
        of={groups}
        empty={<Empty title={`No ${noun} yet.`}>{about}</Empty>}
        columns={[
          {
            title: 'Name',
            cell: (group) => (
              <a href={props.link(group)} data-row>
                {group.name}
              </a>
            ),
          },
          {
            title: 'Contacts',
            class: 'figure',
            cell: (group) => {
              const count = group.contacts_count ?? 0
              return (
                <a href={props.contacts(group)} aria-label={`${plural(count, 'contact')} of ${group.name}`}>
                  {number(count)}
                </a>
              )
            },
          },
          timeColumn<T>('Created', ({ created_at }) => created_at, true),
        ]}
        actions={(group) =>
          may('member') && (
            <>
              <RowButton action="Rename" of={group.name} onClick={() => setEdited(group)} />
              <RowButton action="Delete" of={group.name} onClick={() => remove(group)} />
            </>
          )
        }
      />
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
