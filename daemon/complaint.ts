/** Something whoever started us can put right: shown as one line, without a stack. */
export class Complaint extends Error {
  override readonly name = 'Complaint'
  readonly exitCode: 1 | 2

  /** @param exitCode 2 when the command line itself is wrong. */
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
