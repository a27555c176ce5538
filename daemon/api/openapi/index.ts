/** The OpenAPI description of the HTTP API. These modules are loaded at the first request for it. */
import type { ApiOptions } from '../index.ts'
import { documentOf } from './document.ts'

/** Maximum cached documents. There is one for each server URL, which depends on the caller's `Host` header. */
const maxCachedUrls = 16

interface Cached {
  /** JSON text of the document without `openapi` and `servers`. */
  readonly rest: string
  readonly byUrl: Map<string, Description>
}

interface Description {
  /** JSON text. */
  readonly text: string
  /** Its length in UTF-8, which takes half a millisecond to count. */
  readonly bytes: number
}

const cache = new WeakMap<ApiOptions, Cached>()

/**
 * Describes the API as an OpenAPI 3.1 document.
 *
 * @param url Base URL as the caller sees it.
 */
export function describe(options: ApiOptions, url: string): Description {
  let cached = cache.get(options)
  if (!cached) {
    cached = { rest: JSON.stringify(documentFor(options)).slice(1), byUrl: new Map() }
    cache.set(options, cached)
  }
  const { rest, byUrl } = cached
  const known = byUrl.get(url)
  if (known !== undefined) return known
  const text = `{"openapi":"3.1.0","servers":[${JSON.stringify({ url })}],${rest}`
  const [oldest] = byUrl.keys()
  if (byUrl.size >= maxCachedUrls) byUrl.delete(oldest!)
  const described = { text, bytes: Buffer.byteLength(text) }
  byUrl.set(url, described)
  return described
}

function documentFor({ metrics, authenticate, mounted = false }: ApiOptions) {
  const shown = metrics?.token === undefined ? 'anybody' : 'token'
  return documentOf({ tokens: !authenticate, health: !mounted, metrics: metrics && !mounted ? shown : 'none' })
}
