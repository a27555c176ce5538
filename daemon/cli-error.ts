/** An error that the user can correct. Printed as one line, without a stack trace. */
export class CliError extends Error {
  override readonly name = 'CliError'
  readonly exitCode: 1 | 2

  /** @param exitCode 2: the command line is wrong, or rows of an imported file were refused. */
  constructor(message: string, exitCode: 1 | 2 = 1) {
    super(message)
    this.exitCode = exitCode
  }
}

/** Returns the short reason of a failed system call: `ENOENT: no such file or directory`. */
export function reasonOf(error: unknown): string {
  const message = error instanceof Error ? error.message : String(error)
  return message.split(', ')[0] ?? message
}

/** Turns the API's field errors into a sentence: `{ name: ['This must …'] }` becomes `name must …`. */
export function fieldMessage(field: string, messages: readonly string[]): string {
  if (field === 'body' || field === 'row') return messages.join(' ')
  return messages
    .map((message) => {
      if (/^(?:This )?must\b/.test(message)) return `${field} ${message.replace(/^This /, '')}`
      return message.includes(field) ? message : `${field}: ${message}`
    })
    .join(' ')
}

/** Turns all field errors of a call or of a row into sentences. */
export function fieldMessages(errors: Readonly<Record<string, readonly string[]>>): string {
  return Object.entries(errors)
    .map(([field, messages]) => fieldMessage(field, messages))
    .join(' ')
}
