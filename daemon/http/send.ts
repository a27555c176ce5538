import type { ServerResponse } from 'node:http'
import type { ApiResponse } from '../api/index.ts'
import { AnswerBudget } from './answer-budget.ts'
import { type HttpExchange, isSmall, isUnread } from './request-body.ts'

export interface SendLimits {
  /** Maximum size of a request body. An unread rest up to this size is read, so that the connection can be reused. */
  readonly bodyBytes: number
  /** Maximum unread bytes that are discarded before a larger request's connection is closed. */
  readonly drainBytes: number
  /** Maximum time for that. */
  readonly drainMs: number
}

export const defaultSendLimits: SendLimits = {
  bodyBytes: 1024 * 1024,
  drainBytes: 32 * 1024 * 1024,
  drainMs: 5_000,
}

/**
 * Sends an answer, even while the client is still sending its body. Closing the connection of a client that writes
 * causes a TCP reset, which loses the answer. So the client first gets the answer and some time to read it.
 *
 * @param closeAfter Whether the connection ends after this answer.
 */
export function send(
  exchange: HttpExchange,
  { status, headers, bytes, body: text, stream }: ApiResponse,
  closeAfter: boolean,
  limits: SendLimits,
): void {
  const { req, res } = exchange
  const body = bytes ?? text
  if (res.destroyed || res.headersSent) return
  // Only HTTP/1 reuses a connection for one request after another.
  const mustDrain =
    req.httpVersionMajor < 2 && isUnread(exchange) && (closeAfter || !isSmall(exchange, limits.bodyBytes))
  res.writeHead(status, closeAfter || mustDrain ? { ...headers, Connection: 'close' } : headers)
  if (stream) {
    // The answer to an import begins while the client is still sending the file.
    if (isUnread(exchange)) res.flushHeaders()
    const end = () => (mustDrain && isUnread(exchange) ? drain(exchange, limits) : res.end())
    sendStream(exchange, stream, end).catch(() => cutOff(exchange))
    return
  }
  if (text !== undefined && bytes) res.write(text)
  if (!mustDrain) {
    res.end(body)
    return
  }
  if (body === undefined) res.flushHeaders()
  else res.write(body)
  drain(exchange, limits)
}

/**
 * Ends a connection so that the client sees that its answer is incomplete. The end of the connection is the normal end of
 * a stream to a client of HTTP/1.0, which nginx is by default, so that one gets a reset.
 */
export function cutOff({ req, res }: HttpExchange): void {
  try {
    if (req.httpVersion === '1.0') req.socket.resetAndDestroy()
  } catch {
    // Node refuses to reset a Unix socket and TLS.
  }
  res.destroy()
}

/** For a host's own server, which has no budget. */
const unlimitedBudget = new AnswerBudget(Number.MAX_SAFE_INTEGER)

/** Produces a chunk only after the socket has accepted the previous one. A client that does not read costs one chunk. */
async function sendStream(exchange: HttpExchange, stream: AsyncIterable<string>, end: () => void): Promise<void> {
  const { res, clientId, answerBudget = unlimitedBudget } = exchange
  const chunks = stream[Symbol.asyncIterator]()
  const write = Object.hasOwn(res, 'write') ? writeThroughMiddleware(res) : (text: string) => writeAndWait(res, text)
  try {
    while (!res.destroyed) {
      await answerBudget.waitForRoom(exchange)
      const { done, value } = await chunks.next()
      if (done) {
        end()
        return
      }
      await sendChunk(exchange, value, write)
    }
  } finally {
    answerBudget.release(clientId, 0) // wakes the next stream that waits, even if this one reserved nothing
    await chunks.return?.()
  }
}

async function sendChunk(
  { clientId, answerBudget = unlimitedBudget }: HttpExchange,
  text: string,
  write: (text: string) => Promise<void>,
): Promise<void> {
  if (text === '') return
  const bytes = Buffer.byteLength(text)
  answerBudget.reserve(clientId, bytes)
  try {
    await write(text)
  } finally {
    answerBudget.release(clientId, bytes)
  }
}

/**
 * Writes the text. Resolves when the socket has accepted it or is closed. Rejects when the write failed: since Node 26 this
 * happens before `res.destroyed` is true, and the loop over the chunks would never end.
 */
function writeAndWait(res: ServerResponse, text: string): Promise<void> {
  return new Promise((resolve, reject) => {
    if (res.destroyed) return resolve()
    const finish = (error?: Error | null) => {
      res.off('close', resolve)
      if (error) reject(error)
      else resolve()
    }
    res.once('close', resolve)
    res.write(text, finish)
  })
}

/**
 * Returns a function that writes a text and resolves when the next one may be written. For a response whose `write` a
 * middleware of the host has replaced, to compress or to log. That one may never call back, and may return nothing.
 */
function writeThroughMiddleware(res: ServerResponse): (text: string) => Promise<void> {
  let wake = () => {}
  res.on('drain', () => wake()).on('close', () => wake())
  return async (text) => {
    const mayContinue: boolean | undefined = res.write(text)
    if (res.destroyed || (mayContinue ?? !res.writableNeedDrain)) return
    await new Promise<void>((resolve) => {
      wake = resolve
    })
  }
}

/** Discards the rest of the body, within the limits. Then ends the answer and the connection. */
function drain({ req, res }: HttpExchange, { drainBytes, drainMs }: SendLimits): void {
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
