import { type Logger, type Mailkeep, MailkeepError } from '../../lib/index.ts'
import { refuseUnknownNames } from '../../lib/internal.ts'

/** Where errors go that no code foresaw. */
export type ErrorLog = Pick<Logger, 'error'>

/**
 * Checks the options of an API: a Mailkeep that is there, and no unknown option.
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

/** By its shape, since the host's copy of the package may be another one. */
function isMailkeep(value: unknown): value is Mailkeep {
  const { forClient, tokens, ready } = (value ?? {}) as Partial<Mailkeep>
  return typeof forClient === 'function' && typeof ready === 'function' && typeof tokens?.authenticate === 'function'
}

/** The log of unforeseen errors: the host's choice, else the Mailkeep's own logger, else the console. */
export function errorLogOf(mailkeep: Mailkeep, logger: ErrorLog | undefined): ErrorLog {
  return logger ?? mailkeep.logger ?? onConsole
}

/** A 500 must leave a trace, also where the host has configured no logger. */
const onConsole: ErrorLog = {
  error: (fields, message) => {
    // biome-ignore lint/suspicious/noConsole: the last resort of a host without a logger.
    console.error(`mailkeep: ${message}`, fields)
  },
}
