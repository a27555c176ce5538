import { useState } from 'preact/hooks'
import { answerOf, api, dataOf, type Schemas } from '../api.ts'
import { useLoad } from '../parts/load.tsx'
import { may } from '../session.ts'
import { tagsIn } from './create-contact.tsx'
import type { Change } from './memberships.tsx'

export function ContactTags({ contact, change }: { contact: Schemas['Contact']; change: Change }) {
  const path = { params: { path: { contactId: contact.id } } }
  const [isAdding, setAdding] = useState(false)
  return (
    <section>
      <h2>Tags</h2>
      <ul class="chips">
        {contact.tags.map(({ id, name }) => (
          <li key={id} class="chip">
            {name}
            {may('member') && (
              <button
                type="button"
                class="plain"
                aria-label={`Remove tag ${name}`}
                onClick={() =>
                  change(
                    () => dataOf(api.DELETE('/api/v1/contacts/{contactId}/tags', { ...path, body: { tags: [name] } })),
                    'The tag is removed.',
                  )
                }
              >
                ✕
              </button>
            )}
          </li>
        ))}
        {contact.tags.length === 0 && <li class="muted">None.</li>}
      </ul>
      {may('member') && (
        <form
          class="inline"
          onSubmit={(event) => {
            event.preventDefault()
            const form = event.currentTarget
            const typed = () => String(new FormData(form).get('tags') ?? '')
            const text = typed()
            if (/^[\s,]*$/.test(text)) return
            void change(
              async () =>
                dataOf(api.POST('/api/v1/contacts/{contactId}/tags', { ...path, body: { tags: await tagsIn(text) } })),
              'The tags are added.',
            ).then((isDone) => isDone && typed() === text && form.reset())
          }}
        >
          <input
            type="text"
            name="tags"
            aria-label="Tags to add"
            placeholder="Add tags"
            list="known-tags"
            onFocus={() => setAdding(true)}
          />
          {isAdding && <KnownTags />}
          <button type="submit">Add</button>
        </form>
      )}
    </section>
  )
}

/** Suggests names of tags. */
function KnownTags() {
  const known = useLoad(() => answerOf(api.GET('/api/v1/tags', { params: { query: { per_page: 100 } } })), [])
  return (
    <datalist id="known-tags">
      {known.value?.data.map(({ id, name }) => (
        <option key={id} value={name} />
      ))}
    </datalist>
  )
}
