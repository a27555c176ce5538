import { pipeline, Readable } from 'node:stream'
import type { ApiResponse } from './api/index.ts'
import { isSmall, isUnread, type Turn } from './request-body.ts'

export interface SendLimits {
  /** What a body may have, in bytes: so much is read to its end even when nobody wants it. */
  readonly bodyBytes: number
  /** Beyond that, what is read and thrown away before the connection is cut. */
  readonly drainBytes: number
  readonly drainMs: number
}

export const defaultSendLimits: SendLimits = {
  bodyBytes: 1024 * 1024,
  drainBytes: 32 * 1024 * 1024,
  drainMs: 5_000,
}

/**
 * Sends an answer, whatever the client is still sending. Cutting the connection under a client that writes would
 * reset it, and the answer be lost: so it gets the whole answer first and some time to notice.
 *
 * @param last Whether the connection ends with this answer.
 */
export function send(
  turn: Turn,
  { status, headers, body, stream }: ApiResponse,
  last: boolean,
  limits: SendLimits,
): void {
  const { req, res } = turn
  if (res.destroyed || res.headersSent) return
  // From HTTP/2 on there is no connection to keep for the next request.
  const lingers = req.httpVersionMajor < 2 && isUnread(turn) && (last || !isSmall(turn, limits.bodyBytes))
  res.writeHead(status, last || lingers ? { ...headers, Connection: 'close' } : headers)
  if (stream) {
    // As fast as it is taken. Its fault cuts the connection: that is how a client sees that the rest is missing.
    pipeline(Readable.from(stream, { highWaterMark: 1 }), res, () => {})
    return
  }
  if (!lingers) {
    res.end(body)
    return
  }
  if (body === undefined) res.flushHeaders()
  else res.write(body)
  drain(turn, limits)
}

/** Throws away what is still coming, within bounds; then ends the answer, and with it the connection. */
function drain({ req, res }: Turn, { drainBytes, drainMs }: SendLimits): void {
  let left = drainBytes
  const discard = (chunk: Buffer) => {
    left -= chunk.length
    if (left < 0) end()
  }
  const end = () => {
    clearTimeout(timer)
    req.off('data', discard)
    res.end()
  }
  const timer = setTimeout(end, drainMs)
  req.on('data', discard)
  req.once('end', end)
  req.once('error', end)
  req.once('close', end)
  req.resume()
}
