import { createHash, timingSafeEqual } from 'node:crypto'
import { MailkeepError } from '../../lib/index.ts'
import { bearerToken } from './authenticate.ts'
import { encode, encodeError, type ResponseContext } from './encode.ts'
import type { ApiRequest, ApiResponse } from './http-types.ts'
import type { ApiOptions } from './index.ts'
import { baseUrl, type Target } from './target.ts'

/** What `/metrics` shows, and to whom. */
export interface MetricsPage {
  readonly contentType: string
  /** Without it, anybody. */
  readonly token?: string
  render(): Promise<string>
}

type Answer = (options: ApiOptions, request: ApiRequest, to: ResponseContext, target: Target) => Promise<ApiResponse>

/** For those who run the service: none of these needs a client's token, and none tells of a client's data. */
const pages: ReadonlyMap<string, Answer> = new Map([
  ['healthz', health],
  ['readyz', readiness],
  ['metrics', metricsPage],
])

/** @returns whether these segments are the path of the API's description, the one page below `/api/v1`. */
export function isDescription([api, version, name, ...more]: readonly string[]): boolean {
  return name === 'openapi.json' && api === 'api' && version === 'v1' && more.length === 0
}

/**
 * Answers what is asked by load balancers, monitors and whoever writes clients.
 *
 * @returns undefined when this is no such request.
 * @throws MailkeepError (the promise rejects) as an operation of the API does.
 */
export function answerServicePage(
  options: ApiOptions,
  request: ApiRequest,
  target: Target,
  to: ResponseContext,
): Promise<ApiResponse> | undefined {
  const { segments } = target
  const [name = ''] = segments
  const page = segments.length === 1 ? pages.get(name) : isDescription(segments) ? description : undefined
  if (!page) return undefined
  to.route = `/${segments.join('/')}`
  if (request.method !== 'GET' && request.method !== 'HEAD') {
    const error = new MailkeepError('method_not_allowed', 'This path does not know this method.')
    return Promise.resolve(encodeError(to, error, { Allow: 'GET, HEAD' }))
  }
  return page(options, request, to, target)
}

/** Without a token: it is the same for everybody. */
async function description(options: ApiOptions, request: ApiRequest, to: ResponseContext, target: Target) {
  const { describe } = await import('./openapi/index.ts')
  return encode(to, 200, describe(options, baseUrl(request, target, options.publicUrl)))
}

/** The process is there and answers; it says nothing of the database, as a restart would not help that. */
async function health(_: ApiOptions, __: ApiRequest, to: ResponseContext): Promise<ApiResponse> {
  return encode(to, 200, JSON.stringify({ status: 'ok' }))
}

/** Whether requests should come here. */
async function readiness({ mailkeep }: ApiOptions, _: ApiRequest, to: ResponseContext): Promise<ApiResponse> {
  const { ready, ...parts } = await mailkeep.ready()
  if (ready) return encode(to, 200, JSON.stringify({ status: 'ready' }))
  const errors = Object.entries(parts).flatMap(([part, complaint]) => (complaint ? [[part, [complaint]]] : []))
  throw new MailkeepError('unavailable', 'The service cannot do its work now.', { errors: Object.fromEntries(errors) })
}

async function metricsPage({ metrics }: ApiOptions, request: ApiRequest, to: ResponseContext): Promise<ApiResponse> {
  if (!metrics) throw new MailkeepError('not_found', 'There is nothing here.')
  if (metrics.token !== undefined && !isSame(bearerToken(request), metrics.token)) {
    throw new MailkeepError('unauthenticated', 'The metrics token is needed: Authorization: Bearer <token>.')
  }
  const body = await metrics.render()
  const response = encode(to, 200, undefined, {
    'Content-Type': metrics.contentType,
    'Content-Length': String(Buffer.byteLength(body)),
  })
  return to.method === 'HEAD' ? response : { ...response, body }
}

/** Takes the same time whatever is given. */
function isSame(given: string | undefined, token: string): boolean {
  const [a, b] = [given ?? '', token].map((text) => createHash('sha256').update(text).digest()) as [Buffer, Buffer]
  return timingSafeEqual(a, b)
}
