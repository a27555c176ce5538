import { useState } from 'preact/hooks'
import { api, dataOf, RequestError, type Schemas } from '../api.ts'
import { firstContent } from '../newsletters/content.tsx'
import { RowButton } from '../parts/buttons.tsx'
import { confirmAndRun } from '../parts/dialog.tsx'
import { attempt, say } from '../parts/notice.tsx'
import { duration } from '../parts/time.tsx'
import { may } from '../session.ts'
import { type Step, StepForm, secondsPerHour } from './step-form.tsx'

type Sequence = Schemas['Sequence']

/** What the form of a new step shows. */
const firstStep: Step = { delay_seconds: 24 * secondsPerHour, subject: '', html: firstContent }

/** The mails of a sequence, in their order. */
export function Steps({ sequence, set }: { sequence: Sequence; set(sequence: Sequence): void }) {
  const [edited, setEdited] = useState<Step['id'] | 'new'>()
  const steps = stepsOf(sequence)
  /** Changes the steps as they are stored now: another admin may have changed them since the page was opened. */
  const save = async (change: (stored: readonly Step[]) => readonly Step[]) => {
    const path = { params: { path: { sequenceId: sequence.id } } }
    const stored = stepsOf(await dataOf(api.GET('/api/v1/sequences/{sequenceId}', path)))
    const body = { steps: [...change(stored)] }
    set(await dataOf(api.PUT('/api/v1/sequences/{sequenceId}/steps', { ...path, body })))
    setEdited(undefined)
    say('The steps are saved.')
  }
  const moveUp = ({ id }: Step) =>
    attempt(() =>
      save((stored) => {
        const at = placeOf(id, stored)
        return at === 0 ? stored : stored.with(at - 1, stored[at]!).with(at, stored[at - 1]!)
      }),
    )
  const remove = async ({ id, subject }: Step) => {
    const question = {
      title: 'Remove this step?',
      text: (
        <p>
          <strong>{subject}</strong> is not sent any more.
        </p>
      ),
      action: 'Remove',
    }
    await confirmAndRun(question, () => save((stored) => stored.filter((step) => step.id !== id)))
  }
  return (
    <section>
      <div class="head">
        <h2>Steps</h2>
        {may('admin') && edited === undefined && (
          <button type="button" data-new onClick={() => setEdited('new')}>
            New step
          </button>
        )}
      </div>
      {steps.length === 0 && edited === undefined && <p class="muted">None yet.</p>}
      {steps.map((step, at) =>
        edited === step.id ? (
          <StepForm
            key={step.id}
            sequenceId={sequence.id}
            step={step}
            before={stepBefore(at)}
            cancel={() => setEdited(undefined)}
            save={(changed) =>
              save((stored) => {
                const at = placeOf(step.id, stored)
                return stored.with(at, { ...stored[at]!, ...changed })
              })
            }
          />
        ) : (
          <div key={step.id} class="membership">
            <div class="row">
              <span>
                <strong>{step.subject}</strong>{' '}
                <span class="muted">
                  {step.delay_seconds === 0 ? 'at once' : duration(step.delay_seconds)} after {stepBefore(at)}
                </span>
              </span>
              {may('admin') && edited === undefined && (
                <span>
                  {at > 0 && <RowButton action="Move up" of={step.subject} onClick={() => moveUp(step)} />}
                  <RowButton action="Edit" of={step.subject} onClick={() => setEdited(step.id)} />
                  <RowButton action="Remove" of={step.subject} onClick={() => remove(step)} />
                </span>
              )}
            </div>
          </div>
        ),
      )}
      {edited === 'new' && (
        <StepForm
          sequenceId={sequence.id}
          step={firstStep}
          before={stepBefore(steps.length)}
          cancel={() => setEdited(undefined)}
          save={(added) => save((stored) => [...stored, { ...firstStep, ...added }])}
        />
      )}
    </section>
  )
}

function stepBefore(position: number): string {
  return position === 0 ? 'the enrolment' : 'the step before'
}

function stepsOf({ steps }: Sequence): readonly Step[] {
  return steps.map(({ position: _, ...step }) => step)
}

/** @throws RequestError Another admin has removed the step. */
function placeOf(id: Step['id'], steps: readonly Step[]): number {
  const at = steps.findIndex((step) => step.id === id)
  if (at >= 0) return at
  throw new RequestError('This step has been removed. Copy what you need, then reload the page.', 'not_found')
}
