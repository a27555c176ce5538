import type { ComponentChildren } from 'preact'
import { useEffect, useRef, useState } from 'preact/hooks'
import { useLocation } from 'preact-iso'
import { isPortal } from '../session.ts'

export interface Back {
  readonly href: string
  readonly text: string
}

/** The path of the view that was shown last. */
let lastPath: string | undefined

/**
 * A view with its title. When another view was opened by a link or a key, the title gets the focus, so that screen readers
 * read it and the next Tab is inside the view.
 */
export function Page({
  title,
  actions,
  back,
  children,
}: {
  title: string
  actions?: ComponentChildren
  back?: Back
  children: ComponentChildren
}) {
  useEffect(() => {
    document.title = isPortal ? title : `${title} · mailkeep`
  }, [title])
  const heading = useRef<HTMLHeadingElement>(null)
  useEffect(() => {
    const isOpened = lastPath !== undefined && lastPath !== location.pathname
    if (isOpened && !document.activeElement?.closest('main, dialog')) heading.current?.focus({ preventScroll: true })
    lastPath = location.pathname
  }, [])
  return (
    <>
      {back && (
        <a class="back" href={back.href}>
          ← {back.text}
        </a>
      )}
      <header class="head">
        <h1 ref={heading} tabIndex={-1}>
          {title}
        </h1>
        {actions && <div class="actions">{actions}</div>}
      </header>
      {children}
    </>
  )
}

interface LaterProps {
  readonly title: string
  /** Whether it is open at first, because the address is about its content. */
  readonly isOpen?: boolean
  readonly children: ComponentChildren
}

/** A section that is closed at first. Its content is made, and its data loaded, when it is opened. */
export function Later({ title, isOpen = false, children }: LaterProps) {
  // Its content stays when it is closed again, because a form may have it.
  const [state, setState] = useState({ isOpen, isMade: isOpen })
  return (
    <details
      class="later"
      open={state.isOpen}
      onToggle={(event) => {
        const { open } = event.currentTarget as HTMLDetailsElement
        setState(({ isMade }) => ({ isOpen: open, isMade: isMade || open }))
      }}
    >
      <summary>
        <h2>{title}</h2>
      </summary>
      {state.isMade && <div class="more">{children}</div>}
    </details>
  )
}

/**
 * Returns a function that opens an address. It does nothing after the view was left, because words that are written on the
 * next one would be lost.
 */
export function useOpenView(): (href: string, isReplaced?: boolean) => void {
  const { route } = useLocation()
  const isLeft = useRef(false)
  useEffect(
    () => () => {
      isLeft.current = true
    },
    [],
  )
  return (href, isReplaced) => {
    if (!isLeft.current) route(href, isReplaced)
  }
}

/** Parameters of the address. A changed filter starts at the first page again. */
export function useQuery(): [Readonly<Record<string, string>>, (change: Record<string, string | undefined>) => void] {
  const { path, query } = useLocation()
  const openView = useOpenView()
  const change = (given: Record<string, string | undefined>) => {
    // Another filter may have changed since this view was drawn.
    const { cursor: _, messages: __, ...kept } = Object.fromEntries(new URLSearchParams(location.search))
    const next = Object.entries({ ...kept, ...given }).filter(([, value]) => value !== undefined && value !== '')
    const text = new URLSearchParams(next as [string, string][]).toString()
    openView(text === '' ? path : `${path}?${text}`, !('cursor' in given))
  }
  return [query, change]
}

export interface Meta {
  readonly next_cursor: string | null
  readonly prev_cursor: string | null
}

/** A parameter of the address that has the cursor of a listing. */
export type CursorParameter = 'cursor' | 'messages' | 'history'

interface PagerProps {
  readonly meta: Meta
  /** The parameter of the address that has the cursor. A second table of a page needs its own. */
  readonly parameter?: CursorParameter
}

/** Links to the pages before and after this one. */
export function Pager({ meta, parameter = 'cursor' }: PagerProps) {
  const { path, query } = useLocation()
  const link = (cursor: string) => `${path}?${new URLSearchParams({ ...query, [parameter]: cursor })}`
  if (meta.next_cursor === null && meta.prev_cursor === null) return null
  return (
    <nav class="pager" aria-label="Pages">
      {meta.prev_cursor === null ? (
        <span key="previous" />
      ) : (
        <a key="previous" href={link(meta.prev_cursor)}>
          ← Previous
        </a>
      )}
      {meta.next_cursor === null ? (
        <span key="next" />
      ) : (
        <a key="next" href={link(meta.next_cursor)}>
          Next →
        </a>
      )}
    </nav>
  )
}

/** A state as a word with a colour. The word alone says it, too. */
export function Badge({ kind, children }: { kind: 'good' | 'bad' | 'warn' | 'idle'; children: ComponentChildren }) {
  return <span class={`badge ${kind}`}>{children}</span>
}

interface SecretProps {
  readonly label: string
  readonly value: string
  readonly close: () => void
  readonly children?: ComponentChildren
}

/** The content of a dialog that shows a secret once. */
export function Secret({ label, value, close, children }: SecretProps) {
  return (
    <>
      <div class="body">
        <div class="secret">
          <p>
            <strong>{label}</strong> It is shown only now. Copy it before you close this.
          </p>
          <code>{value}</code>
          <CopyButton value={value} />
        </div>
        {children}
      </div>
      <footer>
        <button type="button" class="primary" onClick={close}>
          I have copied it
        </button>
      </footer>
    </>
  )
}

export function CopyButton({ value }: { value: string }) {
  const copy = async (event: Event) => {
    const button = event.currentTarget as HTMLButtonElement
    try {
      await navigator.clipboard.writeText(value)
      button.textContent = 'Copied'
    } catch {
      button.textContent = 'Select and copy it by hand'
    }
  }
  return (
    <button type="button" onClick={copy}>
      Copy
    </button>
  )
}

/** Text as it is. It can be scrolled by keys. */
export function Block({ children }: { children: ComponentChildren }) {
  // biome-ignore lint/a11y/noNoninteractiveTabindex: a region that scrolls must take the focus
  return <pre tabIndex={0}>{children}</pre>
}
