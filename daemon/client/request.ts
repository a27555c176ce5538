/** Options of `createClient`. */
export interface ClientOptions {
  /** Where the daemon answers, without `/api/v1`: `https://mail.example.org`. */
  readonly baseUrl: string
  /** A token of the API. */
  readonly token: string
  /** Retries after a network fault, 429 and 503. Default 3. */
  readonly retries?: number
  /** Milliseconds until one attempt is aborted. Files have no limit. Default 30,000. */
  readonly timeoutMs?: number
  /** Default: the platform's `fetch`. */
  readonly fetch?: typeof fetch
}

/** One call of a route. */
export interface Request {
  readonly method: string
  /** Path below `/api/v1`. */
  readonly path: string
  readonly query?: object | undefined
  readonly body?: unknown
  readonly headers?: Readonly<Record<string, string>>
  readonly signal?: AbortSignal | undefined
  /** Whether a second attempt can do no harm, even if the first one was processed. */
  readonly repeatable: boolean
  /** Whether the request deletes the record of its path. */
  readonly isDeletion?: boolean
  /** Whether the request or its answer is a file, which takes as long as it takes. */
  readonly isFile?: boolean
}

/** An answer with an error status. `errors` has the messages by field. */
export class ApiError extends Error {
  override readonly name = 'ApiError'
  readonly status: number
  /** The API's error code, such as `validation_failed`. */
  readonly code: string
  readonly errors: Readonly<Record<string, readonly string[]>> | undefined
  /** Quote it when you report a problem: it is in the server's log. */
  readonly requestId: string | undefined

  constructor(status: number, code: string, message: string, details: Pick<ApiError, 'errors' | 'requestId'>) {
    super(message)
    this.status = status
    this.code = code
    this.errors = details.errors
    this.requestId = details.requestId
  }
}

const defaultRetries = 3
const defaultTimeoutMs = 30_000
const firstPauseMs = 200
const maxPauseMs = 60_000

/**
 * Sends a request. Repeats it after a network fault, 429 and 503, with exponential backoff or after `Retry-After`.
 *
 * @param read Reads the answer. A network fault while it reads is one of the attempt.
 * @throws ApiError: the API refused it; the fault of `fetch`; the signal's reason.
 */
export async function send<T>(
  options: ClientOptions,
  request: Request,
  read: (response: Response) => T | Promise<T>,
): Promise<T> {
  const { retries = defaultRetries, fetch = globalThis.fetch } = options
  // Before the attempts, because an error of the caller's input is no network fault.
  const url = urlOf(options, request)
  const body = bodyOf(request)
  let isAnswerLost = false
  for (let attempt = 0; ; attempt++) {
    const isLast = attempt >= retries
    try {
      const response = await fetch(url, initOf(options, request, body))
      if (response.ok) return await read(response)
      const isBusy = response.status === 503 || (attempt > 0 && isStillRunning(request, response))
      const mayRepeat = response.status === 429 || (isBusy && request.repeatable)
      if (isLast || !mayRepeat) {
        const error = errorFrom(response, await response.text())
        // The attempt whose answer was lost has deleted the record.
        const isDeleted = isAnswerLost && request.isDeletion && error.code === 'not_found'
        if (!isDeleted) throw error
        return await read(new Response(null, { status: 204 }))
      }
      await response.body?.cancel()
      await pause(pauseMs(attempt, response.headers.get('retry-after')), request.signal)
    } catch (error) {
      if (error instanceof ApiError || isLast || !request.repeatable || request.signal?.aborted) throw error
      isAnswerLost = true
      await pause(pauseMs(attempt, null), request.signal)
    }
  }
}

/** Whether an attempt before this one, whose answer was lost, holds the idempotency key. */
function isStillRunning({ method }: Request, { status }: Response): boolean {
  return method === 'POST' && status === 409
}

function urlOf({ baseUrl }: ClientOptions, { path, query = {} }: Request): string {
  const parameters = new URLSearchParams()
  for (const [name, value] of Object.entries(query)) {
    if (value === undefined || value === null) continue
    if (Array.isArray(value)) for (const id of idsOf(name, value)) parameters.append(`${name}[]`, String(id))
    else if (value instanceof Date) parameters.append(name, value.toISOString())
    else if (typeof value === 'object') {
      for (const [field, item] of Object.entries(value)) parameters.append(`${name}[${field}]`, String(item))
    } else parameters.append(name, String(value))
  }
  const text = parameters.toString()
  return `${baseUrl.replace(/\/+$/, '')}/api/v1${path}${text === '' ? '' : `?${text}`}`
}

/** No record has this id. */
const noId = Number.MAX_SAFE_INTEGER

/** A filter without ids matches nothing, as in the library. Left out of the query, it would match every record. */
function idsOf(name: string, ids: readonly unknown[]): readonly unknown[] {
  return ids.length === 0 && !name.startsWith('exclude_') ? [noId] : ids
}

function bodyOf({ body, isFile }: Request): NonNullable<RequestInit['body']> | undefined {
  return isFile ? (body as NonNullable<RequestInit['body']>) : JSON.stringify(body)
}

function initOf(
  { token, timeoutMs = defaultTimeoutMs }: ClientOptions,
  { method, headers, signal, isFile }: Request,
  body: ReturnType<typeof bodyOf>,
): RequestInit {
  const signals = [...(signal ? [signal] : []), ...(isFile ? [] : [AbortSignal.timeout(timeoutMs)])]
  const json = !isFile && body !== undefined
  return {
    method,
    // fetch would follow a redirect of a POST with a GET, and send a body to another host.
    redirect: 'manual',
    headers: {
      Accept: 'application/json',
      Authorization: `Bearer ${token}`,
      ...(json && { 'Content-Type': 'application/json' }),
      ...headers,
    },
    ...(body !== undefined && { body }),
    ...(body instanceof ReadableStream && { duplex: 'half' }),
    ...(signals.length > 0 && { signal: AbortSignal.any(signals) }),
  }
}

/** Returns the error of an answer that is one, or that is none of the API's. */
function errorFrom(response: Response, text: string): ApiError {
  const requestId = response.headers.get('x-request-id') ?? undefined
  try {
    const { code, message, errors } = JSON.parse(text) as { code: string; message: string; errors?: ApiError['errors'] }
    return new ApiError(response.status, code, message, { errors, requestId })
  } catch {
    return notOfApi(response)
  }
}

export function notOfApi({ status, headers }: Response): ApiError {
  const requestId = headers.get('x-request-id') ?? undefined
  const message = `The server answered ${status} without JSON of the API: is baseUrl the daemon's address?`
  return new ApiError(status, 'internal', message, { errors: undefined, requestId })
}

/** @param retryAfter Seconds, or a date of HTTP. */
function pauseMs(attempt: number, retryAfter: string | null): number {
  const backoffMs = firstPauseMs * 2 ** attempt * (0.5 + Math.random() / 2)
  if (retryAfter === null) return backoffMs
  const seconds = Number(retryAfter)
  const askedMs = Number.isFinite(seconds) ? seconds * 1000 : Date.parse(retryAfter) - Date.now()
  return Math.min(Math.max(askedMs || 0, backoffMs), maxPauseMs)
}

async function pause(ms: number, signal: AbortSignal | undefined): Promise<void> {
  signal?.throwIfAborted()
  await new Promise<void>((resolve, reject) => {
    const stop = () => {
      clearTimeout(timer)
      reject(signal!.reason)
    }
    const timer = setTimeout(() => {
      signal?.removeEventListener('abort', stop)
      resolve()
    }, ms)
    signal?.addEventListener('abort', stop, { once: true })
  })
}
