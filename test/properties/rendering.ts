/** Converts a generated request into bytes, with the properties that its answer depends on. */
import { routes } from '../../daemon/api/routes/index.ts'
import { paramsOf } from '../support/http-world.ts'
import type { Records } from './records.ts'
import type { Sent } from './sent.ts'
import type { Message } from './wire.ts'

export interface Tokens {
  readonly admin: string
  readonly member: string
  /** The admin token of another client. */
  readonly stranger: string
}

export interface Rendered {
  readonly message: Message
  readonly method: string
  readonly target: string
  /** The body as the service will read it; undefined where none is sent. */
  readonly bytes: Buffer | undefined
}

const prefix = '/api/v1'

export function render(sent: Sent, records: Records, tokens: Tokens): Rendered {
  const target = targetOf(sent, records)
  const method = sent.method ?? routes[sent.route]!.method
  const bytes = bytesOf(sent)
  // When a body ends early, the answer of a route that reads no body does not show whether the operation ran.
  const framing = sent.framing === 'short' && !/^(POST|PUT|PATCH)$/.test(method) ? 'length' : sent.framing
  const { headers, body } = framed(framing, bytes)
  const lines = [
    `${method} ${target} HTTP/1.1`,
    ...sent.host.map((host) => `Host: ${host}`),
    ...credentials(sent.token, tokens).map((value) => `Authorization: ${value}`),
    ...(sent.contentType === undefined ? [] : [`Content-Type: ${sent.contentType}`]),
    ...(sent.requestId === undefined ? [] : [`X-Request-Id: ${sent.requestId}`]),
    ...headers,
    ...sent.lines.map(atLength),
  ]
  const message: Message = {
    head: `${lines.join('\r\n')}\r\n\r\n`,
    body,
    expects: framing === 'continue' && bytes !== undefined,
    ends: framing === 'short' && bytes !== undefined,
    isHead: method === 'HEAD',
  }
  return { message, method, target, bytes }
}

/** Expands placeholders that keep the report of a failure short. */
function atLength(line: string): string {
  const [, kind, count] = /^(Long|Many): (\d+)$/.exec(line) ?? []
  if (kind === 'Long') return `Long: ${'x'.repeat(Number(count))}`
  return kind === 'Many' ? Array(Number(count)).fill('Many: 1').join('\r\n') : line
}

function targetOf(sent: Sent, records: Records): string {
  const route = routes[sent.route]!
  const names = paramsOf(route)
  const ids = names.map((name, at) => {
    const id = sent.ids[at]!
    return typeof id === 'number' ? String(records.pick(name, id)) : id
  })
  let at = 0
  const path = changed(sent, prefix + route.path.replace(/:\w+/g, () => ids[at++]!))
  return sent.query === '' ? path : `${path}?${sent.query}`
}

function changed({ path: change, junkPath }: Sent, path: string): string {
  switch (change) {
    case 'plain':
      return path
    case 'encoded':
      return path.replace(/[\da-z]$/, (last) => `%${last.charCodeAt(0).toString(16)}`)
    case 'absolute':
      return `http://other.example:80${path}`
    case 'trailing':
      return `${path}/`
    case 'doubled':
      return path.replace('/api', '//api')
    case 'upper':
      return path.replace('/api/v1', '/API/v1')
    case 'longer':
      return `${path}/more`
    case 'v2':
      return path.replace('/v1', '/v2')
    case 'junk':
      return junkPath.startsWith('/') ? junkPath : `/${junkPath}`
  }
}

function bytesOf({ body }: Sent): Buffer | undefined {
  if (body.kind === 'none') return undefined
  if (body.kind === 'large') return Buffer.alloc(body.megabytes * 1024 * 1024, 0x20)
  return body.kind === 'bytes' ? latin1OrUtf8(body.bytes) : Buffer.from(JSON.stringify(body.fields))
}

/** Encodes as latin1 the texts that represent invalid UTF-8. */
function latin1OrUtf8(text: string): Buffer {
  return text.startsWith('latin1:') ? Buffer.from(text.slice(7), 'latin1') : Buffer.from(text)
}

function framed(framing: Sent['framing'], bytes: Buffer | undefined): { headers: string[]; body: Buffer } {
  if (bytes === undefined) return { headers: [], body: Buffer.alloc(0) }
  if (framing === 'chunks') return { headers: ['Transfer-Encoding: chunked'], body: inChunks(bytes) }
  if (framing === 'short') return { headers: [`Content-Length: ${bytes.length + 5}`], body: bytes }
  const expecting = framing === 'continue' ? ['Expect: 100-continue'] : []
  return { headers: [`Content-Length: ${bytes.length}`, ...expecting], body: bytes }
}

function inChunks(bytes: Buffer): Buffer {
  const middle = bytes.length >> 1
  const pieces = [bytes.subarray(0, middle), bytes.subarray(middle)].filter(({ length }) => length > 0)
  const framedPieces = pieces.flatMap((piece) => [`${piece.length.toString(16)}\r\n`, piece, '\r\n'])
  return Buffer.concat([...framedPieces, '0\r\n\r\n'].map((part) => Buffer.from(part)))
}

function credentials(token: Sent['token'], tokens: Tokens): string[] {
  switch (token) {
    case 'none':
      return []
    case 'unknown':
      return [`Bearer mk_${'x'.repeat(43)}`]
    case 'basic':
      return [`Basic ${Buffer.from(tokens.admin).toString('base64')}`]
    case 'twice':
      return [`Bearer ${tokens.admin}`, `Bearer ${tokens.member}`]
    default:
      return [`Bearer ${tokens[token]}`]
  }
}
