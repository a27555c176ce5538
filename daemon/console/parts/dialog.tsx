import { signal } from '@preact/signals'
import { type ComponentChildren, createContext } from 'preact'
import { useEffect, useId, useLayoutEffect, useRef, useState } from 'preact/hooks'
import { useLocation } from 'preact-iso'
import { attempt } from './notice.tsx'

/** Keeps the dialog around a form open, so that the answer of its request is seen. */
export const DialogLock = createContext<((isLocked: boolean) => void) | undefined>(undefined)

interface DialogProps {
  readonly title: string
  /** Only its form or its own button closes it, no gesture: what it shows would be lost. */
  readonly isRequired?: boolean
  readonly close: () => void
  readonly children: ComponentChildren
}

/** A modal dialog. The browser keeps the focus inside, and Escape closes it. */
export function Dialog({ title, isRequired = false, close, children }: DialogProps) {
  const ref = useRef<HTMLDialogElement>(null)
  const id = useId()
  const [isLocked, setLocked] = useState(false)
  const mustStay = isLocked || isRequired
  const keepOpen = (event: Event) => mustStay && event.preventDefault()
  // The browser closes it in spite of `keepOpen` when Escape is pressed several times in quick succession.
  const onClose = () => (mustStay ? ref.current?.showModal() : close())
  // Not in a later effect: keys that are pressed before it would be lost.
  useLayoutEffect(() => {
    const opener = document.activeElement
    ref.current?.showModal()
    ref.current?.querySelector<HTMLElement>('form :is(input, select, textarea)')?.focus()
    return () => {
      if (opener instanceof HTMLElement) opener.focus()
    }
  }, [])
  return (
    <dialog
      ref={ref}
      aria-labelledby={id}
      onClose={onClose}
      onCancel={keepOpen}
      onKeyDown={(event) => event.key === 'Escape' && keepOpen(event)} // the second Escape cannot be cancelled
    >
      <header>
        <h2 id={id}>{title}</h2>
        {!isRequired && (
          <button
            type="button"
            class="plain"
            aria-label="Close"
            disabled={isLocked}
            onClick={() => ref.current?.close()}
          >
            ✕
          </button>
        )}
      </header>
      <DialogLock.Provider value={setLocked}>{children}</DialogLock.Provider>
    </dialog>
  )
}

interface Question {
  readonly title: string
  readonly text: ComponentChildren
  /** Label of the button that agrees. */
  readonly action: string
  /** Label of the button that does not; default: Cancel. */
  readonly refusal?: string
  readonly isDangerous?: boolean
}

const asked = signal<(Question & { answer(agreed: boolean): void }) | undefined>(undefined)

/** Asks before something that cannot be undone. A question that is still open is answered with no. */
export function confirm(question: Question): Promise<boolean> {
  asked.peek()?.answer(false)
  return new Promise((resolve) => {
    asked.value = {
      ...question,
      answer(agreed) {
        asked.value = undefined
        resolve(agreed)
      },
    }
  })
}

/** Asks before an action that cannot be undone, then runs it. Its error is shown. @returns Whether it succeeded. */
export async function confirmAndRun(question: Question, run: () => Promise<unknown>, done?: string): Promise<boolean> {
  return (await confirm({ ...question, isDangerous: true })) && (await attempt(run, done))
}

/** Shows the question of `confirm`. It ends with the page that asks it, and with the session. */
export function Confirmation() {
  const { path } = useLocation()
  useEffect(() => () => asked.peek()?.answer(false), [path])
  const question = asked.value
  if (!question) return null
  return (
    <Dialog title={question.title} close={() => question.answer(false)}>
      <div class="body">{question.text}</div>
      <footer>
        <button type="button" onClick={() => question.answer(false)}>
          {question.refusal ?? 'Cancel'}
        </button>
        <button type="button" class={question.isDangerous ? 'danger' : 'primary'} onClick={() => question.answer(true)}>
          {question.action}
        </button>
      </footer>
    </Dialog>
  )
}
