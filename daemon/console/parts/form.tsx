import { type Signal, useSignal } from '@preact/signals'
import type { ComponentChildren, TargetedEvent, TargetedSubmitEvent } from 'preact'
import { useContext, useEffect, useId, useLayoutEffect, useRef, useState } from 'preact/hooks'
import { RequestError } from '../api.ts'
import { DialogLock } from './dialog.tsx'
import { asRequestError, ErrorBox } from './load.tsx'
import { guardForm } from './unsaved.tsx'

/** Whether what a form shows is stored. `unsaved`: the user must act. */
export type SaveState = 'saved' | 'saving' | 'unsaved'

interface FormProps {
  /** Label of the button. */
  readonly action: string
  readonly cancel?: () => void
  /** Submits when the typing pauses, and when a field is left. */
  readonly isLive?: boolean
  /** The form keeps it up to date. */
  readonly state?: Signal<SaveState>
  /** Asks before its page is left with changes that are not stored. Default: in a dialog. */
  readonly asksBeforeLeaving?: boolean
  readonly submit: (fields: FormData) => Promise<void>
  readonly children: ComponentChildren
}

const typingPauseMs = 1000

/** A form. It shows the error of its action, and cannot be sent twice at once. A dialog around it stays open until then. */
export function Form({ action, cancel, isLive = false, state, submit, children, ...options }: FormProps) {
  const ownState = useSignal<SaveState>('saved')
  const saveState = state ?? ownState
  const [isBusy, setBusy] = useState(false)
  /** The same, also after the page is left. */
  const isStoring = useRef(false)
  const [error, setError] = useState<RequestError>()
  const lockDialog = useContext(DialogLock)
  const { asksBeforeLeaving = lockDialog !== undefined } = options
  /** Number of changes so far: another one may be made while the last is stored. */
  const changes = useRef(0)
  const waiting = useRef<{ timer: ReturnType<typeof setTimeout>; form: HTMLFormElement }>(undefined)
  const place = useRef<HTMLDivElement>(null)
  useLayoutEffect(() => place.current?.scrollIntoView({ block: 'nearest' }), [error])
  const show = (next: SaveState) => {
    saveState.value = next
  }
  const store = async (form: HTMLFormElement) => {
    const change = changes.current
    isStoring.current = true
    setBusy(true)
    lockDialog?.(true)
    setError(undefined)
    show('saving')
    try {
      await submit(new FormData(form))
      if (change === changes.current) show('saved')
      else if (!isLive) show('unsaved')
    } catch (thrown) {
      setError(asRequestError(thrown))
      show('unsaved')
    } finally {
      isStoring.current = false
      setBusy(false)
      lockDialog?.(false)
    }
  }
  const begin = (form: HTMLFormElement) => {
    if (!isStoring.current) void store(form)
    else if (isLive) storeSoon(form, typingPauseMs)
  }
  const latest = useRef(begin)
  latest.current = begin
  const storeSoon = (form: HTMLFormElement, delayMs: number) => {
    clearTimeout(waiting.current?.timer)
    const timer = setTimeout(() => storeNow(form), delayMs)
    waiting.current = { timer, form }
  }
  const storeNow = (form: HTMLFormElement) => {
    clearTimeout(waiting.current?.timer)
    waiting.current = undefined
    if (form.checkValidity()) return latest.current(form)
    setError(wrongFieldOf(form))
    show('unsaved')
  }
  // The page may be left before the typing pauses.
  useEffect(() => () => waiting.current && storeNow(waiting.current.form), [])
  useEffect(() => {
    if (!asksBeforeLeaving) return
    return guardForm({ state: saveState, storeNow: () => waiting.current && storeNow(waiting.current.form) })
  }, [asksBeforeLeaving, saveState])
  /** Words that are typed after the fields are read would be lost when the form closes. */
  const isFixed = isBusy && !isLive
  const ref = useRef<HTMLFormElement>(null)
  useLayoutEffect(() => {
    const field = document.activeElement
    if (!isFixed || !(field instanceof HTMLElement) || !ref.current?.contains(field)) return
    ref.current.focus({ preventScroll: true }) // a dialog must still get the keys that are pressed
    return () => document.activeElement === document.body && field.focus({ preventScroll: true })
  }, [isFixed])
  const onSubmit = (event: TargetedSubmitEvent<HTMLFormElement>) => {
    event.preventDefault()
    begin(event.currentTarget)
  }
  const onInput = ({ currentTarget: form }: TargetedEvent<HTMLFormElement>) => {
    changes.current += 1
    show(isLive ? 'saving' : 'unsaved')
    if (isLive) storeSoon(form, typingPauseMs)
  }
  // Saves at once when the field loses focus, because the next button may need the saved value.
  const onChange = ({ currentTarget: form }: TargetedEvent<HTMLFormElement>) => isLive && storeSoon(form, 0)
  return (
    <form ref={ref} tabIndex={isFixed ? -1 : undefined} onSubmit={onSubmit} onInput={onInput} onChange={onChange}>
      <div class="body" inert={isFixed}>
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
          <button type="button" disabled={isBusy} onClick={cancel}>
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

/** Returns why the first field that is not valid is not. */
function wrongFieldOf(form: HTMLFormElement): RequestError {
  const field = form.querySelector<HTMLInputElement>('input:invalid, textarea:invalid, select:invalid')
  const label = field?.labels?.[0]?.textContent ?? 'A field'
  return new RequestError(`${label}: ${field?.validationMessage ?? 'not valid'}`, 'validation_failed')
}

/** The attributes of a field for an address. The browser would rewrite letters beyond ASCII in an `email`. */
export const addressInput = { type: 'text', inputMode: 'email', autoCapitalize: 'none', spellcheck: false } as const

interface FieldProps {
  readonly label: string
  readonly name: string
  readonly type?: 'text' | 'address' | 'url' | 'password' | 'number' | 'date' | 'datetime-local'
  readonly hint?: string
  readonly required?: boolean
  readonly defaultValue?: string
  readonly placeholder?: string
  readonly maxLength?: number
  readonly min?: number
  readonly max?: number | string
  readonly step?: 'any'
  readonly pattern?: string
}

/** A labelled text field. */
export function Field({ label, hint, type = 'text', ...input }: FieldProps) {
  const id = useId()
  const kind = type === 'address' ? addressInput : { type }
  const described = hint === undefined ? {} : { 'aria-describedby': `${id}-hint` }
  return (
    <div class="field">
      <label for={id}>{label}</label>
      <input id={id} autoComplete="off" {...described} {...(kind as { type: 'text' })} {...(input as object)} />
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
  /** The option that is selected first. A record that is not among the options keeps its id. */
  readonly selected?: string
  /** The last line. It cannot be chosen. */
  readonly note?: string | undefined
}

/** A labelled choice. */
export function Choice({ label, name, options, selected, note }: ChoiceProps) {
  const id = useId()
  const isUnknown = selected !== undefined && options.every(([value]) => value !== selected)
  const all = isUnknown ? [...options, [selected, `#${selected}`] as const] : options
  return (
    <div class="field">
      <label for={id}>{label}</label>
      <select id={id} name={name}>
        {all.map(([value, text]) => (
          <option key={value} value={value} selected={value === selected}>
            {text}
          </option>
        ))}
        {note && <option disabled>{note}</option>}
      </select>
    </div>
  )
}

/** Returns a text field's value without surrounding spaces. */
export function textOf(fields: FormData, name: string): string {
  return String(fields.get(name) ?? '').trim()
}

/** Returns the values that differ from those before. Only they are sent, because another tab may have changed the rest. */
export function changedFrom<T extends object>(before: object, after: T): Partial<T> {
  const stored = new Map<string, unknown>(Object.entries(before))
  const changed = Object.entries(after).filter(([name, value]) => comparable(value) !== comparable(stored.get(name)))
  return Object.fromEntries(changed) as Partial<T>
}

/** Returns a value as a text that does not depend on the order of fields and ids. Text fields have their own line ends. */
function comparable(value: unknown): string | undefined {
  return JSON.stringify(value, (_, part: unknown) => {
    if (typeof part === 'string') return part.replaceAll('\r\n', '\n')
    if (Array.isArray(part)) return part.toSorted()
    if (typeof part === 'object' && part !== null) return Object.fromEntries(Object.entries(part).toSorted())
    return part
  })
}

/** Returns texts as `name: text` lines. Further lines of a text are indented. */
export function namedLines(texts: Readonly<Record<string, string>>): string {
  return Object.entries(texts)
    .map(([name, text]) => `${name}: ${text.replaceAll('\n', '\n  ')}`)
    .join('\n')
}

/**
 * Reads the lines of `namedLines`. A known name may have colons. Another one ends at the first colon before a space, or
 * else at the first colon.
 *
 * @param before The texts that the field began with. Their names are known. If the field still has them, they are
 *   returned, whatever their names have.
 * @throws RequestError A line has no name, so its meaning is not known.
 */
export function namedTexts(lines: string, before: Readonly<Record<string, string>>): Readonly<Record<string, string>> {
  if (comparable(lines) === comparable(namedLines(before))) return before
  const texts: [name: string, text: string][] = []
  const known = Object.keys(before).sort((a, b) => b.length - a.length)
  for (const line of lines.trim().split('\n')) {
    const same = known.find((name) => line.startsWith(`${name}:`) && /^(?:\s|$)/.test(line.slice(name.length + 1)))
    const [, name, text = ''] =
      same !== undefined
        ? [line, same, line.slice(same.length + 1).trim()]
        : (/^([^\s:].*?)\s*:(?:\s+(.*?))?\s*$/.exec(line) ?? /^([^\s:][^:]*?)\s*:\s*(.*?)\s*$/.exec(line) ?? [])
    const last = texts.at(-1)
    if (name !== undefined) texts.push([name, text])
    else if (last && /^\s/.test(line)) last[1] += `\n${line.trim()}`
    else if (line.trim() !== '') {
      throw new RequestError(`"${line.trim()}" has no name. Write it as "name: text".`, 'validation_failed')
    }
  }
  return Object.fromEntries(texts)
}
