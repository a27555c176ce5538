import { check, isOfClass, type Settings } from './options.ts'
import { type TimeLimit, timeLimit } from './time-limit.ts'
import { urlOf } from './url.ts'

/** One call of a route. */
export interface Request {
  readonly method: string
  /** Path below `/api/v1`, with the names of ids in braces. */
  readonly path: string
  readonly ids?: readonly unknown[]
  readonly query?: object | undefined
  readonly body?: unknown
  readonly headers?: Readonly<Record<string, string>>
  readonly signal?: AbortSignal | undefined
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

const firstPauseMs = 200
const maxPauseMs = 60_000

/**
 * Sends a request. Repeats it after a network fault, 429 and 503, with exponential backoff or after `Retry-After`.
 *
 * @param read Reads the answer. A network fault while it reads is one of the attempt.
 * @throws ApiError: the API refused it; TypeError: an id, a parameter or the key is wrong; the fault of
 *   `fetch`; the signal's reason.
 */
export async function send<T>(
  settings: Settings,
  request: Request,
  read: (response: Response) => T | Promise<T>,
): Promise<T> {
  const { retries, fetch = globalThis.fetch } = settings
  // Before the attempts, because an error of the caller's input is no network fault.
  const url = urlOf(settings.baseUrl, request)
  const key = request.headers?.['Idempotency-Key']
  check(key === undefined || /^[!-~]{1,255}$/.test(key), 'idempotencyKey must be 1 to 255 visible characters of ASCII.')
  // A second attempt does no harm, even if the first one was processed.
  const isRepeatable = request.method !== 'POST' || key !== undefined
  const body = bodyOf(request)
  let isAnswerLost = false
  for (let attempt = 0; ; attempt++) {
    const isLast = attempt >= retries || isOfClass(body, 'ReadableStream') // which is used up
    const limit = limitOf(settings, request)
    let retryAfter: string | null = null
    try {
      const response = await fetch(url, initOf(settings, request, body, limit.signal))
      if (response.ok) return await read(response)
      const isBusy = response.status === 503 || (attempt > 0 && isStillRunning(request, response))
      const mayRepeat = response.status === 429 || (isBusy && isRepeatable)
      if (isLast || !mayRepeat) {
        const error = errorFrom(response, await response.text())
        // The attempt whose answer was lost has deleted the record.
        const isDeleted = isAnswerLost && request.isDeletion && error.code === 'not_found'
        if (!isDeleted) throw error
        return await read(new Response(null, { status: 204 }))
      }
      await response.body?.cancel()
      retryAfter = response.headers.get('retry-after')
    } catch (error) {
      if (error instanceof ApiError || isLast || !isRepeatable || request.signal?.aborted) throw error
      isAnswerLost = true
    } finally {
      limit.end()
    }
    await pause(pauseMs(attempt, retryAfter), request.signal)
  }
}

/** Whether an attempt before this one, whose answer was lost, holds the idempotency key. */
function isStillRunning({ method }: Request, { status }: Response): boolean {
  return method === 'POST' && status === 409
}

function bodyOf({ body, isFile }: Request): NonNullable<RequestInit['body']> | undefined {
  return isFile ? (body as NonNullable<RequestInit['body']>) : JSON.stringify(body)
}

/** Limits one attempt. A file has the caller's own signal, because its answer is read after the attempt. */
function limitOf({ timeoutMs }: Settings, { signal, isFile }: Request): Partial<TimeLimit> & Pick<TimeLimit, 'end'> {
  return isFile ? { ...(signal && { signal }), end: () => {} } : timeLimit(timeoutMs, signal)
}

function initOf(
  { token }: Settings,
  { method, headers, isFile }: Request,
  body: ReturnType<typeof bodyOf>,
  signal: AbortSignal | undefined,
): RequestInit {
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
    body: body ?? null,
    ...(isOfClass(body, 'ReadableStream') && { duplex: 'half' }),
    signal: signal ?? null,
  }
}

/** Returns the error of an answer that is one, or that is none of the API's. */
function errorFrom(response: Response, text: string): ApiError {
  try {
    const { code, message, errors } = JSON.parse(text)
    if (typeof code === 'string' && typeof message === 'string') return apiError(response, code, message, errors)
  } catch {
    // It is no answer of the API.
  }
  return notOfApi(response)
}

export function notOfApi(response: Response): ApiError {
  const message = `The server answered ${response.status} without JSON of the API: is baseUrl the daemon's address?`
  return apiError(response, 'internal', message)
}

function apiError({ status, headers }: Response, code: string, message: string, errors?: ApiError['errors']): ApiError {
  return new ApiError(status, code, message, { errors, requestId: headers.get('x-request-id') ?? undefined })
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
