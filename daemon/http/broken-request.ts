import { randomUUID } from 'node:crypto'
import { STATUS_CODES } from 'node:http'
import type { Socket } from 'node:net'
import type { ErrorCode } from '../../lib/index.ts'
import { encode } from '../api/encode.ts'
import type { ApiResponse } from '../api/index.ts'
import type { Pipeline } from './pipeline.ts'

/**
 * Answers invalid HTTP or an incomplete request, and ends the connection.
 *
 * @param error The error of node:http's `clientError` event.
 * @param pipeline The requests of this connection. Undefined if it never had one.
 */
export function answerBroken(error: NodeJS.ErrnoException, socket: Socket, pipeline: Pipeline | undefined): void {
  if (error.code === 'ECONNRESET' || !socket.writable) {
    socket.destroy()
    return
  }
  const last = pipeline?.last
  if (pipeline && last && pipeline.count > 0 && last.req.complete) {
    // Earlier requests are still being answered. The client would take an answer written now for theirs.
    // Everything after the broken request is invalid too, so it is not read.
    socket.pause()
    last.res.once('close', () => socket.destroy())
    return
  }
  const cannotAnswer = pipeline && last && !last.req.complete && (pipeline.count !== 1 || last.res.headersSent)
  if (cannotAnswer) socket.destroy()
  else sendRaw(socket, brokenAnswer(error.code))
}

/** Writes a whole answer to a connection that node:http no longer handles, and ends it. */
export function sendRaw(socket: Socket, { status, headers, body }: ApiResponse): void {
  const lines = Object.entries({ ...headers, Date: new Date().toUTCString(), Connection: 'close' })
  const head = lines.map(([name, value]) => `${name}: ${value}\r\n`).join('')
  socket.on('error', () => socket.destroy())
  socket.write(`HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\n${head}\r\n${body ?? ''}`)
  socket.destroySoon()
}

/**
 * The list of error codes is closed and has none for invalid HTTP. The code chosen here tells a program what to do:
 * send something else, send less, or retry.
 */
export function brokenAnswer(reason: string | undefined): ApiResponse {
  if (reason === 'HPE_HEADER_OVERFLOW') return answer(431, 'body_too_large', 'The headers are too large.')
  if (reason === 'ERR_HTTP_REQUEST_TIMEOUT') return answer(408, 'unavailable', 'The request took too long to arrive.')
  if (reason === 'HPE_CHUNK_EXTENSIONS_OVERFLOW') return answer(413, 'body_too_large', 'The body is too large.')
  if (reason === 'HPE_INVALID_METHOD') return answer(400, 'invalid_json', 'The method of this request is not known.')
  return answer(400, 'invalid_json', 'This is not an HTTP request.')
}

function answer(status: number, code: ErrorCode, message: string): ApiResponse {
  return encode({ requestId: randomUUID(), method: 'GET' }, status, JSON.stringify({ message, code }))
}
