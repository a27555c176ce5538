import type { Mailkeep } from '../../lib/index.ts'
import { checkApiOptions, type ErrorLog } from '../api/api-options.ts'
import type { Authenticate } from '../api/authenticate.ts'
import { type Api, createApi } from '../api/index.ts'

/** Options of a host that mounts the API. */
export interface MountOptions<Request> {
  readonly mailkeep: Mailkeep
  /**
   * Log for unexpected errors, with their stack and the request's id. Default: the Mailkeep's logger, or the console if
   * it has none.
   */
  readonly logger?: ErrorLog | undefined
  /** Public URL before `/api/v1`, for `meta.path`, such as `https://app.example/mail`. Default: taken from the request. */
  readonly publicUrl?: string | undefined
  /**
   * The host's own authentication instead of bearer tokens. Returns the request's principal, or nothing for an answer of
   * 401. A MailkeepError that it throws is answered by its code, any other error with 500.
   */
  readonly authenticate?: Authenticate<Request> | undefined
  /** The path the API is mounted at, such as `/mail`. Needed when the host does not strip it from the URL. */
  readonly prefix?: string | undefined
  /** Maximum size of a request's body in bytes, also of one that the host has read. Default: 1 MiB. */
  readonly bodyBytes?: number | undefined
}

/** Options of a mounted surface. */
export type MountPlace = Pick<MountOptions<never>, 'prefix' | 'bodyBytes'>

const optionNames = Object.keys({
  mailkeep: true,
  logger: true,
  publicUrl: true,
  authenticate: true,
  prefix: true,
  bodyBytes: true,
} satisfies Record<keyof MountOptions<never>, true>)

/** @throws MailkeepError `validation_failed`: no Mailkeep, or a wrong or unknown option. */
export function apiOf<Request>(mountOptions: MountOptions<Request>): Api {
  checkApiOptions(mountOptions, optionNames)
  const { prefix: _, bodyBytes: __, ...options } = mountOptions
  return createApi({ ...options, mounted: true })
}

/** A request target, split at the mount prefix. */
export interface MountedTarget {
  readonly target: string
  readonly prefix: string
}

/**
 * Splits the prefix from a URL's path.
 *
 * @param url The URL that the handler got.
 * @param originalUrl The URL before the host stripped its prefix.
 * @param prefix The configured prefix.
 * @returns Undefined when the URL is not below the prefix.
 */
export function resolveMount(url: string, originalUrl: string, prefix: string | undefined): MountedTarget | undefined {
  const base = prefix?.replace(/\/+$/, '')
  if (base) {
    // A target may be an absolute URL (RFC 9112, section 3.2.2).
    const [origin] = /^https?:\/\/[^/?#]*/i.exec(originalUrl) ?? ['']
    const path = originalUrl.slice(origin.length)
    return path.startsWith(`${base}/`) ? { target: origin + path.slice(base.length), prefix: base } : undefined
  }
  const isStripped = originalUrl.length > url.length && originalUrl.endsWith(url)
  return { target: url, prefix: isStripped ? originalUrl.slice(0, -url.length) : '' }
}
