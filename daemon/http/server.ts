import { once } from 'node:events'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'
import polka from 'polka'
import { type Logger, MailkeepError } from '../../lib/index.ts'
import { encodeError, requestIdOf } from '../api/encode.ts'
import type { Api, ApiRequest, ApiResponse } from '../api/index.ts'
import { AnswerBudget, answersOverloaded } from './answer-budget.ts'
import { answerBroken, brokenAnswer, sendRaw } from './broken-request.ts'
import { Pipeline, type WaitingRequests } from './pipeline.ts'
import { type BodyBudget, type HttpExchange, isUnread, readBody, releaseBody, streamBody } from './request-body.ts'
import { defaultSendLimits, type SendLimits, send } from './send.ts'

export interface ServerLimits extends SendLimits {
  /** Maximum size of all headers of one request. */
  readonly headerBytes: number
  /** Maximum number of headers of one request. */
  readonly headerFields: number
  /** Time for the headers to arrive. */
  readonly headersMs: number
  /** Time for the whole request to arrive. */
  readonly requestMs: number
  /** Idle timeout of a connection between requests. Longer than a load balancer's, so that the balancer closes first. */
  readonly keepAliveMs: number
  /** Budget for the bodies of all unanswered requests. Small bodies do not count. */
  readonly bodiesBytes: number
  /** Budget for all answers that sockets have not accepted yet. Small answers do not count. */
  readonly answersBytes: number
  /** Maximum pipelined requests that wait, over all connections. */
  readonly waitingRequests: number
  /** Socket timeout: time without data in either direction. */
  readonly silenceMs: number
}

export const defaultLimits: ServerLimits = {
  ...defaultSendLimits,
  headerBytes: 16 * 1024,
  headerFields: 1000,
  // A process with a 512 MB heap survives when both budgets are used up. A parsed body takes about twice its bytes, and
  // so does an answer while it is built.
  bodiesBytes: 64 * 1024 * 1024,
  answersBytes: 64 * 1024 * 1024,
  waitingRequests: 10_000,
  headersMs: 15_000,
  requestMs: 60_000,
  keepAliveMs: 65_000,
  silenceMs: 60_000,
}

export interface ServerOptions {
  readonly answer: Api['answer']
  readonly logger: Logger
  readonly host: string
  /** 0 chooses a free port. */
  readonly port: number
  readonly limits?: Partial<ServerLimits>
  /** File descriptor of an inherited listening socket. Replaces host and port. */
  readonly fd?: number | undefined
  /** Called after each answered request. */
  readonly observe?: (answered: { method: string; route: string; status: number; ms: number }) => void
}

export interface RunningServer {
  readonly url: string
  readonly host: string
  readonly port: number
  /**
   * Refuses new requests, finishes the running ones, and closes all connections.
   *
   * @param timeoutMs Time after which all open connections are destroyed.
   */
  close(timeoutMs?: number): Promise<void>
}

interface ServerState {
  readonly answer: Api['answer']
  readonly observe: ServerOptions['observe']
  readonly logger: Logger
  readonly limits: ServerLimits
  readonly server: Server
  readonly sockets: Set<Socket>
  readonly pipelines: WeakMap<Socket, Pipeline>
  readonly waiting: WaitingRequests
  readonly bodyBudget: BodyBudget
  readonly answerBudget: AnswerBudget
  closing: Promise<void> | undefined
}

/**
 * Serves an API on a port.
 *
 * @throws The error of node:net when the server cannot listen on the address.
 */
export async function listen({ answer, logger, observe, fd, ...options }: ServerOptions): Promise<RunningServer> {
  const limits = { ...defaultLimits, ...options.limits }
  const server = createServer(serverSettings(limits))
  server.setTimeout(limits.silenceMs)
  // By default Node drops headers after the first thousand silently. The server must see them all to refuse them.
  server.maxHeadersCount = 0
  const state: ServerState = {
    answer,
    observe,
    logger,
    limits,
    server,
    sockets: new Set(),
    pipelines: new WeakMap(),
    waiting: { count: 0, max: limits.waitingRequests },
    bodyBudget: { leftBytes: limits.bodiesBytes },
    answerBudget: new AnswerBudget(limits.answersBytes),
    closing: undefined,
  }
  addListeners(state)
  // polka neither awaits handlers nor catches their errors, and it answers HEAD with 404. So `serve` handles every request.
  polka({ server, onNoMatch: (req, res) => serve(state, req, res) }).listen(
    fd === undefined ? { host: options.host, port: options.port } : { fd },
  )
  await once(server, 'listening')
  server.on('error', (error) => logger.error({ err: error }, 'server failed'))
  return {
    ...addressOf(server, fd, options.host),
    close: (timeoutMs = 10_000) => (state.closing ??= close(state, timeoutMs)),
  }
}

/** Returns the requested host with the actual port. The address of an inherited socket comes from the socket itself. */
function addressOf(server: Server, fd: number | undefined, requestedHost: string): Omit<RunningServer, 'close'> {
  const bound = server.address() as AddressInfo | string
  if (typeof bound === 'string') return { url: `unix:${bound}`, host: bound, port: 0 }
  const host = fd === undefined ? requestedHost : bound.address
  return { url: `http://${host.includes(':') ? `[${host}]` : host}:${bound.port}`, host, port: bound.port }
}

