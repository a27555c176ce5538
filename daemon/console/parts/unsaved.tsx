import type { ReadonlySignal } from '@preact/signals'
import { confirm } from './dialog.tsx'
import type { SaveState } from './form.tsx'

/** The forms of this page that ask before it is left. */
const forms = new Set<ReadonlySignal<SaveState>>()

/** Asks before changes of this form are lost. @returns Stops asking. */
export function guardForm(state: ReadonlySignal<SaveState>): () => void {
  forms.add(state)
  return () => forms.delete(state)
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
  const text = <p>What you have changed here is not saved.</p>
  const question = { title: 'Leave without saving?', text, action: 'Leave', isDangerous: true }
  if (!losesChanges(href) || (await confirm(question))) shown?.open(href)
}

/** Asks before a link, the Back button or a reload loses changes. To be called before the router listens. */
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
  addEventListener('popstate', (event) => {
    const href = location.pathname + location.search
    if (!shown || !losesChanges(href, shown.url)) return
    event.stopImmediatePropagation() // the router would show the other view
    history.pushState(null, '', shown.url)
    void leaveFor(href)
  })
  addEventListener('beforeunload', (event) => {
    if ([...forms].some((state) => state.peek() !== 'saved')) event.preventDefault()
  })
}

/** Whether changes are lost when another view is opened. A live form stores its changes then. */
function losesChanges(to: string, from: string = location.pathname): boolean {
  return pathOf(to) !== pathOf(from) && [...forms].some((state) => state.peek() === 'unsaved')
}

function pathOf(href: string): string {
  return new URL(href, location.origin).pathname
}

/** Whether the link opens a page of this origin in this tab. */
function staysInTab(event: MouseEvent, link: HTMLAnchorElement): boolean {
  if (event.button !== 0 || event.ctrlKey || event.metaKey || event.altKey || event.shiftKey) return false
  return link.origin === location.origin && !link.hasAttribute('download') && (link.target || '_self') === '_self'
}
