import { useState } from 'preact/hooks'
import { api, dataOf, type Schemas } from '../api.ts'
import { firstContent } from '../newsletters/content.tsx'
import { RowButton } from '../parts/buttons.tsx'
import { confirm } from '../parts/dialog.tsx'
import { attempt, say } from '../parts/notice.tsx'
import { duration } from '../parts/time.tsx'
import { may } from '../session.ts'
import { type Step, StepForm, secondsPerHour } from './step-form.tsx'

type Sequence = Schemas['Sequence']

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
  const moveUp = (at: number) => attempt(() => save(steps.with(at - 1, steps[at]!).with(at, steps[at - 1]!)))
  const remove = async (at: number) => {
    const agreed = await confirm({
      title: 'Remove this step?',
      text: (
        <p>
          <strong>{steps[at]?.subject}</strong> is not sent any more.
        </p>
      ),
      action: 'Remove',
      isDangerous: true,
    })
    if (agreed) await attempt(() => save(steps.toSpliced(at, 1)))
  }
  return (
    <section>
      <div class="head">
        <h2>Steps</h2>
        {may('admin') && edited === undefined && (
          <button type="button" data-new onClick={() => setEdited(steps.length)}>
            New step
          </button>
        )}
      </div>
      {steps.length === 0 && edited === undefined && <p class="muted">None yet.</p>}
      {steps.map((step, at) =>
        edited === at ? (
          <StepForm
            key={step.id}
            sequenceId={sequence.id}
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
                  {step.delay_seconds === 0 ? 'at once' : duration(step.delay_seconds)} after{' '}
                  {at === 0 ? 'the enrolment' : 'the step before'}
                </span>
              </span>
              {may('admin') && edited === undefined && (
                <span>
                  {at > 0 && <RowButton action="Move up" of={step.subject} onClick={() => moveUp(at)} />}
                  <RowButton action="Edit" of={step.subject} onClick={() => setEdited(at)} />
                  <RowButton action="Remove" of={step.subject} onClick={() => remove(at)} />
                </span>
              )}
            </div>
          </div>
        ),
      )}
      {edited === steps.length && (
        <StepForm
          sequenceId={sequence.id}
          step={{ delay_seconds: 24 * secondsPerHour, subject: '', html: firstContent }}
          cancel={() => setEdited(undefined)}
          save={(added) => save([...steps, added])}
        />
      )}
    </section>
  )
}
