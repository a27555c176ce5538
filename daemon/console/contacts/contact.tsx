import { useState } from 'preact/hooks'
import { answerOf, api, dataOf, type Schemas } from '../api.ts'
import { MailingTable } from '../newsletters/messages.tsx'
import { confirmAndRun } from '../parts/dialog.tsx'
import { Loaded, useLoad } from '../parts/load.tsx'
import { attempt } from '../parts/notice.tsx'
import { Later, Page, useQuery } from '../parts/page.tsx'
import { RecordPage, useRecordId } from '../parts/record.tsx'
import { Time } from '../parts/time.tsx'
import { may } from '../session.ts'
import { ContactState } from './contacts.tsx'
import { EditContact } from './edit-contact.tsx'
import { History } from './history.tsx'
import { Memberships } from './memberships.tsx'
import { PersonalData } from './personal-data.tsx'
import { ContactTags } from './tags.tsx'

const shownMessages = 20

type Contact = Schemas['Contact']

const back = { href: '/console/contacts', text: 'Contacts' }

export function ContactPage() {
  const contactId = useRecordId('contactId')
  const path = { params: { path: { contactId } } }
  const contact = useLoad(() => dataOf(api.GET('/api/v1/contacts/{contactId}', path)), [contactId])
  const [isErased, setErased] = useState(false)
  if (isErased) {
    return (
      <Page title="Contact erased" back={back}>
        <p class="state">The contact and every stored copy of its data are erased.</p>
      </Page>
    )
  }
  const erase = async ({ id, email }: Contact) => {
    const question = {
      title: 'Erase this contact?',
      text: (
        <p>
          <strong>{email}</strong> and every stored copy of its data will be deleted. This cannot be undone.
        </p>
      ),
      action: 'Erase',
    }
    const call = () => answerOf(api.DELETE('/api/v1/contacts/{contactId}', { params: { path: { contactId: id } } }))
    if (await confirmAndRun(question, call)) setErased(true)
  }
  return (
    <RecordPage of={contact} id={contactId} noun="Contact" back={back}>
      {(value) => <ContactView contact={value} reload={contact.reload} erase={() => erase(value)} />}
    </RecordPage>
  )
}

function ContactView({ contact, reload, erase }: { contact: Contact; reload(): void; erase(): void }) {
  const [isEditing, setEditing] = useState(false)
  const path = { params: { path: { contactId: contact.id } } }
  const [query, changeQuery] = useQuery()
  const change = async (action: () => Promise<unknown>, done?: string) => {
    const isDone = await attempt(action, done)
    if (isDone && query.history !== undefined) changeQuery({ history: undefined }) // the first page has the new entry
    if (isDone) reload()
    return isDone
  }
  return (
    <Page
      title={contact.name.trim() || contact.email}
      back={back}
      actions={
        may('member') && (
          <>
            <button type="button" onClick={() => setEditing(true)}>
              Edit
            </button>
            {contact.unsubscribed_at === null ? (
              <button
                type="button"
                onClick={() =>
                  change(() => dataOf(api.POST('/api/v1/contacts/{contactId}/unsubscribe', path)), 'Unsubscribed.')
                }
              >
                Unsubscribe
              </button>
            ) : (
              <button
                type="button"
                onClick={() =>
                  change(() => dataOf(api.POST('/api/v1/contacts/{contactId}/resubscribe', path)), 'Subscribed again.')
                }
              >
                Resubscribe
              </button>
            )}
            <button type="button" class="danger" onClick={erase}>
              Erase
            </button>
          </>
        )
      }
    >
      <dl class="facts">
        <dt>E-mail</dt>
        <dd>{contact.email}</dd>
        <dt>Name</dt>
        <dd>{contact.name.trim() || <span class="muted">none</span>}</dd>
        <dt>State</dt>
        <dd>
          <ContactState contact={contact} />{' '}
          {contact.unsubscribed_at !== null && (
            <>
              <Time at={contact.unsubscribed_at} />
              {contact.unsubscribed_by_contact ? ', by the contact' : ', by you'}
            </>
          )}
        </dd>
        <dt>Created</dt>
        <dd>
          <Time at={contact.created_at} />
        </dd>
        <dt>Id</dt>
        <dd>
          {contact.id} <code>{contact.uuid}</code>
        </dd>
      </dl>
      <div class="columns">
        <ContactTags contact={contact} change={change} />
        <Memberships contact={contact} change={change} />
      </div>
      <Attributes attributes={contact.extra_attributes} />
      <History contact={contact} />
      <Later title="Messages">
        <ContactMessages contactId={contact.id} />
      </Later>
      <PersonalData contactId={contact.id} />
      {isEditing && <EditContact contact={contact} close={() => setEditing(false)} reload={reload} />}
    </Page>
  )
}

function Attributes({ attributes }: { attributes: Contact['extra_attributes'] }) {
  const entries = Object.entries(attributes)
  return (
    <section>
      <h2>Attributes</h2>
      {entries.length === 0 ? (
        <p class="muted">None.</p>
      ) : (
        <dl class="facts">
          {entries.map(([name, value]) => (
            <div key={name} class="pair">
              <dt>{name}</dt>
              <dd>{value}</dd>
            </div>
          ))}
        </dl>
      )}
    </section>
  )
}

/** The messages to a contact, newest first. */
function ContactMessages({ contactId }: { contactId: number }) {
  const query = { per_page: shownMessages }
  const messages = useLoad(
    () => answerOf(api.GET('/api/v1/contacts/{contactId}/messages', { params: { path: { contactId }, query } })),
    [contactId],
  )
  return (
    <Loaded of={messages}>
      {({ data, meta }) => (
        <>
          {data.length === 0 ? <p class="muted">None yet.</p> : <MailingTable messages={data} />}
          {meta.next_cursor !== null && (
            <p class="muted">These are the {shownMessages} newest. The stored data has all.</p>
          )}
        </>
      )}
    </Loaded>
  )
}
