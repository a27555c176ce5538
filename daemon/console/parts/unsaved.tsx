import { effect, type ReadonlySignal } from '@preact/signals'
import { RequestError } from '../api.ts'
import { endedBecause, linkedToken, signIn, signOut } from '../session.ts'
import { confirm } from './dialog.tsx'
import type { SaveState } from './form.tsx'

interface Guarded {
  readonly state: ReadonlySignal<SaveState>
  /** Begins to store a change that waits until the typing pauses. */
  readonly storeNow: () => void
}

/** The forms of this page that ask before it is left. */
const forms = new Set<Guarded>()

/** Asks before changes of this form are lost. @returns Stops asking. */
export function guardForm(form: Guarded): () => void {
  forms.add(form)
  return () => forms.delete(form)
}

export const notSaved = 'The last change is not saved.'

/** Resolves when the content on the screen is stored. @throws RequestError It cannot be. */
export function whenSaved(state: ReadonlySignal<SaveState>): Promise<void> {
  return new Promise((resolve, reject) => {
    effect(function check() {
      if (state.value === 'saved') resolve()
      if (state.value === 'unsaved') reject(new RequestError(notSaved, 'validation_failed'))
      if (state.value !== 'saving') this.dispose()
    })
  })
}

interface View {
  readonly url: string
  /** Opens an address of the console. */
  readonly open: (href: string) => void
}

/** The view that the router shows. */
let shown: View | undefined

/** Notes which view is shown. */
export function noteView(view: View): void {
  shown = view
}

/** Opens an address. Asks first if changes would be lost. */
export async function leaveFor(href: string): Promise<void> {
  if (!losesChanges(href) || (await mayLeave())) shown?.open(href)
}

let lastAttempt = 0

/** Waits until the saves that run have ended. Then asks if changes would be lost. A later attempt to leave replaces it. */
export async function mayLeave(): Promise<boolean> {
  const attempt = ++lastAttempt
  for (const { storeNow } of forms) storeNow()
  await Promise.allSettled([...forms].map(({ state }) => whenSaved(state)))
  if (attempt !== lastAttempt) return false
  if (!hasChanges()) return true
  if (endedBecause.peek() !== undefined) return false // the form to sign in again is in front of a question
  const text = <p>What you have changed here is not saved.</p>
  const isAgreed = await confirm({ title: 'Leave without saving?', text, action: 'Leave', isDangerous: true })
  if (isAgreed) forms.clear()
  return isAgreed
}

/** Asks before a link, the Back button, a reload or another token loses changes. To be called before the router listens. */
export function askBeforeLeaving(): void {
  addEventListener(
    'click',
    (event) => {
      const link = event.target instanceof Element ? event.target.closest('a') : null
      if (!link || !staysInTab(event, link) || !losesChanges(link.href)) return
      event.preventDefault()
      event.stopPropagation() // the router would open the link
      void leaveFor(link.href.slice(location.origin.length))
    },
    { capture: true },
  )
  addEventListener('popstate', async (event) => {
    if (!shown || !losesChanges(location.pathname, shown.url)) return
    event.stopImmediatePropagation() // the router would show the other view
    const { scrollY } = window
    history.pushState(null, '', shown.url)
    if (await mayLeave()) history.back()
    else scrollTo({ top: scrollY }) // the browser has scrolled to where the other view was
  })
  // The link of a token may be opened where the console is open already.
  addEventListener('hashchange', async () => {
    const linked = linkedToken()
    if (linked === undefined || !(await mayLeave())) return
    signOut()
    signIn(linked)
  })
  addEventListener('beforeunload', (event) => {
    if (hasChanges()) event.preventDefault()
  })
}

/** Whether changes could be lost when another view is opened. */
function losesChanges(to: string, from: string = location.pathname): boolean {
  return pathOf(to) !== pathOf(from) && hasChanges()
}

function hasChanges(): boolean {
  return [...forms].some(({ state }) => state.peek() !== 'saved')
}

function pathOf(href: string): string {
  return new URL(href, location.origin).pathname
}

/** Whether the link opens a page of this origin in this tab. */
function staysInTab(event: MouseEvent, link: HTMLAnchorElement): boolean {
  if (event.button !== 0 || event.ctrlKey || event.metaKey || event.altKey || event.shiftKey) return false
  return link.origin === location.origin && !link.hasAttribute('download') && (link.target || '_self') === '_self'
}
