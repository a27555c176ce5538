/** The HTTP API without a server: maps a request, as plain data, to an answer, as plain data. */

import { type ClientOperations, type Mailkeep, MailkeepError, type Principal, unchecked } from '../../lib/index.ts'
import { checkApiOptions, type ErrorLog, errorLogOf } from './api-options.ts'
import { type Authenticate, askHost, authenticate, requireRole } from './authenticate.ts'
import { readFields } from './body.ts'
import { encode, encodeDownload, encodeError, type ResponseContext, requestIdOf } from './encode.ts'
import { methodNotAllowed, noConsole, nothingHere, toPublicError } from './errors.ts'
import { type ApiRequest, type ApiResponse, header } from './http-types.ts'
import { keyOf, performOnce, performThenStore } from './idempotency.ts'
import { type Inbound, inboundPages } from './inbound.ts'
import { readQuery } from './query.ts'
import { compileRoutes } from './router.ts'
import { routes } from './routes/index.ts'
import type { Call, Route, RouteResult } from './routes/route.ts'
import { descriptionPage, descriptionPath, type MetricsPage, servicePages } from './service-pages.ts'
import { baseUrl, readTarget, type Target } from './target.ts'
import { readUpload } from './upload.ts'

export type { ApiRequest, ApiResponse } from './http-types.ts'
export type { MetricsPage } from './service-pages.ts'

export interface ApiOptions {
  readonly mailkeep: Mailkeep
  /**
   * Log for unexpected errors, with their stack and the request's id. Default: the Mailkeep's logger, or the console if
   * it has none.
   */
  readonly logger?: ErrorLog | undefined
  /** Public base URL, for `meta.path`. Default: `http://` and the request's `Host`. */
  readonly publicUrl?: string | undefined
  /** Content of `/metrics`. Without it the path is not found. */
  readonly metrics?: MetricsPage
  /** The host's own authentication instead of bearer tokens. Called with the request's `source`. */
  readonly authenticate?: Authenticate<never> | undefined
  /** Whether a host mounts the API. The OpenAPI description then omits paths outside `/api/v1`. */
  readonly mounted?: boolean
  /** Takes the reports of mail providers. Without it their paths are not found. */
  readonly inbound?: Inbound | undefined
  /** Whether this server has the console. Without it there are no links to the console's pages. Default: true. */
  readonly console?: boolean
}

/** Answers requests, such as those of the API or of the console. Never rejects: errors become answers. */
export type Respond = (request: ApiRequest) => Promise<ApiResponse>

/** The parts that a server serves, by path pattern of polka. */
export type Surfaces = Readonly<Record<string, Respond>>

export interface Api {
  /** Answers any request, for hosts that do not route by `surfaces`. */
  readonly answer: Respond
  /** The service pages, and the API at `/api/v1` and below. */
  readonly surfaces: Surfaces
  /** Only the service pages: `/healthz`, `/readyz` and `/metrics`. */
  readonly pages: Surfaces
  /** Log for unexpected errors. */
  readonly logger: ErrorLog
  /** @returns Whether the API has this path, with any method. */
  knows(target: string): boolean
}

type LoggedOptions = ApiOptions & { readonly logger: ErrorLog }

/** Facts collected while a request is processed. Error answers need them too. */
export interface RequestState {
  readonly request: ApiRequest
  readonly context: ResponseContext
  readonly target: Target
  /** Methods of the path, once it has matched: the value of `Allow`. */
  allow?: string
}

/** Answers the requests for one surface. Its errors become answers. */
export type RequestHandler = (options: LoggedOptions, state: RequestState) => Promise<ApiResponse>

/**
 * Creates the API of a Mailkeep, for any HTTP server. It opens no socket and reads no environment.
 *
 * @throws MailkeepError `validation_failed`: no Mailkeep, or a wrong or unknown option.
 * @example
 * const { answer } = createApi({ mailkeep })
 * const { status, headers, body } = await answer({ method: 'GET', target: '/api/v1/tags', headers, body: readBody })
 */
export function createApi(options: ApiOptions): Api {
  checkApiOptions(options, optionNames)
  const logger = errorLogOf(options.mailkeep, options.logger)
  const logged: LoggedOptions = { ...options, logger }
  const surfaceOf = (handler: RequestHandler) => (request: ApiRequest) => answer(logged, request, handler)
  const surfacesOf = (handlers: Readonly<Record<string, RequestHandler>>): Surfaces =>
    Object.fromEntries(Object.entries(handlers).map(([path, handler]) => [path, surfaceOf(handler)]))
  const pages = surfacesOf(servicePages)
  // Without `inbound` these paths are unknown like any other: below the prefix, a missing token is 401.
  const inbound = options.inbound ? surfacesOf(inboundPages(options.inbound)) : {}
  const exact: Surfaces = { ...pages, ...inbound, [descriptionPath]: surfaceOf(descriptionPage) }
  const api = surfaceOf(answerRoute)
  return {
    answer: (request) => (exact[readTarget(request.target).path] ?? api)(request),
    surfaces: { ...exact, [prefix]: api, [`${prefix}/*`]: api },
    pages,
    logger,
    knows,
  }
}

const optionNames = Object.keys({
  mailkeep: true,
  logger: true,
  publicUrl: true,
  metrics: true,
  authenticate: true,
  mounted: true,
  inbound: true,
  console: true,
} satisfies Record<keyof ApiOptions, true>)

