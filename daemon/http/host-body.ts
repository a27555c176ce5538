import type { IncomingMessage } from 'node:http'
import { isUint8Array } from 'node:util/types'
import type { ApiRequest } from '../api/http-types.ts'

/** A body as the host's parser leaves it: bytes, text or a parsed value. */
interface ParsedBody {
  readonly body: unknown
  /** The unparsed bytes or text, if the host keeps them. */
  readonly rawBody: unknown
}

/** A body that the host has already read, as plain bytes, with the headers that fit them. */
export interface HostBody {
  readonly bytes: Buffer
  readonly headers: ApiRequest['headers']
}

const formType = 'application/x-www-form-urlencoded'

/**
 * Returns a body that the host has already read.
 *
 * @returns Undefined when the body has not been read yet.
 * @throws Error The host has read the body but kept nothing.
 */
export function hostBody({ body, rawBody }: ParsedBody, req: IncomingMessage): HostBody | undefined {
  const available = isRaw(rawBody) ? rawBody : body
  if (isRaw(available) && (available === rawBody || !isParsedText(available, req))) {
    return plainBody(req, typeof available === 'string' ? Buffer.from(available) : bytesOf(available))
  }
  // Express 4's parsers set {} when they have read nothing.
  if (available !== undefined && (req.readableDidRead || !isEmpty(available))) {
    return isForm(req) ? formBody(req, available) : plainBody(req, Buffer.from(JSON.stringify(available)))
  }
  if (req.readableDidRead && hasBody(req)) {
    throw new Error('The host has read the request’s body and left it neither as req.body nor as req.rawBody.')
  }
  return undefined
}

function plainBody({ headers }: IncomingMessage, bytes: Buffer): HostBody {
  const { 'content-encoding': _, 'transfer-encoding': __, ...others } = headers
  return { bytes, headers: { ...others, 'content-length': String(bytes.length) } }
}

/** Writes the fields of a parsed form as a form again. Its type is this one, also if the client sent a multipart form. */
function formBody(req: IncomingMessage, fields: unknown): HostBody {
  const form = new URLSearchParams()
  for (const [name, value] of Object.entries(fields ?? {})) {
    // `qs` turns more than 20 values of a name into an object.
    const values = typeof value === 'object' && value !== null ? Object.values(value) : [value]
    for (const one of values) form.append(name, String(one))
  }
  const { bytes, headers } = plainBody(req, Buffer.from(form.toString()))
  return { bytes, headers: { ...headers, 'content-type': formType } }
}

function isForm({ headers }: IncomingMessage): boolean {
  return /^(?:application\/x-www-form-urlencoded|multipart\/form-data)\b/i.test(headers['content-type'] ?? '')
}

function isRaw(body: unknown): body is string | Uint8Array {
  return typeof body === 'string' || isUint8Array(body)
}

/**
 * Whether the host has parsed JSON that is a text. Its body is at least as long as the text with quotes and escapes, which
 * text with the JSON of an object is not. Without a length, the text counts as unparsed.
 */
function isParsedText(body: string | Uint8Array, { headers }: IncomingMessage): boolean {
  const isJson = /^application\/(?:[\w.-]+\+)?json\b/i.test(headers['content-type'] ?? '')
  if (typeof body !== 'string' || !isJson || headers['content-encoding'] !== undefined) return false
  return Number(headers['content-length']) >= Buffer.byteLength(JSON.stringify(body))
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
