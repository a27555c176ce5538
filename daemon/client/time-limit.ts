/** Copy of lib/time-limit.ts: the client imports nothing of the library, so that it fits into a browser. */

/** A signal with a time limit. */
export interface TimeLimit {
  readonly signal: AbortSignal
  /** Stops the timer and the listener. Call it when the limited operation has ended. */
  end(): void
}

/**
 * Returns a signal that is aborted after a time, or with the given signal. On Node 20 a signal of `AbortSignal.any()` may be
 * collected before its time-out.
 */
export function timeLimit(ms: number, given: AbortSignal | undefined): TimeLimit {
  const limit = new AbortController()
  const forward = () => limit.abort(given?.reason)
  const timer = setTimeout(() => limit.abort(new DOMException(`No answer within ${ms} ms.`, 'TimeoutError')), ms)
  given?.addEventListener('abort', forward)
  if (given?.aborted) forward()
  return {
    signal: limit.signal,
    end() {
      clearTimeout(timer)
      given?.removeEventListener('abort', forward)
    },
  }
}
