/** An error that the user can correct: shown as one line, without a stack. */
export class CliError extends Error {
  override readonly name = 'Complaint'
  readonly exitCode: 1 | 2

  /** @param exitCode 2 when the command line itself is wrong, or a file had rows that were refused. */
  constructor(message: string, exitCode: 1 | 2 = 1) {
    super(message)
    this.exitCode = exitCode
  }
}

/** The reason of a failed system call, short: `ENOENT: no such file or directory`. */
export function reasonOf(error: unknown): string {
  const message = error instanceof Error ? error.message : String(error)
  return message.split(', ')[0] ?? message
}

/** What is wrong with a field, as a sentence: the API's `{ name: ['This must …'] }` is `name must …`. */
export function fieldMessage(field: string, messages: readonly string[]): string {
  if (field === 'body' || field === 'row') return messages.join(' ')
  return messages
    .map((message) => {
      if (/^(?:This )?must\b/.test(message)) return `${field} ${message.replace(/^This /, '')}`
      return message.includes(field) ? message : `${field}: ${message}`
    })
    .join(' ')
}
