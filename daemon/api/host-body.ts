import type { IncomingMessage } from 'node:http'
import type { ApiRequest } from './http-types.ts'

/** What a host's body parser may have left: bytes, text, or what it parsed. */
export interface Left {
  readonly body: unknown
  /** The bytes or the text itself, where the host keeps them beside. */
  readonly rawBody: unknown
}

/**
 * The body that the host has read already, as bytes.
 *
 * @returns undefined: it is still to be read.
 * @throws Error when the host has read it and kept nothing.
 */
export function bodyLeft({ body, rawBody }: Left, req: IncomingMessage): Buffer | undefined {
  const given = isRaw(rawBody) ? rawBody : body
  if (isRaw(given)) return typeof given === 'string' ? Buffer.from(given) : bytesOf(given)
  // Express 4's parsers leave {} where they have read nothing.
  if (given !== undefined && (req.readableDidRead || !isEmpty(given))) return Buffer.from(JSON.stringify(given))
  if (req.readableDidRead && hasBody(req)) {
    throw new Error('The host has read the request’s body and left it neither as req.body nor as req.rawBody.')
  }
  return undefined
}

/** The headers as they are once the body is plain bytes. */
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
