import { useState } from 'preact/hooks'
import { answerOf, api, dataOf, type Schemas } from '../api.ts'
import { NewButton, RowButton } from '../parts/buttons.tsx'
import { confirmAndRun } from '../parts/dialog.tsx'
import { changedFrom } from '../parts/form.tsx'
import { Empty, useLoad } from '../parts/load.tsx'
import { Page } from '../parts/page.tsx'
import { RecordPage, useRecordId } from '../parts/record.tsx'
import { type Column, Listing, timeColumn, usePage } from '../parts/table.tsx'
import { number } from '../parts/time.tsx'
import { may } from '../session.ts'
import { NameDialog } from './name-dialog.tsx'

type Topic = Schemas['CountedTopic']

const back = { href: '/console/lists', text: 'Lists' }

/** One list with its topics. */
export function ListPage() {
  const listId = useRecordId('listId')
  const list = useLoad(() => dataOf(api.GET('/api/v1/lists/{listId}', { params: { path: { listId } } })), [listId])
  return (
    <RecordPage of={list} id={listId} noun="List" back={back}>
      {(value) => <ListView list={value} />}
    </RecordPage>
  )
}

function ListView({ list }: { list: Schemas['List'] }) {
  const listId = list.id
  const [edited, setEdited] = useState<Topic | 'new'>()
  const path = { listId }
  const topics = usePage(
    (query) =>
      answerOf(api.GET('/api/v1/lists/{listId}/topics', { params: { path, query: { ...query, counts: true } } })),
    [listId],
  )
  const save = async (name: string, description: string) => {
    const body = { name, description }
    if (edited === 'new') await dataOf(api.POST('/api/v1/lists/{listId}/topics', { params: { path }, body }))
    else if (edited) {
      const changed = changedFrom({ ...edited, description: edited.description ?? '' }, body)
      await dataOf(api.PATCH('/api/v1/topics/{topicId}', { params: { path: { topicId: edited.id } }, body: changed }))
    }
    topics.reload()
  }
  const remove = async ({ id, name }: Topic) => {
    const question = {
      title: 'Delete this topic?',
      text: (
        <p>
          <strong>{name}</strong> is deleted with its subscriptions. This cannot be undone.
        </p>
      ),
      action: 'Delete',
    }
    const call = () => answerOf(api.DELETE('/api/v1/topics/{topicId}', { params: { path: { topicId: id } } }))
    if (await confirmAndRun(question, call, 'The topic is deleted.')) topics.reload()
  }
  return (
    <Page
      title={list.name}
      back={back}
      actions={
        <>
          <a class="button" href={`/console/contacts?list=${listId}`}>
            Contacts
          </a>
          {may('member') && (
            <>
              <a class="button" href={`/console/import?list=${listId}`}>
                Import
              </a>
              <NewButton onClick={() => setEdited('new')}>New topic</NewButton>
            </>
          )}
        </>
      }
    >
      <section>
        <h2>Topics</h2>
        <Listing
          of={topics}
          empty={<Empty title="No topic yet.">Contacts on this list may subscribe to its topics.</Empty>}
          columns={columns}
          actions={(topic) =>
            may('member') && (
              <>
                <RowButton action="Edit" of={topic.name} onClick={() => setEdited(topic)} />
                <RowButton action="Delete" of={topic.name} onClick={() => remove(topic)} />
              </>
            )
          }
        />
      </section>
      {edited && (
        <NameDialog
          title={edited === 'new' ? 'New topic' : 'Change the topic'}
          action={edited === 'new' ? 'Create topic' : 'Save'}
          name={edited === 'new' ? '' : edited.name}
          description={edited === 'new' ? '' : (edited.description ?? '')}
          close={() => setEdited(undefined)}
          save={save}
        />
      )}
    </Page>
  )
}

const columns: readonly Column<Topic>[] = [
  {
    title: 'Name',
    cell: ({ id, list_id, name }) => (
      <a href={`/console/contacts?list=${list_id}&topic=${id}`} data-row>
        {name}
      </a>
    ),
  },
  { title: 'Contacts', class: 'figure', cell: ({ contacts_count = 0 }) => number(contacts_count) },
  { title: 'Description', class: 'wide', cell: ({ description }) => description },
  timeColumn('Created', ({ created_at }) => created_at, true),
]
