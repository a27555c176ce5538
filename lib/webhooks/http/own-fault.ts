/** Codes of Node and undici for wrong use, a missing module, and resources that this process has run out of. */
const ownFaultCodes =
  /^(?:ERR_(?:INVALID|MODULE|PACKAGE|UNSUPPORTED|UNKNOWN|REQUIRE|DLOPEN|INTERNAL|ASSERTION|METHOD|OUT_OF|BUFFER|WORKER|VM)\w*|MODULE_NOT_FOUND|UND_ERR_(?:INVALID\w*|ABORTED|DESTROYED|CLOSED|NOT_SUPPORTED|REQ_\w+)|EMFILE|ENFILE|ENOBUFS|ENOMEM)$/

/**
 * Tells our own faults from what the receiver or the network did: the latter's errors carry a code of the operating
 * system, of DNS, TLS or HTTP. Undici leaves out the code of some parser errors.
 */
export function isOwnFault(error: Error): boolean {
  const { code } = error as NodeJS.ErrnoException
  if (typeof code === 'string') return ownFaultCodes.test(code)
  return error.name !== 'HTTPParserError'
}
