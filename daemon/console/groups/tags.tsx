import { answerOf, api, dataOf } from '../api.ts'
import { Groups } from './groups.tsx'

const pathTo = (tagId: number) => ({ path: { tagId } })
const contactsWith = ({ id }: { readonly id: number }) => `/console/contacts?tag=${id}`

export function Tags() {
  return (
    <Groups
      noun="tag"
      title="Tags"
      about="A tag is created here, or when a contact gets it."
      load={(query) => answerOf(api.GET('/api/v1/tags', { params: { query } }))}
      create={(name) => dataOf(api.POST('/api/v1/tags', { body: { name } }))}
      rename={(id, name) => dataOf(api.PATCH('/api/v1/tags/{tagId}', { params: pathTo(id), body: { name } }))}
      remove={(id) => answerOf(api.DELETE('/api/v1/tags/{tagId}', { params: pathTo(id) }))}
      consequence={(name) => (
        <>
          <strong>{name}</strong> is removed from every contact. The contacts stay.
        </>
      )}
      link={contactsWith}
      contacts={contactsWith}
    />
  )
}
