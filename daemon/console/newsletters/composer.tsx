import { useEffect, useState } from 'preact/hooks'
import { allOf, answerOf, api, dataOf, type Schemas } from '../api.ts'
import { Choice, Field, Form, TextArea, textOf } from '../parts/form.tsx'
import { Loaded, useLoad } from '../parts/load.tsx'
import { say } from '../parts/notice.tsx'
import { AudienceFields, audienceOf } from './audience.tsx'
import { Rendered } from './rendered.tsx'

type Newsletter = Schemas['Newsletter']

interface ComposerProps {
  readonly newsletter: Newsletter
  readonly canChange: boolean
  readonly set: (newsletter: Newsletter) => void
}

/** The content with a preview for a chosen contact. */
export function Composer({ newsletter, canChange, set }: ComposerProps) {
  const path = { params: { path: { newsletterId: newsletter.id } } }
  const identities = useLoad(
    () =>
      allOf((cursor) =>
        answerOf(
          api.GET('/api/v1/email-identities', { params: { query: { per_page: 100, ...(cursor && { cursor }) } } }),
        ),
      ),
    [],
  )
  const submit = async (fields: FormData) => {
    const from = textOf(fields, 'from')
    const body = {
      name: textOf(fields, 'name'),
      subject: textOf(fields, 'subject'),
      preheader: textOf(fields, 'preheader') || null,
      html: String(fields.get('html') ?? ''),
      text: textOf(fields, 'text') === '' ? null : String(fields.get('text')),
      from_identity_id: from === '' ? null : Number(from),
      reply_to: textOf(fields, 'reply') || null,
      audience: audienceOf(newsletter.audience, fields),
    }
    set(await dataOf(api.PATCH('/api/v1/newsletters/{newsletterId}', { ...path, body })))
    if (newsletter.status !== 'draft') say('The newsletter is saved.')
  }
  return (
    <div class="compose">
      <section>
        <h2>Content</h2>
        {newsletter.status === 'draft' && <p class="muted">A draft is saved while you write.</p>}
        <fieldset class="card" disabled={!canChange}>
          <Form action="Save" isLive={newsletter.status === 'draft'} submit={submit}>
            <Field label="Name" name="name" defaultValue={newsletter.name} hint="Recipients do not see it." />
            <Field label="Subject" name="subject" required defaultValue={newsletter.subject} />
            <Field label="Preheader" name="preheader" defaultValue={newsletter.preheader ?? ''} />
            <Choice
              label="From"
              name="from"
              selected={String(newsletter.from_identity_id ?? '')}
              options={[
                ['', 'the first verified identity'],
                ...(identities.value ?? []).map(({ id, email }) => [String(id), email] as const),
              ]}
            />
            <Field label="Reply to" name="reply" type="email" defaultValue={newsletter.reply_to ?? ''} />
            <AudienceFields audience={newsletter.audience} />
            <TextArea label="HTML" name="html" rows={14} defaultValue={newsletter.html} />
            <TextArea
              label="Text"
              name="text"
              rows={5}
              defaultValue={newsletter.text ?? ''}
              hint="Empty: made from the HTML."
            />
          </Form>
        </fieldset>
      </section>
      <Preview newsletter={newsletter} />
    </div>
  )
}

/** Shows the saved content as the contact would get it. */
function Preview({ newsletter }: { newsletter: Newsletter }) {
  const contacts = useLoad(() => answerOf(api.GET('/api/v1/contacts', { params: { query: { per_page: 20 } } })), [])
  const [contactId, setContactId] = useState<number>()
  const first = contacts.value?.data[0]?.id
  useEffect(() => setContactId((chosen) => chosen ?? first), [first])
  return (
    <section>
      <div class="head">
        <h2>Preview</h2>
        {contacts.value && contacts.value.data.length > 0 && (
          <select
            aria-label="Contact of the preview"
            value={String(contactId ?? '')}
            onChange={(event) => setContactId(Number(event.currentTarget.value))}
          >
            {contacts.value.data.map(({ id, email }) => (
              <option key={id} value={String(id)}>
                {email}
              </option>
            ))}
          </select>
        )}
      </div>
      {contactId === undefined ? (
        <p class="muted">A preview needs a contact.</p>
      ) : (
        <PreviewFor newsletter={newsletter} contactId={contactId} />
      )}
    </section>
  )
}

function PreviewFor({ newsletter, contactId }: { newsletter: Newsletter; contactId: number }) {
  const preview = useLoad(
    () =>
      dataOf(
        api.POST('/api/v1/newsletters/{newsletterId}/preview', {
          params: { path: { newsletterId: newsletter.id } },
          body: { contact_id: contactId },
        }),
      ),
    [newsletter.id, newsletter.updated_at, contactId],
  )
  return <Loaded of={preview}>{(value) => <Rendered {...value} />}</Loaded>
}
