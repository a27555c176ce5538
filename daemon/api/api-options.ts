import type { Logger, Mailkeep } from '../../lib/index.ts'
import { invalid, isPublicUrl, publicUrlRule, refuseUnknownNames } from '../../lib/internal.ts'

/** Log for unexpected errors. */
export type ErrorLog = Pick<Logger, 'error'>

/**
 * Checks the options of an API or of contact pages: they must have a Mailkeep, and no wrong or unknown option.
 *
 * @throws MailkeepError `validation_failed`
 */
export function checkApiOptions(options: object, known: readonly string[]): void {
  if (typeof options !== 'object' || options === null)
    throw invalid('mailkeep', 'The options must be an object with a mailkeep.')
  refuseUnknownNames(options, known)
  const { mailkeep } = options as { mailkeep?: unknown }
  if (!isMailkeep(mailkeep)) throw invalid('mailkeep', 'mailkeep must be a Mailkeep: await createMailkeep(…) first.')
  for (const [name, rule] of Object.entries(rules)) {
    const value = (options as Record<string, unknown>)[name]
    if (value !== undefined && !rule.allows(value)) throw invalid(name, `${name} must be ${rule.must}.`)
  }
}

interface Rule {
  readonly allows: (value: unknown) => boolean
  readonly must: string
}

/** Rules for the values of options. Other paths would match no request, and NaN would limit no body. */
const rules: Readonly<Record<string, Rule>> = {
  prefix: {
    allows: (value) => typeof value === 'string' && /^(?:\/[!"$->@-~]*)?$/.test(value),
    must: 'a path such as /mail, as it is in a URL',
  },
  publicUrl: { allows: isPublicUrl, must: publicUrlRule },
  authenticate: { allows: (value) => typeof value === 'function', must: 'a function' },
  bodyBytes: { allows: (value) => Number.isSafeInteger(value) && Number(value) >= 0, must: 'a whole number of bytes' },
  trustProxy: { allows: (value) => typeof value === 'boolean', must: 'true or false' },
  logger: {
    allows: (value) => typeof (value as Partial<ErrorLog> | null)?.error === 'function',
    must: 'an object with the function error',
  },
}

/** Checks the shape instead of the class, because the host may have loaded another copy of the package. */
function isMailkeep(value: unknown): value is Mailkeep {
  const { forClient, tokens, ready } = (value ?? {}) as Partial<Mailkeep>
  return typeof forClient === 'function' && typeof ready === 'function' && typeof tokens?.authenticate === 'function'
}

/**
 * Returns the log for unexpected errors: the host's, else the Mailkeep's, else the console. The console also if it throws,
 * or is async and rejects.
 */
export function errorLogOf(mailkeep: Mailkeep, logger: ErrorLog | undefined): ErrorLog {
  const log = logger ?? mailkeep.logger ?? consoleLog
  return {
    error(fields, message) {
      const write = async () => log.error(fields, message)
      write().catch(() => consoleLog.error(fields, message))
    },
  }
}

/** Logs to the console. A 500 must be logged even when the host has no logger. */
const consoleLog: ErrorLog = {
  error: (fields, message) => {
    // biome-ignore lint/suspicious/noConsole: the last resort of a host without a logger.
    console.error(`mailkeep: ${message}`, fields)
  },
}
