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

/** The head of the column with the buttons. Only screen readers say it. */
export function ActionsHead() {
  return (
    <th scope="col">
      <span class="hidden">Actions</span>
    </th>
  )
}
