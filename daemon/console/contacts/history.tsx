import { answerOf, api, type Schemas } from '../api.ts'
import { Loaded, useLoad } from '../parts/load.tsx'
import { Pager, useQuery } from '../parts/page.tsx'
import { Time } from '../parts/time.tsx'

const entriesPerPage = 20

/** The changes of a contact's memberships and subscription, newest first. */
export function History({ contact }: { contact: Schemas['Contact'] }) {
  const contactId = contact.id
  const [{ history: cursor }] = useQuery()
  const history = useLoad(
    () =>
      answerOf(
        api.GET('/api/v1/contacts/{contactId}/history', {
          params: { path: { contactId }, query: { per_page: entriesPerPage, ...(cursor && { cursor }) } },
        }),
      ),
    [contact, cursor],
  )
  return (
    <section>
      <h2>History</h2>
      <Loaded of={history}>
        {({ data, meta }) => (
          <>
            {data.length === 0 && <p class="muted">Nothing yet.</p>}
            <ul class="history">
              {data.map(({ id, type, source, list_id, topic_id, created_at }) => (
                <li key={id}>
                  <Time at={created_at} />: {type.replaceAll('_', ' ')}
                  {topic_id !== null && (
                    <>
                      {' '}
                      <bdi>{nameOf(contact.topics, topic_id, 'topic')}</bdi>
                    </>
                  )}
                  {list_id !== null && (
                    <>
                      {topic_id === null ? ' ' : ', '}
                      <a href={`/console/lists/${list_id}`}>{nameOf(contact.lists, list_id, 'list')}</a>
                    </>
                  )}
                  <span class="muted">, by {source.replaceAll('_', ' ')}</span>
                </li>
              ))}
            </ul>
            <Pager meta={meta} parameter="history" />
          </>
        )}
      </Loaded>
    </section>
  )
}

/** Returns the name of a list or topic that the contact is on. */
function nameOf(of: readonly { readonly id: number; readonly name: string }[], id: number, kind: string): string {
  return of.find((one) => one.id === id)?.name ?? `${kind} ${id}`
}
