/** The focus after an action that removes the element which has it. */

/** The element that had the focus last, and what it was in, from the inside to the outside. */
let last: readonly HTMLElement[] = []

/** Time in which a form or a dialog that replaces the element may take the focus itself. */
const graceMs = 50

/**
 * Moves the focus when the element that has it is removed, because it would be lost to the body of the page. It goes to the
 * heading of the nearest part that is still there. An element that has only been moved gets it again.
 *
 * @returns Stops listening.
 */
export function keepFocus(): () => void {
  let timer: ReturnType<typeof setTimeout> | undefined
  const onFocus = ({ target }: FocusEvent) => {
    clearTimeout(timer)
    timer = undefined
    last = []
    for (let one = target instanceof HTMLElement ? target : null; one; one = one.parentElement) last = [...last, one]
  }
  // The focus that a click beside every field takes away is not lost. Some browsers report a removal here, too.
  const onBlur = () => {
    setTimeout(() => {
      if (isLost() && timer === undefined) last = []
    })
  }
  const observer = new MutationObserver((changes) => {
    const isRemoved = ({ removedNodes }: MutationRecord) => [...removedNodes].some((node) => node.contains(last[0]!))
    if (!isLost() || !changes.some(isRemoved)) return
    clearTimeout(timer)
    timer = setTimeout(() => {
      timer = undefined
      if (isLost()) restore()
    }, graceMs)
  })
  addEventListener('focusin', onFocus)
  addEventListener('focusout', onBlur)
  observer.observe(document.body, { childList: true, subtree: true })
  return () => {
    removeEventListener('focusin', onFocus)
    removeEventListener('focusout', onBlur)
    observer.disconnect()
  }
}

function isLost(): boolean {
  return last.length > 0 && document.activeElement === document.body
}

function restore(): void {
  if (last[0]?.isConnected) last[0].focus({ preventScroll: true })
  for (const part of last) {
    if (!isLost()) return
    const heading = part.isConnected ? part.querySelector<HTMLElement>('h1, h2, legend') : null
    if (!heading) continue
    heading.tabIndex = -1
    heading.focus({ preventScroll: true })
  }
}
