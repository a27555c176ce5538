/** Checks an answer against the rules of the contract for its request. */
import assert from 'node:assert/strict'
import { isUtf8 } from 'node:buffer'
import { routes } from '../../daemon/api/routes/index.ts'
import type { Route } from '../../daemon/api/routes/route.ts'
import { errorCodes } from '../../lib/index.ts'
import { assertDescribed } from '../support/http-description.ts'
import { assertShape, contact } from '../support/http-shapes.ts'
import { titleOf } from '../support/http-world.ts'
import { promises } from './promises.ts'
import type { Records } from './records.ts'
import type { Rendered } from './rendering.ts'
import type { Sent } from './sent.ts'
import type { Reply } from './wire.ts'

/** A known path: its routes, and the ids in it. */
interface Found {
  readonly routes: readonly Route[]
  readonly params: Readonly<Record<string, number>>
}

/** @throws AssertionError when the answer is not allowed for the request. */
export function judge(sent: Sent, rendered: Rendered, reply: Reply, records: Records): void {
  const found = find(rendered.target)
  const allowed = allowedStatuses(sent, rendered, found, records)
  const { status, headers, text } = reply
  assert.ok(allowed.includes(status), `${status}, not ${allowed.join(' or ')}`)
  const json = 'application/json; charset=utf-8'
  assertHeaders(sent, reply, isExport(rendered, reply) ? 'application/x-ndjson; charset=utf-8' : json)
  if (status === 405 && found) assert.equal(headers.allow, allowOf(found))
  assertDescribed({ ...rendered, status, headers, text, payload: rendered.bytes, what: 'the answer' })
  if (rendered.message.isHead || status === 204) {
    assert.equal(text, '')
    if (status !== 204) return
  }
  if (isExport(rendered, reply)) {
    for (const line of text.split('\n')) if (line !== '') assertShape(JSON.parse(line), contact)
    return
  }
  const body = text === '' ? undefined : JSON.parse(text)
  if (status >= 400) assertError(status, body)
  else assertPromised(rendered, found, body)
  const route = found?.routes.find(({ method }) => method === rendered.method)
  assertReplay(sent, route, reply)
  // Records in a replayed answer may be deleted already.
  const isNews = status < 300 && headers['idempotency-replayed'] === undefined
  if (isNews && route && sent.token !== 'stranger') records.learn(titleOf(route), found!.params, body?.data)
}

function isExport({ method, target }: Pick<Rendered, 'method' | 'target'>, { status }: Reply): boolean {
  const path = target.replace(/^https?:\/\/[^/?]*/i, '').split('?')[0]!
  return status === 200 && /^(GET|HEAD)$/.test(method) && decodeURIComponent(path) === '/api/v1/contacts/export'
}

/** Parses a target independently of the service. */
function find(target: string): Found | undefined {
  const path = target.replace(/^https?:\/\/[^/?]*/i, '').split('?')[0]!
  const segments = path.split('/').map((segment) => {
    try {
      return decodeURIComponent(segment)
    } catch {
      return ''
    }
  })
  const fits = (route: Route) => {
    const words = `/api/v1${route.path}`.split('/')
    return words.length === segments.length && words.every((word, at) => isWord(word, segments[at]!))
  }
  const matching = routes.filter(fits)
  if (matching.length === 0) return undefined
  const names = `/api/v1${matching[0]!.path}`.split('/')
  const params = names.flatMap((name, at) => (name.startsWith(':') ? [[name.slice(1), Number(segments[at])]] : []))
  return { routes: matching, params: Object.fromEntries(params) }
}

function isWord(word: string, segment: string): boolean {
  if (!word.startsWith(':')) return word === segment
  return /^[1-9]\d*$/.test(segment) && Number.isSafeInteger(Number(segment))
}

function allowOf({ routes: matching }: Found): string {
  return matching.flatMap(({ method }) => (method === 'GET' ? ['GET', 'HEAD'] : [method])).join(', ')
}

/**
 * Returns the allowed statuses, in the order in which the API checks: HTTP syntax, path, method, token, role, query,
 * body.
 */
function allowedStatuses(sent: Sent, rendered: Rendered, found: Found | undefined, records: Records): number[] {
  const { must, may } = brokenStatuses(sent, rendered)
  if (must !== undefined) return [must, ...may]
  return [...new Set([...may, ...answered(sent, rendered, found, records)])]
}

