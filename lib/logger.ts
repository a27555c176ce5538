/** Receives mailkeep's log. Pino and most other loggers fit. Entries contain no personal data and no secrets. */
export interface Logger {
  debug(fields: object, message: string): void
  info(fields: object, message: string): void
  warn(fields: object, message: string): void
  error(fields: object, message: string): void
}

const nothing = () => {}

export const silent: Logger = { debug: nothing, info: nothing, warn: nothing, error: nothing }

/**
 * Returns a logger whose functions never throw. An error of the host's logger must not end a loop or the process, also that
 * of an async function.
 */
export function neverThrowing(logger: Logger): Logger {
  const safely = (level: keyof Logger) => (fields: object, message: string) => {
    const log = async () => logger[level](fields, message)
    log().catch(() => {}) // There is no other place to report it.
  }
  return { debug: safely('debug'), info: safely('info'), warn: safely('warn'), error: safely('error') }
}

/** Maximum characters that are read of an error: the time for one long word grows with its square. */
const maxErrorCharacters = 2000

/** Removes e-mail addresses from an error's message, whose end may be left out: providers and servers quote them. */
export function withoutAddresses(error: unknown): string {
  return String(error)
    .slice(0, maxErrorCharacters)
    .replace(/[^\s/:'"<>]+(?:@|%40)[^\s'"<>]+/gi, '[address]')
}
