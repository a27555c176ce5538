import { type ApiRequest, header } from './http-types.ts'

/** A request target taken apart; nothing in it is trusted yet. */
export interface Target {
  /** The path's segments, percent-decoded. What cannot be decoded is `''`, which no route matches. */
  readonly segments: readonly string[]
  /** Without its question mark. */
  readonly query: string
  /** The authority of a target in absolute form; it goes before the `Host` header (RFC 9112, 3.2.2). */
  readonly host: string | undefined
}

/**
 * Takes a request target apart. Paths are taken as they stand: `.`, `..` and empty segments are
 * not resolved, so that nobody in front of us and we can read one path in two ways.
 */
export function readTarget(target: string): Target {
  const absolute = /^https?:\/\/([^/?]*)/i.exec(target)
  const rest = absolute ? target.slice(absolute[0].length) : target
  const mark = rest.indexOf('?')
  const path = mark < 0 ? rest : rest.slice(0, mark)
  return {
    segments: path.startsWith('/') ? path.slice(1).split('/').map(decode) : [],
    query: mark < 0 ? '' : rest.slice(mark + 1),
    host: absolute?.[1],
  }
}

function decode(segment: string): string {
  if (!segment.includes('%')) return segment
  try {
    return decodeURIComponent(segment)
  } catch {
    return ''
  }
}

/** @returns the id a segment stands for; undefined unless it is a positive 53-bit integer in its only spelling. */
export function readId(segment: string): number | undefined {
  if (!/^[1-9]\d{0,15}$/.test(segment)) return undefined
  const id = Number(segment)
  return Number.isSafeInteger(id) ? id : undefined
}

const authority = /^(?:[\w.~-]{1,255}|\[[\da-f:.]{2,45}\])(?::\d{1,5})?$/i

/**
 * The absolute URL of a matched target, without its query.
 *
 * @param publicUrl The URL clients see; without it, what the client itself called us, if that can be a host.
 */
export function absoluteUrl(request: ApiRequest, target: Target, publicUrl: string | undefined): string {
  return `${baseUrl(request, target, publicUrl)}/${target.segments.map(encodeURIComponent).join('/')}`
}

/** What stands before the path of an absolute URL, with no slash at its end; the parameters are those of `absoluteUrl`. */
export function baseUrl(request: ApiRequest, target: Target, publicUrl: string | undefined): string {
  if (publicUrl !== undefined) return publicUrl.replace(/\/+$/, '')
  const host = target.host ?? header(request, 'host') ?? ''
  const origin = `${request.secure ? 'https' : 'http'}://${authority.test(host) ? host : 'localhost'}`
  return `${origin}${request.prefix ?? ''}`
}
