import { once } from 'node:events'
import { createServer, type Server } from 'node:http'
import { type AddressInfo, Server as NetServer, type Socket } from 'node:net'
import type { Url } from 'node:url'
import polka from 'polka'
import type { Logger } from '../../lib/index.ts'
import { hostAndPort } from '../../lib/internal.ts'
import { refuse } from '../api/encode.ts'
import { nothingHere } from '../api/errors.ts'
import type { Respond, Surfaces } from '../api/index.ts'
import { readTarget } from '../api/target.ts'
import { AnswerBudget } from './answer-budget.ts'
import { brokenAnswer, sendRaw } from './broken-request.ts'
import {
  answerWith,
  type Observe,
  type RequestLimits,
  refuseEarly,
  rejectBroken,
  type ServerState,
  takeTurn,
} from './middleware.ts'
import type { Pipeline } from './pipeline.ts'
import { cutOff, defaultSendLimits } from './send.ts'
import { SharedMemory } from './shared-memory.ts'

export interface ServerLimits extends RequestLimits {
  /** Maximum size of all headers of one request. */
  readonly headerBytes: number
  /** Time for the headers to arrive. */
  readonly headersMs: number
  /** Idle timeout of a connection between requests. Longer than a load balancer's, so that the balancer closes first. */
  readonly keepAliveMs: number
  /** Budget for the bodies of all unanswered requests. Small bodies do not count. */
  readonly bodiesBytes: number
  /** Budget for all answers that sockets have not accepted yet. Small answers do not count. */
  readonly answersBytes: number
  /** Maximum pipelined requests that wait, over all connections. */
  readonly waitingRequests: number
  /** Socket timeout: maximum time in which the client neither sends the rest of a request nor reads an answer. */
  readonly silenceMs: number
}

const defaultLimits: ServerLimits = {
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

interface ServerOptions {
  /** The surfaces, by path pattern of polka. Every other path is answered with 404. */
  readonly surfaces: Surfaces
  readonly logger: Logger
  readonly host: string
  /** 0 chooses a free port. */
  readonly port: number
  readonly limits?: Partial<ServerLimits>
  /** File descriptor of an inherited listening socket. Replaces host and port. */
  readonly fd?: number | undefined
  /** Called after each answered request. */
  readonly observe?: Observe
  /** Requests wait until this resolves. */
  readonly ready?: Promise<unknown>
}

export interface RunningServer {
  /** `unix:` for a Unix socket, whose path is unknown. */
  readonly url: string
  /** Empty for a Unix socket. */
  readonly host: string
  /** 0 for a Unix socket. */
  readonly port: number
  /**
   * Refuses new requests, finishes the running ones, and closes all connections. Those without a request stay open for a
   * quarter of a second.
   *
   * @param timeoutMs Time after which all open connections are destroyed.
   */
  close(timeoutMs?: number): Promise<void>
}

/**
 * Serves on a port.
 *
 * @throws The error of node:net when the server cannot listen on the address.
 */
export async function listen({
  surfaces,
  logger,
  observe,
  ready,
  fd,
  ...options
}: ServerOptions): Promise<RunningServer> {
  const limits = { ...defaultLimits, ...options.limits }
  const server = createServer(serverSettings(limits))
  server.setTimeout(limits.silenceMs)
  // By default Node drops headers after the first thousand silently. The server must see them all to refuse them.
  server.maxHeadersCount = 0
  // A client may end its side of the connection after its request (RFC 9112, 9.6). It gets its answer.
  Object.assign(server, { httpAllowHalfOpen: true })
  const sockets = trackSockets(server)
  const state: ServerState = {
    observe,
    logger,
    limits,
    awaitingContinue: new WeakSet(),
    pipelines: new WeakMap(),
    waiting: { count: 0, max: limits.waitingRequests },
    bodyMemory: new SharedMemory(limits.bodiesBytes),
    answerBudget: new AnswerBudget(limits.answersBytes),
    opening: ready,
    closing: undefined,
  }
  const app = appFor(server, state, surfaces)
  handleUnusual(server, state, app)
  void ready?.then(() => {
    state.opening = undefined
  })
  app.listen(fd === undefined ? { host: options.host, port: options.port } : { fd })
  await once(server, 'listening')
  server.on('error', (error) => logger.error({ err: error }, 'server failed'))
  return {
    ...addressOf(server, fd, options.host),
    close: (timeoutMs = 10_000) => (state.closing ??= close(server, state, sockets, timeoutMs)),
  }
}

/** Routes each request to its surface. `all` registers every method: polka has no route for HEAD where it has one for GET. */
function appFor(server: Server, state: ServerState, surfaces: Surfaces): polka.Polka {
  const app = polka({ server, onNoMatch: answerWith(state, refuseUnknown) })
  // polka takes a path as it is written. The query is left to the surfaces.
  app.parse = ({ url = '/' }) => ({ pathname: readTarget(url).path, query: null, search: null }) as Url
  app.use(takeTurn(state), refuseEarly(state))
  for (const [pattern, answer] of Object.entries(surfaces)) app.all(pattern, answerWith(state, answer))
  return app
}

const refuseUnknown: Respond = async (request) => refuse(request, nothingHere())

/** Returns the requested host with the actual port. The address of an inherited socket comes from the socket itself. */
function addressOf(server: Server, fd: number | undefined, requestedHost: string): Omit<RunningServer, 'close'> {
  const bound = server.address() as AddressInfo | null
  if (bound === null) return { url: 'unix:', host: '', port: 0 }
  const host = fd === undefined ? requestedHost : bound.address
  return { url: `http://${hostAndPort(host, bound.port)}`, host, port: bound.port }
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
    // Node's own answer has no body. `refuseEarly` checks the header instead.
    requireHostHeader: false,
  }
}

