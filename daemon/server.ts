import { once } from 'node:events'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'
import polka from 'polka'
import { type Logger, MailkeepError } from '../lib/index.ts'
import { AnswerBudget, noRoom } from './answer-budget.ts'
import { encodeError, requestIdOf } from './api/encode.ts'
import type { Api, ApiRequest, ApiResponse } from './api/index.ts'
import { answerBroken, brokenAnswer, sendRaw } from './broken-request.ts'
import { Pipeline, type Waiting } from './pipeline.ts'
import { type BodyBudget, type HttpExchange, isUnread, readBody, releaseBody, streamBody } from './request-body.ts'
import { defaultSendLimits, type SendLimits, send } from './send.ts'

export interface ServerLimits extends SendLimits {
  /** For all headers of a request, in bytes and in fields. */
  readonly headerBytes: number
  readonly headerFields: number
  /** For the headers to arrive, and for the whole request. */
  readonly headersMs: number
  readonly requestMs: number
  /** How long a connection may idle between requests: longer than load balancers keep theirs. */
  readonly keepAliveMs: number
  /** For the bodies of all requests that are not answered, in bytes; small ones do not count. */
  readonly bodiesBytes: number
  /** For all answers that sockets have not taken, in bytes; small ones do not count. */
  readonly answersBytes: number
  /** Requests sent ahead of their answers that wait, on all connections. */
  readonly waitingRequests: number
  /** How long a client may neither send nor take anything. */
  readonly silenceMs: number
}

export const defaultLimits: ServerLimits = {
  ...defaultSendLimits,
  headerBytes: 16 * 1024,
  headerFields: 1000,
  // A process with 512 MB of heap survives both at once: a large body takes about twice its bytes once it is parsed, a
  // large answer its bytes twice while it is made.
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
  /** 0 takes a free one. */
  readonly port: number
  readonly limits?: Partial<ServerLimits>
  /** A listening socket that was handed to us, instead of host and port. */
  readonly fd?: number | undefined
  /** Hears of every request that was answered. */
  readonly observe?: (answered: { method: string; route: string; status: number; ms: number }) => void
}

export interface RunningServer {
  readonly url: string
  readonly host: string
  readonly port: number
  /**
   * Takes no more requests, finishes those under way, and closes all connections.
   *
   * @param timeoutMs After which connections are cut, whatever they do.
   */
  close(timeoutMs?: number): Promise<void>
}

interface State {
  readonly answer: Api['answer']
  readonly observe: ServerOptions['observe']
  readonly logger: Logger
  readonly limits: ServerLimits
  readonly server: Server
  readonly sockets: Set<Socket>
  readonly pipelines: WeakMap<Socket, Pipeline>
  readonly waiting: Waiting
  readonly room: BodyBudget
  readonly answers: AnswerBudget
  closing: Promise<void> | undefined
}

/**
 * Serves an API on a port.
 *
 * @throws the error of node:net when the address cannot be listened on.
 */
export async function listen({ answer, logger, observe, fd, ...options }: ServerOptions): Promise<RunningServer> {
  const limits = { ...defaultLimits, ...options.limits }
  const server = createServer(serverSettings(limits))
  server.setTimeout(limits.silenceMs)
  // Else node leaves out the fields beyond a thousand without a word: all must be seen to be refused.
  server.maxHeadersCount = 0
  const state: State = {
    answer,
    observe,
    logger,
    limits,
    server,
    sockets: new Set(),
    pipelines: new WeakMap(),
    waiting: { count: 0, most: limits.waitingRequests },
    room: { leftBytes: limits.bodiesBytes },
    answers: new AnswerBudget(limits.answersBytes),
    closing: undefined,
  }
  attend(state)
  // polka neither awaits nor catches what it calls, and answers HEAD with 404: it hands everything to `serve`.
  polka({ server, onNoMatch: (req, res) => serve(state, req, res) }).listen(
    fd === undefined ? { host: options.host, port: options.port } : { fd },
  )
  await once(server, 'listening')
  server.on('error', (error) => logger.error({ err: error }, 'server failed'))
  return {
    ...placeOf(server, fd, options.host),
    close: (timeoutMs = 10_000) => (state.closing ??= close(state, timeoutMs)),
  }
}

/** What was asked for, with the port that was found; of a socket that was handed to us, what it says itself. */
function placeOf(server: Server, fd: number | undefined, asked: string): Omit<RunningServer, 'close'> {
  const bound = server.address() as AddressInfo | string
  if (typeof bound === 'string') return { url: `unix:${bound}`, host: bound, port: 0 }
  const host = fd === undefined ? asked : bound.address
  return { url: `http://${host.includes(':') ? `[${host}]` : host}:${bound.port}`, host, port: bound.port }
}

function serverSettings(limits: ServerLimits) {
  return {
    maxHeaderSize: limits.headerBytes,
    headersTimeout: limits.headersMs,
    requestTimeout: 0, // a file may take longer: see `limitTime`
    connectionsCheckingInterval: Math.min(limits.headersMs, limits.requestMs) / 10,
    keepAliveTimeout: limits.keepAliveMs,
    // Two Authorization headers must be seen as two; node would drop the second.
    joinDuplicateHeaders: true,
    // node's own answer has no body: see `reply`.
    requireHostHeader: false,
  }
}

