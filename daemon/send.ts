import type { ServerResponse } from 'node:http'
import { AnswerBudget } from './answer-budget.ts'
import type { ApiResponse } from './api/index.ts'
import { type HttpExchange, isSmall, isUnread } from './request-body.ts'

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
  turn: HttpExchange,
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
    // Its fault cuts the connection: that is how a client sees that the rest is missing.
    sendStream(res, stream, turn.answers ?? unbounded).catch(() => res.destroy())
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

/** Of a server that is the host's own. */
const unbounded = new AnswerBudget(Number.MAX_SAFE_INTEGER)

/** Makes a portion only when the socket has taken the one before it: a client that reads nothing costs one portion. */
async function sendStream(res: ServerResponse, stream: AsyncIterable<string>, answers: AnswerBudget): Promise<void> {
  const portions = stream[Symbol.asyncIterator]()
  try {
    while (!res.destroyed) {
      await answers.room(res)
      const { done, value } = await portions.next()
      if (done) {
        res.end()
        return
      }
      await sendPortion(res, value, answers)
    }
  } finally {
    answers.release(0) // the next one that waits has its turn also when this one took none
    await portions.return?.()
  }
}

async function sendPortion(res: ServerResponse, text: string, answers: AnswerBudget): Promise<void> {
  if (text === '') return
  const bytes = Buffer.byteLength(text)
  answers.hold(bytes)
  try {
    await written(res, text)
  } finally {
    answers.release(bytes)
  }
}

/** Resolves when the socket has taken the text, or is closed. */
function written(res: ServerResponse, text: string): Promise<void> {
  return new Promise((resolve) => {
    if (res.destroyed) return resolve()
    const settle = () => {
      res.off('close', settle)
      resolve()
    }
    res.once('close', settle)
    res.write(text, settle)
  })
}

/** Throws away what is still coming, within bounds; then ends the answer, and with it the connection. */
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
