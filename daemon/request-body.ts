import type { IncomingMessage, ServerResponse } from 'node:http'
import { MailkeepError } from '../lib/index.ts'

/** A request and its answer, on their way over one connection. */
export interface Turn {
  readonly req: IncomingMessage
  readonly res: ServerResponse
  /** Whether the client holds its body back until it is told `100 Continue`. */
  awaitsContinue: boolean
  /** Whether its body has no end that is known, and is read as it comes. */
  streams?: boolean
  /** Where large bodies are kept while they arrive; without it there is no end to it. */
  readonly room?: BodyRoom
}

/** What all bodies that are on their way may take together. */
export interface BodyRoom {
  leftBytes: number
}

/** So many bytes are always taken: what is usual goes on while somebody fills the room. */
const smallBytes = 16 * 1024

/**
 * Reads a request's body.
 *
 * @param limit In bytes; a declared length beyond it is refused before a byte is read.
 * @throws MailkeepError `body_too_large`; `invalid_json`: the client went away in the middle; `unavailable`: too many
 *   large bodies are on their way.
 */
export async function readBody(turn: Turn, limit: number): Promise<Buffer> {
  const { req, room } = turn
  const length = req.headers['content-length'] ?? null
  if (Number(length) > limit) throw tooLarge(limit)
  const bytes = length === null ? limit : Number(length)
  if (!room || bytes <= smallBytes) return await receive(turn, limit)
  if (room.leftBytes < bytes) throw new MailkeepError('unavailable', 'Too many large bodies are on their way.')
  room.leftBytes -= bytes
  try {
    return await receive(turn, limit)
  } finally {
    room.leftBytes += bytes
  }
}

/**
 * Reads a request's body as it comes, of any length and for any time: whoever reads it holds the client back.
 *
 * @throws MailkeepError `invalid_json`: the client went away in the middle.
 */
export async function* streamBody(turn: Turn): AsyncGenerator<Buffer> {
  turn.streams = true
  askForBody(turn)
  try {
    // To destroy the request would cut the connection before its answer.
    yield* turn.req.iterator({ destroyOnReturn: false })
  } catch (error) {
    throw endedEarly(error)
  } finally {
    // Node reads on by itself only where nothing was read yet: the next request waits behind what is left.
    turn.streams = false
    turn.req.resume()
  }
}

function askForBody(turn: Turn): void {
  if (!turn.awaitsContinue) return
  turn.awaitsContinue = false
  turn.res.writeContinue()
}

export function endedEarly(cause: unknown): MailkeepError {
  return new MailkeepError('invalid_json', 'The body ended early.', { cause })
}

async function receive(turn: Turn, limit: number): Promise<Buffer> {
  askForBody(turn)
  const { req } = turn
  if (req.destroyed || req.readableEnded) throw endedEarly(undefined)
  return await new Promise<Buffer>((resolve, reject) => {
    const chunks: Buffer[] = []
    let receivedBytes = 0
    const stop = (error: MailkeepError) => {
      removeListeners()
      req.pause() // the connection's end is the server's to decide
      reject(error)
    }
    const onData = (chunk: Buffer | string) => {
      const bytes = typeof chunk === 'string' ? Buffer.from(chunk, req.readableEncoding ?? 'utf8') : chunk
      receivedBytes += bytes.length
      if (receivedBytes > limit) stop(tooLarge(limit))
      else chunks.push(bytes)
    }
    const onEnd = () => {
      removeListeners()
      resolve(Buffer.concat(chunks))
    }
    const onError = (error: Error) => stop(endedEarly(error))
    const onClose = () => stop(endedEarly(undefined))
    const removeListeners = () => {
      req.off('data', onData).off('end', onEnd).off('error', onError).off('close', onClose)
    }
    req.on('data', onData).on('end', onEnd).on('error', onError).on('close', onClose)
  })
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
