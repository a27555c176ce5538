import type { Mailkeep } from '../../lib/index.ts'
import { checkApiOptions, type ErrorLog } from './api-options.ts'
import type { Authenticate } from './authenticate.ts'
import { type Api, type ApiOptions, createApi } from './index.ts'

/** How a host mounts the API. */
export interface MountOptions<Request> {
  readonly mailkeep: Mailkeep
  /**
   * Where unforeseen errors go, with their stack and the request's id. Default: the Mailkeep's own logger, or the
   * console when it has none.
   */
  readonly logger?: ErrorLog
  /** What clients see before `/api/v1`, for `meta.path`, such as `https://app.example/mail`; else as the request has it. */
  readonly publicUrl?: string
  /**
   * The host's own authentication instead of bearer tokens: whom a request stands for, or nothing, which is answered
   * with 401. What it throws is answered with 500, a MailkeepError as its code says.
   */
  readonly authenticate?: Authenticate<Request>
  /** The path the API is mounted at, such as `/mail`, where the host does not take it off the URL itself. */
  readonly prefix?: string
  /** Of a request's body at most, in bytes; default 1 MiB. A body the host has read is held to it, too. */
  readonly bodyBytes?: number
}

const optionNames = Object.keys({
  mailkeep: true,
  logger: true,
  publicUrl: true,
  authenticate: true,
  prefix: true,
  bodyBytes: true,
} satisfies Record<keyof MountOptions<never>, true>)

/** @throws MailkeepError `validation_failed`: no Mailkeep, or an unknown option. */
export function apiOf<Request>(mountOptions: MountOptions<Request>): Api {
  checkApiOptions(mountOptions, optionNames)
  const { mailkeep, logger, publicUrl, authenticate } = mountOptions
  const options: ApiOptions = {
    mailkeep,
    mounted: true,
    ...(logger && { logger }),
    ...(publicUrl !== undefined && { publicUrl }),
    ...(authenticate && { authenticate }),
  }
  return createApi(options)
}

/** Where a request goes: its target below the prefix, and the prefix. */
export interface Place {
  readonly target: string
  readonly prefix: string
}

/**
 * Takes the prefix off a URL's path.
 *
 * @param url As the handler got it.
 * @param originalUrl As it was before hosts took their own prefix off.
 * @param prefix As configured.
 * @returns undefined: it is not below the prefix.
 */
export function placeOf(url: string, originalUrl: string, prefix: string | undefined): Place | undefined {
  const base = prefix?.replace(/\/+$/, '')
  if (base) {
    return originalUrl.startsWith(`${base}/`) ? { target: originalUrl.slice(base.length), prefix: base } : undefined
  }
  const taken = originalUrl.length > url.length && originalUrl.endsWith(url)
  return { target: url, prefix: taken ? originalUrl.slice(0, -url.length) : '' }
}
