import { type ApiRequest, header } from './http-types.ts'

/** A parsed request target. None of it is validated. */
export interface Target {
  /**
   * The path for routers, with one spelling for each segment: `/%74ags` is `/tags`. An empty or invalid segment is `%`,
   * which matches no route: polka's router ignores a slash at the end.
   */
  readonly path: string
  /** Without the question mark. */
  readonly query: string
  /** Authority of a target in absolute form. Overrides the `Host` header (RFC 9112, 3.2.2). */
  readonly host: string | undefined
}

/**
 * Parses a request target. Does not resolve `.` and `..`, so that a proxy in front of the server and the server always
 * read a path in the same way.
 */
export function readTarget(target: string): Target {
  const absolute = /^https?:\/\/([^/?]*)/i.exec(target)
  const rest = absolute ? target.slice(absolute[0].length) : target
  const mark = rest.indexOf('?')
  const path = mark < 0 ? rest : rest.slice(0, mark)
  return {
    path: plainPath.test(path) ? path : normalizePath(path),
    query: mark < 0 ? '' : rest.slice(mark + 1),
    host: absolute?.[1],
  }
}

/** Paths in the only spelling that they have. */
const plainPath = /^(?:\/[\w.~-]+)+$/

function normalizePath(path: string): string {
  if (path === '/') return path
  return path.startsWith('/') ? `/${path.slice(1).split('/').map(normalize).join('/')}` : '%'
}

function normalize(segment: string): string {
  if (segment === '') return '%'
  if (!segment.includes('%')) return segment
  try {
    return encodeURIComponent(decodeURIComponent(segment))
  } catch {
    return '%'
  }
}

const authority = /^(?:[\w.~-]{1,255}|\[[\da-f:.]{2,45}\])(?::\d{1,5})?$/i

/**
 * Returns the part of an absolute URL before the path, without a trailing slash.
 *
 * @param publicUrl The public base URL. Default: the host that the request names, if it is valid.
 */
export function baseUrl(request: ApiRequest, target: Target, publicUrl: string | undefined): string {
  if (publicUrl !== undefined) return publicUrl.replace(/\/+$/, '')
  const host = target.host ?? header(request, 'host') ?? ''
  const origin = `${request.secure ? 'https' : 'http'}://${authority.test(host) ? host : 'localhost'}`
  return `${origin}${request.prefix ?? ''}`
}
