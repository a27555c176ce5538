import { allLists, answerOf, api, dataOf, type Schemas } from '../api.ts'
import { useLoad } from '../parts/load.tsx'
import { say } from '../parts/notice.tsx'
import { may } from '../session.ts'
import { askedToConfirm } from './create-contact.tsx'

type Contact = Schemas['Contact']
type Change = (action: () => Promise<unknown>, done?: string) => Promise<void>

/** Puts the contact on a list. A list with double opt-in asks it first. */
async function join({ email }: Contact, listId: number): Promise<void> {
  const { pending_lists } = await dataOf(
    api.POST('/api/v1/lists/{listId}/contacts', {
      params: { path: { listId } },
      body: { email } as Schemas['ContactInput'],
    }),
  )
  say(pending_lists?.length ? askedToConfirm : 'The contact is on the list.')
}

/** Lists that the contact is on, with the topics of each. */
export function Memberships({ contact, change }: { contact: Contact; change: Change }) {
  const lists = useLoad(allLists, [])
  const others = (lists.value ?? []).filter(({ id }) => !contact.lists.some((list) => list.id === id))
  return (
    <section>
      <h2>Lists and topics</h2>
      {contact.lists.length === 0 && <p class="muted">On no list.</p>}
      {contact.lists.map((list) => (
        <Membership key={list.id} contact={contact} list={list} change={change} />
      ))}
      {may('member') && others.length > 0 && (
        <form
          class="inline"
          onSubmit={(event) => {
            event.preventDefault()
            const listId = Number(new FormData(event.currentTarget).get('list'))
            void change(() => join(contact, listId))
          }}
        >
          <select name="list" aria-label="List to put the contact on">
            {others.map(({ id, name }) => (
              <option key={id} value={String(id)}>
                {name}
              </option>
            ))}
          </select>
          <button type="submit">Put on list</button>
        </form>
      )}
    </section>
  )
}

function Membership({ contact, list, change }: { contact: Contact; list: Schemas['List']; change: Change }) {
  const contactId = contact.id
  const topics = useLoad(
    () =>
      answerOf(
        api.GET('/api/v1/lists/{listId}/topics', { params: { path: { listId: list.id }, query: { per_page: 100 } } }),
      ),
    [list.id],
  )
  const isOn = (topicId: number) => contact.topics.some(({ id }) => id === topicId)
  const toggle = (topicId: number) => {
    const path = { params: { path: { contactId, topicId } } }
    return isOn(topicId)
      ? change(() => dataOf(api.DELETE('/api/v1/contacts/{contactId}/topics/{topicId}', path)), 'Topic left.')
      : change(() => dataOf(api.PUT('/api/v1/contacts/{contactId}/topics/{topicId}', path)), 'Topic joined.')
  }
  return (
    <div class="membership">
      <div class="row">
        <a href={`/console/lists/${list.id}`}>{list.name}</a>
        {may('member') && (
          <button
            type="button"
            class="plain"
            aria-label={`Take off ${list.name}`}
            onClick={() =>
              change(
                () =>
                  dataOf(
                    api.DELETE('/api/v1/lists/{listId}/contacts/{contactId}', {
                      params: { path: { listId: list.id, contactId } },
                    }),
                  ),
                'Taken off the list.',
              )
            }
          >
            Take off
          </button>
        )}
      </div>
      {topics.value?.data.map((topic) => (
        <label key={topic.id} class="check">
          <input type="checkbox" disabled={!may('member')} checked={isOn(topic.id)} onChange={() => toggle(topic.id)} />{' '}
          {topic.name}
        </label>
      ))}
    </div>
  )
}
