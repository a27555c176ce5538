import { answerOf, api } from '../api.ts'
import { MailingTable } from '../newsletters/messages.tsx'
import { Loaded, useLoad } from '../parts/load.tsx'

const shownMessages = 20

/** The messages to a contact, newest first. */
export function ContactMessages({ contactId }: { contactId: number }) {
  const query = { per_page: shownMessages }
  const messages = useLoad(
    () => answerOf(api.GET('/api/v1/contacts/{contactId}/messages', { params: { path: { contactId }, query } })),
    [contactId],
  )
  return (
    <Loaded of={messages}>
      {({ data }) => (data.length === 0 ? <p class="muted">None yet.</p> : <MailingTable messages={data} />)}
    </Loaded>
  )
}
