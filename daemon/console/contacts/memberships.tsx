import { useEffect, useRef, useState } from 'preact/hooks'
import { allLists, api, type Choices, cutNote, dataOf, type Schemas, topicsOf } from '../api.ts'
import { Loaded, useLoad } from '../parts/load.tsx'
import { attempt, say } from '../parts/notice.tsx'
import { may } from '../session.ts'
import { askedToConfirm } from './create-contact.tsx'

type Contact = Schemas['Contact']
export type Change = (action: () => Promise<unknown>, done?: string) => Promise<boolean>

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
  const [isAdding, setAdding] = useState(false)
  return (
    <section>
      <h2>Lists and topics</h2>
      {contact.lists.length === 0 && <p class="muted">On no list.</p>}
      {contact.lists.map((list) => (
        <Membership key={list.id} contact={contact} list={list} change={change} />
      ))}
      {may('member') && !isAdding && (
        <div class="actions">
          <button type="button" onClick={() => setAdding(true)}>
            Put on a list
          </button>
        </div>
      )}
      {isAdding && <OtherLists contact={contact} change={change} close={() => setAdding(false)} />}
    </section>
  )
}

interface OtherListsProps {
  readonly contact: Contact
  readonly change: Change
  readonly close: () => void
}

/** Puts the contact on a list that it is not on. */
function OtherLists({ contact, change, close }: OtherListsProps) {
  const lists = useLoad(allLists, [])
  const select = useRef<HTMLSelectElement>(null)
  useEffect(() => select.current?.focus(), [lists.value])
  return (
    <Loaded of={lists}>
      {(all) => {
        const others = all.filter(({ id }) => !contact.lists.some((list) => list.id === id))
        if (others.length === 0) return <p class="muted">There is no other list.</p>
        return (
          <form
            class="inline"
            onSubmit={(event) => {
              event.preventDefault()
              const listId = Number(new FormData(event.currentTarget).get('list'))
              void change(() => join(contact, listId))
              close()
            }}
          >
            <select ref={select} name="list" aria-label="List to put the contact on">
              {others.map(({ id, name }) => (
                <option key={id} value={String(id)}>
                  {name}
                </option>
              ))}
              {all.isCut && <option disabled>{cutNote(all, 'lists')}</option>}
            </select>
            <button type="submit">Put on list</button>
            <button type="button" onClick={close}>
              Cancel
            </button>
          </form>
        )
      }}
    </Loaded>
  )
}

function Membership({ contact, list, change }: { contact: Contact; list: Schemas['List']; change: Change }) {
  const contactId = contact.id
  const [all, setAll] = useState<Choices<Schemas['Topic']>>()
  const joined = contact.topics.filter(({ list_id }) => list_id === list.id)
  const topics = all ?? joined
  const isOn = (topicId: number) => contact.topics.some(({ id }) => id === topicId)
  const toggle = (topicId: number) => {
    const path = { params: { path: { contactId, topicId } } }
    return isOn(topicId)
      ? change(() => dataOf(api.DELETE('/api/v1/contacts/{contactId}/topics/{topicId}', path)), 'Topic left.')
      : change(() => dataOf(api.PUT('/api/v1/contacts/{contactId}/topics/{topicId}', path)), 'Topic joined.')
  }
  const isBusy = useRef(false)
  const onChange = async (box: HTMLInputElement, topicId: number) => {
    isBusy.current = true
    const isDone = await toggle(topicId)
    isBusy.current = false
    if (!isDone) box.checked = isOn(topicId)
  }
  return (
    <div class="membership">
      <div class="row">
        <a href={`/console/lists/${list.id}`}>{list.name}</a>
        {may('member') && (
          <span>
            <button
              type="button"
              class="plain"
              aria-expanded={all !== undefined}
              aria-label={`All topics of ${list.name}`}
              onClick={() => attempt(async () => setAll(all ? undefined : await topicsOf(list.id)))}
            >
              All topics
            </button>
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
          </span>
        )}
      </div>
      {all?.length === 0 && <p class="muted">The list has no topic.</p>}
      {topics.map((topic) => (
        <label key={topic.id} class="check">
          <input
            type="checkbox"
            disabled={!may('member')}
            checked={isOn(topic.id)}
            onClick={(event) => isBusy.current && event.preventDefault()}
            onChange={({ currentTarget }) => onChange(currentTarget, topic.id)}
          />{' '}
          {topic.name}
        </label>
      ))}
      {all?.isCut && <p class="muted">{cutNote(all, 'topics')}</p>}
    </div>
  )
}
