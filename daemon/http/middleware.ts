/** The middleware that polka runs for each request of the daemon's server. */
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { type Logger, MailkeepError } from '../../lib/index.ts'
import { refuse } from '../api/encode.ts'
import type { ApiRequest, ApiResponse, Respond } from '../api/index.ts'
import { type AnswerBudget, answersOverloaded } from './answer-budget.ts'
import { answerBroken, brokenAnswer } from './broken-request.ts'
import { Pipeline, type WaitingRequests } from './pipeline.ts'
import { type HttpExchange, isUnread, readBody, releaseBody, streamBody } from './request-body.ts'
import { type SendLimits, send } from './send.ts'
import type { SharedMemory } from './shared-memory.ts'

export interface RequestLimits extends SendLimits {
  /** Maximum number of headers of one request. */
  readonly headerFields: number
  /** Time for the whole request to arrive. */
  readonly requestMs: number
}

export interface AnsweredRequest {
  readonly method: string
  /** The route's pattern, never the path as sent: a label must have few distinct values. */
  readonly route: string
  readonly status: number
  readonly ms: number
}

/** Called after each answered request. */
export type Observe = (answered: AnsweredRequest) => void

/** State that all requests of a server share. */
export interface ServerState {
  readonly logger: Logger
  readonly observe: Observe | undefined
  readonly limits: RequestLimits
  /** Requests whose clients wait for `100 Continue` before they send the body. */
  readonly awaitingContinue: WeakSet<IncomingMessage>
  readonly pipelines: WeakMap<Socket, Pipeline>
  readonly waiting: WaitingRequests
  readonly bodyMemory: SharedMemory
  readonly answerBudget: AnswerBudget
  /** Requests wait for it. */
  opening: Promise<unknown> | undefined
  closing: Promise<void> | undefined
}

/** A request that has passed `takeTurn`. A property costs less than a WeakMap, whose entries slow the garbage collector. */
interface DaemonRequest extends IncomingMessage {
  exchange?: HttpExchange
}

type Middleware = (req: DaemonRequest, res: ServerResponse, next: () => void) => void
type Handler = (req: DaemonRequest, res: ServerResponse) => void

/** Middleware: continues when it is the request's turn on its connection. */
export function takeTurn(state: ServerState): Middleware {
  return (req, res, next) => {
    const { pipelines, awaitingContinue, bodyMemory, answerBudget } = state
    const exchange: HttpExchange = { req, res, awaitsContinue: awaitingContinue.has(req), bodyMemory, answerBudget }
    req.exchange = exchange
    let pipeline = pipelines.get(req.socket)
    if (!pipeline) {
      pipeline = new Pipeline(req.socket, state.waiting)
      pipelines.set(req.socket, pipeline)
    }
    if (isUnread(exchange)) limitArrivalTime(state, exchange, pipeline)
    pipeline.add(exchange, () => (state.opening ? void state.opening.then(() => next()) : next()))
  }
}

/** Middleware: refuses requests that must not reach a surface. Their connections end with the answer. */
export function refuseEarly(state: ServerState): Middleware {
  return (req, res, next) => {
    const refused = refusalOf(state, req)
    if (refused) answerWith(state, refused, true)(req, res)
    else next()
  }
}

/** Handler: sends the answer of a surface, and logs the request. */
export function answerWith(state: ServerState, answer: Respond, closes = false): Handler {
  return (req, res) => {
    // polka neither awaits a handler nor catches its errors.
    reply(state, req.exchange!, answer, closes).catch((error: unknown) => {
      state.logger.error({ err: error }, 'request could not be answered')
      res.destroy()
    })
  }
}

/** Answers invalid HTTP or an incomplete request. */
export function rejectBroken({ logger, pipelines }: ServerState, error: NodeJS.ErrnoException, socket: Socket): void {
  logger.debug({ reason: error.code }, 'broken request')
  answerBroken(error, socket, pipelines.get(socket))
}

class RequestTimeout extends Error {
  readonly code = 'ERR_HTTP_REQUEST_TIMEOUT'
}

/**
 * Limits the time in which a body must arrive. A streamed file has no limit but the socket timeout. The limit does not
 * apply while an earlier answer is still being sent, because closing the connection would cut off that answer.
 */