const prefix = '/api/v1'
const findPath = compileRoutes(routes)

/** @returns The path below the API's prefix; undefined for any other path. */
function belowPrefix(path: string): string | undefined {
  return path === prefix || path.startsWith(`${prefix}/`) ? path.slice(prefix.length) : undefined
}

function knows(target: string): boolean {
  const { path } = readTarget(target)
  const below = belowPrefix(path)
  return path === descriptionPath || (below !== undefined && findPath(below) !== undefined)
}

async function answer(options: LoggedOptions, request: ApiRequest, handler: RequestHandler): Promise<ApiResponse> {
  const context: ResponseContext = { requestId: requestIdOf(request), method: request.method }
  const state: RequestState = { request, context, target: readTarget(request.target) }
  try {
    return await handler(options, state)
  } catch (error) {
    const publicError = toPublicError(error, context.requestId, options.logger)
    const allow = publicError.code === 'method_not_allowed' && state.allow ? { Allow: state.allow } : {}
    return encodeError(context, publicError, allow)
  }
}

/**
 * Runs the checks in a fixed order, so that an error never reveals what a later check protects: authentication, path,
 * method, role, input.
 */
async function answerRoute(options: LoggedOptions, state: RequestState): Promise<ApiResponse> {
  const { mailkeep, authenticate: host } = options
  const { request, context, target } = state
  const path = belowPrefix(target.path)
  if (path === undefined) throw nothingHere()
  const caller = host ? await askHost(host, request) : await authenticate(mailkeep, request)
  if (caller.tokenId !== undefined) context.tokenId = caller.tokenId
  request.identify?.(caller.clientId)
  const match = findPath(path)
  if (!match) throw nothingHere()
  state.allow = match.allow
  const route = match.methods.get(request.method === 'HEAD' ? 'GET' : request.method)
  if (!route) throw methodNotAllowed()
  context.route = prefix + route.path
  requireRole(caller, route)
  if (route.needsConsole && options.console === false) throw noConsole()
  const input = { params: match.params, ...(await inputOf(request, route, target)) }
  const outcome = await perform(mailkeep, caller, request, route, path, input)
  if (outcome.download) return encodeDownload(context, outcome, options.logger)
  const replayed = outcome.replayed ? { 'Idempotency-Replayed': 'true' } : {}
  return encode(context, outcome.status, bodyOf(options, state, route, outcome), { ...replayed, ...outcome.headers })
}

/** Calls the route: when the memory budget allows a large answer, or once for each idempotency key. */
async function perform(
  mailkeep: Mailkeep,
  caller: Principal,
  request: ApiRequest,
  route: Route,
  path: string,
  input: Omit<Call, 'client'>,
): Promise<RouteResult> {
  // The audit log shows the caller's token.
  const { clientId, tokenId, role } = caller
  const client = mailkeep.forClient(clientId, { source: 'api', tokenId, role })
  const call = (operations: ClientOperations) => route.call({ client: unchecked(operations), ...input })
  const key = keyOf(request, route)
  const make = async () => {
    if (key === undefined) return await call(client)
    const named = ['POST', path.slice(1).split('/'), input.body]
    if (route.key === 'afterwards') return await performThenStore(caller, client, key, named, call)
    return await performOnce(client, key, named, call)
  }
  const isLarge = route.large === true || (route.large !== undefined && route.large in input.query)
  return isLarge && request.buildLarge ? await request.buildLarge(make) : await make()
}

/** Reads the request's query and body as its route requires. */
async function inputOf(request: ApiRequest, route: Route, target: Target): Promise<Omit<Call, 'client' | 'params'>> {
  const query = readQuery(target.query, route.query)
  if (!route.query) refuseAny('parameter', query)
  const upload = route.body === 'file' ? { upload: await readUpload(request) } : {}
  const { method } = request
  const takesFields = route.body !== undefined || method === 'POST' || method === 'PUT' || method === 'PATCH'
  const body = takesFields && route.body !== 'file' ? await readFields(request) : {}
  if (route.body === undefined) refuseAny('field', body)
  return { query, body, accept: header(request, 'accept') ?? '', ...upload }
}

/** Maximum names in an error. Naming all of them could make the answer larger than the request. */
const maxNames = 100

/**
 * Refuses every field of a body or parameter of a query, for routes without any.
 *
 * @throws MailkeepError `validation_failed` on each of them.
 */
function refuseAny(kind: 'field' | 'parameter', given: Readonly<Record<string, unknown>>): void {
  const names = Object.keys(given).slice(0, maxNames)
  if (names.length === 0) return
  const message = `There is no such ${kind} here: this operation takes none.`
  const errors = Object.fromEntries(names.map((name) => [name, [message]]))
  throw new MailkeepError('validation_failed', message, { errors })
}

/** @returns The body of an answer; undefined for none. */
function bodyOf(
  { publicUrl }: ApiOptions,
  { request, target }: RequestState,
  { metaPath }: Route,
  { data, json = data === undefined ? undefined : JSON.stringify(data), meta }: RouteResult,
): string | undefined {
  if (json === undefined) return undefined
  if (!meta) return `{"data":${json}}`
  const shown = metaPath === 'none' ? meta : { path: baseUrl(request, target, publicUrl) + target.path, ...meta }
  return `{"data":${json},"meta":${JSON.stringify(shown)}}`
}