/** Returns the allowed statuses for a head that is invalid HTTP, or may be read as such. */
function brokenStatuses(sent: Sent, { message, target, method }: Rendered): { must?: number; may: number[] } {
  const tooMuch = sent.lines.some((line) => /^(Long: 17000|Many: 1500)$/.test(line))
  // A body that ends early may be noticed while the answer is made, or after it.
  const may = [...(tooMuch || message.head.length > 15_000 ? [431] : []), ...(message.ends ? [400] : [])]
  const [host = ','] = sent.host
  if (sent.host.length > 1 || host.includes(',') || /^[a-z]/.test(method)) return { must: 400, may }
  if (tooMuch) return { must: 431, may: [400] }
  const odd = sent.lines.some((line) => /^(No colon|Bad|Sp ace|: empty| folded)|[^\x20-\x7e]/.test(line))
  const strange = /[^\x21-\x7e]/.test(target) || method === 'QUERY'
  const header = [sent.requestId, sent.contentType, host].some((value) => /[^\x20-\x7e]/.test(value ?? ''))
  return { may: odd || strange || header ? [400, ...may] : may }
}

function answered(sent: Sent, rendered: Rendered, found: Found | undefined, records: Records): number[] {
  const path = rendered.target.replace(/^https?:\/\/[^/?]*/i, '').split('?')[0]!
  if (/^\/(healthz|readyz)$/.test(path)) return [/^(GET|HEAD)$/.test(rendered.method) ? 200 : 405]
  if (!isApiPath(path)) return [404]
  if (!['admin', 'member', 'stranger'].includes(sent.token)) return [401]
  if (!found) return [404]
  const method = rendered.method === 'HEAD' ? 'GET' : rendered.method
  const route = found.routes.find((candidate) => candidate.method === method)
  if (!route) return [405]
  if (route.role === 'admin' && sent.token === 'member') return [403]
  const readsBody = route.body !== undefined || /^(POST|PUT|PATCH)$/.test(method) // a DELETE may have a body
  const verdict = readsBody ? ofBody(sent, rendered, route) : 'good'
  // An unknown parameter is refused before the body is read. Which are known is tested in `library/unknown-names.test.ts`.
  const hasQuery = sent.query !== ''
  if (typeof verdict === 'number') return hasQuery ? [verdict, 422] : [verdict]
  const isThere = sent.token !== 'stranger' && records.has(found.params)
  const { statuses, byState } = promises[titleOf(route)]!
  const success = isThere || Object.keys(found.params).length === 0 ? statuses : [404]
  // The key may be in use: for the same request, which replays its answer, or for another, which is a 422.
  const kept = isKeyed(sent, route) ? [...statuses, 422] : []
  return [...success, ...(verdict === 'good' && !hasQuery && !byState ? [] : [422]), ...kept]
}

function isKeyed({ lines }: Sent, { method, key }: Route): boolean {
  return method === 'POST' && key !== 'none' && lines.some((line) => line.startsWith('Idempotency-Key:'))
}

function isApiPath(path: string): boolean {
  const [, api, version] = path.split('/')
  return api === 'api' && version === 'v1'
}

type Verdict = number | 'good' | 'unsure'

function ofBody(sent: Sent, rendered: Rendered, route: Route): Verdict {
  const { bytes, message } = rendered
  if (route.body === 'file') return ofFile(sent, rendered)
  if (bytes === undefined) return hasRequired(route) ? 422 : 'good'
  const length = message.ends ? bytes.length + 5 : bytes.length
  if (!isJsonType(sent) && length > 0) return 415
  if (message.ends) return 400
  if (bytes.length === 0) return hasRequired(route) ? 422 : 'good'
  if (!isUtf8(bytes)) return 400
  const fields = parsed(bytes)
  if (fields === undefined) return 400
  if (typeof fields !== 'object' || fields === null || Array.isArray(fields)) return 422
  if (route.body === undefined) return Object.keys(fields).length === 0 ? 'good' : 422
  // The fields were generated for the intended route; another method may have reached another route.
  return sent.body.kind === 'fields' && sent.body.valid && routes[sent.route] === route ? 'good' : 'unsure'
}

/** For a file, only the content type matters here; its rows are checked elsewhere. */
function ofFile({ contentType = '', lines, framing }: Sent, { bytes }: Rendered): Verdict {
  if (bytes === undefined || (bytes.length === 0 && framing !== 'short')) return 'good'
  const encoded = lines.some((line) => line === 'Content-Encoding: gzip')
  return encoded || !/^(application\/x-ndjson|text\/csv)/.test(contentType) ? 415 : 'unsure'
}

