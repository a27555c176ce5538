import { useEffect, useRef, useState } from 'preact/hooks'
import { api, dataOf, type Schemas } from '../api.ts'
import { contentHint } from '../newsletters/content.ts'
import { Preview } from '../newsletters/preview.tsx'
import { Field, Form, TextArea, textOf } from '../parts/form.tsx'

export type Step = Schemas['StepsInput']['steps'][number]
type Content = Omit<Step, 'id' | 'delay_seconds'>

export const secondsPerHour = 3600
const typingPauseMs = 500

interface StepFormProps {
  readonly sequenceId: number
  readonly step: Step
  readonly cancel: () => void
  readonly save: (step: Step) => Promise<void>
}

/** A mail of a sequence, with a preview of what is written. */
export function StepForm({ sequenceId, step, cancel, save }: StepFormProps) {
  const [shown, setShown] = useState<Content>(step)
  const place = useRef<HTMLDivElement>(null)
  const timer = useRef<ReturnType<typeof setTimeout>>(undefined)
  useEffect(() => () => clearTimeout(timer.current), [])
  const showLater = () => {
    clearTimeout(timer.current)
    timer.current = setTimeout(() => {
      const form = place.current?.querySelector('form')
      if (form) setShown(contentIn(new FormData(form)))
    }, typingPauseMs)
  }
  const submit = (fields: FormData) =>
    save({ ...step, ...contentIn(fields), delay_seconds: Math.round(Number(textOf(fields, 'hours')) * secondsPerHour) })
  const { subject, preheader, html, text } = shown
  return (
    <div class="compose">
      <div ref={place} class="card" onInput={showLater}>
        <Form action="Save step" cancel={cancel} submit={submit}>
          <Field
            label="Hours after the step before"
            name="hours"
            type="number"
            min={0}
            step="any"
            required
            defaultValue={String(step.delay_seconds / secondsPerHour)}
          />
          <Field label="Subject" name="subject" required defaultValue={step.subject} />
          <Field label="Preheader" name="preheader" defaultValue={step.preheader ?? ''} />
          <TextArea label="HTML" name="html" rows={10} defaultValue={step.html} hint={contentHint} />
          <TextArea
            label="Text"
            name="text"
            rows={4}
            defaultValue={step.text ?? ''}
            hint="Empty: made from the HTML."
          />
        </Form>
      </div>
      {subject === '' ? (
        <p class="muted">A preview needs a subject.</p>
      ) : (
        <Preview
          load={(contactId) =>
            dataOf(
              api.POST('/api/v1/sequences/{sequenceId}/preview', {
                params: { path: { sequenceId } },
                body: { contact_id: contactId, subject, preheader: preheader ?? null, html, text: text ?? null },
              }),
            )
          }
          keys={[sequenceId, subject, preheader, html, text]}
        />
      )}
    </div>
  )
}

function contentIn(fields: FormData): Content {
  return {
    subject: textOf(fields, 'subject'),
    preheader: textOf(fields, 'preheader') || null,
    html: String(fields.get('html') ?? ''),
    text: textOf(fields, 'text') === '' ? null : String(fields.get('text')),
  }
}
