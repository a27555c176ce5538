import { effect, signal } from '@preact/signals'
import type { RequestError } from '../api.ts'
import { token } from '../session.ts'
import { asRequestError, ErrorBox } from './load.tsx'
import { markPressed } from './press.ts'

interface Notice {
  readonly id: number
  readonly text?: string
  readonly error?: RequestError
}

const notices = signal<readonly Notice[]>([])
let lastId = 0
const shownMs = 5_000

// Removes those of the last session before the page of the next one is drawn.
effect(() => {
  if (token.value !== undefined) notices.value = []
})

/** Says that something was done. */
export function say(text: string): void {
  dismissErrors()
  const id = add({ text })
  setTimeout(() => remove(id), shownMs)
}

/** For when something succeeded: the errors before it are old. */
function dismissErrors(): void {
  notices.value = notices.value.filter(({ error }) => error === undefined)
}

/** Shows an error until it is dismissed. The same message is shown once. */
function sayError(thrown: unknown): void {
  const error = asRequestError(thrown)
  notices.value = notices.value.filter((notice) => notice.error?.message !== error.message)
  add({ error })
}

/** Runs the action of a button, which is busy until then. Its error is shown. @returns Whether it succeeded. */
export async function attempt(action: () => Promise<unknown>, done?: string): Promise<boolean> {
  const unmark = markPressed()
  try {
    await action()
    dismissErrors()
    if (done !== undefined) say(done)
    return true
  } catch (error) {
    sayError(error)
    return false
  } finally {
    unmark()
  }
}

function add(notice: Omit<Notice, 'id'>): number {
  const id = ++lastId
  notices.value = [...notices.value.slice(-2), { id, ...notice }]
  return id
}

function remove(id: number): void {
  notices.value = notices.value.filter((notice) => notice.id !== id)
}

export function Notices() {
  return (
    <div class="notices" role="status" aria-live="polite">
      {notices.value.map(({ id, text, error }) => (
        <div key={id} class="notice">
          {error === undefined ? <span>{text}</span> : <ErrorBox error={error} />}
          <button type="button" class="plain" aria-label="Dismiss" onClick={() => remove(id)}>
            ✕
          </button>
        </div>
      ))}
    </div>
  )
}
