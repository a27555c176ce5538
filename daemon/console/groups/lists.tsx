import { answerOf, api, dataOf } from '../api.ts'
import { Groups } from './groups.tsx'

const pathTo = (listId: number) => ({ path: { listId } })

export function Lists() {
  return (
    <Groups
      noun="list"
      title="Lists and topics"
      about="Contacts join lists, and choose among the topics of a list."
      load={(query) => answerOf(api.GET('/api/v1/lists', { params: { query } }))}
      create={(name) => dataOf(api.POST('/api/v1/lists', { body: { name } }))}
      rename={(id, name) => dataOf(api.PATCH('/api/v1/lists/{listId}', { params: pathTo(id), body: { name } }))}
      remove={(id) => answerOf(api.DELETE('/api/v1/lists/{listId}', { params: pathTo(id) }))}
      consequence={(name) => (
        <>
          <strong>{name}</strong> is deleted with its memberships and topics. Its contacts stay.
        </>
      )}
      link={({ id }) => `/console/lists/${id}`}
      contacts={({ id }) => `/console/contacts?list=${id}`}
    />
  )
}
