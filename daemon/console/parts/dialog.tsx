import { signal } from '@preact/signals'
import type { ComponentChildren } from 'preact'
import { useEffect, useId, useRef } from 'preact/hooks'

/** A modal dialog. The browser keeps the focus inside, and Escape closes it. */
export function Dialog({ title, close, children }: { title: string; close(): void; children: ComponentChildren }) {
  const ref = useRef<HTMLDialogElement>(null)
  const id = useId()
  useEffect(() => {
    const opener = document.activeElement
    ref.current?.showModal()
    ref.current?.querySelector<HTMLElement>('form :is(input, select, textarea)')?.focus()
    return () => {
      if (opener instanceof HTMLElement) opener.focus()
    }
  }, [])
  return (
    <dialog ref={ref} aria-labelledby={id} onClose={close}>
      <header>
        <h2 id={id}>{title}</h2>
        <button type="button" class="plain" aria-label="Close" onClick={() => ref.current?.close()}>
          ✕
        </button>
      </header>
      {children}
    </dialog>
  )
}

interface Question {
  readonly title: string
  readonly text: ComponentChildren
  /** Label of the button that agrees. */
  readonly action: string
  readonly isDangerous?: boolean
}

const asked = signal<(Question & { answer(agreed: boolean): void }) | undefined>(undefined)

/** Asks before something that cannot be undone. */
export function confirm(question: Question): Promise<boolean> {
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

/** Shows the question of `confirm`. */
export function Confirmation() {
  const question = asked.value
  if (!question) return null
  return (
    <Dialog title={question.title} close={() => question.answer(false)}>
      <div class="body">{question.text}</div>
      <footer>
        <button type="button" onClick={() => question.answer(false)}>
          Cancel
        </button>
        <button type="button" class={question.isDangerous ? 'danger' : 'primary'} onClick={() => question.answer(true)}>
          {question.action}
        </button>
      </footer>
    </Dialog>
  )
}
