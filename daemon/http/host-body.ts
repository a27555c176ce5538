import type { IncomingMessage } from 'node:http'
import type { ApiRequest } from '../api/http-types.ts'

/** A body as the host's parser leaves it: bytes, text or a parsed value. */
interface ParsedBody {
  readonly body: unknown
  /** The unparsed bytes or text, if the host keeps them. */
  readonly rawBody: unknown
}

/**
 * Returns the bytes of a body that the host has already read.
 *
 * @returns Undefined when the body has not been read yet.
 * @throws Error The host has read the body but kept nothing.
 */
export function hostBody({ body, rawBody }: ParsedBody, req: IncomingMessage): Buffer | undefined {
  const available = isRaw(rawBody) ? rawBody : body
  if (isRaw(available)) return typeof available === 'string' ? Buffer.from(available) : bytesOf(available)
  // Express 4's parsers set {} when they have read nothing.
  if (available !== undefined && (req.readableDidRead || !isEmpty(available)))
    return Buffer.from(JSON.stringify(available))
  if (req.readableDidRead && hasBody(req)) {
    throw new Error('The host has read the request’s body and left it neither as req.body nor as req.rawBody.')
  }
  return undefined
}

/** Returns the headers that fit a body of plain bytes. */
export function headersWithout(headers: ApiRequest['headers'], bytes: Uint8Array): ApiRequest['headers'] {
  const { 'content-encoding': _, 'transfer-encoding': __, ...others } = headers
  return { ...others, 'content-length': String(bytes.length) }
}

function isRaw(body: unknown): body is string | Uint8Array {
  return typeof body === 'string' || body instanceof Uint8Array
}

function bytesOf(body: Uint8Array): Buffer {
  return Buffer.from(body.buffer, body.byteOffset, body.byteLength)
}

function isEmpty(body: unknown): boolean {
  return body === null || (typeof body === 'object' && Object.keys(body).length === 0)
}

function hasBody({ headers }: IncomingMessage): boolean {
  return headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > 0
}
