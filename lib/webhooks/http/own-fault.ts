/** Error codes of Node and undici for wrong use, a missing module, and exhausted resources of this process. */
const ownFaultCodes =
  /^(?:ERR_(?:INVALID|MODULE|PACKAGE|UNSUPPORTED|UNKNOWN|REQUIRE|DLOPEN|INTERNAL|ASSERTION|METHOD|OUT_OF|BUFFER|WORKER|VM)\w*|MODULE_NOT_FOUND|UND_ERR_(?:INVALID\w*|ABORTED|DESTROYED|CLOSED|NOT_SUPPORTED|REQ_\w+)|EMFILE|ENFILE|ENOBUFS|ENOMEM)$/

/**
 * Returns whether mailkeep itself caused the error. Errors of the receiver or the network have a code of the operating
 * system, DNS, TLS or HTTP. Some parser errors of undici have no code; the receiver caused those too.
 */
export function isOwnFault(error: Error): boolean {
  const { code } = error as NodeJS.ErrnoException
  if (typeof code === 'string') return ownFaultCodes.test(code)
  return error.name !== 'HTTPParserError'
}
