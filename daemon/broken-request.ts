import { randomUUID } from 'node:crypto'
import { STATUS_CODES } from 'node:http'
import type { Socket } from 'node:net'
import type { ErrorCode } from '../lib/index.ts'
import { encode } from './api/encode.ts'
import type { ApiResponse } from './api/index.ts'
import type { HttpExchange } from './request-body.ts'

/** What a connection owes its client. */
export interface Owed {
  /** Requests without a complete answer. */
  readonly count: number
  /** The latest request. */
  readonly last: HttpExchange | undefined
}

/**
 * Answers what is no HTTP, or never becomes a whole request, and ends the connection.
 *
 * @param error As node:http's `clientError` has it.
 * @param owed What this connection still owes, if it ever had a request.
 */
export function answerBroken(error: NodeJS.ErrnoException, socket: Socket, owed: Owed | undefined): void {
  if (error.code === 'ECONNRESET' || !socket.writable) {
    socket.destroy()
    return
  }
  const last = owed?.last
  if (owed && last && owed.count > 0 && last.req.complete) {
    // Requests before this one are still being answered: what we wrote now would be taken for their answer.
    // Whatever else comes is broken as well, and stays where it is.
    socket.pause()
    last.res.once('close', () => socket.destroy())
    return
  }
  const answered = owed && last && !last.req.complete && (owed.count !== 1 || last.res.headersSent)
  if (answered) socket.destroy()
  else sendRaw(socket, brokenAnswer(error.code))
}

/** Writes a whole answer to a connection that node:http has given up, and ends it. */
export function sendRaw(socket: Socket, { status, headers, body }: ApiResponse): void {
  const lines = Object.entries({ ...headers, Date: new Date().toUTCString(), Connection: 'close' })
  const head = lines.map(([name, value]) => `${name}: ${value}\r\n`).join('')
  socket.on('error', () => socket.destroy())
  socket.write(`HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\n${head}\r\n${body ?? ''}`)
  socket.destroySoon()
}

/**
 * The closed list of codes knows nothing below JSON: the code here tells a program what to do about it, which is
 * to send something else, to send less, or to try again.
 */
export function brokenAnswer(reason: string | undefined): ApiResponse {
  if (reason === 'HPE_HEADER_OVERFLOW') return answer(431, 'body_too_large', 'The headers are too large.')
  if (reason === 'ERR_HTTP_REQUEST_TIMEOUT') return answer(408, 'unavailable', 'The request took too long to arrive.')
  if (reason === 'HPE_CHUNK_EXTENSIONS_OVERFLOW') return answer(413, 'body_too_large', 'The body is too large.')
  return answer(400, 'invalid_json', 'This is not an HTTP request.')
}

function answer(status: number, code: ErrorCode, message: string): ApiResponse {
  return encode({ requestId: randomUUID(), method: 'GET' }, status, JSON.stringify({ message, code }))
}
