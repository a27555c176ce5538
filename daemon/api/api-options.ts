import { type Logger, type Mailkeep, MailkeepError } from '../../lib/index.ts'
import { refuseUnknownNames } from '../../lib/internal.ts'

/** Log for unexpected errors. */
export type ErrorLog = Pick<Logger, 'error'>

/**
 * Checks the options of an API: they must have a Mailkeep and no unknown option.
 *
 * @throws MailkeepError `validation_failed`
 */
export function checkApiOptions(options: object, known: readonly string[]): void {
  if (typeof options !== 'object' || options === null)
    throw notAMailkeep('The options must be an object with a mailkeep.')
  refuseUnknownNames(options, known)
  const { mailkeep } = options as { mailkeep?: unknown }
  if (!isMailkeep(mailkeep)) throw notAMailkeep('mailkeep must be a Mailkeep: await createMailkeep(…) first.')
}

function notAMailkeep(message: string): MailkeepError {
  return new MailkeepError('validation_failed', message, { errors: { mailkeep: [message] } })
}

/** Checks the shape instead of the class, because the host may have loaded another copy of the package. */
function isMailkeep(value: unknown): value is Mailkeep {
  const { forClient, tokens, ready } = (value ?? {}) as Partial<Mailkeep>
  return typeof forClient === 'function' && typeof ready === 'function' && typeof tokens?.authenticate === 'function'
}

/** Returns the log for unexpected errors: the host's, else the Mailkeep's, else the console. */
export function errorLogOf(mailkeep: Mailkeep, logger: ErrorLog | undefined): ErrorLog {
  return logger ?? mailkeep.logger ?? consoleLog
}

/** Logs to the console. A 500 must be logged even when the host has no logger. */
const consoleLog: ErrorLog = {
  error: (fields, message) => {
    // biome-ignore lint/suspicious/noConsole: the last resort of a host without a logger.
    console.error(`mailkeep: ${message}`, fields)
  },
}
