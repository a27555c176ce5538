/** The HTTP API without a server: a request as plain data in, an answer as plain data out. */

import { type ClientOperations, type Mailkeep, MailkeepError, unchecked } from '../../lib/index.ts'
import { checkApiOptions, type ErrorLog, errorLogOf } from './api-options.ts'
import { type Authenticate, askHost, authenticate } from './authenticate.ts'
import { readFields, refuseFields } from './body.ts'
import { encodeDownload } from './download.ts'
import { encode, encodeError, type ResponseContext, requestIdOf } from './encode.ts'
import { toPublicError } from './errors.ts'
import { type ApiRequest, type ApiResponse, header } from './http-types.ts'
import { keyOf, performOnce } from './idempotency.ts'
import { readQuery, refuseParameters } from './query.ts'
import { compileRoutes, type Match } from './router.ts'
import { routes } from './routes/index.ts'
import type { Call, Outcome, Route } from './routes/route.ts'
import { answerServicePage, isDescription, type MetricsPage } from './service-pages.ts'
import { absoluteUrl, readTarget, type Target } from './target.ts'
import { readUpload } from './upload.ts'

export type { ApiRequest, ApiResponse } from './http-types.ts'
export type { MetricsPage } from './service-pages.ts'

export interface ApiOptions {
  readonly mailkeep: Mailkeep
  /**
   * Where unforeseen errors go, with their stack and the request's id. Default: the Mailkeep's own logger, or the
   * console when it has none.
   */
  readonly logger?: ErrorLog
  /** The URL clients see, for `meta.path`; else `http://` and the request's `Host`. */
  readonly publicUrl?: string
  /** Shown under `/metrics`, if there is one. */
  readonly metrics?: MetricsPage
  /** The host's own authentication instead of bearer tokens; it is asked with the request's `source`. */
  readonly authenticate?: Authenticate<never>
  /** Whether a host answers what is not below `/api/v1`: then the API's description says nothing of such paths. */
  readonly mounted?: boolean
}

export interface Api {
  /** Answers one request. Never throws: what goes wrong is an answer too. */
  answer(request: ApiRequest): Promise<ApiResponse>
  /** Where unforeseen errors go. */
  readonly logger: ErrorLog
  /** @returns whether a request target's path is one of the API's, whatever the method. */
  knows(target: string): boolean
}

type LoggedOptions = ApiOptions & { readonly logger: ErrorLog }

/** What is known of a request so far; an error's answer wants it as well. */
interface RequestState {
  readonly request: ApiRequest
  readonly context: ResponseContext
  readonly target: Target
  match?: Match
  route?: Route
}

/**
 * The API over a mailkeep, for any HTTP server to mount: it owns no socket and reads no environment.
 *
 * @throws MailkeepError `validation_failed`: no Mailkeep, or an unknown option.
 * @example
 * const { answer } = createApi({ mailkeep })
 * const { status, headers, body } = await answer({ method: 'GET', target: '/api/v1/tags', headers, body: readBody })
 */
export function createApi(options: ApiOptions): Api {
  checkApiOptions(options, optionNames)
  const logger = errorLogOf(options.mailkeep, options.logger)
  const logged: LoggedOptions = { ...options, logger }
  return { answer: (request) => answer(logged, request), logger, knows }
}

const optionNames = Object.keys({
  mailkeep: true,
  logger: true,
  publicUrl: true,
  metrics: true,
  authenticate: true,
  mounted: true,
} satisfies Record<keyof ApiOptions, true>)

const prefix = '/api/v1'
const findPath = compileRoutes(routes)

function knows(target: string): boolean {
  const { segments } = readTarget(target)
  const [api, version, ...path] = segments
  if (isDescription(segments)) return true
  return api === 'api' && version === 'v1' && findPath(path) !== undefined
}

async function answer(options: LoggedOptions, request: ApiRequest): Promise<ApiResponse> {
  const to: ResponseContext = { requestId: requestIdOf(request), method: request.method }
  const exchange: RequestState = { request, context: to, target: readTarget(request.target) }
  try {
    const operation = answerServicePage(options, request, exchange.target, to)
    if (operation) return await operation
    const outcome = await perform(options, exchange)
    if (outcome.download) return encodeDownload(to, outcome.status, outcome.download, options.logger)
    const replayed = outcome.replayed ? { 'Idempotency-Replayed': 'true' } : {}
    return encode(to, outcome.status, bodyOf(options, exchange, outcome), replayed)
  } catch (error) {
    const shown = toPublicError(error, to.requestId, options.logger)
    const allow = shown.code === 'method_not_allowed' && exchange.match ? { Allow: exchange.match.allow } : {}
    return encodeError(to, shown, allow)
  }
}

/** The order of the answers is the contract's: each step stands before all that it must hide. */
async function perform({ mailkeep, authenticate: host }: ApiOptions, exchange: RequestState): Promise<Outcome> {
  const { request, target } = exchange
  const [api, version, ...path] = target.segments
  if (api !== 'api' || version !== 'v1') throw noSuchRoute()
  const caller = host ? await askHost(host, request) : await authenticate(mailkeep, request)
  if (caller.tokenId !== undefined) exchange.context.tokenId = caller.tokenId
  const match = findPath(path)
  if (!match) throw noSuchRoute()
  exchange.match = match
  const route = match.methods.get(request.method === 'HEAD' ? 'GET' : request.method)
  if (!route) throw new MailkeepError('method_not_allowed', 'This path does not know this method.')
  exchange.route = route
  exchange.context.route = prefix + route.path
  if (route.role === 'admin' && caller.role !== 'admin') {
    throw new MailkeepError('forbidden', 'This needs a token with the role admin.')
  }
  const given = { params: match.params, ...(await inputOf(request, route, target)) }
  const call = (client: ClientOperations) => route.call({ client: unchecked(client), ...given })
  const client = mailkeep.forClient(caller.clientId)
  if (route.large && request.buildLarge) return await request.buildLarge(() => call(client))
  const key = keyOf(request, route)
  return key === undefined ? await call(client) : await performOnce(client, key, ['POST', path, given.body], call)
}

/** What the request brings, as its route takes it. */
async function inputOf(request: ApiRequest, route: Route, target: Target): Promise<Omit<Call, 'client' | 'params'>> {
  const query = readQuery(target.query)
  if (!route.hasQuery) refuseParameters(query)
  const upload = route.takes === 'file' ? { upload: await readUpload(request) } : {}
  const body = takesFields(route) ? await readFields(request) : {}
  if (route.fields === 'none') refuseFields(body)
  return { query, body, accept: header(request, 'accept') ?? '', ...upload }
}

function takesFields({ method, takes }: Route): boolean {
  if (takes === 'file') return false
  return method === 'POST' || method === 'PUT' || method === 'PATCH'
}

function noSuchRoute(): MailkeepError {
  return new MailkeepError('not_found', 'There is nothing here.')
}

/** @returns the body of an answer; undefined: none. */
function bodyOf(
  { publicUrl }: ApiOptions,
  { request, target, route }: RequestState,
  outcome: Outcome,
): string | undefined {
  const { data, meta } = outcome
  const json = outcome.json ?? (data === undefined ? undefined : JSON.stringify(data))
  if (json === undefined) return undefined
  if (!meta) return `{"data":${json}}`
  const shown = route?.metaPath === 'none' ? meta : { path: absoluteUrl(request, target, publicUrl), ...meta }
  return `{"data":${json},"meta":${JSON.stringify(shown)}}`
}