function serverSettings(limits: ServerLimits) {
  return {
    maxHeaderSize: limits.headerBytes,
    headersTimeout: limits.headersMs,
    requestTimeout: 0, // an uploaded file may take longer; see `limitArrivalTime`
    connectionsCheckingInterval: Math.min(limits.headersMs, limits.requestMs) / 10,
    keepAliveTimeout: limits.keepAliveMs,
    // By default Node drops a second Authorization header. The API must see both to refuse the request.
    joinDuplicateHeaders: true,
    // Node's own answer has no body. `reply` checks the header instead.
    requireHostHeader: false,
  }
}

/** Tracks the sockets and handles everything on them that is not an ordinary request. */
function addListeners(state: ServerState): void {
  const { server, sockets } = state
  server.on('connection', (socket) => {
    sockets.add(socket)
    socket.once('close', () => sockets.delete(socket))
  })
  server.on('checkContinue', (req, res) => serve(state, req, res, true))
  // A server may ignore other expectations (RFC 9110, 10.1.1).
  server.on('checkExpectation', (req, res) => serve(state, req, res))
  server.on('connect', (_, socket) => sendRaw(socket as Socket, brokenAnswer(undefined)))
  server.on('clientError', (error, socket) => {
    rejectBroken(state, error, socket as Socket)
  })
}

function rejectBroken({ logger, pipelines }: ServerState, error: NodeJS.ErrnoException, socket: Socket): void {
  logger.debug({ reason: error.code }, 'broken request')
  answerBroken(error, socket, pipelines.get(socket))
}

function serve(state: ServerState, req: IncomingMessage, res: ServerResponse, awaitsContinue = false): void {
  const exchange: HttpExchange = {
    req,
    res,
    awaitsContinue,
    bodyBudget: state.bodyBudget,
    answerBudget: state.answerBudget,
  }
  let pipeline = state.pipelines.get(req.socket)
  if (!pipeline) {
    pipeline = new Pipeline(req.socket, state.waiting, (next) => begin(state, next))
    state.pipelines.set(req.socket, pipeline)
  }
  if (isUnread(exchange)) limitArrivalTime(state, exchange, pipeline)
  pipeline.add(exchange)
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

function begin(state: ServerState, exchange: HttpExchange): void {
  reply(state, exchange).catch((error: unknown) => {
    state.logger.error({ err: error }, 'request could not be answered')
    exchange.res.destroy()
  })
}

/** Routes that monitors poll every few seconds. Successful requests to them are logged at level debug. */
const quietRoutes: ReadonlySet<string> = new Set(['/healthz', '/readyz', '/metrics'])

async function reply(state: ServerState, exchange: HttpExchange): Promise<void> {
  const startedMs = performance.now()
  const { req } = exchange
  const request: ApiRequest = {
    method: req.method ?? 'GET',
    target: req.url ?? '/',
    headers: req.headers,
    body: () => readBody(exchange, state.limits.bodyBytes),
    stream: () => streamBody(exchange),
    buildLarge: (make) => state.answerBudget.build(exchange.res, make),
  }
  const refused = refuseEarly(state, req, request)
  const answer = refused ?? (await callApi(state, exchange, request))
  const aborted = req.socket.destroyed
  const response = aborted ? answer : await withinBudget(state, exchange, request, answer)
  send(exchange, response, state.closing !== undefined || refused !== undefined, state.limits)
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

async function callApi(state: ServerState, exchange: HttpExchange, request: ApiRequest): Promise<ApiResponse> {
  try {
    return await state.answer(request)
  } finally {
    releaseBody(exchange)
  }
}

/** @returns The answer, or 503 when it does not fit the budget. A change that the answer reports stays committed. */
async function withinBudget(
  { answerBudget }: ServerState,
  { res }: HttpExchange,
  request: ApiRequest,
  response: ApiResponse,
): Promise<ApiResponse> {
  const { body, stream, route } = response
  const fits = stream ? answerBudget.hasRoom : body === undefined || answerBudget.take(Buffer.byteLength(body), res)
  if (fits) return response
  await stream?.[Symbol.asyncIterator]().return?.()
  const context = { requestId: requestIdOf(request), method: request.method, ...(route !== undefined && { route }) }
  return encodeError(context, answersOverloaded())
}

/** @returns The answer to a request that never reaches the API; its connection ends with it. */
function refuseEarly(state: ServerState, req: IncomingMessage, request: ApiRequest): ApiResponse | undefined {
  if (state.closing !== undefined) {
    const error = new MailkeepError('unavailable', 'The service is going down.')
    return encodeError({ requestId: requestIdOf(request), method: request.method }, error)
  }
  // rawHeaders alternates names and values.
  if (req.rawHeaders.length > 2 * state.limits.headerFields) return brokenAnswer('HPE_HEADER_OVERFLOW')
  // A request of HTTP/1.1 must have exactly one Host header (RFC 9112, 3.2).
  const { host } = req.headers
  const malformed = host === undefined ? req.httpVersion === '1.1' : host.includes(',')
  return malformed ? brokenAnswer(undefined) : undefined
}

async function close({ server, sockets }: ServerState, timeoutMs: number): Promise<void> {
  const closed = new Promise<void>((resolve) => server.close(() => resolve()))
  // Node counts connections that never sent anything as busy.
  for (const socket of sockets) if (socket.bytesRead === 0) socket.destroy()
  // Connections with an answer in progress become idle only later, so sweep repeatedly.
  const sweep = setInterval(() => server.closeIdleConnections(), 50)
  const deadline = setTimeout(() => server.closeAllConnections(), timeoutMs)
  await closed
  clearInterval(sweep)
  clearTimeout(deadline)
}
