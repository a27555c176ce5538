import { useEffect, useState } from 'preact/hooks'
import { plural } from '../../progress.ts'
import { answerOf, api, dataOf, type Schemas } from '../api.ts'
import { NewButton } from '../parts/buttons.tsx'
import { Empty, LoadError, useLoad } from '../parts/load.tsx'
import { Badge, Page, useQuery } from '../parts/page.tsx'
import { type Column, Listing, timeColumn, usePage } from '../parts/table.tsx'
import { may } from '../session.ts'
import { CreateContact } from './create-contact.tsx'
import { ExportButton } from './export-contacts.tsx'
import { ContactFilters, filtersOf } from './filters.tsx'

export function Contacts() {
  const [query] = useQuery()
  const [isCreating, setCreating] = useState(false)
  const filters = filtersOf(query)
  const key = JSON.stringify(filters)
  const contacts = usePage(
    (page) => answerOf(api.GET('/api/v1/contacts', { params: { query: { ...filters, ...page } } })),
    [key],
  )
  const count = useLoad(() => dataOf(api.GET('/api/v1/contacts/count', { params: { query: filters } })), [key])
  const reload = () => {
    contacts.reload()
    count.reload()
  }
  return (
    <Page
      title="Contacts"
      actions={
        <>
          <ExportButton filters={filters} />
          {may('member') && <NewButton onClick={() => setCreating(true)}>New contact</NewButton>}
        </>
      }
    >
      <ContactFilters />
      <p class="muted count" role="status">
        {count.value ? plural(count.value.count, 'contact') : '\u00a0'}
      </p>
      {contacts.error === undefined && <LoadError of={count} />}
      <Listing of={{ ...contacts, reload }} empty={<NoContact hasFilter={key !== '{}'} />} columns={columns} />
      {isCreating && <CreateContact close={() => setCreating(false)} />}
    </Page>
  )
}

function NoContact({ hasFilter }: { hasFilter: boolean }) {
  return (
    <Empty title={hasFilter ? 'No contact matches.' : 'No contact is subscribed yet.'}>
      {hasFilter && 'Change the filters. '}
      {may('member') && (
        <>
          Create a contact, or <a href="/console/import">import a file</a>.
        </>
      )}
    </Empty>
  )
}

const columns: readonly Column<Schemas['Contact']>[] = [
  {
    title: 'E-mail',
    cell: ({ id, email, name }) => (
      <>
        <a href={`/console/contacts/${id}`} data-row>
          {email}
        </a>
        {name !== '' && (
          <small class="narrow">
            <span class="clamped">{name}</span>
          </small>
        )}
      </>
    ),
  },
  { title: 'Name', class: 'wide', cell: ({ name }) => <span class="clamped">{name}</span> },
  { title: 'State', cell: (contact) => <ContactState contact={contact} /> },
  { title: 'Tags', class: 'wide', cell: ({ tags }) => <Names of={tags} /> },
  { title: 'Lists', class: 'wide', cell: ({ lists }) => <Names of={lists} /> },
  timeColumn('Created', ({ created_at }) => created_at, true),
]

export function ContactState({ contact }: { contact: Pick<Schemas['Contact'], 'unsubscribed_at'> }) {
  return contact.unsubscribed_at === null ? (
    <Badge kind="good">subscribed</Badge>
  ) : (
    <Badge kind="idle">unsubscribed</Badge>
  )
}

const maxNames = 3

function Names({ of }: { of: readonly { readonly id: number; readonly name: string }[] }) {
  const more = of.length - maxNames
  return (
    <span class="names">
      {of.slice(0, maxNames).map(({ id, name }) => (
        <span key={id} class="chip">
          {name}
        </span>
      ))}
      {more > 0 && <span class="muted">+{more}</span>}
    </span>
  )
}

/** A search field that searches when the typing pauses. */
export function SearchField({ value, change }: { value: string; change(text: string): void }) {
  const [text, setText] = useState(value)
  const [shown, setShown] = useState(value)
  // Not in an effect: the first one runs after people can type, and would discard their text.
  if (value !== shown) {
    setShown(value)
    if (value !== text.trim()) setText(value) // a space at the end comes before the next word
  }
  useEffect(() => {
    if (text.trim() === value) return
    const timer = setTimeout(() => change(text.trim()), 250)
    return () => clearTimeout(timer)
  }, [text])
  return (
    <input
      type="search"
      data-search
      aria-label="Search by name or e-mail"
      placeholder="Search by name or e-mail"
      value={text}
      onInput={(event) => setText(event.currentTarget.value)}
    />
  )
}
