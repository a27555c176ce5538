/** The description of the HTTP API, made when somebody asks for it: nothing of this is loaded before. */
import type { ApiOptions } from '../index.ts'
import { documentOf } from './document.ts'

const kept = new WeakMap<ApiOptions, string>()

/**
 * The API as an OpenAPI 3.1 document.
 *
 * @param url What stands before the paths, as whoever asks sees it.
 * @returns JSON text.
 * @throws Error when a route is not described.
 */
export function describe(options: ApiOptions, url: string): string {
  let text = kept.get(options)
  if (text === undefined) {
    text = JSON.stringify(documentFor(options))
    kept.set(options, text)
  }
  return `{"openapi":"3.1.0","servers":[${JSON.stringify({ url })}],${text.slice(1)}`
}

function documentFor({ metrics, authenticate, mounted = false }: ApiOptions) {
  const shown = metrics?.token === undefined ? 'anybody' : 'token'
  return documentOf({ tokens: !authenticate, health: !mounted, metrics: metrics && !mounted ? shown : 'none' })
}
