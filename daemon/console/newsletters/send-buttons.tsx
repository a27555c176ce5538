import type { Signal } from '@preact/signals'
import { useState } from 'preact/hooks'
import { plural } from '../../progress.ts'
import { api, dataOf, RequestError, type Schemas } from '../api.ts'
import { confirm, confirmAndRun, Dialog } from '../parts/dialog.tsx'
import { Field, Form, type SaveState, textOf } from '../parts/form.tsx'
import { attempt, say } from '../parts/notice.tsx'
import { localTime } from '../parts/time.tsx'
import { whenSaved } from '../parts/unsaved.tsx'
import { UncertainButtons } from './messages.tsx'

type Newsletter = Schemas['Newsletter']

interface SendButtonsProps {
  readonly newsletter: Newsletter
  readonly state: Signal<SaveState>
  /** Runs a change, and shows the newsletter that it returns. */
  readonly store: (call: () => Promise<Newsletter>) => Promise<void>
}

/** Buttons for the actions that the newsletter's status allows. */
export function SendButtons({ newsletter, state, store }: SendButtonsProps) {
  const [open, setOpen] = useState<'test' | 'schedule'>()
  const { id, status, counts } = newsletter
  const path = { params: { path: { newsletterId: id } } }
  const send = () =>
    attempt(async () => {
      await whenSaved(state)
      // Counted now, because the audience may just have been changed.
      const { count } = await dataOf(api.GET('/api/v1/newsletters/{newsletterId}/audience', path))
      const agreed = await confirm({
        title: 'Send this newsletter now?',
        text: <p>{plural(count, 'contact')} will get it. Sent messages cannot be recalled.</p>,
        action: 'Send',
      })
      if (!agreed) return
      await store(() => dataOf(api.POST('/api/v1/newsletters/{newsletterId}/send', { ...path, body: {} })))
      say('The newsletter is being sent.')
    })
  const resume = (uncertain?: 'skip' | 'resend') => {
    const body = uncertain === undefined ? {} : { uncertain }
    return store(() => dataOf(api.POST('/api/v1/newsletters/{newsletterId}/resume', { ...path, body })))
  }
  const pause = () => store(() => dataOf(api.POST('/api/v1/newsletters/{newsletterId}/pause', path)))
  const cancel = async () => {
    const question = {
      title: 'Cancel this newsletter?',
      text: <p>Its pending messages are skipped. This cannot be undone.</p>,
      action: 'Cancel the newsletter',
      refusal: 'Keep the newsletter',
    }
    const call = () => store(() => dataOf(api.POST('/api/v1/newsletters/{newsletterId}/cancel', path)))
    await confirmAndRun(question, call, 'The newsletter is cancelled.')
  }
  const isWaiting = status === 'draft' || status === 'scheduled'
  return (
    <>
      {isWaiting && (
        <>
          <button type="button" onClick={() => setOpen('test')}>
            Send test
          </button>
          <button type="button" onClick={() => setOpen('schedule')}>
            Schedule
          </button>
          <button type="button" class="primary" onClick={send}>
            Send
          </button>
        </>
      )}
      {status === 'sending' && (
        <button type="button" onClick={() => attempt(pause, 'The newsletter is paused.')}>
          Pause
        </button>
      )}
      {status === 'paused' && (
        <button type="button" class="primary" onClick={() => attempt(() => resume(), 'The newsletter is resumed.')}>
          Resume
        </button>
      )}
      {counts.uncertain > 0 && (
        <UncertainButtons
          skipOrResend={resume}
          paused={status === 'paused' ? 'newsletter' : undefined}
          canResend={status !== 'cancelled'}
        />
      )}
      {(status === 'scheduled' || status === 'sending' || status === 'paused') && (
        <button type="button" onClick={cancel}>
          Cancel
        </button>
      )}
      {open === 'test' && <Test newsletterId={id} state={state} close={() => setOpen(undefined)} />}
      {open === 'schedule' && (
        <Schedule newsletter={newsletter} state={state} close={() => setOpen(undefined)} store={store} />
      )}
    </>
  )
}

/** The API takes years of four digits. */
const lastTime = '9999-12-31T23:59'

interface SendDialogProps {
  readonly newsletterId: number
  readonly state: Signal<SaveState>
  readonly close: () => void
}

function Test({ newsletterId, state, close }: SendDialogProps) {
  const [results, setResults] = useState<readonly Schemas['TestResult'][]>()
  const submit = async (fields: FormData) => {
    const emails = textOf(fields, 'emails')
      .split(/[\s,;]+/)
      .filter(Boolean)
    const path = { params: { path: { newsletterId } } }
    setResults(undefined)
    await whenSaved(state)
    setResults(await dataOf(api.POST('/api/v1/newsletters/{newsletterId}/test', { ...path, body: { emails } })))
  }
  return (
    <Dialog title="Send a test" close={close}>
      <Form action="Send test" cancel={close} submit={submit}>
        {/* The outcome is that of other addresses once they are changed. */}
        <div onInput={() => setResults(undefined)}>
          <Field label="Addresses" name="emails" required hint="At most 10, separated by commas." />
        </div>
        {results && (
          <div role="status">
            <ul>
              {results.map(({ email, status, error }) => (
                <li key={email}>
                  {email}: {status} {error}
                </li>
              ))}
            </ul>
          </div>
        )}
      </Form>
    </Dialog>
  )
}

function Schedule({ newsletter: { id, scheduled_at }, state, close, store }: SendButtonsProps & { close(): void }) {
  const submit = async (fields: FormData) => {
    const time = new Date(textOf(fields, 'at'))
    if (time.getTime() <= Date.now())
      throw new RequestError('This time has passed: choose a later one.', 'validation_failed')
    const at = time.toISOString()
    await whenSaved(state)
    const path = { params: { path: { newsletterId: id } } }
    await store(() => dataOf(api.POST('/api/v1/newsletters/{newsletterId}/send', { ...path, body: { at } })))
    close()
  }
  return (
    <Dialog title="Schedule the newsletter" close={close}>
      <Form action="Schedule" cancel={close} submit={submit}>
        <Field
          label="Time, in your time zone"
          name="at"
          type="datetime-local"
          max={lastTime}
          required
          defaultValue={scheduled_at ? localTime(scheduled_at) : ''}
        />
      </Form>
    </Dialog>
  )
}
