import type { IncomingMessage, ServerResponse } from 'node:http'
import { MailkeepError } from '../lib/index.ts'
import type { AnswerBudget } from './answer-budget.ts'

/** A request and its answer, on their way over one connection. */
export interface HttpExchange {
  readonly req: IncomingMessage
  readonly res: ServerResponse
  /** Whether the client holds its body back until it is told `100 Continue`. */
  awaitsContinue: boolean
  /** Whether its body has no end that is known, and is read as it comes. */
  streams?: boolean
  /** The budget of request bodies; a host's own server has none. */
  readonly room?: BodyBudget
  /** The bytes of its body that count in that budget. */
  heldBytes?: number
  /** The budget of answers; a host's own server has none. */
  readonly answers?: AnswerBudget
}

/** What the bodies of all requests may take together, from their first byte to the answer: what is made of them lives as long. */
export interface BodyBudget {
  leftBytes: number
}

/** Bodies of up to so many bytes are always taken: ordinary work continues while large bodies use up the budget. */
const smallBytes = 16 * 1024

/**
 * Reads a request's body.
 *
 * @param limit In bytes; a declared length beyond it is refused before a byte is read.
 * @throws MailkeepError `body_too_large`; `invalid_json`: the client went away in the middle; `unavailable`: too many
 *   large bodies are on their way.
 */
export async function readBody(turn: HttpExchange, limit: number): Promise<Buffer> {
  const { req, room } = turn
  const length = req.headers['content-length'] ?? null
  if (Number(length) > limit) throw tooLarge(limit)
  const bytes = length === null ? limit : Number(length)
  if (!room || bytes <= smallBytes) return await receive(turn, limit)
  holdRoom(turn, room, bytes)
  return await receive(turn, limit)
}

function holdRoom(turn: HttpExchange, room: BodyBudget, bytes: number): void {
  if (room.leftBytes < bytes) throw new MailkeepError('unavailable', 'Too many large bodies are on their way.')
  room.leftBytes -= bytes
  turn.heldBytes = (turn.heldBytes ?? 0) + bytes
}

/** Gives back what the request's body has taken of the budget. */
export function releaseBody(turn: HttpExchange): void {
  if (turn.room) turn.room.leftBytes += turn.heldBytes ?? 0
  turn.heldBytes = 0
}

/** What an import keeps of its file: the rows that are saved together, and the piece that is read. */
const streamBytes = 4 * 1024 * 1024

/**
 * Reads a request's body as it comes, of any length and for any time, no faster than the caller takes it.
 *
 * @throws MailkeepError `invalid_json`: the client went away in the middle; `unavailable`: too many large bodies are on
 *   their way.
 */
export async function* streamBody(turn: HttpExchange): AsyncGenerator<Buffer> {
  const { req, room } = turn
  const isLarge = Number(req.headers['content-length'] ?? Number.POSITIVE_INFINITY) > smallBytes
  if (room && isLarge) holdRoom(turn, room, streamBytes)
  turn.streams = true
  askForBody(turn)
  try {
    // To destroy the request would cut the connection before its answer.
    yield* req.iterator({ destroyOnReturn: false })
  } catch (error) {
    throw endedEarly(error)
  } finally {
    // Node reads on by itself only where nothing was read yet: the next request waits behind what is left.
    turn.streams = false
    turn.req.resume()
  }
}

function askForBody(turn: HttpExchange): void {
  if (!turn.awaitsContinue) return
  turn.awaitsContinue = false
  turn.res.writeContinue()
}

export function endedEarly(cause: unknown): MailkeepError {
  return new MailkeepError('invalid_json', 'The body ended early.', { cause })
}

async function receive(turn: HttpExchange, limit: number): Promise<Buffer> {
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
export function isUnread({ req }: HttpExchange): boolean {
  if (req.complete) return false
  return req.headers['transfer-encoding'] !== undefined || Number(req.headers['content-length'] ?? 0) > 0
}

/** @returns whether what is still to come is known to be little, so that the connection can go on after it. */
export function isSmall({ req, awaitsContinue }: HttpExchange, limit: number): boolean {
  return !awaitsContinue && Number(req.headers['content-length'] ?? Number.POSITIVE_INFINITY) <= limit
}

export function tooLarge(limit: number): MailkeepError {
  return new MailkeepError('body_too_large', `A body has at most ${limit} bytes.`)
}
