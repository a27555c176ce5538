import { brotliDecompressSync } from 'node:zlib'
import { MailkeepError } from '../lib/index.ts'
import type { ErrorLog } from './api/api-options.ts'
import { encodeError, refuse, requestIdOf } from './api/encode.ts'
import { methodNotAllowed, nothingHere } from './api/errors.ts'
import { header } from './api/http-types.ts'
import type { ApiRequest, ApiResponse, Respond, Surfaces } from './api/index.ts'
import { readTarget } from './api/target.ts'
import { type ConsoleAsset, type ConsoleAssets, loadConsole } from './console-assets.ts'

/**
 * Returns the Content-Security-Policy: everything comes from this server, and nothing is inline.
 *
 * @param ancestors Sources that may embed the page.
 */
function policyOf(ancestors: string): string {
  return [
    "default-src 'none'",
    "script-src 'self'",
    "style-src 'self'",
    "img-src 'self' data:",
    "connect-src 'self'",
    `frame-ancestors ${ancestors}`,
  ].join('; ')
}

const patterns = ['/', '/docs', '/console', '/console/*', '/portal', '/portal/*']

const assetPrefix = '/console/assets/'

/**
 * Returns the web console at `/`, the API's documentation at `/docs`, and the console's views and files below
 * `/console`. The files are few and come from memory: a binary has no files beside it, so a server of folders such as
 * sirv would not work there. `/portal` is the same page for the customers of a client, who have a link instead of a token.
 *
 * @param portalOrigins Origins of pages that may embed the portal.
 */
export function consoleSurfaces(logger: ErrorLog, portalOrigins: readonly string[]): Surfaces {
  let loading: Promise<ConsoleAssets> | undefined
  const contents: Contents = new Map()
  const answer: Respond = async (request) => {
    const { path } = readTarget(request.target)
    const [, top = ''] = path.split('/')
    const route = top === 'console' || top === 'portal' ? `/${top}/*` : path
    const ancestors = top === 'portal' && portalOrigins.length > 0 ? portalOrigins.join(' ') : "'none'"
    try {
      if (request.method !== 'GET' && request.method !== 'HEAD') return notAllowed(request, route)
      loading ??= loadConsole()
      const assets = await loading
      const isAsset = path.startsWith(assetPrefix)
      const asset = assets[isAsset ? path : '/']
      if (!asset) return refuse(request, nothingHere(), route)
      return encodeAsset(request, asset, { isAsset, route, policy: policyOf(ancestors) }, contents)
    } catch (error) {
      loading = undefined // a mistake in a source may be corrected
      logger.error({ err: error }, 'console could not be served')
      return refuse(request, new MailkeepError('internal', 'Internal error.'), route)
    }
  }
  return Object.fromEntries(patterns.map((pattern) => [pattern, answer]))
}

function notAllowed(request: ApiRequest, route: string): ApiResponse {
  const context = { requestId: requestIdOf(request), method: request.method, route }
  return encodeError(context, methodNotAllowed(), { Allow: 'GET, HEAD' })
}

/** Decoded files by tag and encoding. All responses share them, so that clients which do not read take no memory. */
type Contents = Map<string, Buffer>

function encodeAsset(
  request: ApiRequest,
  { type, tag, brotli }: ConsoleAsset,
  { isAsset, route, policy }: { isAsset: boolean; route: string; policy: string },
  contents: Contents,
): ApiResponse {
  const headers = {
    'X-Request-Id': requestIdOf(request),
    ETag: `W/${tag}`, // the same for both encodings
    Vary: 'Accept-Encoding',
    'Cache-Control': isAsset ? 'public, max-age=31536000, immutable' : 'no-cache',
    'Content-Security-Policy': policy,
    'Referrer-Policy': 'no-referrer',
    'X-Content-Type-Options': 'nosniff',
  }
  if (header(request, 'if-none-match')?.includes(tag)) return { status: 304, headers, route }
  const accepted = header(request, 'accept-encoding') ?? ''
  const compressed = /(?:^|,)\s*br\s*(?:,|$)/.test(accepted)
  const body = contentsOf(tag, brotli, compressed, contents)
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

/** @param compressed Whether the client accepts brotli. */
function contentsOf(tag: string, brotli: string, compressed: boolean, contents: Contents): Buffer {
  const key = `${tag} ${compressed}`
  const known = contents.get(key)
  if (known) return known
  const bytes = Buffer.from(brotli, 'base64')
  const decoded = compressed ? bytes : brotliDecompressSync(bytes)
  contents.set(key, decoded)
  return decoded
}
