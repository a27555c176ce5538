import type { IncomingMessage, ServerResponse } from 'node:http'
import getRawBody from 'raw-body'
import { MailkeepError } from '../lib/index.ts'

/** A request and its answer, on their way over one connection. */
export interface Turn {
  readonly req: IncomingMessage
  readonly res: ServerResponse
  /** Whether the client holds its body back until it is told `100 Continue`. */
  awaitsContinue: boolean
}

/**
 * Reads a request's body.
 *
 * @param limit In bytes; a declared length beyond it is refused before a byte is read.
 * @throws MailkeepError `body_too_large`; `invalid_json`: the client went away in the middle.
 */
export async function readBody(turn: Turn, limit: number): Promise<Buffer> {
  const { req, res } = turn
  const length = req.headers['content-length'] ?? null
  if (Number(length) > limit) throw tooLarge(limit)
  if (turn.awaitsContinue) {
    turn.awaitsContinue = false
    res.writeContinue()
  }
  try {
    return await getRawBody(req, { length, limit })
  } catch (error) {
    if ((error as getRawBody.RawBodyError).type === 'entity.too.large') throw tooLarge(limit)
    throw new MailkeepError('invalid_json', 'The body ended early.', { cause: error })
  }
}

/** @returns whether bytes of the body are still to come. */
export function isUnread({ req }: Turn): boolean {
  if (req.complete) return false
  return req.headers['transfer-encoding'] !== undefined || Number(req.headers['content-length'] ?? 0) > 0
}

/** @returns whether what is still to come is known to be little, so that the connection can go on after it. */
export function isSmall({ req, awaitsContinue }: Turn, limit: number): boolean {
  return !awaitsContinue && Number(req.headers['content-length'] ?? Number.POSITIVE_INFINITY) <= limit
}

export function tooLarge(limit: number): MailkeepError {
  return new MailkeepError('body_too_large', `A body has at most ${limit} bytes.`)
}
