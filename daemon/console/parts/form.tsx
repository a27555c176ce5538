import type { ComponentChildren, TargetedEvent, TargetedSubmitEvent } from 'preact'
import { useEffect, useId, useRef, useState } from 'preact/hooks'
import type { RequestError } from '../api.ts'
import { asRequestError, ErrorBox } from './load.tsx'

interface FormProps {
  /** Label of the button. */
  readonly action: string
  readonly cancel?: () => void
  /** Submits when the typing pauses, and when a field is left. */
  readonly isLive?: boolean
  readonly submit: (fields: FormData) => Promise<void>
  readonly children: ComponentChildren
}

const typingPauseMs = 1000

/** A form. It shows the error of its action, and cannot be sent twice at once. */
export function Form({ action, cancel, isLive = false, submit, children }: FormProps) {
  const [isBusy, setBusy] = useState(false)
  const [error, setError] = useState<RequestError>()
  const timer = useRef<ReturnType<typeof setTimeout>>(undefined)
  useEffect(() => () => clearTimeout(timer.current), [])
  const place = useRef<HTMLDivElement>(null)
  useEffect(() => place.current?.scrollIntoView({ block: 'nearest' }), [error])
  const submitIn = (form: HTMLFormElement, delayMs: number) => {
    clearTimeout(timer.current)
    timer.current = setTimeout(() => form.checkValidity() && form.requestSubmit(), delayMs)
  }
  const onSubmit = async (event: TargetedSubmitEvent<HTMLFormElement>) => {
    event.preventDefault()
    const form = event.currentTarget
    if (isBusy) {
      if (isLive) submitIn(form, typingPauseMs)
      return
    }
    setBusy(true)
    setError(undefined)
    try {
      await submit(new FormData(form))
    } catch (thrown) {
      setError(asRequestError(thrown))
    } finally {
      setBusy(false)
    }
  }
  const live = isLive && {
    onInput: ({ currentTarget }: TargetedEvent<HTMLFormElement>) => submitIn(currentTarget, typingPauseMs),
    // The field is left: what is pressed next must find it saved.
    onChange: ({ currentTarget }: TargetedEvent<HTMLFormElement>) => submitIn(currentTarget, 0),
  }
  return (
    <form onSubmit={onSubmit} {...live}>
      <div class="body">
        {error && isLive && <ErrorBox error={error} />}
        {children}
        {error && !isLive && (
          <div ref={place}>
            <ErrorBox error={error} />
          </div>
        )}
      </div>
      <footer>
        {cancel && (
          <button type="button" onClick={cancel}>
            Cancel
          </button>
        )}
        <button type="submit" class="primary" disabled={isBusy}>
          {isBusy ? 'Please wait…' : action}
        </button>
      </footer>
    </form>
  )
}

interface FieldProps {
  readonly label: string
  readonly name: string
  readonly type?: 'text' | 'email' | 'url' | 'password' | 'number' | 'date' | 'datetime-local'
  readonly hint?: string
  readonly required?: boolean
  readonly defaultValue?: string
  readonly placeholder?: string
  readonly maxLength?: number
  readonly min?: number
  readonly max?: number
  readonly step?: 'any'
  readonly pattern?: string
}

/** A labelled text field. */
export function Field({ label, hint, ...input }: FieldProps) {
  const id = useId()
  const described = hint === undefined ? {} : { 'aria-describedby': `${id}-hint` }
  return (
    <div class="field">
      <label for={id}>{label}</label>
      <input id={id} autoComplete="off" {...described} {...(input as { type: 'text' })} />
      {hint && <small id={`${id}-hint`}>{hint}</small>}
    </div>
  )
}

interface TextAreaProps {
  readonly label: string
  readonly name: string
  readonly rows: number
  readonly defaultValue: string
  readonly hint?: string
}

/** A labelled field for several lines of code. */
export function TextArea({ label, hint, ...area }: TextAreaProps) {
  const id = useId()
  const described = hint === undefined ? {} : { 'aria-describedby': `${id}-hint` }
  return (
    <div class="field">
      <label for={id}>{label}</label>
      <textarea id={id} class="code" spellcheck={false} {...described} {...area} />
      {hint && <small id={`${id}-hint`}>{hint}</small>}
    </div>
  )
}

interface ChoiceProps {
  readonly label: string
  readonly name: string
  readonly options: readonly (readonly [value: string, text: string])[]
  /** The option that is selected first. */
  readonly selected?: string
}

/** A labelled choice. */
export function Choice({ label, name, options, selected }: ChoiceProps) {
  const id = useId()
  return (
    <div class="field">
      <label for={id}>{label}</label>
      <select id={id} name={name}>
        {options.map(([value, text]) => (
          <option key={value} value={value} selected={value === selected}>
            {text}
          </option>
        ))}
      </select>
    </div>
  )
}

/** Returns a text field's value without surrounding spaces. */
export function textOf(fields: FormData, name: string): string {
  return String(fields.get(name) ?? '').trim()
}

/** Reads `name: text` lines. */
export function namedTexts(lines: string): Record<string, string> {
  const parts = lines.split('\n').map((line) => /^\s*([^:]+?)\s*:\s*(.*?)\s*$/.exec(line))
  return Object.fromEntries(parts.flatMap((part) => (part ? [[part[1]!, part[2]!]] : [])))
}
