import { signal } from '@preact/signals'
import { sections } from './sections.ts'

export const isHelpOpen = signal(false)

/** Time in which the second key must follow `g`. */
const sequenceMs = 1500

/**
 * Listens for keys: `/` searches or filters, `n` creates, `j` and `k` move through a table, `g` and a letter open a section, `?`
 * shows them all.
 *
 * @param open Opens an address.
 * @returns Stops listening.
 */
export function listenForKeys(open: (href: string) => void): () => void {
  let goPressedAt = Number.NEGATIVE_INFINITY
  const onKey = (event: KeyboardEvent) => {
    if (event.ctrlKey || event.metaKey || event.altKey || isTyping(event.target)) return
    if (document.querySelector('dialog[open], .sign-in')) return
    const { key } = event
    const section = performance.now() - goPressedAt < sequenceMs ? sections.find((one) => one.key === key) : undefined
    goPressedAt = key === 'g' ? performance.now() : Number.NEGATIVE_INFINITY
    if (section) open(section.href)
    else if (key === '/') focus('[data-search], search select')
    else if (key === 'n') document.querySelector<HTMLElement>('[data-new]')?.click()
    else if (key === 'j') moveFocus(1)
    else if (key === 'k') moveFocus(-1)
    else if (key === '?') isHelpOpen.value = true
    else return
    event.preventDefault()
  }
  addEventListener('keydown', onKey)
  return () => removeEventListener('keydown', onKey)
}

function isTyping(target: EventTarget | null): boolean {
  return target instanceof HTMLElement && target.matches('input, textarea, select, [contenteditable]')
}

function focus(selector: string): void {
  const field = document.querySelector<HTMLElement>(selector)
  field?.focus()
  if (field instanceof HTMLInputElement) field.select() // others are choices
}

/** Moves the focus to the next or previous row's link. */
function moveFocus(by: 1 | -1): void {
  const rows = [...document.querySelectorAll<HTMLElement>('[data-row]')]
  const at = rows.indexOf(document.activeElement as HTMLElement)
  const next = at < 0 && by < 0 ? rows.length - 1 : at + by
  rows[Math.max(0, Math.min(rows.length - 1, next))]?.focus()
}