function trackSockets(server: Server): ReadonlySet<Socket> {
  const sockets = new Set<Socket>()
  server.on('connection', (socket) => {
    sockets.add(socket)
    socket.once('close', () => sockets.delete(socket))
  })
  return sockets
}

/** Handles everything that node:http does not report as an ordinary request. */
function handleUnusual(server: Server, state: ServerState, app: polka.Polka): void {
  server.on('checkContinue', (req, res) => {
    state.awaitingContinue.add(req)
    app.handler(req as polka.Request, res)
  })
  // A server may ignore other expectations (RFC 9110, 10.1.1).
  server.on('checkExpectation', (req, res) => app.handler(req as polka.Request, res))
  server.on('connect', (_, socket) => sendRaw(socket as Socket, brokenAnswer(undefined)))
  server.on('timeout', (socket) => {
    const pipeline = state.pipelines.get(socket)
    if (pipeline?.isWorking) {
      socket.setTimeout(server.timeout)
      return
    }
    cutOffUnfinished(pipeline)
    socket.destroy()
  })
  server.on('clientError', (error, socket) => rejectBroken(state, error, socket as Socket))
}

function cutOffUnfinished(pipeline: Pipeline | undefined): void {
  if (pipeline?.last && pipeline.count > 0) cutOff(pipeline.last)
}

/** Idle connections stay open for this time: a request that is on its way gets 503, and not a reset. */
const idleGraceMs = 250

async function close(
  server: Server,
  { pipelines }: ServerState,
  sockets: ReadonlySet<Socket>,
  timeoutMs: number,
): Promise<void> {
  // That of node:http would close the idle connections at once.
  const closed = new Promise<void>((resolve) => NetServer.prototype.close.call(server, () => resolve()))
  let sweep: NodeJS.Timeout | undefined
  const grace = setTimeout(() => {
    // Node counts connections that never sent anything as busy.
    for (const socket of sockets) if (socket.bytesRead === 0) socket.destroy()
    // Connections with an answer in progress become idle only later, so sweep repeatedly.
    server.closeIdleConnections()
    sweep = setInterval(() => server.closeIdleConnections(), 50)
  }, idleGraceMs)
  const deadline = setTimeout(() => {
    for (const socket of sockets) cutOffUnfinished(pipelines.get(socket))
    server.closeAllConnections()
  }, timeoutMs)
  await closed
  server.close() // ends the timer of node:http
  clearTimeout(grace)
  clearInterval(sweep)
  clearTimeout(deadline)
}