/** Everything on a socket that is not an ordinary request. */
function attend(state: State): void {
  const { server, sockets } = state
  server.on('connection', (socket) => {
    sockets.add(socket)
    socket.once('close', () => sockets.delete(socket))
  })
  server.on('checkContinue', (req, res) => serve(state, req, res, true))
  // Other expectations may be ignored (RFC 9110, 10.1.1).
  server.on('checkExpectation', (req, res) => serve(state, req, res))
  server.on('connect', (_, socket) => sendRaw(socket as Socket, brokenAnswer(undefined)))
  server.on('clientError', (error, socket) => {
    breakOff(state, error, socket as Socket)
  })
}

function breakOff({ logger, pipelines }: State, error: NodeJS.ErrnoException, socket: Socket): void {
  logger.debug({ reason: error.code }, 'broken request')
  answerBroken(error, socket, pipelines.get(socket))
}

function serve(state: State, req: IncomingMessage, res: ServerResponse, awaitsContinue = false): void {
  const turn: HttpExchange = { req, res, awaitsContinue, room: state.room, answers: state.answers }
  let pipeline = state.pipelines.get(req.socket)
  if (!pipeline) {
    pipeline = new Pipeline(req.socket, state.waiting, (next) => begin(state, next))
    state.pipelines.set(req.socket, pipeline)
  }
  if (isUnread(turn)) limitTime(state, turn, pipeline)
  pipeline.add(turn)
}

class RequestTimeout extends Error {
  readonly code = 'ERR_HTTP_REQUEST_TIMEOUT'
}

/**
 * A body must have arrived in time, unless it is a file: that one only must not fall silent. Behind an answer that is
 * still being sent it has more time, since cutting the connection would cut that off.
 */
function limitTime(state: State, turn: HttpExchange, pipeline: Pipeline): void {
  const { req } = turn
  const timer = setInterval(() => {
    // A request does not close where its connection goes after its answer and before its end.
    if (req.complete || req.socket.destroyed) clearInterval(timer)
    else if (!turn.streams && pipeline.count <= 1) breakOff(state, new RequestTimeout(), req.socket)
  }, state.limits.requestMs).unref()
  req.once('close', () => clearInterval(timer))
}

function begin(state: State, turn: HttpExchange): void {
  reply(state, turn).catch((error: unknown) => {
    state.logger.error({ err: error }, 'request could not be answered')
    turn.res.destroy()
  })
}

/** Asked every few seconds by machines that remember the answers themselves. */
const quiet: ReadonlySet<string> = new Set(['/healthz', '/readyz', '/metrics'])

async function reply(state: State, turn: HttpExchange): Promise<void> {
  const startedMs = performance.now()
  const { req } = turn
  const request: ApiRequest = {
    method: req.method ?? 'GET',
    target: req.url ?? '/',
    headers: req.headers,
    body: () => readBody(turn, state.limits.bodyBytes),
    stream: () => streamBody(turn),
    buildLarge: (make) => state.answers.build(turn.res, make),
  }
  const early = refusal(state, req, request)
  const made = early ?? (await answerOf(state, turn, request))
  const aborted = req.socket.destroyed
  const response = aborted ? made : await withinBudget(state, turn, request, made)
  send(turn, response, state.closing !== undefined || early !== undefined, state.limits)
  const ms = performance.now() - startedMs
  // The pattern: a path as sent may hold anything, and ids are somebody's.
  const { status, route = 'unknown' } = response
  state.observe?.({ method: request.method, route, status, ms })
  state.logger[quiet.has(route) && status < 400 ? 'debug' : 'info'](
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

async function answerOf(state: State, turn: HttpExchange, request: ApiRequest): Promise<ApiResponse> {
  try {
    return await state.answer(request)
  } finally {
    releaseBody(turn)
  }
}

/** @returns the answer itself, or 503 where there is no room for it. A change that it reports is made all the same. */
async function withinBudget(
  { answers }: State,
  { res }: HttpExchange,
  request: ApiRequest,
  response: ApiResponse,
): Promise<ApiResponse> {
  const { body, stream, route } = response
  if (stream ? answers.hasRoom : body === undefined || answers.take(Buffer.byteLength(body), res)) return response
  await stream?.[Symbol.asyncIterator]().return?.()
  const to = { requestId: requestIdOf(request), method: request.method, ...(route !== undefined && { route }) }
  return encodeError(to, noRoom())
}

/** What is answered without asking the API, and ends the connection. */
function refusal(state: State, req: IncomingMessage, request: ApiRequest): ApiResponse | undefined {
  if (state.closing !== undefined) {
    const error = new MailkeepError('unavailable', 'The service is going down.')
    return encodeError({ requestId: requestIdOf(request), method: request.method }, error)
  }
  // Names and values take turns there.
  if (req.rawHeaders.length > 2 * state.limits.headerFields) return brokenAnswer('HPE_HEADER_OVERFLOW')
  // RFC 9112, 3.2: a request of HTTP/1.1 has exactly one Host.
  const { host } = req.headers
  const malformed = host === undefined ? req.httpVersion === '1.1' : host.includes(',')
  return malformed ? brokenAnswer(undefined) : undefined
}

async function close({ server, sockets }: State, timeoutMs: number): Promise<void> {
  const closed = new Promise<void>((resolve) => server.close(() => resolve()))
  // Connections that never sent anything count as busy to node.
  for (const socket of sockets) if (socket.bytesRead === 0) socket.destroy()
  // Those whose answer was on its way when closing began idle only afterwards.
  const sweep = setInterval(() => server.closeIdleConnections(), 50)
  const deadline = setTimeout(() => server.closeAllConnections(), timeoutMs)
  await closed
  clearInterval(sweep)
  clearTimeout(deadline)
}
