import type { IncomingMessage, ServerResponse } from 'node:http'
import { MailkeepError } from '../../lib/index.ts'
import { BlockingQueue, ByteCollector } from '../../lib/internal.ts'
import type { AnswerBudget } from './answer-budget.ts'
import type { SharedMemory } from './shared-memory.ts'

/** A request and its answer on one connection. */
export interface HttpExchange {
  readonly req: IncomingMessage
  readonly res: ServerResponse
  /** Whether the client waits for `100 Continue` before it sends the body. */
  awaitsContinue: boolean
  /** Whether the body is being read as a stream of any length. */
  streams?: boolean
  /** Whether the stream waits for the client to send more of the body. */
  awaitsBody?: boolean
  /** Id of the client that the token belongs to. Undefined until the token is checked, and on routes without a token. */
  clientId?: number
  /**
   * Memory for request bodies. A body counts until its answer is made, because its parsed form lives that long. An import
   * that is answered row by row counts until its answer ends. Undefined in a host's own server.
   */
  readonly bodyMemory?: SharedMemory
  /** Bytes reserved in it. */
  reservedBytes?: number
  /** Budget of answers. Undefined in a host's own server. */
  readonly answerBudget?: AnswerBudget
}

/** Bodies up to this size do not count, so that small requests still work while large bodies use up the memory. */
const uncountedBodyBytes = 16 * 1024

/**
 * Reads a request's body.
 *
 * @param limit Maximum bytes. A larger declared length is refused before the first byte is read.
 * @throws MailkeepError `body_too_large`; `invalid_json`: the client disconnected before the end; `unavailable`: large
 *   bodies of other requests use up the memory.
 */
export async function readBody(exchange: HttpExchange, limit: number): Promise<Buffer> {
  const { req, bodyMemory } = exchange
  const length = req.headers['content-length'] ?? null
  if (Number(length) > limit) throw tooLarge(limit)
  const bytes = length === null ? limit : Number(length)
  if (bodyMemory && bytes > uncountedBodyBytes) reserve(exchange, bodyMemory, bytes)
  const body = await receive(exchange, limit)
  await turnForBody(body)
  return body
}

const largeBodies = new BlockingQueue()

/** Parsing and checking these bytes may take 60 ms. In groups, the changes of smaller bodies are committed together. */
const maxBytesPerGroup = 128 * 1024

/** Resolves for one group of large bodies after the other, so that other requests are answered in between. */
export async function turnForBody({ length }: Uint8Array): Promise<void> {
  if (length > uncountedBodyBytes) await largeBodies.turn(length / maxBytesPerGroup)
}

function reserve(exchange: HttpExchange, memory: SharedMemory, bytes: number, part?: number): void {
  if (memory.leftFor(exchange.clientId, part) < bytes)
    throw new MailkeepError('unavailable', 'Too many large request bodies are being received: try again shortly.')
  memory.take(exchange.clientId, bytes)
  exchange.reservedBytes = (exchange.reservedBytes ?? 0) + bytes
}

/** Releases the bytes that the request has reserved. */
export function releaseBody({ bodyMemory, clientId, reservedBytes = 0 }: HttpExchange): void {
  if (reservedBytes > 0) bodyMemory!.take(clientId, -reservedBytes)
}

/** Memory that an import needs: the rows of one batch and the chunk that is being read. */
const streamReservationBytes = 4 * 1024 * 1024

/** Imports leave the rest to other bodies, because one may last as long as its file is long. */
const partOfImports = 3 / 4

/**
 * Reads a request's body as a stream with back-pressure. There is no limit of length or total time.
 *
 * @throws MailkeepError `unavailable`: large bodies of other requests use up the memory; while reading, `invalid_json`: the
 *   client disconnected before the end.
 */
export function streamBody(exchange: HttpExchange): AsyncGenerator<Buffer> {
  const { req, bodyMemory } = exchange
  const isLarge = Number(req.headers['content-length'] ?? Number.POSITIVE_INFINITY) > uncountedBodyBytes
  if (bodyMemory && isLarge) reserve(exchange, bodyMemory, streamReservationBytes, partOfImports)
  return readStream(exchange)
}

async function* readStream(exchange: HttpExchange): AsyncGenerator<Buffer> {
  const { req } = exchange
  exchange.streams = true
  sendContinue(exchange)
  try {
    exchange.awaitsBody = true
    // Destroying the request would close the connection before its answer.
    for await (const chunk of req.iterator({ destroyOnReturn: false })) {
      exchange.awaitsBody = false
      yield chunk
      exchange.awaitsBody = true
    }
  } catch (error) {
    throw endedEarly(error)
  } finally {
    // Discard the rest of the body, because the next request comes after it. Node does so itself only for unread bodies.
    exchange.streams = false
    exchange.awaitsBody = false
    req.resume()
  }
}

function sendContinue(exchange: HttpExchange): void {
  if (!exchange.awaitsContinue) return
  exchange.awaitsContinue = false
  exchange.res.writeContinue()
}

export function endedEarly(cause: unknown): MailkeepError {
  return new MailkeepError('invalid_json', 'The body ended early.', { cause })
}

async function receive(exchange: HttpExchange, limit: number): Promise<Buffer> {
  sendContinue(exchange)
  const { req } = exchange
  if (req.destroyed || req.readableEnded) throw endedEarly(undefined)
  return await new Promise<Buffer>((resolve, reject) => {
    const received = new ByteCollector()
    const stop = (error: MailkeepError) => {
      removeListeners()
      req.pause() // the server decides whether the connection ends
      reject(error)
    }
    const onData = (chunk: Buffer | string) => {
      const bytes = typeof chunk === 'string' ? Buffer.from(chunk, req.readableEncoding ?? 'utf8') : chunk
      if (received.length + bytes.length > limit) stop(tooLarge(limit))
      else received.add(bytes)
    }
    const onEnd = () => {
      removeListeners()
      resolve(received.bytes())
    }
    const onError = (error: Error) => stop(endedEarly(error))
    const onClose = () => stop(endedEarly(undefined))
    const removeListeners = () => {
      req.off('data', onData).off('end', onEnd).off('error', onError).off('close', onClose)
    }
    req.on('data', onData).on('end', onEnd).on('error', onError).on('close', onClose)
  })
}

/** @returns Whether bytes of the body have not arrived yet. */
export function isUnread({ req }: HttpExchange): boolean {
  if (req.complete) return false
  return req.headers['transfer-encoding'] !== undefined || Number(req.headers['content-length'] ?? 0) > 0
}

/** @returns Whether the declared length is small enough to read the rest and keep the connection. */
export function isSmall({ req, awaitsContinue }: HttpExchange, limit: number): boolean {
  return !awaitsContinue && Number(req.headers['content-length'] ?? Number.POSITIVE_INFINITY) <= limit
}

export function tooLarge(limit: number): MailkeepError {
  return new MailkeepError('body_too_large', `A body has at most ${limit} bytes.`)
}
