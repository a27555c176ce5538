import { useLayoutEffect, useRef } from 'preact/hooks'
import { api, dataOf, type Schemas } from '../api.ts'
import { ContentFields, contentIn, useTypedContent } from '../newsletters/content.tsx'
import { Preview } from '../newsletters/preview.tsx'
import { changedFrom, Field, Form, textOf } from '../parts/form.tsx'

export type Step = Schemas['StepsInput']['steps'][number]

export const secondsPerHour = 3600

/** The longest delay that the API takes: a leap year. */
const maxHours = 366 * 24

interface StepFormProps {
  readonly sequenceId: number
  readonly step: Step
  /** What its delay counts from. */
  readonly before: string
  readonly cancel: () => void
  readonly save: (changed: Partial<Step>) => Promise<void>
}

/** A mail of a sequence, with a preview of its text. */
export function StepForm({ sequenceId, step, before, cancel, save }: StepFormProps) {
  const place = useRef<HTMLDivElement>(null)
  const [shown, showLater] = useTypedContent(step, place)
  // Not in a later effect: it would take the focus from a field that has been chosen since.
  useLayoutEffect(() => {
    place.current?.querySelector('input')?.focus()
  }, [])
  const submit = (fields: FormData) => {
    const delay_seconds = Math.round(Number(textOf(fields, 'hours')) * secondsPerHour)
    return save(changedFrom(step, { ...contentIn(fields), delay_seconds }))
  }
  const { subject, preheader, html, text } = shown
  return (
    <div class="compose">
      <div ref={place} class="card" onInput={showLater}>
        <Form action="Save step" cancel={cancel} asksBeforeLeaving submit={submit}>
          <Field
            label={`Hours after ${before}`}
            name="hours"
            type="number"
            min={0}
            max={maxHours}
            step="any"
            required
            defaultValue={String(step.delay_seconds / secondsPerHour)}
          />
          <ContentFields content={step} htmlRows={10} />
        </Form>
      </div>
      <Preview
        subject={subject}
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
    </div>
  )
}
