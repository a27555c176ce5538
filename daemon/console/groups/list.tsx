import { useState } from 'preact/hooks'
import { answerOf, api, dataOf, type Schemas } from '../api.ts'
import { confirm } from '../parts/dialog.tsx'
import { Empty, Loaded, useLoad } from '../parts/load.tsx'
import { attempt } from '../parts/notice.tsx'
import { Page, Pager, useQuery } from '../parts/page.tsx'
import { RecordPage, useRecordId } from '../parts/record.tsx'
import { ActionsHead, RowButton } from '../parts/row-button.tsx'
import { number, Time } from '../parts/time.tsx'
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
  const [{ cursor }] = useQuery()
  const [edited, setEdited] = useState<Topic | 'new'>()
  const path = { listId }
  const query = { counts: true, per_page: 50, ...(cursor && { cursor }) }
  const topics = useLoad(
    () => answerOf(api.GET('/api/v1/lists/{listId}/topics', { params: { path, query } })),
    [listId, cursor],
  )
  const save = async (name: string, description: string) => {
    const body = { name, description }
    if (edited === 'new') await dataOf(api.POST('/api/v1/lists/{listId}/topics', { params: { path }, body }))
    else if (edited) {
      await dataOf(api.PATCH('/api/v1/topics/{topicId}', { params: { path: { topicId: edited.id } }, body }))
    }
    topics.reload()
  }
  const remove = async ({ id, name }: Topic) => {
    const agreed = await confirm({
      title: 'Delete this topic?',
      text: (
        <p>
          <strong>{name}</strong> is deleted with its subscriptions. This cannot be undone.
        </p>
      ),
      action: 'Delete',
      isDangerous: true,
    })
    const call = () => answerOf(api.DELETE('/api/v1/topics/{topicId}', { params: { path: { topicId: id } } }))
    if (agreed && (await attempt(call, 'The topic is deleted.'))) topics.reload()
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
              <button type="button" class="primary" data-new onClick={() => setEdited('new')}>
                New topic
              </button>
            </>
          )}
        </>
      }
    >
      <section>
        <h2>Topics</h2>
        <Loaded of={topics}>
          {({ data, meta }) =>
            data.length === 0 ? (
              <Empty title="No topic yet.">Contacts on this list may subscribe to its topics.</Empty>
            ) : (
              <>
                <TopicTable topics={data} listId={listId} edit={setEdited} remove={remove} />
                <Pager meta={meta} />
              </>
            )
          }
        </Loaded>
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

function TopicTable({
  topics,
  listId,
  edit,
  remove,
}: {
  topics: readonly Topic[]
  listId: number
  edit(topic: Topic): void
  remove(topic: Topic): void
}) {
  return (
    <table>
      <thead>
        <tr>
          <th scope="col">Name</th>
          <th scope="col" class="figure">
            Contacts
          </th>
          <th scope="col" class="wide">
            Description
          </th>
          <th scope="col" class="wide">
            Created
          </th>
          <ActionsHead />
        </tr>
      </thead>
      <tbody>
        {topics.map((topic) => (
          <tr key={topic.id}>
            <td class="main">
              <a href={`/console/contacts?list=${listId}&topic=${topic.id}`} data-row>
                {topic.name}
              </a>
            </td>
            <td class="figure">{number(topic.contacts_count ?? 0)}</td>
            <td class="wide">{topic.description}</td>
            <td class="wide nowrap">
              <Time at={topic.created_at} />
            </td>
            <td class="do">
              {may('member') && (
                <>
                  <RowButton action="Edit" of={topic.name} onClick={() => edit(topic)} />
                  <RowButton action="Delete" of={topic.name} onClick={() => remove(topic)} />
                </>
              )}
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  )
}
