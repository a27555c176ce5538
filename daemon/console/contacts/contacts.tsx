import { useEffect, useState } from 'preact/hooks'
import { answerOf, api, dataOf, type Schemas } from '../api.ts'
import { Empty, Loaded, useLoad } from '../parts/load.tsx'
import { Badge, Page, Pager, useQuery } from '../parts/page.tsx'
import { number, Time } from '../parts/time.tsx'
import { may } from '../session.ts'
import { CreateContact } from './create-contact.tsx'
import { ExportButton } from './export-contacts.tsx'
import { ContactFilters, filtersOf } from './filters.tsx'

export function Contacts() {
  const [query] = useQuery()
  const [isCreating, setCreating] = useState(false)
  const filters = filtersOf(query)
  const key = JSON.stringify(filters)
  const contacts = useLoad(
    () =>
      answerOf(
        api.GET('/api/v1/contacts', {
          params: { query: { ...filters, per_page: 50, ...(query.cursor && { cursor: query.cursor }) } },
        }),
      ),
    [key, query.cursor],
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
          {may('member') && (
            <button type="button" class="primary" data-new onClick={() => setCreating(true)}>
              New contact
            </button>
          )}
        </>
      }
    >
      <ContactFilters />
      <p class="muted count" role="status">
        {count.value ? `${number(count.value.count)} ${count.value.count === 1 ? 'contact' : 'contacts'}` : '\u00a0'}
      </p>
      <Loaded of={{ ...contacts, reload }}>
        {({ data, meta }) =>
          data.length === 0 ? (
            <NoContact hasFilter={key !== '{}'} />
          ) : (
            <>
              <ContactTable contacts={data} />
              <Pager meta={meta} />
            </>
          )
        }
      </Loaded>
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

function ContactTable({ contacts }: { contacts: readonly Schemas['Contact'][] }) {
  return (
    <table>
      <thead>
        <tr>
          <th scope="col">E-mail</th>
          <th scope="col" class="wide">
            Name
          </th>
          <th scope="col">State</th>
          <th scope="col" class="wide">
            Tags
          </th>
          <th scope="col" class="wide">
            Lists
          </th>
          <th scope="col" class="wide">
            Created
          </th>
        </tr>
      </thead>
      <tbody>
        {contacts.map((contact) => (
          <tr key={contact.id}>
            <td class="main">
              <a href={`/console/contacts/${contact.id}`} data-row>
                {contact.email}
              </a>
              {contact.name !== '' && <small class="narrow">{contact.name}</small>}
            </td>
            <td class="wide">{contact.name}</td>
            <td>
              <ContactState contact={contact} />
            </td>
            <td class="wide">
              <Names of={contact.tags} />
            </td>
            <td class="wide">
              <Names of={contact.lists} />
            </td>
            <td class="wide nowrap">
              <Time at={contact.created_at} />
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  )
}

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
    setText(value)
  }
  useEffect(() => {
    if (text === value) return
    const timer = setTimeout(() => change(text), 250)
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
