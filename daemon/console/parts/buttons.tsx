import type { ComponentChildren } from 'preact'

interface RowButtonProps {
  readonly action: string
  /** The row's name, which screen readers say after the action. */
  readonly of: string
  readonly onClick: () => void
}

/** A button in a row of a table. */
export function RowButton({ action, of, onClick }: RowButtonProps) {
  return (
    <button type="button" class="plain" aria-label={`${action} ${of}`} onClick={onClick}>
      {action}
    </button>
  )
}

/** Opens the form for a new record. The key N presses it. */
export function NewButton({ children, onClick }: { children: ComponentChildren; onClick(): void }) {
  return (
    <button type="button" class="primary" data-new onClick={onClick}>
      {children}
    </button>
  )
}
