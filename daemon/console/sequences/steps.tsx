import { useState } from 'preact/hooks'
import { api, dataOf, type Schemas } from '../api.ts'
import { firstContent } from '../newsletters/content.ts'
import { Field, Form, TextArea, textOf } from '../parts/form.tsx'
import { say } from '../parts/notice.tsx'
import { RowButton } from '../parts/row-button.tsx'
import { duration } from '../parts/time.tsx'

type Sequence = Schemas['Sequence']
type Step = Schemas['StepsInput']['steps'][number]

const secondsPerHour = 3600

/** The mails of a sequence, in their order. */
export function Steps({ sequence, set }: { sequence: Sequence; set(sequence: Sequence): void }) {
  const [edited, setEdited] = useState<number>()
  const steps: readonly Step[] = sequence.steps.map(({ position: _, ...step }) => step)
  const save = async (changed: readonly Step[]) => {
    const path = { params: { path: { sequenceId: sequence.id } } }
    set(await dataOf(api.PUT('/api/v1/sequences/{sequenceId}/steps', { ...path, body: { steps: [...changed] } })))
    setEdited(undefined)
    say('The steps are saved.')
  }
  return (
    <section>
      <div class="head">
        <h2>Steps</h2>
        <button type="button" data-new onClick={() => setEdited(steps.length)}>
          New step
        </button>
      </div>
      {steps.length === 0 && edited === undefined && <p class="muted">None yet.</p>}
      {steps.map((step, at) =>
        edited === at ? (
          <StepForm
            key={step.id}
            step={step}
            cancel={() => setEdited(undefined)}
            save={(changed) => save(steps.with(at, changed))}
          />
        ) : (
          <div key={step.id} class="membership">
            <div class="row">
              <span>
                <strong>{step.subject}</strong>{' '}
                <span class="muted">
                  {duration(step.delay_seconds)} after {at === 0 ? 'the enrolment' : 'the step before'}
                </span>
              </span>
              <span>
                <button type="button" class="plain" onClick={() => setEdited(at)} aria-label={`Edit ${step.subject}`}>
                  Edit
                </button>
                <RowButton action="Remove" of={step.subject} onClick={() => save(steps.toSpliced(at, 1))} />
              </span>
            </div>
          </div>
        ),
      )}
      {edited === steps.length && (
        <StepForm
          step={{ delay_seconds: 24 * secondsPerHour, subject: '', html: firstContent }}
          cancel={() => setEdited(undefined)}
          save={(added) => save([...steps, added])}
        />
      )}
    </section>
  )
}

interface StepFormProps {
  readonly step: Step
  readonly cancel: () => void
  readonly save: (step: Step) => Promise<void>
}

function StepForm({ step, cancel, save }: StepFormProps) {
  const submit = (fields: FormData) =>
    save({
      ...step,
      delay_seconds: Math.round(Number(textOf(fields, 'hours')) * secondsPerHour),
      subject: textOf(fields, 'subject'),
      html: String(fields.get('html') ?? ''),
    })
  return (
    <div class="card">
      <Form action="Save step" cancel={cancel} submit={submit}>
        <Field
          label="Hours after the step before"
          name="hours"
          type="number"
          min={0}
          required
          defaultValue={String(step.delay_seconds / secondsPerHour)}
        />
        <Field label="Subject" name="subject" required defaultValue={step.subject} />
        <TextArea label="HTML" name="html" rows={10} defaultValue={step.html} />
      </Form>
    </div>
  )
}
