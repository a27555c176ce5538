import { createHash, timingSafeEqual } from 'node:crypto'
import { MailkeepError } from '../../lib/index.ts'
import { bearerToken } from './authenticate.ts'
import { encode } from './encode.ts'
import { methodNotAllowed, nothingHere } from './errors.ts'
import type { ApiResponse } from './http-types.ts'
import type { ApiOptions, RequestHandler, RequestState } from './index.ts'
import { baseUrl } from './target.ts'

/** Content and access of `/metrics`. */
export interface MetricsPage {
  readonly contentType: string
  /** Bearer token that `/metrics` requires. Without it the page is public. */
  readonly token?: string
  render(): Promise<string>
}

/** Pages for operators by path. They need no client's token and show no client's data. */
export const servicePages: Readonly<Record<string, RequestHandler>> = {
  '/healthz': page(health),
  '/readyz': page(readiness),
  '/metrics': page(metricsPage),
}

/** The only service page below `/api/v1`. */
export const descriptionPath = '/api/v1/openapi.json'
export const descriptionPage: RequestHandler = page(description)

/** Answers GET and HEAD for one path. */
function page(render: RequestHandler): RequestHandler {
  return async (options, state) => {
    const { request, context, target } = state
    context.route = target.path
    state.allow = 'GET, HEAD'
    if (request.method === 'GET' || request.method === 'HEAD') return await render(options, state)
    throw methodNotAllowed()
  }
}

/** Serves the OpenAPI description. It needs no token, because it is the same for all clients. */
async function description(options: ApiOptions, { request, context, target }: RequestState): Promise<ApiResponse> {
  const { describe } = await import('./openapi/index.ts')
  const { start, rest } = describe(options, baseUrl(request, target, options.publicUrl))
  const bytes = Buffer.byteLength(start) + rest.length
  const response = encode(context, 200, start, { 'Content-Length': String(bytes) })
  return context.method === 'HEAD' ? response : { ...response, bytes: rest }
}

/** Liveness: the process answers. Does not check the database, because a restart would not repair it. */
async function health(_: ApiOptions, { context }: RequestState): Promise<ApiResponse> {
  return encode(context, 200, JSON.stringify({ status: 'ok' }))
}

/** Readiness: whether a load balancer should send requests to this process. */
async function readiness({ mailkeep }: ApiOptions, { context }: RequestState): Promise<ApiResponse> {
  const { ready, ...parts } = await mailkeep.ready()
  if (ready) return encode(context, 200, JSON.stringify({ status: 'ready' }))
  const errors = Object.entries(parts).flatMap(([part, message]) => (message ? [[part, [message]]] : []))
  throw new MailkeepError('unavailable', 'The service is not ready: see errors.', {
    errors: Object.fromEntries(errors),
  })
}

async function metricsPage({ metrics }: ApiOptions, { request, context }: RequestState): Promise<ApiResponse> {
  if (!metrics) throw nothingHere()
  if (metrics.token !== undefined && !isSame(bearerToken(request), metrics.token)) {
    throw new MailkeepError('unauthenticated', 'The metrics token is needed: Authorization: Bearer <token>.')
  }
  return encode(context, 200, await metrics.render(), { 'Content-Type': metrics.contentType })
}

/** Compares in constant time. */
function isSame(given: string | undefined, token: string): boolean {
  const [a, b] = [given ?? '', token].map((text) => createHash('sha256').update(text).digest()) as [Buffer, Buffer]
  return timingSafeEqual(a, b)
}
