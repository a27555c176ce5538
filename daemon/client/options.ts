import type { CallOptions } from './methods.ts'

/** Options of `createClient`. */
export interface ClientOptions {
  /** Where the daemon answers, without `/api/v1`: `https://mail.example.org`. */
  readonly baseUrl: string
  /** A token of the API. */
  readonly token: string
  /** Retries after a network fault, 429 and 503. Default 3. */
  readonly retries?: number | undefined
  /** Milliseconds until one attempt is aborted. Files have no limit. Default 30,000. */
  readonly timeoutMs?: number | undefined
  /** Default: the platform's `fetch`. */
  readonly fetch?: typeof fetch | undefined
}

/** The options, with defaults. `fetch` is looked up at each call, because tests replace the platform's. */
export interface Settings extends ClientOptions {
  readonly retries: number
  readonly timeoutMs: number
}

/** The longest delay that timers support. */
const maxTimerMs = 2 ** 31 - 1

/** @throws TypeError: an option is wrong, missing or unknown. */
export function settingsOf(options: ClientOptions): Settings {
  const { baseUrl, token, retries = 3, timeoutMs = 30_000, fetch } = options ?? {}
  check(isBaseUrl(baseUrl), 'baseUrl must be a URL without a user, such as https://mail.example.org.')
  check(typeof token === 'string' && /^[!-~]+$/.test(token), 'token must be a token of the API.')
  check(Number.isInteger(retries) && retries >= 0, 'retries must be a whole number from 0.')
  const fitsTimer = Number.isInteger(timeoutMs) && timeoutMs > 0 && timeoutMs <= maxTimerMs
  check(fitsTimer, `timeoutMs must be a whole number from 1 to ${maxTimerMs}.`)
  check(fetch === undefined || typeof fetch === 'function', 'fetch must be a function.')
  refuseUnknown(options, ['baseUrl', 'token', 'retries', 'timeoutMs', 'fetch'])
  return { baseUrl, token, retries, timeoutMs, ...(fetch && { fetch }) }
}

/** `fetch` refuses a URL with a user, and a query would end up before the path. */
function isBaseUrl(value: unknown): boolean {
  return typeof value === 'string' && /^https?:\/\/[^\s?#@/]+(\/[^\s?#]*)?$/i.test(value) && URL.canParse(value)
}

/**
 * Returns the options of one call.
 *
 * @param others Names that the call takes besides those of every call.
 * @throws TypeError: an option is wrong or unknown.
 */
export function callOptionsOf<Options extends CallOptions>(
  given: unknown = {},
  others: readonly (keyof Options & string)[] = [],
): Options {
  check(isPlain(given), 'The options must be an object.')
  refuseUnknown(given as object, ['signal', 'idempotencyKey', ...others])
  const { signal } = given as CallOptions
  // Not by its class: a page or a test may have another copy of it.
  check(!signal || typeof signal.addEventListener === 'function', 'signal must be an AbortSignal.')
  return given as Options
}

function refuseUnknown(given: object, known: readonly string[]): void {
  for (const name in given) check(known.includes(name), `There is no ${name} here. Known: ${known.join(', ')}.`)
}

/** Whether it is an object with named fields. The class of a Set, Map or Promise has another name. */
export function isPlain(value: unknown): value is object {
  return isOfClass(value, 'Object')
}

/** Whether it is an object of a built-in class, also of another realm. In tests with jsdom some classes are missing. */
export function isOfClass(value: unknown, ...names: readonly string[]): boolean {
  return names.includes(Object.prototype.toString.call(value).slice('[object '.length, -1))
}

/** @throws TypeError: the caller has made a mistake. */
export function check(isRight: boolean, message: string): void {
  if (!isRight) throw new TypeError(message)
}
