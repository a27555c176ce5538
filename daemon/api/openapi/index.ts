/** The OpenAPI description of the HTTP API. These modules are loaded at the first request for it. */
import type { ApiOptions } from '../index.ts'
import { documentOf } from './document.ts'

/** An OpenAPI document as JSON. */
interface Description {
  /** The part that depends on the server's URL, which depends on the caller's `Host` header. */
  readonly start: string
  /** The part that all descriptions share. */
  readonly rest: Buffer
}

const rests = new WeakMap<ApiOptions, Buffer>()

/**
 * Describes the API as an OpenAPI 3.1 document.
 *
 * @param url Base URL as the caller sees it.
 */
export function describe(options: ApiOptions, url: string): Description {
  let rest = rests.get(options)
  if (!rest) {
    rest = Buffer.from(JSON.stringify(documentFor(options)).slice(1))
    rests.set(options, rest)
  }
  return { start: `{"openapi":"3.1.0","servers":[${JSON.stringify({ url })}],`, rest }
}

function documentFor({ metrics, authenticate, mounted = false }: ApiOptions) {
  const shown = metrics?.token === undefined ? 'anybody' : 'token'
  return documentOf({ tokens: !authenticate, health: !mounted, metrics: metrics && !mounted ? shown : 'none' })
}