function hasRequired({ method, path, body }: Route): boolean {
  if (path === '/settings/attributes') return method === 'PUT'
  const none =
    body === undefined ||
    method === 'PUT' ||
    /topics\/:topicId$|segments\/:segmentId$|newsletters\/:newsletterId(\/(send|resume))?$|sequences\/:sequenceId(\/resume)?$|endpoints\/:endpointId(\/secret)?$/.test(
      path,
    )
  return !none
}

function isJsonType({ contentType = '', lines }: Sent): boolean {
  // Several headers are one list, and no list is a known encoding.
  const encodings = lines.filter((line) => line.startsWith('Content-Encoding: '))
  if (encodings.length > 1 || encodings.includes('Content-Encoding: gzip')) return false
  return /^application\/json(; ?(charset="?utf-8"?|boundary=x))?$/i.test(contentType)
}

function parsed(bytes: Buffer): unknown {
  try {
    return JSON.parse(bytes.toString('utf8'))
  } catch {
    return undefined
  }
}

function assertHeaders({ requestId }: Sent, { status, headers, text }: Reply, contentType: string): void {
  const own = requestId !== undefined && /^[\w.~:-]{1,128}$/.test(requestId)
  const pattern = own && status !== 431 && status !== 400 ? new RegExp(`^${requestId}$`) : /^[\w.~:-]{1,128}$/
  assert.match(headers['x-request-id'] ?? 'none', pattern)
  assert.equal(headers['cache-control'], 'no-store')
  if (status === 204) assert.equal(headers['content-type'], undefined)
  else assert.equal(headers['content-type'], contentType)
  if (status === 401) assert.equal(headers['www-authenticate'], 'Bearer')
  if (status === 429) assert.match(headers['retry-after'] ?? '', /^[1-9]\d*$/)
  // A new token is shown once.
  assert.doesNotMatch(
    text.replace(/"token":"mk_[\w-]{43}"/, ''),
    /\bmk_|SQLITE_|insert into|MAILKEEP_(?!PUBLIC_URL)|node_modules|\.ts:\d/i,
    'it leaks',
  )
}

function assertReplay(sent: Sent, route: Route | undefined, { status, headers }: Reply): void {
  const replayed = headers['idempotency-replayed']
  if (replayed === undefined) return
  assert.equal(replayed, 'true')
  assert.ok(route && isKeyed(sent, route) && status < 300, 'the answer was replayed without an idempotency key')
}

const statusOf: Readonly<Record<string, readonly number[]>> = {
  invalid_json: [400],
  unauthenticated: [401],
  forbidden: [403],
  not_found: [404],
  method_not_allowed: [405],
  conflict: [409],
  body_too_large: [413, 431],
  unsupported_media_type: [415],
  validation_failed: [422],
  idempotency_mismatch: [422],
  rate_limited: [429],
}

function assertError(status: number, { message, code, errors, ...more }: Record<string, unknown>): void {
  assert.deepEqual(more, {}, 'the error has more fields than its shape')
  assert.ok(typeof message === 'string' && message !== '')
  assert.ok(errorCodes.includes(code as never) && statusOf[code as string]?.includes(status), `${code} as ${status}`)
  if (code !== 'validation_failed') {
    assert.equal(errors, undefined)
    return
  }
  const messages = Object.values(errors as object)
  assert.ok(messages.length > 0)
  for (const each of messages) assert.ok(Array.isArray(each) && each.length > 0 && each.every(isText))
}

function isText(value: unknown): boolean {
  return typeof value === 'string' && value !== ''
}

function without(item: unknown, names: readonly string[]): unknown {
  if (names.length === 0) return item
  return Object.fromEntries(Object.entries(item as object).filter(([name]) => !names.includes(name)))
}

function assertPromised({ method }: Rendered, found: Found | undefined, body: Record<string, unknown>): void {
  const route = found?.routes.find((candidate) => candidate.method === method)
  if (!route) return // healthz and readyz
  const { data, meta, optional = [] } = promises[titleOf(route)]!
  if (!data) {
    assert.equal(body, undefined)
    return
  }
  assert.deepEqual(Object.keys(body), meta ? ['data', 'meta'] : ['data'])
  if (meta) assertShape(body.meta, meta)
  const items = meta || Array.isArray(body.data) ? (body.data as unknown[]) : [body.data]
  for (const item of items) assertShape(without(item, optional), data)
}
