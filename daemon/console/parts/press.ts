/** Buttons that are pressed twice by mistake. */

/** The button whose click is being handled. */
let pressed: Element | undefined

/**
 * Ignores three kinds of presses:
 *
 * - the second click of a double click, which may hit the button that has taken the place of the first one,
 * - a click on a button whose action is running,
 * - the repeats of a key that is held down.
 *
 * @returns A function that stops listening.
 */
export function ignoreRepeatedPresses(): () => void {
  const onClick = (event: MouseEvent) => {
    const button = buttonOf(event)
    if (!button) return
    if (event.detail > 1 || button.ariaBusy === 'true') return ignore(event)
    pressed = button
    setTimeout(() => {
      pressed = undefined
    })
  }
  const onKey = (event: KeyboardEvent) => {
    if (event.repeat && (event.key === 'Enter' || event.key === ' ') && buttonOf(event)) ignore(event)
  }
  addEventListener('click', onClick, true)
  addEventListener('keydown', onKey, true)
  return () => {
    removeEventListener('click', onClick, true)
    removeEventListener('keydown', onKey, true)
  }
}

/** Marks the button that was just pressed as busy. @returns Ends it. */
export function markPressed(): () => void {
  const button = pressed
  if (button) button.ariaBusy = 'true'
  return () => {
    if (button) button.ariaBusy = null
  }
}

function buttonOf(event: Event): Element | null {
  return event.target instanceof Element ? event.target.closest('button') : null
}

function ignore(event: Event): void {
  event.preventDefault()
  event.stopImmediatePropagation()
}
