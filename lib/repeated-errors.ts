import type { Logger } from './logger.ts'

/** Minimum interval between two log lines about the same error. */
const repeatIntervalMs = 60_000
/** Maximum errors to remember. Their texts may contain ids. */
const maxErrors = 100

/** Logs the errors of work that is retried often. An error that repeats is logged once a minute. */
export class RepeatedErrors {
  readonly #logger: Logger
  readonly #message: string
  /** When each error was logged, by its text. */
  readonly #loggedMs = new Map<string, number>()
  /** Number of errors since the last line. */
  #failures = 0

  constructor(logger: Logger, message: string) {
    this.#logger = logger
    this.#message = message
  }

  /** @param mustLog Whether to log the error even if it repeats. */
  add(error: unknown, fields: object = {}, mustLog = false): void {
    this.#failures += 1
    const nowMs = performance.now()
    const text = textOf(error)
    if (!mustLog && nowMs - (this.#loggedMs.get(text) ?? Number.NEGATIVE_INFINITY) < repeatIntervalMs) return
    if (this.#loggedMs.size >= maxErrors) this.#loggedMs.clear()
    this.#loggedMs.set(text, nowMs)
    this.#logger.error({ err: error, ...fields, failures: this.#failures }, this.#message)
    this.#failures = 0
  }
}

function textOf(error: unknown): string {
  return error instanceof Error ? `${error.message}: ${error.cause}` : String(error)
}
