/** Removes e-mail addresses from an error's message: providers and servers quote them. */
export function withoutAddresses(error: unknown): string {
  return String(error).replace(/[^\s/:'"<>]+(?:@|%40)[^\s'"<>]+/gi, '[address]')
}
