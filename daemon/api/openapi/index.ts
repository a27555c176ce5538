/** The description of the HTTP API, made when somebody asks for it: nothing of this is loaded before. */
import type { ApiOptions } from '../index.ts'
import { documentOf } from './document.ts'

/** Callers choose `Host`, and so the server's URL: the document is cached for so many of them. */
const maxCachedUrls = 16

interface Cached {
  /** All of the document but `openapi` and `servers`. */
  readonly rest: string
  readonly byUrl: Map<string, string>
}

const cache = new WeakMap<ApiOptions, Cached>()

/**
 * The API as an OpenAPI 3.1 document.
 *
 * @param url What stands before the paths, as the caller sees it.
 * @returns JSON text.
 * @throws Error when a route is not described.
 */
export function describe(options: ApiOptions, url: string): string {
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
  byUrl.set(url, text)
  return text
}

function documentFor({ metrics, authenticate, mounted = false }: ApiOptions) {
  const shown = metrics?.token === undefined ? 'anybody' : 'token'
  return documentOf({ tokens: !authenticate, health: !mounted, metrics: metrics && !mounted ? shown : 'none' })
}
