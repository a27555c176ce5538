import { answerOf, api } from '../api.ts'
import { Loaded, useLoad } from '../parts/load.tsx'
import { Time } from '../parts/time.tsx'

const shownEntries = 20

/** What changed the memberships and the subscription of a contact, newest first. */
export function History({ contactId, version }: { contactId: number; version: unknown }) {
  const history = useLoad(
    () =>
      answerOf(
        api.GET('/api/v1/contacts/{contactId}/history', {
          params: { path: { contactId }, query: { per_page: shownEntries } },
        }),
      ),
    [contactId, version],
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
                  {topic_id !== null && ` (topic ${topic_id})`}
                  {list_id !== null && (
                    <>
                      {' '}
                      <a href={`/console/lists/${list_id}`}>list {list_id}</a>
                    </>
                  )}
                  <span class="muted">, by {source.replaceAll('_', ' ')}</span>
                </li>
              ))}
            </ul>
            {meta.next_cursor !== null && <p class="muted">The newest {shownEntries} are shown.</p>}
          </>
        )}
      </Loaded>
    </section>
  )
}