function limitArrivalTime(state: ServerState, exchange: HttpExchange, pipeline: Pipeline): void {
  const { req } = exchange
  const timer = setInterval(() => {
    // A request emits no 'close' when its connection ends after the answer but before the end of the body.
    if (req.complete || req.socket.destroyed) clearInterval(timer)
    else if (!exchange.streams && pipeline.count <= 1) rejectBroken(state, new RequestTimeout(), req.socket)
  }, state.limits.requestMs).unref()
  req.once('close', () => clearInterval(timer))
}

/** @returns The answer to a request that never reaches a surface. */
function refusalOf({ closing, limits }: ServerState, req: IncomingMessage): Respond | undefined {
  if (closing !== undefined) {
    const error = new MailkeepError('unavailable', 'mailkeep is shutting down: try again shortly.')
    return async (request) => refuse(request, error)
  }
  // rawHeaders alternates names and values.
  if (req.rawHeaders.length > 2 * limits.headerFields) return async () => brokenAnswer('HPE_HEADER_OVERFLOW')
  // A request of HTTP/1.1 must have exactly one Host header (RFC 9112, 3.2).
  const { host } = req.headers
  const malformed = host === undefined ? req.httpVersion === '1.1' : host.includes(',')
  return malformed ? async () => brokenAnswer(undefined) : undefined
}

/** Routes that monitors poll every few seconds. Successful requests to them are logged at level debug. */
const quietRoutes: ReadonlySet<string> = new Set(['/healthz', '/readyz', '/metrics'])

async function reply(state: ServerState, exchange: HttpExchange, answer: Respond, closes: boolean): Promise<void> {
  const startedMs = performance.now()
  const { req } = exchange
  const request: ApiRequest = {
    method: req.method ?? 'GET',
    target: req.url ?? '/',
    headers: req.headers,
    address: req.socket.remoteAddress,
    body: (maxBytes = Infinity) => readBody(exchange, Math.min(maxBytes, state.limits.bodyBytes)),
    stream: () => streamBody(exchange),
    identify: (clientId) => {
      exchange.clientId = clientId
    },
    buildLarge: (make) => state.answerBudget.build(exchange, make),
  }
  const release = () => releaseBody(exchange)
  const answered = await answer(request).catch((error: unknown) => {
    release()
    throw error
  })
  // The results of an import are sent while its file is read.
  if (answered.stream && !exchange.res.destroyed) exchange.res.once('close', release)
  else release()
  const aborted = req.socket.destroyed
  const response = aborted ? answered : await withinBudget(state, exchange, request, answered)
  // Node discards what it has read behind a request to upgrade. So the client must not expect an answer to that.
  const closeAfter = closes || state.closing !== undefined || req.headers.upgrade !== undefined
  send(exchange, response, closeAfter, state.limits)
  const ms = performance.now() - startedMs
  // Logs get the route's pattern: the path as sent may hold personal data.
  const { status, route = 'unknown' } = response
  state.observe?.({ method: request.method, route, status, ms })
  state.logger[quietRoutes.has(route) && status < 400 ? 'debug' : 'info'](
    {
      method: request.method,
      path: route,
      status,
      ms: Math.round(ms * 10) / 10,
      requestId: response.headers['X-Request-Id'],
      ...(response.tokenId === undefined ? {} : { tokenId: response.tokenId }),
      ...(aborted ? { aborted } : {}),
    },
    'request',
  )
}

/** @returns The answer, or 503 when it does not fit the budget. A change that the answer reports stays committed. */
async function withinBudget(
  { answerBudget }: ServerState,
  exchange: HttpExchange,
  request: ApiRequest,
  response: ApiResponse,
): Promise<ApiResponse> {
  const { body, bytes, stream, route, headers } = response
  const fits = stream
    ? answerBudget.hasRoom(exchange.clientId)
    : body === undefined ||
      bytes !== undefined ||
      answerBudget.take(exchange, Number(headers['Content-Length'] ?? Buffer.byteLength(body)))
  if (fits) return response
  await stream?.[Symbol.asyncIterator]().return?.()
  return refuse(request, answersOverloaded(), route)
}
