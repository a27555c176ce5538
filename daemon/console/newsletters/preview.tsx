import { useState } from 'preact/hooks'
import { answerOf, api, type Schemas } from '../api.ts'
import { SearchField } from '../contacts/contacts.tsx'
import { Loaded, useLoad } from '../parts/load.tsx'
import { Rendered } from './rendered.tsx'

interface PreviewProps {
  /** Without one nothing is rendered. */
  readonly subject: string
  readonly load: (contactId: number) => Promise<Schemas['Preview']>
  /** What `load` depends on. */
  readonly keys: readonly unknown[]
  /** Contacts to choose from before one is searched; if empty, the first ones of all. */
  readonly offered?: readonly Recipient[]
}

type Recipient = Pick<Schemas['Contact'], 'id' | 'email'>

const offeredContacts = 20

/** A mail as a chosen contact would get it. Any contact can be searched. */
export function Preview({ subject, load, keys, offered = [] }: PreviewProps) {
  const [search, setSearch] = useState('')
  const [chosen, setChosen] = useState<number>()
  const query = { per_page: offeredContacts, include_unsubscribed: true, ...(search && { search }) }
  const contacts = useLoad(async (): Promise<readonly Recipient[]> => {
    if (search === '' && offered.length > 0) return offered
    return (await answerOf(api.GET('/api/v1/contacts', { params: { query } }))).data
  }, [search])
  return (
    <section>
      <h2>Preview</h2>
      <Loaded of={contacts}>
        {(found) => {
          const contactId = found.find(({ id }) => id === chosen)?.id ?? found[0]?.id
          return (
            <>
              <div class="filters">
                <SearchField value={search} change={setSearch} />
                {contactId !== undefined && (
                  <select
                    aria-label="Contact of the preview"
                    value={String(contactId)}
                    onChange={(event) => setChosen(Number(event.currentTarget.value))}
                  >
                    {found.map(({ id, email }) => (
                      <option key={id} value={String(id)}>
                        {email}
                      </option>
                    ))}
                  </select>
                )}
              </div>
              {contactId === undefined ? (
                <p class="muted">{search === '' ? 'A preview needs a contact.' : 'No contact matches.'}</p>
              ) : subject === '' ? (
                <p class="muted">A preview needs a subject.</p>
              ) : (
                <PreviewFor load={() => load(contactId)} keys={[...keys, contactId]} />
              )}
            </>
          )
        }}
      </Loaded>
    </section>
  )
}

function PreviewFor({ load, keys }: { load: () => Promise<Schemas['Preview']>; keys: readonly unknown[] }) {
  const preview = useLoad(load, keys)
  return <Loaded of={preview}>{(value) => <Rendered {...value} />}</Loaded>
}
