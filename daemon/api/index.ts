/** The HTTP API without a server: maps a request, as plain data, to an answer, as plain data. */

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
   * Log for unexpected errors, with their stack and the request's id. Default: the Mailkeep's logger, or the console if
   * it has none.
   */
  readonly logger?: ErrorLog
  /** Public base URL, for `meta.path`. Default: `http://` and the request's `Host`. */
  readonly publicUrl?: string
  /** Content of `/metrics`. Without it the path is not found. */
  readonly metrics?: MetricsPage
  /** The host's own authentication instead of bearer tokens. Called with the request's `source`. */
  readonly authenticate?: Authenticate<never>
  /** Whether a host mounts the API. The OpenAPI description then omits paths outside `/api/v1`. */
  readonly mounted?: boolean
}

export interface Api {
  /** Answers one request. Never rejects: errors become answers. */
  answer(request: ApiRequest): Promise<ApiResponse>
  /** Log for unexpected errors. */
  readonly logger: ErrorLog
  /** @returns Whether the API has this path, with any method. */
  knows(target: string): boolean
}

type LoggedOptions = ApiOptions & { readonly logger: ErrorLog }

/** Facts collected while a request is processed. Error answers need them too. */
interface RequestState {
  readonly request: ApiRequest
  readonly context: ResponseContext
  readonly target: Target
  match?: Match
  route?: Route
}

/**
 * Creates the API of a Mailkeep, for any HTTP server. It opens no socket and reads no environment.
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
  const context: ResponseContext = { requestId: requestIdOf(request), method: request.method }
  const state: RequestState = { request, context, target: readTarget(request.target) }
  try {
    const servicePage = answerServicePage(options, request, state.target, context)
    if (servicePage) return await servicePage
    const outcome = await perform(options, state)
    if (outcome.download) return encodeDownload(context, outcome.status, outcome.download, options.logger)
    const replayed = outcome.replayed ? { 'Idempotency-Replayed': 'true' } : {}
    return encode(context, outcome.status, bodyOf(options, state, outcome), replayed)
  } catch (error) {
    const publicError = toPublicError(error, context.requestId, options.logger)
    const allow = publicError.code === 'method_not_allowed' && state.match ? { Allow: state.match.allow } : {}
    return encodeError(context, publicError, allow)
  }
}

/**
 * Runs the checks in a fixed order, so that an error never reveals what a later check protects: authentication, path,
 * method, role, input.
 */
async function perform({ mailkeep, authenticate: host }: ApiOptions, state: RequestState): Promise<Outcome> {
  const { request, target } = state
  const [api, version, ...path] = target.segments
  if (api !== 'api' || version !== 'v1') throw noSuchRoute()
  const caller = host ? await askHost(host, request) : await authenticate(mailkeep, request)
  if (caller.tokenId !== undefined) state.context.tokenId = caller.tokenId
  const match = findPath(path)
  if (!match) throw noSuchRoute()
  state.match = match
  const route = match.methods.get(request.method === 'HEAD' ? 'GET' : request.method)
  if (!route) throw new MailkeepError('method_not_allowed', 'This path does not know this method.')
  state.route = route
  state.context.route = prefix + route.path
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

/** Reads the request's query and body as its route requires. */
async function inputOf(request: ApiRequest, route: Route, target: Target): Promise<Omit<Call, 'client' | 'params'>> {
  const query = readQuery(target.query)
  if (!route.query) refuseParameters(query)
  const upload = route.body === 'file' ? { upload: await readUpload(request) } : {}
  const body = takesFields(route) ? await readFields(request) : {}
  if (route.body === undefined) refuseFields(body)
  return { query, body, accept: header(request, 'accept') ?? '', ...upload }
}

function takesFields({ method, body }: Route): boolean {
  if (body === 'file') return false
  return method === 'POST' || method === 'PUT' || method === 'PATCH'
}

function noSuchRoute(): MailkeepError {
  return new MailkeepError('not_found', 'There is nothing here.')
}

/** @returns The body of an answer; undefined for none. */
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
