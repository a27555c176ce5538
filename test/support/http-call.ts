/** Calls the HTTP API over a socket, and checks every answer against the rules that apply to all answers. */
import assert from 'node:assert/strict'
import { type Agent, type IncomingHttpHeaders, type OutgoingHttpHeaders, request } from 'node:http'
import { type ErrorCode, errorCodes } from '../../lib/index.ts'
import { assertDescribed } from './http-description.ts'

export interface CallOptions {
  /** null sends no Authorization header. */
  readonly token?: string | null
  /** Sent as JSON. */
  readonly body?: unknown
  /** Sent unchanged, instead of `body`. */
  readonly raw?: string | Uint8Array
  readonly headers?: OutgoingHttpHeaders
  /** A string is sent unchanged; a record is encoded. */
  readonly query?: string | Readonly<Record<string, string | number>>
}

/** An answer; `body` is any JSON value, because tests must not trust its type. */
export interface Answer {
  readonly status: number
  readonly headers: IncomingHttpHeaders
  readonly text: string
  readonly body: ReturnType<typeof JSON.parse>
  /** The exchange in one line, for assertion messages. */
  readonly what: string
}

/** A path that begins with one slash is below /api/v1. With two, it is the whole target without the first slash. */
export type Call = (method: string, path: string, options?: CallOptions) => Promise<Answer>

export function callerOf(agent: Agent, port: number, usualToken: string): Call {
  return async (method, path, { token = usualToken, body, raw, headers, query = '' } = {}) => {
    const search = typeof query === 'string' ? query : new URLSearchParams(entriesOf(query)).toString()
    const target = `${path.startsWith('//') ? path.slice(1) : `/api/v1${path}`}${search && '?'}${search}`
    const payload = raw ?? (body === undefined ? undefined : JSON.stringify(body))
    const sent: OutgoingHttpHeaders = {
      accept: 'application/json',
      ...(token === null ? {} : { authorization: `Bearer ${token}` }),
      ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      ...(payload === undefined || headers?.['transfer-encoding']
        ? {}
        : { 'content-length': Buffer.byteLength(payload) }),
      ...headers,
    }
    const answer = await exchange(agent, port, method, target, sent, payload)
    assertSound(method, target, answer)
    assertDescribed({ ...answer, method, target, payload })
    return answer
  }
}

function entriesOf(query: Readonly<Record<string, string | number>>): [string, string][] {
  return Object.entries(query).map(([name, value]) => [name, String(value)])
}

function exchange(
  agent: Agent,
  port: number,
  method: string,
  path: string,
  headers: OutgoingHttpHeaders,
  payload: string | Uint8Array | undefined,
): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const req = request({ agent, host: '127.0.0.1', port, method, path, headers }, async (res) => {
      try {
        const chunks: Buffer[] = []
        for await (const chunk of res) chunks.push(chunk)
        const text = Buffer.concat(chunks).toString('utf8')
        const status = res.statusCode!
        const what = `${method} ${path} → ${status} ${text.slice(0, 500)}`
        const isJson = String(res.headers['content-type']).startsWith('application/json')
        resolve({
          status,
          headers: res.headers,
          text,
          what,
          body: isJson && text !== '' ? JSON.parse(text) : undefined,
        })
      } catch (error) {
        reject(error)
      }
    })
    req.once('error', reject)
    req.end(payload)
  })
}

/** Asserts a 422 with messages for exactly these fields. */
export function assertInvalid({ status, body, what }: Answer, ...fields: string[]): void {
  assert.equal(status, 422, what)
  assert.deepEqual(Object.keys(body.errors).sort(), fields.sort(), what)
}

const statusOf: Record<ErrorCode, number> = {
  unauthenticated: 401,
  forbidden: 403,
  not_found: 404,
  method_not_allowed: 405,
  conflict: 409,
  body_too_large: 413,
  unsupported_media_type: 415,
  validation_failed: 422,
  idempotency_mismatch: 422,
  rate_limited: 429,
  internal: 500,
  unavailable: 503,
  invalid_json: 400,
}

/**
 * Asserts the rules for every answer: JSON content type, X-Request-Id, no caching, no secrets, and the two shapes of
 * bodies.
 */
function assertSound(method: string, target: string, { status, headers, text, body, what }: Answer): void {
  assert.match(String(headers['x-request-id']), /^[\x21-\x7e]{1,200}$/, what)
  const showsToken =
    /^(POST \/api\/v1\/tokens|GET \/api\/v1\/openapi\.json(\?.*)?)$/.test(`${method} ${target}`) && status < 300
  if (!showsToken) assert.doesNotMatch(text, /\bmk_/, `${what} leaks`)
  assert.doesNotMatch(text, /SQLITE_|insert into|MAILKEEP_(?!PUBLIC_URL)|node_modules|\.ts:\d/i, `${what} leaks`)
  // Only the description and the routes that create secrets may contain one.
  const showing = /^(POST \/api\/v1\/webhook-endpoints(\/\d+\/secret)?|GET \/api\/v1\/openapi\.json(\?.*)?)$/
  const showsSecret = showing.test(`${method} ${target}`) && status < 300
  if (!showsSecret) assert.doesNotMatch(text, /whsec_|"secret":"/, `${what} leaks`)
  if (status === 204 || method === 'HEAD') {
    assert.equal(text, '', what)
    return
  }
  // The only listing that is a stream, and the results of an import, row by row.
  if (/\/contacts\/export(\?|$)/.test(target) && status === 200) return
  if (/\/import(\?|$)/.test(target) && status === 200 && /ndjson/.test(String(headers['content-type']))) return
  assert.match(String(headers['content-type']), /^application\/json(; charset=utf-8)?$/, what)
  if (status >= 400) assertError(status, body, what)
  else if (/^\/api\/v1\/(?!openapi\.json)/.test(target)) {
    const isListing = Array.isArray(body.data) && !/\/(batch|newsletters\/\d+\/test)$/.test(target)
    assert.deepEqual(Object.keys(body), isListing ? ['data', 'meta'] : ['data'], what)
  }
}

function assertError(status: number, body: Answer['body'], what: string): void {
  const { message, code, errors, ...more } = body
  assert.deepEqual(more, {}, what)
  assert.ok(typeof message === 'string' && message !== '', what)
  assert.ok(errorCodes.includes(code) && statusOf[code as ErrorCode] === status, what)
  if (code !== 'validation_failed') {
    assert.equal(errors, undefined, what)
    return
  }
  const messages = Object.values(errors)
  assert.ok(messages.length > 0, what)
  for (const each of messages) assert.ok(Array.isArray(each) && each.length > 0 && each.every(isText), what)
}

function isText(value: unknown): boolean {
  return typeof value === 'string' && value !== ''
}
