/** Data of a view: while it is loaded, when it has arrived, and when it could not be loaded. */
import type { ComponentChildren } from 'preact'
import { useEffect, useRef, useState } from 'preact/hooks'
import { useLocation } from 'preact-iso'
import { RequestError } from '../api.ts'
import { endedBecause, token } from '../session.ts'
import { adviceOfPage, labelOf } from './labels.ts'
import type { CursorParameter } from './page.tsx'

export interface Loading<T> {
  readonly value: T | undefined
  readonly error: unknown
  readonly isLoading: boolean
  reload(): void
  /** Shows a changed record without asking for it again. */
  set(value: T): void
}

interface State<T> {
  readonly value?: T
  /** The keys of `value`. */
  readonly keys?: readonly unknown[]
  readonly error?: unknown
  readonly isLoading: boolean
}

/**
 * Loads data, and loads it again when a key changes. The previous data is shown until then. It also stays when it cannot
 * be loaded again because the server cannot be reached or is busy, or the session has ended.
 *
 * @param keys What `load` depends on.
 */
export function useLoad<T>(load: () => Promise<T>, keys: readonly unknown[]): Loading<T> {
  const [state, setState] = useState<State<T>>({ isLoading: true })
  const [round, setRound] = useState(0)
  /** Changes when the answer that is awaited is out of date. */
  const version = useRef(0)
  useEffect(() => {
    if (endedBecause.peek() !== undefined && state.value !== undefined) return // until the user has signed in again
    const own = ++version.current
    const isCurrent = () => own === version.current
    setState((previous) => ({ ...previous, isLoading: true }))
    const begun = async () => await load() // also catches what `load` throws before it waits
    begun().then(
      (value) => isCurrent() && setState({ value, keys, isLoading: false }),
      (error: unknown) =>
        isCurrent() &&
        setState((previous) => ({
          ...(isTemporary(error) && isSame(previous.keys, keys) && previous),
          error,
          isLoading: false,
        })),
    )
    return () => {
      version.current++
    }
  }, [...keys, round, token.value])
  return {
    value: state.value,
    error: state.error,
    isLoading: state.isLoading,
    reload: () => setRound((n) => n + 1),
    set(value) {
      version.current++
      setState({ value, keys, isLoading: false })
    },
  }
}

function isTemporary(error: unknown): boolean {
  if (!(error instanceof RequestError)) return false
  const { status } = error
  return status === undefined || status === 401 || status === 429 || status >= 500
}

function isSame(before: readonly unknown[] | undefined, keys: readonly unknown[]): boolean {
  return before !== undefined && keys.every((key, at) => Object.is(key, before[at]))
}

const reloadMs = 2000

/** Loads again every two seconds while something is under way. */
export function useReload({ isLoading, reload }: Loading<unknown>, isUnderWay: boolean): void {
  useEffect(() => {
    if (!isUnderWay || isLoading) return
    const timer = setTimeout(reload, reloadMs)
    return () => clearTimeout(timer)
  }, [isUnderWay, isLoading])
}

export function Loaded<T>({ of, children }: { of: Loading<T>; children: (value: T) => ComponentChildren }) {
  const failure = of.error !== undefined && <ErrorBox error={of.error} retry={of.reload} />
  if (of.value === undefined) {
    if (failure) return failure
    return (
      <p class="state" role="status">
        Loading…
      </p>
    )
  }
  return (
    <div class="loaded" aria-busy={of.isLoading}>
      {failure}
      {children(of.value)}
    </div>
  )
}

/** Shows why something could not be loaded, and offers to try again. */
export function LoadError({ of: { error, reload } }: { of: Pick<Loading<unknown>, 'error' | 'reload'> }) {
  return error === undefined ? null : <ErrorBox error={error} retry={reload} />
}

/** Shows an error with its code and request id, by which the log of the server is searched. */
export function ErrorBox({ error, retry }: { error: unknown; retry?: () => void }) {
  const { message, code, requestId, status, fields } = asRequestError(error)
  const isOfField = code === 'validation_failed' && Object.keys(fields).length > 0 // the list says the same
  return (
    <div class="error" role="alert">
      {!isOfField && <strong>{status === 403 ? 'This token’s role may not do this.' : message}</strong>}
      {status === 403 && (
        <p>
          Webhooks, tokens, settings, sending and the audit log need a token with the role <code>admin</code>. A{' '}
          <code>viewer</code> changes nothing.
        </p>
      )}
      {Object.entries(fields).length > 0 && (
        <ul>
          {Object.entries(fields).map(([field, messages]) => (
            <li key={field}>
              {field !== 'body' && <>{labelOf(field) ?? <code>{field}</code>}: </>}
              {messages.map(adviceOfPage).join(' ')}
            </li>
          ))}
        </ul>
      )}
      <p class="muted">
        Code <code>{code}</code>
        {requestId && (
          <>
            , request <code>{requestId}</code>
          </>
        )}
      </p>
      {retry && (
        <button type="button" onClick={retry}>
          Try again
        </button>
      )}
    </div>
  )
}

export function asRequestError(error: unknown): RequestError {
  if (error instanceof RequestError) return error
  return new RequestError(error instanceof Error ? error.message : String(error), 'console_error')
}

interface EmptyProps {
  readonly title: string
  /** The parameter of the address that has the cursor of the table; default `cursor`. */
  readonly parameter?: CursorParameter
  readonly children?: ComponentChildren
}

/** Replaces a table without rows. A page that is not the first may have lost its rows since it was opened. */
export function Empty({ title, parameter = 'cursor', children }: EmptyProps) {
  const { path, query } = useLocation()
  const { [parameter]: cursor, ...kept } = query
  if (cursor !== undefined) {
    return (
      <div class="state">
        <strong>Nothing is left on this page.</strong>
        <p>
          <a href={`${path}?${new URLSearchParams(kept)}`}>Show the first page.</a>
        </p>
      </div>
    )
  }
  return (
    <div class="state">
      <strong>{title}</strong>
      {children && <p>{children}</p>}
    </div>
  )
}
