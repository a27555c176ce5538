import type { Signal } from '@preact/signals'
import { useRef } from 'preact/hooks'
import { api, dataOf, type Schemas } from '../api.ts'
import { changedFrom, Field, Form, type SaveState, textOf } from '../parts/form.tsx'
import { say } from '../parts/notice.tsx'
import { Later } from '../parts/page.tsx'
import { may } from '../session.ts'
import { AudienceFields, audienceIn, summaryOf } from './audience.tsx'
import { ContentFields, contentIn, useTypedContent } from './content.tsx'
import { Preview } from './preview.tsx'
import { SenderField, senderIn } from './sender-field.tsx'

type Newsletter = Schemas['NewsletterWithAudience']

interface ComposerProps {
  readonly newsletter: Newsletter
  readonly canChange: boolean
  /** Runs a change, and shows the newsletter that it returns. */
  readonly store: (call: () => Promise<Newsletter>) => Promise<void>
  readonly state: Signal<SaveState>
}

/** The content with a preview for a chosen contact. */
export function Composer({ newsletter, canChange, store, state }: ComposerProps) {
  const path = { params: { path: { newsletterId: newsletter.id } } }
  /** The values that this form has stored. */
  const stored = useRef<object>(newsletter)
  const place = useRef<HTMLElement>(null)
  const [{ subject, preheader = null, html, text = null }, showLater] = useTypedContent(newsletter, place, canChange)
  const submit = async (fields: FormData) => {
    const body = {
      name: textOf(fields, 'name'),
      ...contentIn(fields),
      reply_to: textOf(fields, 'reply') || null,
      ...senderIn(fields),
      audience: audienceIn(fields, newsletter.audience),
    }
    // A field shows what another tab has stored until it is typed into. That is no change of this form.
    const changed = changedFrom(newsletter, changedFrom(stored.current, body))
    if (Object.keys(changed).length === 0) return
    await store(() => dataOf(api.PATCH('/api/v1/newsletters/{newsletterId}', { ...path, body: changed })))
    stored.current = { ...stored.current, ...body }
    if (newsletter.status !== 'draft') say('The newsletter is saved.')
  }
  return (
    <div class="compose">
      <section ref={place} onInput={showLater}>
        <h2>Content</h2>
        {canChange && newsletter.status === 'draft' && <p class="muted">A draft is saved while you write.</p>}
        <fieldset class="card" disabled={!canChange}>
          <Form action="Save" isLive={newsletter.status === 'draft'} state={state} asksBeforeLeaving submit={submit}>
            <Field label="Name" name="name" defaultValue={newsletter.name} hint="Recipients do not see it." />
            <ContentFields content={newsletter} htmlRows={14} />
            <Field label="Reply to" name="reply" type="address" defaultValue={newsletter.reply_to ?? ''} />
            <Later title={`Sender and audience: ${summaryOf(newsletter.audience)}`}>
              <SenderField chosen={newsletter.from_identity_id} />
              <AudienceFields audience={newsletter.audience} />
            </Later>
          </Form>
        </fieldset>
      </section>
      {may('member') && (
        <Preview
          subject={subject}
          load={(contact_id) =>
            dataOf(
              api.POST('/api/v1/newsletters/{newsletterId}/preview', {
                ...path,
                body: { contact_id, subject, preheader, html, text },
              }),
            )
          }
          keys={[newsletter.id, subject, preheader, html, text]}
          offered={newsletter.current_audience?.contacts ?? []}
        />
      )}
    </div>
  )
}
