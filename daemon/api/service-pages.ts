import { createHash, timingSafeEqual } from 'node:crypto'
import { MailkeepError } from '../../lib/index.ts'
import { bearerToken } from './authenticate.ts'
import { encode, encodeError, type ResponseContext } from './encode.ts'
import type { ApiRequest, ApiResponse } from './http-types.ts'
import type { ApiOptions } from './index.ts'
import { baseUrl, type Target } from './target.ts'

/** Content and access of `/metrics`. */
export interface MetricsPage {
  readonly contentType: string
  /** Bearer token that `/metrics` requires. Without it the page is public. */
  readonly token?: string
  render(): Promise<string>
}

type PageHandler = (
  options: ApiOptions,
  request: ApiRequest,
  context: ResponseContext,
  target: Target,
) => Promise<ApiResponse>

/** Pages for operators. They need no client's token and show no client's data. */
const pages: ReadonlyMap<string, PageHandler> = new Map([
  ['healthz', health],
  ['readyz', readiness],
  ['metrics', metricsPage],
])

/** @returns Whether the path is the OpenAPI description's, the only service page below `/api/v1`. */
export function isDescription([api, version, name, ...more]: readonly string[]): boolean {
  return name === 'openapi.json' && api === 'api' && version === 'v1' && more.length === 0
}

/**
 * Answers requests for service pages, which load balancers, monitors and client developers use.
 *
 * @returns Undefined when the path is not a service page.
 * @throws MailkeepError The promise rejects like an operation of the API.
 */
export function answerServicePage(
  options: ApiOptions,
  request: ApiRequest,
  target: Target,
  context: ResponseContext,
): Promise<ApiResponse> | undefined {
  const { segments } = target
  const [name = ''] = segments
  const page = segments.length === 1 ? pages.get(name) : isDescription(segments) ? description : undefined
  if (!page) return undefined
  context.route = `/${segments.join('/')}`
  if (request.method !== 'GET' && request.method !== 'HEAD') {
    const error = new MailkeepError('method_not_allowed', 'This path does not know this method.')
    return Promise.resolve(encodeError(context, error, { Allow: 'GET, HEAD' }))
  }
  return page(options, request, context, target)
}

/** Serves the OpenAPI description. It needs no token, because it is the same for all clients. */
async function description(options: ApiOptions, request: ApiRequest, context: ResponseContext, target: Target) {
  const { describe } = await import('./openapi/index.ts')
  return encode(context, 200, describe(options, baseUrl(request, target, options.publicUrl)))
}

/** Liveness: the process answers. Does not check the database, because a restart would not repair it. */
async function health(_: ApiOptions, __: ApiRequest, context: ResponseContext): Promise<ApiResponse> {
  return encode(context, 200, JSON.stringify({ status: 'ok' }))
}

/** Readiness: whether a load balancer should send requests to this process. */
async function readiness({ mailkeep }: ApiOptions, _: ApiRequest, context: ResponseContext): Promise<ApiResponse> {
  const { ready, ...parts } = await mailkeep.ready()
  if (ready) return encode(context, 200, JSON.stringify({ status: 'ready' }))
  const errors = Object.entries(parts).flatMap(([part, message]) => (message ? [[part, [message]]] : []))
  throw new MailkeepError('unavailable', 'The service cannot do its work now.', { errors: Object.fromEntries(errors) })
}

async function metricsPage(
  { metrics }: ApiOptions,
  request: ApiRequest,
  context: ResponseContext,
): Promise<ApiResponse> {
  if (!metrics) throw new MailkeepError('not_found', 'There is nothing here.')
  if (metrics.token !== undefined && !isSame(bearerToken(request), metrics.token)) {
    throw new MailkeepError('unauthenticated', 'The metrics token is needed: Authorization: Bearer <token>.')
  }
  const body = await metrics.render()
  const response = encode(context, 200, undefined, {
    'Content-Type': metrics.contentType,
    'Content-Length': String(Buffer.byteLength(body)),
  })
  return context.method === 'HEAD' ? response : { ...response, body }
}

/** Compares in constant time. */
function isSame(given: string | undefined, token: string): boolean {
  const [a, b] = [given ?? '', token].map((text) => createHash('sha256').update(text).digest()) as [Buffer, Buffer]
  return timingSafeEqual(a, b)
}
