/** Receives mailkeep's log. Pino and most other loggers fit. Entries contain no personal data and no secrets. */
export interface Logger {
  debug(fields: object, message: string): void
  info(fields: object, message: string): void
  warn(fields: object, message: string): void
  error(fields: object, message: string): void
}

const nothing = () => {}

export const silent: Logger = { debug: nothing, info: nothing, warn: nothing, error: nothing }

/** Removes e-mail addresses from an error's message: providers and servers quote them. */
export function withoutAddresses(error: unknown): string {
  return String(error).replace(/[^\s/:'"<>]+(?:@|%40)[^\s'"<>]+/gi, '[address]')
}
