import { allOf, answerOf, api, dataOf, type Schemas } from '../api.ts'
import { Choice, Field, Form, textOf } from '../parts/form.tsx'
import { useLoad } from '../parts/load.tsx'
import { say } from '../parts/notice.tsx'
import { may } from '../session.ts'
import { AudienceFields, audienceIn } from './audience.tsx'
import { ContentFields, contentIn } from './content.tsx'
import { Preview } from './preview.tsx'

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
      ...contentIn(fields),
      from_identity_id: from === '' ? null : Number(from),
      reply_to: textOf(fields, 'reply') || null,
      audience: audienceIn(fields, newsletter.audience),
    }
    set(await dataOf(api.PATCH('/api/v1/newsletters/{newsletterId}', { ...path, body })))
    if (newsletter.status !== 'draft') say('The newsletter is saved.')
  }
  return (
    <div class="compose">
      <section>
        <h2>Content</h2>
        {canChange && newsletter.status === 'draft' && <p class="muted">A draft is saved while you write.</p>}
        <fieldset class="card" disabled={!canChange}>
          <Form action="Save" isLive={newsletter.status === 'draft'} submit={submit}>
            <Field label="Name" name="name" defaultValue={newsletter.name} hint="Recipients do not see it." />
            <ContentFields content={newsletter} htmlRows={14} />
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
          </Form>
        </fieldset>
      </section>
      {may('member') && (
        <Preview
          load={(contactId) =>
            dataOf(api.POST('/api/v1/newsletters/{newsletterId}/preview', { ...path, body: { contact_id: contactId } }))
          }
          keys={[newsletter.id, newsletter.updated_at]}
        />
      )}
    </div>
  )
}
