import { brotliDecompressSync } from 'node:zlib'
import { MailkeepError } from '../lib/index.ts'
import type { ErrorLog } from './api/api-options.ts'
import { encodeError, refuse, requestIdOf } from './api/encode.ts'
import { header } from './api/http-types.ts'
import type { Answer, ApiRequest, ApiResponse, Surfaces } from './api/index.ts'
import { readTarget } from './api/target.ts'
import { type ConsoleAsset, type ConsoleAssets, loadConsole } from './console-assets.ts'

/** Everything comes from this server, and nothing is inline. */
const policy = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self' data:",
  "connect-src 'self'",
  "frame-ancestors 'none'",
].join('; ')

const assetPrefix = '/console/assets/'

/**
 * Returns the web console at `/`, the API's documentation at `/docs`, and the console's views and files below
 * `/console`. The files are few and come from memory: a binary has no files beside it, so a server of folders such as
 * sirv would not work there.
 */
export function consoleSurfaces(logger: ErrorLog): Surfaces {
  let loading: Promise<ConsoleAssets> | undefined
  const plain = new Map<string, Buffer>()
  const answer: Answer = async (request) => {
    const { path } = readTarget(request.target)
    const route = path.startsWith('/console') ? '/console/*' : path
    try {
      if (request.method !== 'GET' && request.method !== 'HEAD') return notAllowed(request, route)
      loading ??= loadConsole()
      const assets = await loading
      const isAsset = path.startsWith(assetPrefix)
      const asset = assets[isAsset ? path : '/']
      if (!asset) return refuse(request, new MailkeepError('not_found', 'There is nothing here.'), route)
      return encodeAsset(request, asset, isAsset, plain, route)
    } catch (error) {
      loading = undefined // a mistake in a source may be corrected
      logger.error({ err: error }, 'console could not be served')
      return refuse(request, new MailkeepError('internal', 'Internal error.'), route)
    }
  }
  return { '/': answer, '/docs': answer, '/console': answer, '/console/*': answer }
}

function notAllowed(request: ApiRequest, route: string): ApiResponse {
  const error = new MailkeepError('method_not_allowed', 'This path does not know this method.')
  const context = { requestId: requestIdOf(request), method: request.method, route }
  return encodeError(context, error, { Allow: 'GET, HEAD' })
}

/** @param plain Uncompressed files by tag, for clients that do not accept brotli. */
function encodeAsset(
  request: ApiRequest,
  { type, tag, brotli }: ConsoleAsset,
  isImmutable: boolean,
  plain: Map<string, Buffer>,
  route: string,
): ApiResponse {
  const headers = {
    'X-Request-Id': requestIdOf(request),
    ETag: tag,
    Vary: 'Accept-Encoding',
    'Cache-Control': isImmutable ? 'public, max-age=31536000, immutable' : 'no-cache',
    'Content-Security-Policy': policy,
    'Referrer-Policy': 'no-referrer',
    'X-Content-Type-Options': 'nosniff',
  }
  if (header(request, 'if-none-match')?.includes(tag)) return { status: 304, headers, route }
  const accepted = header(request, 'accept-encoding') ?? ''
  const compressed = /(?:^|,)\s*br\s*(?:,|$)/.test(accepted)
  const body = compressed ? Buffer.from(brotli, 'base64') : plainOf(tag, brotli, plain)
  const response = {
    status: 200,
    headers: {
      ...headers,
      'Content-Type': type,
      'Content-Length': String(body.length),
      ...(compressed && { 'Content-Encoding': 'br' }),
    },
    route,
  }
  return request.method === 'HEAD' ? response : { ...response, bytes: body }
}

function plainOf(tag: string, brotli: string, plain: Map<string, Buffer>): Buffer {
  const known = plain.get(tag)
  if (known) return known
  const contents = brotliDecompressSync(Buffer.from(brotli, 'base64'))
  plain.set(tag, contents)
  return contents
}
